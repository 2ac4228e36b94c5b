/** The one place that loads the native addons. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type {
  ChannelSpec,
  DeviceInfo,
  EngineOptions,
  LimitsOrder,
  OperationSpec,
  ParameterInfo,
} from "../engine/engine.ts";

/** An event as native code reports it; state and code are indices of the generated tables. */
export interface NativeEvent {
  readonly channel: string;
  readonly state: string;
  readonly code: string;
  readonly message: string;
  readonly time: number;
  /** Whose error it is, by its place in the specification; left out: not a sink's. */
  readonly sink?: number;
}

/** addon/node/engine_object.h. Every call throws an Error with `code` from the catalogue. */
export interface NativeEngine {
  createChannel(spec: ChannelSpec): void;
  deleteChannel(name: string): Promise<void>;
  startChannel(name: string): void;
  stopChannel(name: string): void;
  restartChannel(name: string): void;
  replacePipeline(name: string, pipeline: readonly OperationSpec[]): void;
  setParameter(name: string, parameter: string, value: number): void;
  parameters(name: string): ParameterInfo[];
  setDeviceLimits(limits: LimitsOrder): void;
  device(): DeviceInfo;
  stop(): Promise<void>;
}

/** The GPUs, or why there is none. */
export interface FoundDevices {
  readonly devices: readonly DeviceInfo[];
  readonly problem?: string;
}

export interface NativeAddon {
  readonly Engine: new (options: EngineOptions, onEvent: (event: NativeEvent) => void) => NativeEngine;
  /** Opens the driver in this process: for a process that does nothing else. */
  readonly listDevices: (cudaLibrary?: string) => FoundDevices;
  /** Versions and which optional parts this build has. */
  readonly build: {
    readonly halide: string;
    readonly compiler: string;
    readonly plugins: Readonly<Record<string, string>>;
    readonly statsLayoutHash: number;
  };
}

/** addon/notify: what Node lacks, without Halide or CUDA; safe to load in the supervisor. */
export interface SystemAddon {
  /** Sends one datagram to a Unix socket (a leading "@" is the abstract namespace). */
  sendDatagram(path: string, message: string): void;
  /** Takes an exclusive flock for the life of the process; false when another process holds it. */
  lockFile(path: string): boolean;
}

const require = createRequire(import.meta.url);

function load(name: string): unknown {
  const directory = new URL("../../build/Release/", import.meta.url);
  return require(fileURLToPath(new URL(name, directory)));
}

export const loadAddon = (): NativeAddon => load("framelane.node") as NativeAddon;
export const loadSystemAddon = (): SystemAddon => load("framelane_system.node") as SystemAddon;
