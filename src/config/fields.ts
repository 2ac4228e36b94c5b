/**
 * What the schema is built of: TypeBox types that are plain JSON Schema for editors and carry, in `x-`
 * keywords, what the reader needs. Static types are those of the value after reading (base units).
 */
import { Type } from "typebox";
import { formatQuantity, parseQuantity, type QuantityKind, quantityPattern, quantityTraits } from "./quantity.ts";

/** The keywords of JSON Schema that this project uses, and its own. */
export interface FieldSchema {
  readonly type?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly FieldSchema[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly patternProperties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly items?: FieldSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
  readonly pattern?: string;
  readonly description?: string;
  readonly default?: unknown;
  /** A number with a unit; `minimum` and `maximum` are in base units. */
  readonly "x-quantity"?: QuantityKind;
  /** An object that is one of `anyOf`, told apart by its field of this name. */
  readonly "x-tag"?: string;
  /** A map with one key, which names what its value configures: an operation, a sink. */
  readonly "x-entry"?: string;
  /** A scalar in place of the map stands for its one argument, `value`. */
  readonly "x-shorthand"?: boolean;
  /** What the keys of this map are called in messages. */
  readonly "x-keys"?: string;
  /** What `pattern` asks for, in words. */
  readonly "x-expected"?: string;
  /**
   * A path: a relative one is relative to the configuration file. A socket's may begin with "@" instead; in one of
   * numbered files "%" begins the number.
   */
  readonly "x-path"?: "file" | "url" | "socket" | "numbered";
  /** The default in words, where it depends on something. */
  readonly "x-default"?: string;
}

type Text = {
  readonly description: string;
  readonly default?: unknown;
  readonly "x-default"?: string;
};

export const quantity = (kind: QuantityKind, minimum: number, maximum: number, text: Text) =>
  Type.Unsafe<number>({
    anyOf: [
      { type: "number", minimum, maximum },
      { type: "string", pattern: quantityPattern(kind) },
    ],
    minimum,
    maximum,
    "x-quantity": kind,
    ...text,
  });

export const duration = (minimum: number, maximum: number, text: Text) => quantity("duration", minimum, maximum, text);

export const integer = (minimum: number, maximum: number, text: Text & { default?: number }) =>
  Type.Integer({ minimum, maximum, ...text });

export const number = (minimum: number, maximum: number, text: Text & { default?: number }) =>
  Type.Number({ minimum, maximum, ...text });

/** Samples in counts of the source's type, or a share of its range: 16 or "6.25%". */
export const level = (text: Text) =>
  Type.Unsafe<number | string>({
    anyOf: [
      { type: "number", minimum: 0, maximum: 65535 },
      { type: "string", pattern: "^(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)%$", "x-expected": 'a share from "0%" to "100%"' },
    ],
    ...text,
  });

export const numbers = (count: number, minimum: number, maximum: number, text: Text) =>
  Type.Unsafe<readonly number[]>({
    type: "array",
    items: { type: "number", minimum, maximum },
    minItems: count,
    maxItems: count,
    "x-expected": `a list of ${count} numbers from ${minimum} to ${maximum}`,
    ...text,
  });

export const oneOf = <const Names extends readonly string[]>(names: Names, text: Text) =>
  Type.Unsafe<Names[number]>({ type: "string", enum: names, ...text });

export const flag = (text: Text & { default?: boolean }) => Type.Boolean(text);

export const socketPath = (text: Text) => Type.String({ minLength: 1, maxLength: 4000, "x-path": "socket", ...text });

export const filePath = (text: Text) => Type.String({ minLength: 1, maxLength: 4000, "x-path": "file", ...text });

/** A word or a whole number: `auto` or 4. */
export const wordOrInteger = <const Word extends string>(word: Word, minimum: number, maximum: number, text: Text) =>
  Type.Unsafe<Word | number>({
    anyOf: [
      { type: "string", enum: [word] },
      { type: "integer", minimum, maximum },
    ],
    ...text,
  });

const plainNumber = (value: number): string => String(value);

function rangeText(schema: FieldSchema, show: (value: number) => string): string {
  const { minimum, maximum } = schema;
  if (minimum === undefined || maximum === undefined) return "";
  return maximum === Number.MAX_SAFE_INTEGER
    ? ` of ${show(minimum)} or more`
    : ` from ${show(minimum)} to ${show(maximum)}`;
}

/** "or" between words: `a`, `b` or `c`. */
export function orList(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

const pathTexts = {
  file: "a path",
  url: "an address or a file's path",
  socket: "a socket's path",
  numbered: "a file's path",
} as const;

/** What a field takes, in words: "a whole number from 1 to 8". */
export function expectedText(schema: FieldSchema): string {
  const kind = schema["x-quantity"];
  if (kind !== undefined) {
    return `${quantityTraits(kind).noun}${rangeText(schema, (value) => formatQuantity(kind, value))}`;
  }
  if (schema["x-expected"] !== undefined) return schema["x-expected"];
  if (schema["x-tag"] !== undefined) return `a map with "${schema["x-tag"]}"`;
  if (schema["x-entry"] !== undefined) return `a map with the name of one ${schema["x-entry"]}`;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return orList(schema.enum);
  if (schema.anyOf !== undefined) return orList(schema.anyOf.map(expectedText));
  if (schema.type === "integer") return `a whole number${rangeText(schema, plainNumber)}`;
  if (schema.type === "number") return `a number${rangeText(schema, plainNumber)}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") return "a list";
  if (schema.type === "object") return "a map";
  if (schema["x-path"] === undefined) return "text";
  return pathTexts[schema["x-path"]];
}

/** A field's default as the reader would give it, in base units. */
export function defaultValue(schema: FieldSchema): unknown {
  const kind = schema["x-quantity"];
  if (kind !== undefined && typeof schema.default === "string") return parseQuantity(kind, schema.default);
  return schema.default;
}

/** `value` with the defaults of the schema's fields filled in. */
export function withDefaults(schema: FieldSchema, value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const chosen = value[name] ?? defaultValue(field) ?? field.const;
    if (chosen !== undefined) filled[name] = chosen;
  }
  return filled;
}
