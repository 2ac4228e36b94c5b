/** One log line per edge: engines that come and go, channels that change their state. */
import type { EngineEvent, EngineExit } from "../engine/engine.ts";
import type { EngineState } from "../engine/report.ts";
import type { FramelaneError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import { RepeatFilter } from "../telemetry/repeat-filter.ts";
import type { Supervisor } from "./supervisor.ts";

const troubled: ReadonlySet<string> = new Set(["stalled", "backoff"]);

/** On the way to its work a channel says nothing that people need. */
const passing: ReadonlySet<string> = new Set(["compiling", "starting"]);

function levelOf(state: string, failed: boolean): "debug" | "info" | "warn" | "error" {
  if (state === "faulted") return "error";
  if (failed || troubled.has(state)) return "warn";
  return passing.has(state) ? "debug" : "info";
}

export class EdgeLog {
  readonly #log: Log;
  readonly #filter = new RepeatFilter();
  /** By channel, what it last said. */
  readonly #last = new Map<string | undefined, string>();

  constructor(log: Log, supervisor: Supervisor) {
    this.#log = log;
    supervisor.on("channelEvent", (event) => this.#channel(event));
    supervisor.on("engineState", (device, state) => this.#engineState(device, state));
    supervisor.on("engineLost", (device, exit, delayMs) => this.#engineLost(device, exit, delayMs));
    supervisor.on("refused", (channel, error) => this.#refused(channel, error));
  }

  close(): void {
    this.#filter.close();
  }

  #channel({ channel, state, code, message }: EngineEvent): void {
    const level = levelOf(state, code !== undefined);
    const text = message === undefined ? state : `${state}: ${message}`;
    const who = channel === undefined ? {} : { channel };
    this.#last.set(channel, text);
    this.#filter.pass(`${channel}\n${text}`, (repeats) => {
      // A state that was held back and has passed since would read as the newest one.
      if (code === undefined && this.#last.get(channel) !== text) return;
      const error = code === undefined ? {} : { code };
      this.#log[level]({ ...who, state, ...error, ...(repeats > 1 ? { repeats } : {}) }, text);
    });
  }

  #engineState(device: string, state: EngineState): void {
    if (state === "running") this.#log.info({ device }, "engine runs");
  }

  #engineLost(device: string, { reason, detail }: EngineExit, delayMs: number): void {
    const text = `engine gone (${reason}): ${detail}; the next one starts in ${(delayMs / 1000).toFixed(1)} s`;
    this.#filter.pass(`${device}\n${reason}\n${detail}`, (repeats) => {
      this.#log.error({ device, reason, ...(repeats > 1 ? { repeats } : {}) }, text);
    });
  }

  #refused(channel: string, error: FramelaneError): void {
    this.#log.error({ channel, code: error.code }, `refused by the engine: ${error.message}`);
  }
}
