/** What `framelane bench channels` runs, and in which modes. */
import { type PixelFormatName, pixelFormats } from "../../config/pixel-format.ts";
import type { ChannelSpec, OperationSpec } from "../../engine/engine.ts";

export interface Workload {
  readonly size: { readonly width: number; readonly height: number };
  /** Of the frames and of the results. */
  readonly format: PixelFormatName;
  readonly pipeline: readonly OperationSpec[];
}

export const workloads = {
  /** The reference workload: local contrast in 14 stages, each stored whole. */
  r14: {
    size: { width: 2904, height: 1111 },
    format: "mono8",
    pipeline: [{ name: "local_contrast", arguments: { gain: 1.2, levels: 3, schedule: "stages" } }],
  },
  /** The same picture by the schedule that the service uses. */
  "r14-fused": {
    size: { width: 2904, height: 1111 },
    format: "mono8",
    pipeline: [{ name: "local_contrast", arguments: { gain: 1.2, levels: 3 } }],
  },
  gain: {
    size: { width: 640, height: 480 },
    format: "mono8",
    pipeline: [{ name: "gain", arguments: { value: 1.1 } }],
  },
  /** Few, large: what a batch job moves. */
  images: {
    size: { width: 4096, height: 3112 },
    format: "rgb32f",
    pipeline: [{ name: "gain", arguments: { value: 1.1 } }],
  },
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof workloads;

/** So many go up with each frame, and come back. */
export function frameBytes(workload: WorkloadName, { width, height }: Workload["size"]): number {
  const { samples, bytesPerSample } = pixelFormats[workloads[workload].format];
  return width * height * samples * bytesPerSample;
}

/** Stock Halide on a GPU: on the default stream; with a stream for each channel; so, and device memory is kept. */
export const stockModes = ["stock", "stock-streams", "stock-reuse"] as const;
export type StockModeName = (typeof stockModes)[number];

/** On the CPU, or on a GPU: kernel by kernel, or by graphs that are replayed. */
const ownModes = ["cpu", "framelane-direct", "framelane-replay"] as const;
export type OwnModeName = (typeof ownModes)[number];

export const modes = [...stockModes, ...ownModes] as const;
export type ModeName = (typeof modes)[number];
export const isStock = (mode: ModeName): mode is StockModeName => (stockModes as readonly string[]).includes(mode);

/** Kernels of PyTorch, its own or compiled, as a CUDA graph: a thread for each channel, or one (`loop`) for all. */
export const torchModes = [
  "torch-graph",
  "torch-graph-loop",
  "torch-compile-graph",
  "torch-compile-graph-loop",
] as const;
export type TorchModeName = (typeof torchModes)[number];
export const isTorch = (mode: string): mode is TorchModeName => (torchModes as readonly string[]).includes(mode);

export const waits = ["blocking", "spin"] as const;

export const staggers = ["auto", "off"] as const;

export interface ChannelLoad {
  readonly size: { readonly width: number; readonly height: number };
  /** Undefined: as fast as slots come free. */
  readonly fps: number | undefined;
  readonly inFlight: number;
  readonly threads: number;
  readonly wait: ChannelSpec["wait"];
  readonly stagger: ChannelSpec["stagger"];
}

/** In-flight frames and two more: one that the source fills, one that it may overwrite. */
const slotsFor = (inFlight: number): number => Math.max(6, inFlight + 2);

export function channelOf(workload: WorkloadName, load: ChannelLoad, cell: number): ChannelSpec {
  const { width, height } = load.size;
  const { format, pipeline } = workloads[workload];
  const pace = load.fps === undefined ? "max" : "realtime";
  return {
    name: `${workload}-${cell}`,
    cell,
    source: { type: "pattern", width, height, format, pattern: "noise", fps: load.fps ?? 30, pace },
    ring: { slots: slotsFor(load.inFlight) },
    pipeline,
    sinks: [{ type: "memory", every: 1, queue: 4, onFull: "drop-newest" }],
    onOverload: "never",
    wait: load.wait,
    stagger: load.stagger,
    inFlight: load.inFlight,
    threads: load.threads,
    memory: {},
    pinned: "preferred",
    stall: 5,
    schedule: { cpus: [], fifo: 0, nice: 0 },
    retry: { first: 0.2, most: 10 },
    start: true,
  };
}

/** Where `framelane bench cache` has device memory from: the service's cache; the driver's stream-ordered pool, which keeps all it has got; the driver itself. */
export const memoryModes = ["framelane", "driver-pool", "driver"] as const;
export type MemoryModeName = (typeof memoryModes)[number];

/** What it asks for: R14's blocks; those of several pipelines and heights of frame, two frames in work at a time. */
export const traces = ["r14", "mixed"] as const;
export type TraceName = (typeof traces)[number];
