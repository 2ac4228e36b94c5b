/** What goes over /api/v1/live. */
import type { Build, ChannelReport, DeviceReport, EngineReport, ServiceEvent } from "../engine/report.ts";
import { type ErrorCode, FramelaneError } from "../errors.ts";

export interface Hello extends Build {
  readonly type: "hello";
  readonly schema: number;
  readonly channels: readonly string[];
}

export interface Snapshot {
  readonly type: "snapshot";
  readonly time: string;
  readonly engines: readonly EngineReport[];
  readonly devices: readonly DeviceReport[];
  readonly channels: readonly ChannelReport[];
  /** Events that this client was too slow for, since it connected. */
  readonly events_lost: number;
}

export type LiveEvent = { readonly type: "event" } & ServiceEvent;

export interface Refusal {
  readonly type: "error";
  readonly code: ErrorCode;
  readonly detail: string;
}

/** Answers a subscribe message with what is in force now. */
export interface Subscribed {
  readonly type: "subscribed";
  /** null: all. */
  readonly channels: readonly string[] | null;
  readonly rate_hz: number;
}

export interface Subscription {
  /** undefined: all channels. */
  readonly channels: ReadonlySet<string> | undefined;
  readonly rateHz: number;
}

export const leastRateHz = 0.1;
export const mostRateHz = 10;
const mostChannels = 10_000;

const refuse = (detail: string): never => {
  throw new FramelaneError("bad_request", detail);
};

function toRate(value: unknown, before: number): number {
  if (value === undefined) return before;
  if (typeof value === "number" && value >= leastRateHz && value <= mostRateHz) return value;
  return refuse(`rate_hz: expected a number from ${leastRateHz} to ${mostRateHz}.`);
}

function toChannels(value: unknown, known: (name: string) => boolean): ReadonlySet<string> | undefined {
  if (value === undefined || value === null) return undefined;
  const isNames =
    Array.isArray(value) && value.length <= mostChannels && value.every((name) => typeof name === "string");
  if (!isNames) return refuse("channels: expected a list of channel names.");
  const names = value as string[];
  const stranger = names.find((name) => !known(name));
  if (stranger !== undefined) throw new FramelaneError("not_found", `There is no channel "${stranger.slice(0, 80)}".`);
  return new Set(names);
}

/** { type: "subscribe", channels?: [...], rate_hz?: n }; throws `bad_request` or `not_found`. */
export function parseSubscribe(text: string, before: Subscription, known: (name: string) => boolean): Subscription {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return refuse("This is not JSON.");
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) return refuse("Expected an object.");
  const { type, channels, rate_hz, ...others } = message as Record<string, unknown>;
  if (type !== "subscribe") return refuse('type: expected "subscribe".');
  const stranger = Object.keys(others)[0];
  if (stranger !== undefined) return refuse(`${stranger.slice(0, 80)}: not known here.`);
  return { channels: toChannels(channels, known), rateHz: toRate(rate_hz, before.rateHz) };
}
