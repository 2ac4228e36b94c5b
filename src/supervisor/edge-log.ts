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

/** The engine counts what repeats within a second (addon/core/event_reporter.h): its count is no part of the text. */
function splitCount(message: string): { said: string; times: number } {
  const [tail, times] = / \((\d+) times\)$/.exec(message) ?? [];
  return tail === undefined
    ? { said: message, times: 1 }
    : { said: message.slice(0, -tail.length), times: Number(times) };
}

const repeated = (repeats: number) => (repeats > 1 ? { repeats } : {});

export class EdgeLog {
  readonly #log: Log;
  readonly #filter = new RepeatFilter();

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

  #channel({ channel, state, code, message = "" }: EngineEvent): void {
    const level = levelOf(state, code !== undefined);
    const { said, times } = splitCount(message);
    const text = said === "" ? state : `${state}: ${said}`;
    const who = channel === undefined ? {} : { channel };
    const subject = `channel ${channel}`;
    if (level === "debug") {
      this.#filter.note(subject, text);
      this.#log.debug({ ...who, state }, text);
    } else if (code === undefined) {
      this.#filter.state(subject, text, (repeats) => this.#log[level]({ ...who, state, ...repeated(repeats) }, text));
    } else {
      const write = (repeats: number) => this.#log[level]({ ...who, state, code, ...repeated(repeats) }, text);
      this.#filter.error(subject, text, times, write);
    }
  }

  #engineState(device: string, state: EngineState): void {
    if (state !== "running") return;
    const text = "engine runs";
    this.#filter.note(`device ${device}`, text);
    this.#log.info({ device }, text);
  }

  #engineLost(device: string, { reason, detail }: EngineExit, delayMs: number): void {
    const text = `engine gone (${reason}): ${detail}; the next one starts in ${(delayMs / 1000).toFixed(1)} s`;
    this.#filter.state(`device ${device}`, text, (repeats) => {
      this.#log.error({ device, reason, ...repeated(repeats) }, text);
    });
  }

  /** Before anything runs: what somebody who expects a GPU would look for. `wanted`: channels that would take one. */
  gpus(problem: string | null, absent: readonly string[], wanted: boolean): void {
    if (problem !== null && wanted)
      this.#log.info({}, `no GPU: ${problem}; channels with "device: auto" run on the CPU`);
    else if (absent.length > 0) this.#log.warn({}, `devices.cuda.use names what is not here: ${absent.join(", ")}`);
  }

  #refused(channel: string, error: FramelaneError): void {
    this.#filter.note(`channel ${channel}`, error.message);
    this.#log.error({ channel, code: error.code }, `refused: ${error.message}`);
  }
}
