/** What the results of all measurements have in common: the head, and how values are described and checked. */
import { Type } from "typebox";
import Schema from "typebox/schema";
import { FramelaneError } from "../../errors.ts";

export const amount = Type.Number({ minimum: 0 });
export const count = Type.Integer({ minimum: 1 });
export const wholeAmount = Type.Integer({ minimum: 0 });
export const text = Type.String({ minLength: 1 });
export const orNull = <T extends Type.TSchema>(type: T) => Type.Union([type, Type.Null()]);
export const frameSize = Type.String({ pattern: "^\\d+x\\d+$" });
export const deviceId = Type.String({ description: '"cpu", "cuda:0"' });

export const percentiles = {
  p50_us: orNull(amount),
  p99_us: orNull(amount),
  p999_us: orNull(amount),
  max_us: orNull(amount),
};

/** What all rows were measured on. */
export const headFields = {
  machine: text,
  cpu: text,
  gpu: orNull(text),
  driver: orNull(text),
  commit: text,
  date: Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT" }),
};

export function checked<T>(schema: Type.TSchema, value: unknown, what: string): T {
  const [good, errors] = Schema.Errors(schema as never, value);
  if (!good) {
    const [first] = errors as readonly { readonly instancePath?: string; readonly message?: string }[];
    throw new FramelaneError("internal", `${what} is not as it should be: ${first?.instancePath} ${first?.message}.`);
  }
  return value as T;
}
