/**
 * What the service tells about itself: one shape for HTTP, WebSocket, metrics and the CLI.
 * Field names are part of the API. Durations in seconds, times as RFC 3339.
 */
import type { ErrorCode } from "../errors.ts";
import type { ChannelSpec, ChannelState, EngineExit, ParameterInfo } from "./engine.ts";
import type { HistogramCells } from "./statistics-reader.ts";
import type { stageNames } from "./stats-layout.gen.ts";

/** Grows when a field changes its meaning or goes away, not when one is added. */
export const schemaVersion = 1;

export type Stage = (typeof stageNames)[number];

/** Seconds; null while no frame was measured. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly p999: number | null;
}

export type StagePercentiles = Readonly<Record<Stage, Percentiles>>;

export const droppedReasons = ["overwritten", "superseded", "late", "error", "restart", "shutdown"] as const;
export const lostReasons = ["transport", "incomplete", "id_gap", "ring_full"] as const;
export const restartReasons = ["source", "pipeline", "engine", "command"] as const;

/** received = processed + sum(dropped) + in_flight. */
export interface FrameCounts {
  readonly received: number;
  readonly received_bytes: number;
  readonly processed: number;
  readonly in_flight: number;
  readonly dropped: Readonly<Record<(typeof droppedReasons)[number], number>>;
  readonly lost: Readonly<Record<(typeof lostReasons)[number], number>>;
  readonly deadline_missed: number;
}

export interface FrameShape {
  readonly width: number;
  readonly height: number;
  readonly pixel: string;
}

export interface ErrorReport {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface SinkReport {
  readonly type: string;
  readonly written: number;
  readonly written_bytes: number;
  readonly failed: number;
  readonly dropped: number;
  /** The last failure; stays until the sink works again. */
  readonly error: ErrorReport | null;
}

/** Why the supervisor, not the engine, gives a channel its state. */
export type StateReason = "engine_start" | "engine_restart";

export interface ChannelReport {
  readonly name: string;
  readonly device: string;
  readonly state: ChannelState;
  readonly reason: StateReason | null;
  readonly since: string | null;
  /** The last failure; stays until the channel runs again. */
  readonly error: ErrorReport | null;
  readonly fps: { readonly measured: number; readonly expected: number | null };
  readonly frames: FrameCounts;
  /** Over the last seconds, and since the service started. */
  readonly latency: {
    readonly window_seconds: number;
    readonly window: StagePercentiles;
    readonly since_start: StagePercentiles;
  };
  readonly ring: { readonly slots: number; readonly free: number; readonly full: number; readonly reading: number };
  readonly input: FrameShape | null;
  readonly output: FrameShape | null;
  readonly restarts: Readonly<Record<(typeof restartReasons)[number], number>>;
  readonly compilations: number;
  readonly pipeline_swaps: number;
  readonly sinks: readonly SinkReport[];
}

/** As in the YAML, with every default filled in; quantities in base units. */
export interface SpecReport {
  readonly source: ChannelSpec["source"];
  /** `handling` is null where only the engine learns from the stream what its default is. */
  readonly ring: { readonly slots: number; readonly handling: string | null };
  readonly pipeline: readonly Readonly<Record<string, object>>[];
  readonly sinks: readonly object[];
  /** Null: none. */
  readonly deadline: number | null;
  readonly on_overload: string;
  readonly wait: string;
  readonly in_flight: number;
  readonly threads: number;
  /** Null: no bound. */
  readonly max_memory: number | null;
  readonly stall: number;
  readonly schedule: ChannelSpec["schedule"];
  readonly retry: ChannelSpec["retry"];
  readonly start: boolean;
}

export interface ChannelDetail extends ChannelReport {
  readonly spec: SpecReport;
  /** Null while the engine cannot be asked. */
  readonly parameters: readonly ParameterInfo[] | null;
}

export type EngineState = "starting" | "running" | "backoff" | "stopped";

export interface EngineReport {
  readonly device: string;
  readonly state: EngineState;
  readonly pid: number | null;
  readonly heartbeat_age: number | null;
  readonly starts: number;
  /** Restarts by reason of the end before. */
  readonly restarts: Readonly<Record<Exclude<EngineExit["reason"], "stopped">, number>>;
  readonly events_lost: number;
  readonly last_exit: { readonly reason: string; readonly detail: string } | null;
}

export interface DeviceReport {
  readonly id: string;
  readonly name: string | null;
  readonly memory_bytes: number | null;
  readonly cores: number | null;
  readonly engine: EngineReport;
}

export interface HealthReport {
  readonly status: "ok" | "degraded" | "stopping";
  readonly version: string;
  readonly uptime: number;
  readonly engines: readonly EngineReport[];
}

export interface ReadinessReport {
  readonly ready: boolean;
  /** Channels that have not yet left their first compile or start. */
  readonly waiting: readonly string[];
  /** Channels that left it for a failure. */
  readonly failing: readonly {
    readonly name: string;
    readonly state: ChannelState;
    readonly error: ErrorReport | null;
  }[];
}

export interface ServiceEvent {
  readonly time: string;
  readonly channel: string | null;
  readonly state: ChannelState | EngineState;
  readonly reason: string | null;
  readonly error: ErrorReport | null;
}

/** Read-only: what HTTP, WebSocket and metrics may ask. */
export interface ServiceView {
  readonly version: string;
  health(): HealthReport;
  readiness(): ReadinessReport;
  channelNames(): readonly string[];
  channels(): readonly ChannelReport[];
  /** Undefined where there is no such channel. */
  channel(name: string): ChannelReport | undefined;
  channelDetail(name: string): Promise<ChannelDetail | undefined>;
  devices(): readonly DeviceReport[];
  /** Histograms as they stand now, since the start. The same object every time: read it before the next call. */
  histogram(name: string, stage: Stage): HistogramCells | undefined;
  /** Returns what ends the subscription. */
  subscribe(listener: (event: ServiceEvent) => void): () => void;
}
