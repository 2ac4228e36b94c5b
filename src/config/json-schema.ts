/** The JSON Schema that editors and programs get: the TypeBox definition without what only the reader uses. */
import type { FieldSchema } from "./fields.ts";
import { ConfigFile } from "./schema.ts";

/** Keywords that are the reader's own. */
const ownKeywords = /^x-/;

/** Numbers, flags and choices may come from the environment; the reader looks at what they stand for. */
const reference = { type: "string", pattern: "\\$\\{(env|credential):[^}]+\\}" };

const isLeaf = (schema: FieldSchema): boolean =>
  schema.const === undefined &&
  (schema["x-quantity"] !== undefined ||
    schema.enum !== undefined ||
    /^(integer|number|boolean)$/.test(schema.type ?? ""));

/** Maps may be left empty in YAML (`memory:`), which is null for a JSON Schema. */
const mayBeEmpty = (schema: FieldSchema): boolean =>
  schema.type === "object" && schema.minProperties === undefined && (schema.required ?? []).length === 0;

function convert(schema: FieldSchema): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (ownKeywords.test(key)) continue;
    if (key === "properties" || key === "patternProperties") {
      const fields = Object.entries(value as Record<string, FieldSchema>);
      result[key] = Object.fromEntries(fields.map(([name, field]) => [name, convert(field)]));
    } else if (key === "anyOf") {
      result[key] = (value as FieldSchema[]).map(schema["x-quantity"] === undefined ? convert : (one) => ({ ...one }));
    } else if (key === "items") {
      result[key] = convert(value as FieldSchema);
    } else {
      result[key] = value;
    }
  }
  if (schema["x-quantity"] !== undefined) {
    // The bounds apply to numbers only, and the number's own branch has them.
    delete result["minimum"];
    delete result["maximum"];
    (result["anyOf"] as unknown[]).push(reference);
    return result;
  }
  if (mayBeEmpty(schema)) result["type"] = ["object", "null"];
  return isLeaf(schema) ? orReference(result) : result;
}

function orReference(leaf: Record<string, unknown>): Record<string, unknown> {
  const { description, default: standard, ...rest } = leaf;
  return {
    anyOf: [rest, reference],
    ...(description === undefined ? {} : { description }),
    ...(standard === undefined ? {} : { default: standard }),
  };
}

export const configSchema = (): Record<string, unknown> => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Framelane configuration",
  ...convert(ConfigFile as unknown as FieldSchema),
});
