/** Arbitrary configuration files, out of the schema itself, for property tests. */
import fc from "fast-check";
import type { FieldSchema } from "../../src/config/fields.ts";
import { formatQuantity } from "../../src/config/quantity.ts";
import { ConfigFile } from "../../src/config/schema.ts";

/** Values that a field takes; what depends on other fields is kept away from its bounds. */
function anyOfField(schema: FieldSchema, name = ""): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = 0, multipleOf = 1, minItems = 0 } = schema;
  const kind = schema["x-quantity"];
  if (name === "listen") return fc.constantFrom("127.0.0.1:0", "[::1]:8600", "localhost:65535");
  if (name === "on_overload") return fc.constant("never");
  if (name === "most") return fc.constantFrom("1h", "24h");
  if (name === "slots") return fc.integer({ min: 6, max: 256 });
  if (name === "in_flight") return fc.integer({ min: 1, max: 4 });
  if (kind !== undefined) {
    const most = Math.min(maximum, 1e9);
    const amount = fc
      .double({ min: minimum, max: most, noNaN: true })
      .map((value) => (kind === "size" ? Math.round(value) : value));
    return fc.oneof(
      amount,
      fc.constantFrom(minimum, maximum).map((value) => formatQuantity(kind, value)),
    );
  }
  if (schema["x-path"] !== undefined) return fc.uuid().map((id) => `/tmp/${id}`);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => anyOfField(one)));
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "string" && schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern));
  if (schema.type === "integer") {
    const range = { min: Math.ceil(minimum / multipleOf), max: Math.floor(Math.min(maximum, 4096) / multipleOf) };
    return fc.integer(range).map((steps) => steps * multipleOf);
  }
  if (schema.type === "number") return fc.double({ min: minimum, max: maximum, noNaN: true });
  if (schema.type === "array")
    return fc.array(anyOfField(schema.items ?? {}), {
      minLength: minItems,
      maxLength: Math.max(minItems, Math.min(schema.maxItems ?? 4, 4)),
    });
  if (schema.patternProperties !== undefined) {
    const [channel = {}] = Object.values(schema.patternProperties);
    return fc.dictionary(fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,62}$/), anyOfField(channel), {
      minKeys: 1,
      maxKeys: 4,
    });
  }
  const fields = Object.entries(schema.properties ?? {});
  if (schema.maxProperties === 1) {
    return fc.oneof(...fields.map(([field, one]) => anyOfField(one).map((value) => ({ [field]: value }))));
  }
  const record = Object.fromEntries(fields.map(([field, one]) => [field, anyOfField(one, field)]));
  return fc.record(record, { requiredKeys: [...(schema.required ?? [])] });
}

export const anyFile = anyOfField(ConfigFile as unknown as FieldSchema);
