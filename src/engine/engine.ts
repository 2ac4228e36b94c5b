/**
 * The engine as the supervisor sees it. Two implementations: in-process (tests, `framelane bench`)
 * and forked (`framelane run`); test/contract/engine.ts is the contract of both.
 */
import type { EventEmitter } from "node:events";
import type { ChannelSpec, CudaOptions, DeviceLimits, OperationSpec } from "../config/channel-spec.ts";
import type { ErrorCode } from "../errors.ts";

export type { ChannelSpec, DeviceLimits, OperationSpec } from "../config/channel-spec.ts";

export type ChannelState =
  | "idle"
  | "compiling"
  | "starting"
  | "running"
  | "stalled"
  | "backoff"
  | "faulted"
  | "finished"
  | "stopped";

/** A state change or an error of a channel, or (channel undefined) of the engine. */
export interface EngineEvent {
  readonly channel?: string;
  readonly state: ChannelState;
  readonly code?: ErrorCode;
  readonly message?: string;
  /** Whose error it is, by its place in the specification, where it is a sink's. */
  readonly sink?: number;
  /** CLOCK_MONOTONIC, nanoseconds (below 2^53). */
  readonly time: number;
}

/** Why the engine is gone. */
export interface EngineExit {
  readonly reason: "stopped" | "crashed" | "hung" | "start_failed" | "device_lost";
  readonly detail: string;
}

export interface DeviceInfo {
  readonly id: string;
  readonly name: string;
  readonly memoryBytes: number;
  readonly cores: number;
  /** "GPU-0a1b...", as the driver's own tools spell it. */
  readonly uuid?: string;
  readonly busId?: string;
  readonly architecture?: string;
  /** "13.0": what the driver supports. */
  readonly driver?: string;
  readonly numaNode?: number;
}

/** New bounds of the memory of the device, or of one channel on it. */
export interface LimitsOrder extends DeviceLimits {
  readonly channel?: string;
}

export interface ParameterInfo {
  /** "gain.value"; the second gain of a list is "gain#2.value". */
  readonly name: string;
  readonly value: number;
  readonly minimum: number;
  readonly maximum: number;
}

export interface EngineOptions {
  /** "cpu", "cuda:0" */
  readonly device: string;
  /** For a GPU. */
  readonly cuda?: CudaOptions & {
    readonly cacheDirectory?: string;
    /** False: no frame is run from a captured graph, so that a measurement can say what that is worth. */
    readonly replay?: boolean;
  };
  /** The process may end when the device is lost. */
  readonly ownsProcess?: boolean;
  /** The statistics block, created before the engine starts. */
  readonly statisticsPath: string;
  /** Index of the engine's block in it. */
  readonly engineCell: number;
  readonly compileThreads: number;
  /** The process that the engine's own process ends with; left out: none. */
  readonly parentPid?: number;
}

export interface EngineEvents {
  event: [EngineEvent];
  /** Once, also after stop(). */
  exit: [EngineExit];
}

/**
 * Every promise rejects with a FramelaneError; a call on an engine that is gone rejects with
 * `engine_gone`. createChannel() resolves when the engine has taken the channel over, not when it runs:
 * what becomes of it is in the events and the statistics.
 */
export interface Engine extends EventEmitter<EngineEvents> {
  readonly options: EngineOptions;
  start(): Promise<DeviceInfo>;
  createChannel(spec: ChannelSpec): Promise<void>;
  /** Stops it, waits until its threads are gone. */
  deleteChannel(name: string): Promise<void>;
  startChannel(name: string): Promise<void>;
  stopChannel(name: string): Promise<void>;
  restartChannel(name: string): Promise<void>;
  replacePipeline(name: string, pipeline: readonly OperationSpec[]): Promise<void>;
  setParameter(name: string, parameter: string, value: number): Promise<void>;
  parameters(name: string): Promise<readonly ParameterInfo[]>;
  /** Takes effect for new blocks; what is cached above a bound is given back in the background. */
  setDeviceLimits(limits: LimitsOrder): Promise<void>;
  /** Stops all channels, completes what their sinks hold. Idempotent. */
  stop(): Promise<void>;
}
