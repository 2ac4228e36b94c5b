/** What an engine is told about a channel: the configuration's result, with every default filled in. */

/** One source. `type` names the implementation in addon/io/sources. */
export interface SourceSpec {
  readonly type: "pattern" | "raw" | "y4m" | "shm" | "ffmpeg";
  /** The source's own fields in the YAML's spelling; quantities as numbers in base units (seconds, bytes, hertz). */
  readonly [field: string]: string | number | boolean | undefined;
}

/** One operation of the pipeline, in order. Arguments in the YAML's spelling. */
export interface OperationSpec {
  readonly name: string;
  readonly arguments: Readonly<Record<string, number | string | readonly number[]>>;
}

export interface SinkSpec {
  /** compare: of measurements, no configuration has it. */
  readonly type: "none" | "memory" | "file" | "shm" | "compare";
  /** Takes every n-th processed frame. */
  readonly every: number;
  /** Frames that may wait for the sink. */
  readonly queue: number;
  readonly onFull: "drop-newest" | "drop-oldest" | "wait";
  readonly [field: string]: string | number | boolean | undefined;
}

export type HandlingMode = "oldest-first" | "oldest-first-overwrite" | "newest-only";

/** All that an engine needs to run a channel. Plain JSON: it crosses the process boundary. */
export interface ChannelSpec {
  readonly name: string;
  /** Index of the channel's block in the statistics block. */
  readonly cell: number;
  readonly source: SourceSpec;
  readonly ring: { readonly slots: number; readonly handling?: HandlingMode };
  readonly pipeline: readonly OperationSpec[];
  readonly sinks: readonly SinkSpec[];
  /** Seconds from arrival to completion. */
  readonly deadline?: number;
  readonly onOverload: "never" | "drop-late" | "degrade-others";
  /** How the worker waits for the next frame. */
  readonly wait: "blocking" | "spin";
  /** When frames of a source with a clock of its own are due: spread over the period by `cell`, or at its multiples. */
  readonly stagger: "auto" | "off";
  readonly inFlight: number;
  /** CPU threads that work on one frame. */
  readonly threads: number;
  /** Bound for ring and output slots, in bytes. */
  readonly maxMemory?: number;
  /** Of a GPU's memory. */
  readonly memory: DeviceLimits;
  readonly pinned: "preferred" | "required";
  /** Seconds without a frame after which a live channel is `stalled`. */
  readonly stall: number;
  readonly schedule: { readonly cpus: readonly number[]; readonly fifo: number; readonly nice: number };
  readonly retry: { readonly first: number; readonly most: number };
  /** false: created, stays `idle` until startChannel(). */
  readonly start: boolean;
  /** Its former engine lost the device: that is what its restart is counted as. */
  readonly afterDeviceLoss?: boolean;
}

/** Bounds of a device's memory; 0 or undefined: none. */
export interface DeviceLimits {
  readonly maxBytes?: number;
  readonly maxBuffers?: number;
}

/** What engines are told about GPUs. */
export interface CudaOptions {
  /** The driver's library; undefined: the system's own. */
  readonly library?: string;
  readonly memory: DeviceLimits & { readonly reserve: number };
  readonly pinned: { readonly reserve: number };
  /** Seconds. */
  readonly gpuTimeout: number;
}

/** The GPUs that channels may use. */
export interface CudaConfiguration extends CudaOptions {
  readonly use: "auto" | "none" | readonly string[];
}

/** A channel as the configuration describes it; whoever lays out the statistics block adds the cell. */
export interface ResolvedChannel extends Omit<ChannelSpec, "cell"> {
  /** `auto`, `cpu`, `cuda:0`, `cuda:GPU-...`: what the channel asks for, not where it runs. */
  readonly device: string;
}
