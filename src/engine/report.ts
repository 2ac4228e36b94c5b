/**
 * What the service tells about itself: one shape for HTTP, WebSocket, metrics and the CLI.
 * Field names are part of the API. Durations in seconds, times as RFC 3339.
 */

import type { DeviceLimits } from "../config/channel-spec.ts";
import type { ErrorCode } from "../errors.ts";
import type { ChannelSpec, ChannelState, EngineExit, ParameterInfo } from "./engine.ts";
import type { HistogramCells } from "./statistics-reader.ts";
import type { replayObstacles, replays, stageNames } from "./stats-layout.gen.ts";

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
export const restartReasons = ["source", "pipeline", "engine", "device_lost", "command"] as const;

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
export type StateReason = "engine_start" | "engine_restart" | "device_lost";

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
  /** Frames worked on at the same time; 0 until a pipeline is there. */
  readonly lanes: number;
  /** How frames get onto a GPU, and why not as a captured graph; `none` on the CPU. */
  readonly replay: {
    readonly mode: (typeof replays)[number];
    readonly obstacle: (typeof replayObstacles)[number];
    readonly captures: number;
    readonly staged_frames: number;
  };
  readonly ring: { readonly slots: number; readonly free: number; readonly full: number; readonly reading: number };
  readonly input: FrameShape | null;
  readonly output: FrameShape | null;
  readonly restarts: Readonly<Record<(typeof restartReasons)[number], number>>;
  readonly compilations: number;
  readonly pipeline_swaps: number;
  readonly sinks: readonly SinkReport[];
}

/** Of a GPU's memory; null: none. */
export interface MemoryBounds {
  readonly max_bytes: number | null;
  readonly max_buffers: number | null;
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
  readonly stagger: string;
  readonly in_flight: number;
  readonly threads: number;
  /** Null: no bound. */
  readonly max_memory: number | null;
  readonly memory: MemoryBounds;
  readonly pinned: string;
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
  readonly uuid: string | null;
  readonly bus_id: string | null;
  readonly architecture: string | null;
  readonly driver_version: string | null;
  readonly numa_node: number | null;
  /** Those that run there. */
  readonly channels: readonly string[];
  /** null: no channel uses the device, so it has none. */
  readonly engine: EngineReport | null;
  readonly gpu: GpuReport | null;
}

/** Bytes, and counts since the service started. */
export interface GpuReport {
  /** `persisted`: as the configuration has them; bounds that were set while running end with the service. */
  readonly limits: MemoryBounds & { readonly persisted: boolean };
  readonly memory: {
    readonly in_use: number;
    readonly cached: number;
    readonly reserved: number;
    readonly high_water: number;
    readonly buffers: number;
    readonly pinned: number;
    /** Of what was page-locked at start. */
    readonly pinned_lent: number;
  };
  readonly cache: {
    readonly hits: number;
    readonly misses: number;
    /** Requests that got nothing. */
    readonly refusals: number;
    readonly trims: number;
  };
  /** Mappings of host memory that the driver did not page-lock. */
  readonly pinned_refusals: number;
  /** Copies that waited for their turn, and those of them whose turn did not come in time; wanted: 0. */
  readonly bus: { readonly upload_waits: number; readonly download_waits: number; readonly overruns: number };
  readonly driver_calls: Readonly<Record<string, number>>;
  /** Driver calls for memory on frames' way; wanted: 0. */
  readonly steady_alarms: number;
  readonly losses: number;
}

/** Which build of Framelane it is. */
export interface Build {
  readonly version: string;
  /** "unknown" where it was not built in a checkout; ends in "-dirty" where something in that was changed. */
  readonly commit: string;
}

export interface HealthReport extends Build {
  readonly status: "ok" | "degraded" | "stopping";
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
  readonly device: string;
  readonly state: ChannelState | EngineState;
  readonly reason: string | null;
  readonly error: ErrorReport | null;
}

/** What may be changed while the service runs. Rejects with `not_found`, `unsupported` or what the engine says. */
export interface ServiceControl {
  setDeviceLimits(id: string, limits: DeviceLimits): Promise<DeviceReport>;
  setChannelLimits(name: string, limits: DeviceLimits): Promise<ChannelDetail>;
}

/** Read-only: what HTTP, WebSocket and metrics may ask. */
export interface ServiceView {
  readonly build: Build;
  health(): HealthReport;
  readiness(): ReadinessReport;
  channelNames(): readonly string[];
  channels(): readonly ChannelReport[];
  /** Undefined where there is no such channel. */
  channel(name: string): ChannelReport | undefined;
  channelDetail(name: string): Promise<ChannelDetail | undefined>;
  devices(): readonly DeviceReport[];
  /** Why there is no GPU; null: there is one, or none is to be used. */
  readonly gpuProblem: string | null;
  /** Histograms as they stand now, since the start. The same object every time: read it before the next call. */
  histogram(name: string, stage: Stage): HistogramCells | undefined;
  /** Returns what ends the subscription. */
  subscribe(listener: (event: ServiceEvent) => void): () => void;
}
