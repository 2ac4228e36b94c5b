/** The body of a PATCH that changes bounds of device memory: { memory: { max_bytes?, max_buffers? } }. */
import type { DeviceLimits } from "../config/channel-spec.ts";
import { formatQuantity, parseQuantity } from "../config/quantity.ts";
import { FramelaneError } from "../errors.ts";

const leastBytes = 2 ** 16;
const mostBytes = 2 ** 48;
const mostBuffers = 2 ** 24;

const refuse = (detail: string): never => {
  throw new FramelaneError("bad_request", detail);
};

function toFields(value: unknown, path: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse(`${path}: expected an object.`);
  const stranger = Object.keys(value).find((name) => !known.includes(name));
  if (stranger !== undefined)
    return refuse(`${path}: ${stranger.slice(0, 80)} is not known here, only ${known.join(" and ")}.`);
  return value as Readonly<Record<string, unknown>>;
}

/** null takes the bound away, which engines write as 0. */
function toBound(value: unknown, path: string, least: number, most: number, expected: string): number {
  if (value === null) return 0;
  const number = typeof value === "string" ? parseQuantity("size", value) : value;
  if (Number.isSafeInteger(number) && (number as number) >= least && (number as number) <= most)
    return number as number;
  return refuse(`${path}: expected ${expected}, or null for no bound.`);
}

export function parseMemoryPatch(body: unknown): DeviceLimits {
  const { memory } = toFields(body, "The body", ["memory"]);
  const { max_bytes, max_buffers } = toFields(memory, "memory", ["max_bytes", "max_buffers"]);
  if (max_bytes === undefined && max_buffers === undefined) return refuse("memory: expected max_bytes or max_buffers.");
  const [least, most] = [leastBytes, mostBytes].map((bytes) => formatQuantity("size", bytes));
  const size = `a size from ${least} to ${most}, in bytes or such as "8GiB"`;
  const count = `a whole number from 1 to ${mostBuffers}`;
  if (typeof max_buffers === "string") return refuse(`memory.max_buffers: expected ${count}, or null for no bound.`);
  return {
    ...(max_bytes === undefined
      ? {}
      : { maxBytes: toBound(max_bytes, "memory.max_bytes", leastBytes, mostBytes, size) }),
    ...(max_buffers === undefined
      ? {}
      : { maxBuffers: toBound(max_buffers, "memory.max_buffers", 1, mostBuffers, count) }),
  };
}
