/** What the supervisor and an engine's host process say to each other: JSON over Node's IPC channel. */
import type { ErrorCode } from "../errors.ts";
import type { Engine, EngineEvent } from "./engine.ts";

/** The calls of Engine that cross the boundary. */
export const methods = [
  "start",
  "createChannel",
  "deleteChannel",
  "startChannel",
  "stopChannel",
  "restartChannel",
  "replacePipeline",
  "setParameter",
  "parameters",
  "setDeviceLimits",
  "stop",
] as const satisfies readonly (keyof Engine)[];

export type Method = (typeof methods)[number];

export interface Request {
  readonly kind: "request";
  readonly id: number;
  /** `ping` asks whether the host's event loop turns. */
  readonly method: Method | "ping";
  readonly arguments: readonly unknown[];
}

export interface Reply {
  readonly kind: "reply";
  readonly id: number;
  readonly value?: unknown;
}

export interface Failure {
  readonly kind: "failure";
  readonly id: number;
  readonly code: ErrorCode;
  readonly detail: string;
}

export interface Events {
  readonly kind: "events";
  readonly events: readonly EngineEvent[];
}

export type ToHost = Request;
export type FromHost = Reply | Failure | Events;
