/** What the supervisor knows of one channel: its specification, its counters, and what it last heard. */
import type { ChannelSpec, ChannelState, DeviceLimits, EngineEvent, EngineExit } from "../engine/engine.ts";
import { monotonicNs } from "../engine/monotonic.ts";
import type { ChannelReport, ErrorReport, StateReason } from "../engine/report.ts";
import type { FramelaneError } from "../errors.ts";
import { ChannelStatistics } from "../telemetry/channel-statistics.ts";

/** A state that the supervisor gives because no engine can. */
interface Override {
  readonly state: ChannelState;
  readonly reason: StateReason | null;
  readonly sinceNs: number;
  readonly error: ErrorReport | null;
}

const leftStart: ReadonlySet<ChannelState> = new Set([
  "running",
  "stalled",
  "finished",
  "stopped",
  "backoff",
  "faulted",
]);
const failing: ReadonlySet<ChannelState> = new Set(["stalled", "backoff", "faulted"]);

/** What no other engine would change by itself, or what a channel's own error says as well. */
function lossError(cause: EngineExit["reason"], message: string): ErrorReport | null {
  if (cause === "device_lost") return { code: "device_lost", message };
  return cause === "start_failed" ? { code: "engine_gone", message: `The engine does not start: ${message}` } : null;
}

/** The wall-clock time of a moment of CLOCK_MONOTONIC. */
export const toTimestamp = (timeNs: number): string =>
  new Date(Date.now() - (monotonicNs() - timeNs) / 1e6).toISOString();

export class ChannelRecord {
  readonly statistics: ChannelStatistics;
  /** Where it runs, or is to run. */
  device: string;
  #spec: ChannelSpec;
  #afterDeviceLoss = false;
  #override: Override | undefined;
  /** Until the new engine has written this channel's state, the cell still holds the old engine's. */
  #takenOverNs = 0;
  #message: ErrorReport | undefined;
  #leftFirstStart = false;

  constructor(spec: ChannelSpec, device: string) {
    this.#spec = spec;
    this.device = device;
    this.statistics = new ChannelStatistics(spec.cell, spec.sinks);
    const reason = "engine_start" as const;
    this.#override = this.#waiting() ?? { state: "starting", reason, sinceNs: monotonicNs(), error: null };
  }

  get spec(): ChannelSpec {
    return this.#spec;
  }

  /** What the next engine is told. */
  get order(): ChannelSpec {
    return this.#afterDeviceLoss ? { ...this.#spec, afterDeviceLoss: true } : this.#spec;
  }

  setLimits(limits: DeviceLimits): void {
    this.#spec = { ...this.#spec, memory: limits };
  }

  /** Returns what its channels are told of it. */
  engineLost({ reason: cause, detail }: EngineExit): Pick<Override, "reason" | "error"> {
    this.#afterDeviceLoss = cause === "device_lost";
    const reason = cause === "device_lost" ? "device_lost" : "engine_restart";
    const error = lossError(cause, detail);
    // The cells may keep the code beyond the loss; the engine did not always live to tell more than that.
    if (cause === "device_lost") this.#message = error ?? undefined;
    this.#override = this.#waiting() ?? { state: "backoff", reason, sinceNs: monotonicNs(), error };
    return { reason, error };
  }

  /** The next engine is about to be given this channel. */
  handOver(): void {
    this.#takenOverNs = monotonicNs();
  }

  handedOver(): void {
    this.#override = this.#waiting() ?? { state: "starting", reason: null, sinceNs: this.#takenOverNs, error: null };
  }

  refused(error: FramelaneError): void {
    const report = { code: error.code, message: error.message };
    this.#override = { state: "faulted", reason: null, sinceNs: monotonicNs(), error: report };
    this.#leftFirstStart = true;
  }

  heard(event: EngineEvent): void {
    const { code, message = "", sink } = event;
    if (sink !== undefined) this.statistics.sinkFailed(sink, message);
    else if (code !== undefined) this.#message = { code, message };
    this.#see(event.state);
  }

  /** The state as it is told: the supervisor's word while no engine can speak for the channel. */
  get state(): ChannelState {
    return this.#currentOverride()?.state ?? this.statistics.state;
  }

  get leftFirstStart(): boolean {
    this.#see(this.state);
    return this.#leftFirstStart;
  }

  get isFailing(): boolean {
    return failing.has(this.state);
  }

  get error(): ErrorReport | null {
    const override = this.#currentOverride();
    if (override?.error) return override.error;
    const code = this.statistics.errorCode;
    if (code === null) return null;
    return this.#message?.code === code ? this.#message : { code, message: "" };
  }

  report(): ChannelReport {
    const override = this.#currentOverride();
    const sinceNs = override?.sinceNs ?? this.statistics.stateSinceNs;
    return {
      name: this.spec.name,
      device: this.device,
      state: this.state,
      reason: override?.reason ?? null,
      since: sinceNs === 0 ? null : toTimestamp(sinceNs),
      error: this.error,
      ...this.statistics.report(),
    };
  }

  /** With `start: false` a channel waits for a command, not for its engine. */
  #waiting(): Override | undefined {
    if (this.spec.start) return undefined;
    return { state: "idle", reason: null, sinceNs: monotonicNs(), error: null };
  }

  #currentOverride(): Override | undefined {
    const waitsForCell = this.#override?.reason === null && this.#override.error === null;
    if (waitsForCell && this.#takenOverNs !== 0 && this.statistics.stateSinceNs >= this.#takenOverNs)
      this.#override = undefined;
    return this.#override;
  }

  #see(state: ChannelState): void {
    const idle = state === "idle" && !this.spec.start;
    // An engine that has yet to come says nothing about its channels.
    if ((leftStart.has(state) || idle) && this.#override?.reason == null) this.#leftFirstStart = true;
  }
}
