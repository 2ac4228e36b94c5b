/**
 * Reads YAML nodes as a schema describes them: values in base units, every problem with its place. It
 * follows the schema, never the file, so what a hostile file nests or repeats costs nothing.
 */

import type { Scalar, YAMLMap, YAMLSeq } from "yaml";
import { isAlias, isMap, isScalar, isSeq, type Node } from "yaml";
import { expectedText, type FieldSchema, orList } from "./fields.ts";
import { homePathProblem } from "./home-path.ts";
import { nearestName } from "./nearest.ts";
import type { ConfigProblem } from "./problem.ts";
import { parseQuantity, quantityTraits } from "./quantity.ts";
import { makeRedact, type Secret } from "./secrets.ts";
import { type Environment, hasReference, substitute } from "./substitute.ts";
import type { YamlText } from "./yaml-text.ts";

/** What reading a node gives where it is wrong; the problem is noted already. */
export const invalid = Symbol("invalid");
export type Read = unknown;
/** Stands for an operation or a sink that is wrong, so that those after it keep their places. */
export const unreadEntry = { name: "", fields: {} };

/** Aliases that are followed before the file is taken for a bomb. */
const mostAliases = 100_000;

interface Place {
  readonly path: string;
  readonly offset: number;
}

const startOf = (node: Node | null | undefined): number | undefined => node?.range?.[0];

/** A key as part of a path; quoted where it would not read as one. */
const pathKey = (key: string): string => (/^[\w.<-]{1,70}$/.test(key) ? key : JSON.stringify(key.slice(0, 70)));
export const joinPath = (path: string, key: string): string => (path === "" ? pathKey(key) : `${path}.${pathKey(key)}`);

function shorten(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}

function describe(node: Node | null): string {
  if (node === null || (isScalar(node) && node.value === null)) return "nothing";
  if (isMap(node)) return node.items.length === 0 ? "an empty map" : "a map";
  if (isSeq(node)) return node.items.length === 0 ? "an empty list" : "a list";
  if (!isScalar(node)) return "something else";
  return typeof node.value === "string" ? shorten(node.value) : shorten(node.source ?? String(node.value)).slice(1, -1);
}

/** The units, where a text stands for a quantity and is none. */
function unitsHelp(schema: FieldSchema, text: string): string {
  const kind = schema["x-quantity"];
  if (kind === undefined || text === "" || parseQuantity(kind, text) !== undefined) return "";
  return `; the units are ${Object.keys(quantityTraits(kind).units).join(", ")}`;
}

/** Scalars as YAML would read them, for references where a number or a flag is expected. */
function plainScalar(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  return /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : text;
}

export class Reader {
  readonly problems: ConfigProblem[] = [];
  /** What the references in texts stand for. */
  readonly secrets: Secret[] = [];
  /** The rest was not read; the last problem says why. */
  gaveUp = false;
  /** Paths of values whose key is no name; what is in them was read like any other. */
  readonly misnamed = new Set<string>();
  readonly #text: YamlText;
  readonly #environment: Environment;
  /** Where each path's value, or else its key, begins. */
  readonly #offsets = new Map<string, number>();
  #aliases = 0;

  constructor(text: YamlText, environment: Environment) {
    this.#text = text;
    this.#environment = environment;
  }

  /** Notes a problem at a path that was read, or at the nearest one around it. */
  problemAt(path: string, message: string): void {
    this.problems.push(this.describeAt(path, message));
  }

  /** A remark about a path as a problem is, but not among the problems. */
  describeAt(path: string, message: string): ConfigProblem {
    let known = path;
    while (known !== "" && !this.#offsets.has(known)) known = known.slice(0, Math.max(0, known.search(/[.[][^.[]*$/)));
    return this.#describe({ path, offset: this.#offsets.get(known) ?? 0 }, message);
  }

  read(node: Node | null, schema: FieldSchema, path: string, near = 0): Read {
    const target = this.#resolve(node, { path, offset: near });
    if (target === invalid) return invalid;
    const place = { path, offset: startOf(target) ?? near };
    this.#offsets.set(path, place.offset);
    if (schema["x-tag"] !== undefined) return this.#readTagged(target, schema, schema["x-tag"], place);
    if (schema["x-entry"] !== undefined) return this.#readEntry(target, schema, schema["x-entry"], place);
    if (schema.type === "object") return this.#readMap(target, schema, place);
    if (schema.type === "array") return this.#readList(target, schema, place);
    const list = isSeq(target) ? schema.anyOf?.find(({ type }) => type === "array") : undefined;
    if (list !== undefined) return this.#readList(target, list, place);
    return this.#readScalar(target, schema, place);
  }

  #describe(place: Place, message: string): ConfigProblem {
    const { line, col } = this.#text.lines.linePos(place.offset);
    return {
      file: this.#text.file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      path: place.path,
      message: makeRedact(this.secrets)(message),
    };
  }

  #problem(place: Place, message: string, suggestion?: string): typeof invalid {
    const problem = this.#describe(place, message);
    this.problems.push(suggestion === undefined ? problem : { ...problem, suggestion });
    return invalid;
  }

  #mismatch(node: Node | null, schema: FieldSchema, place: Place): typeof invalid {
    const text = isScalar(node) && typeof node.value === "string" ? node.value : "";
    return this.#problem(place, `expected ${expectedText(schema)}, found ${describe(node)}${unitsHelp(schema, text)}`);
  }

  #unknown(place: Place, noun: string, name: string, names: readonly string[]): typeof invalid {
    if (name === "<<")
      return this.#problem(place, "merge keys are not supported; use the defaults section or an alias");
    const suggestion = nearestName(name, names);
    const help =
      suggestion !== undefined
        ? `did you mean "${suggestion}"?`
        : names.length === 0
          ? "there is none"
          : `expected ${orList(names)}`;
    return this.#problem(place, `unknown ${noun}, ${help}`, suggestion);
  }

  #resolve(node: Node | null, place: Place): Node | null | typeof invalid {
    if (!isAlias(node)) return node;
    if (this.gaveUp) return invalid;
    if (++this.#aliases > mostAliases) {
      this.gaveUp = true;
      return this.#problem(place, `the file uses aliases more than ${mostAliases} times`);
    }
    const target = this.#text.targets.get(node);
    if (target !== undefined) return target;
    const offset = startOf(node) ?? place.offset;
    return this.#problem({ ...place, offset }, `there is no anchor "&${node.source}" before this alias`);
  }

  /** The pairs of a map with names as keys; duplicates and other keys are problems. */
  #pairs(map: YAMLMap, place: Place): { name: string; value: Node | null; offset: number }[] {
    const seen = new Map<string, number>();
    const pairs: { name: string; value: Node | null; offset: number }[] = [];
    for (const { key, value } of map.items as { key: Node | null; value: Node | null }[]) {
      const offset = startOf(key) ?? startOf(value) ?? place.offset;
      const scalar = this.#resolve(key, { path: place.path, offset });
      if (scalar === invalid) continue;
      if (!isScalar(scalar) || scalar.value === null) {
        this.#problem({ path: place.path, offset }, `expected a name before ":", found ${describe(scalar)}`);
        continue;
      }
      const name = typeof scalar.value === "string" ? scalar.value : (scalar.source ?? String(scalar.value));
      const first = seen.get(name);
      if (first !== undefined) {
        const { line } = this.#text.lines.linePos(first);
        this.#problem({ path: joinPath(place.path, name), offset }, `duplicate name, the first is in line ${line}`);
        continue;
      }
      seen.set(name, offset);
      pairs.push({ name, value, offset });
    }
    return pairs;
  }

  #readMap(node: Node | null, schema: FieldSchema, place: Place): Read {
    // `ring:` with nothing below it is an empty map.
    const empty = node === null || (isScalar(node) && node.value === null);
    if (!empty && !isMap(node)) return this.#mismatch(node, schema, place);
    const size = empty ? 0 : (node as YAMLMap).items.length;
    if (size < (schema.minProperties ?? 0)) return this.#mismatch(node, schema, place);
    if (size > (schema.maxProperties ?? Infinity)) {
      return this.#problem(place, `expected at most ${schema.maxProperties} ${schema["x-keys"]}s, found ${size}`);
    }
    const pairs = empty ? [] : this.#pairs(node as YAMLMap, place);
    const known = schema.properties ?? {};
    const patterns = Object.entries(schema.patternProperties ?? {});
    const result: [string, unknown][] = [];
    const meant: string[] = [];
    for (const { name, value, offset } of pairs) {
      const path = joinPath(place.path, name);
      this.#offsets.set(path, offset);
      let field = Object.hasOwn(known, name) ? known[name] : undefined;
      if (field === undefined && patterns[0] !== undefined) {
        const [pattern, named] = patterns[0];
        field = named;
        if (!new RegExp(pattern).test(name)) this.#badName({ path, offset }, schema);
      }
      if (field === undefined) {
        this.#unknown({ path, offset }, schema["x-keys"] ?? "field", name, Object.keys(known));
        meant.push(this.problems.at(-1)?.suggestion ?? "");
        continue;
      }
      const read = this.read(value, field, path, offset);
      if (read !== invalid) result.push([name, read]);
    }
    // A misspelt name is not reported as missing once more.
    const given = new Set([...pairs.map(({ name }) => name), ...meant]);
    for (const name of schema.required ?? []) {
      if (given.has(name)) continue;
      const wanted = expectedText(known[name] ?? {});
      this.#problem({ path: joinPath(place.path, name), offset: place.offset }, `missing, expected ${wanted}`);
    }
    return Object.fromEntries(result);
  }

  #badName(place: Place, schema: FieldSchema): void {
    this.misnamed.add(place.path);
    this.#problem(
      place,
      `not a ${schema["x-keys"]}'s name, expected lower-case letters, digits, "_", "." or "-", at most 63, the first a letter or digit`,
    );
  }

  #readList(node: Node | null, schema: FieldSchema, place: Place): Read {
    if (!isSeq(node)) return this.#mismatch(node, schema, place);
    const items = (node as YAMLSeq).items as (Node | null)[];
    const { minItems = 0, maxItems = Infinity } = schema;
    if (items.length < minItems || items.length > maxItems) {
      const wanted = minItems === 0 ? `at most ${maxItems} items` : expectedText(schema);
      return this.#problem(place, `expected ${wanted}, found ${items.length}`);
    }
    const read = items.map((item, index) =>
      this.read(item, schema.items ?? {}, `${place.path}[${index}]`, place.offset),
    );
    if (schema.items?.["x-entry"] === undefined) return read.filter((item) => item !== invalid);
    return read.map((item) => (item === invalid ? unreadEntry : item));
  }

  /** The tag alone decides which fields are meant, so that problems speak of that variant only. */
  #readTagged(node: Node | null, schema: FieldSchema, tag: string, place: Place): Read {
    if (!isMap(node)) return this.#mismatch(node, schema, place);
    const variants = new Map((schema.anyOf ?? []).map((variant) => [variant.properties?.[tag]?.const ?? "", variant]));
    const names = [...variants.keys()];
    const pair = (node.items as { key: Node | null; value: Node | null }[]).find(
      ({ key }) => isScalar(key) && key.value === tag,
    );
    const path = joinPath(place.path, tag);
    if (pair === undefined) return this.#problem({ ...place, path }, `missing, expected ${orList(names)}`);
    const value = this.read(pair.value, { type: "string" }, path, startOf(pair.key) ?? place.offset);
    if (value === invalid) return invalid;
    const variant = variants.get(String(value));
    if (variant !== undefined) return this.#readMap(node, variant, place);
    return this.#unknown(
      { path, offset: this.#offsets.get(path) ?? place.offset },
      `${tag} ${shorten(String(value))}`,
      String(value),
      names,
    );
  }

  /** `- gain: { value: 2 }`, `- gain: 2`, `- memory`: gives { name, fields }. */
  #readEntry(node: Node | null, schema: FieldSchema, noun: string, place: Place): Read {
    const map = schema.type === "object" ? schema : (schema.anyOf?.find((one) => one.type === "object") ?? {});
    const known = map.properties ?? {};
    const names = Object.keys(known);
    if (isScalar(node) && typeof node.value === "string") return this.#readBareEntry(node, known, noun, place);
    if (!isMap(node)) return this.#mismatch(node, schema, place);
    const pairs = this.#pairs(node, place);
    const [pair, second] = pairs;
    if (pair === undefined) return this.#mismatch(node, schema, place);
    if (second !== undefined) {
      const path = joinPath(place.path, second.name);
      return this.#problem(
        { path, offset: second.offset },
        `expected one ${noun} per list item; begin another item with "- "`,
      );
    }
    const path = joinPath(place.path, pair.name);
    const field = Object.hasOwn(known, pair.name) ? known[pair.name] : undefined;
    if (field === undefined) return this.#unknown({ path, offset: pair.offset }, noun, pair.name, names);
    this.#offsets.set(path, pair.offset);
    const fields = this.#readArguments(pair.value, field, path, pair.offset);
    return fields === invalid ? invalid : { name: pair.name, fields };
  }

  #readBareEntry(node: Scalar, known: Readonly<Record<string, FieldSchema>>, noun: string, place: Place): Read {
    const name = String(node.value);
    if (!Object.hasOwn(known, name)) return this.#unknown(place, `${noun} ${shorten(name)}`, name, Object.keys(known));
    const schema = known[name];
    const map = schema?.["x-shorthand"] === true ? schema.anyOf?.[0] : schema;
    const required = map?.required ?? [];
    if (required.length === 0) return { name, fields: {} };
    return this.#problem(
      place,
      `${name} needs ${orList(required)}; write \`- ${name}: { ${required.join(": ..., ")}: ... }\``,
    );
  }

  #readArguments(node: Node | null, schema: FieldSchema, path: string, near: number): Read {
    const [map, value] = schema["x-shorthand"] === true ? (schema.anyOf ?? []) : [schema];
    const target = this.#resolve(node, { path, offset: near });
    if (target === invalid) return invalid;
    if (value !== undefined && isScalar(target) && target.value !== null) {
      const read = this.read(target, value, path, near);
      return read === invalid ? invalid : { value: read };
    }
    const help = value === undefined ? this.#argumentsHelp(target, map ?? {}, path) : "";
    if (help === "") return this.read(target, map ?? {}, path, near);
    const offset = startOf(target) ?? near;
    return this.#problem({ path, offset }, `expected a map, found ${describe(target)}; ${help}`);
  }

  /** What to write in place of `- unsharp: 0.8`; empty where it is a map. */
  #argumentsHelp(node: Node | null, map: FieldSchema, path: string): string {
    if (node === null || isMap(node) || (isScalar(node) && node.value === null)) return "";
    const name = path.slice(path.lastIndexOf(".") + 1);
    const [first, ...more] = map.required ?? [];
    if (first === undefined) return `write \`- ${name}\``;
    const field = map.properties?.[first] ?? {};
    const meant = more.length === 0 && isScalar(node) && this.#scalarAs(node.value, field) !== invalid;
    const values = [first, ...more].map((argument) => `${argument}: ${meant ? describe(node) : "..."}`);
    return `write \`- ${name}: { ${values.join(", ")} }\``;
  }

  #readScalar(node: Node | null, schema: FieldSchema, place: Place): Read {
    if (!isScalar(node) || node.value === null) return this.#mismatch(node, schema, place);
    if (typeof node.value === "string" && hasReference(node.value)) {
      return this.#readReference(node.value, schema, place);
    }
    const read = this.#scalarAs(node.value, schema);
    return read === invalid ? this.#mismatch(node, schema, place) : this.#withoutHome(read, schema, place);
  }

  /** What the reference stands for may be a secret: it is in no message. */
  #readReference(text: string, schema: FieldSchema, place: Place): Read {
    const found: Secret[] = [];
    const result = substitute(text, this.#environment, found);
    if ("problem" in result) return this.#problem(place, result.problem);
    const wantsText = schema.type === "string" && schema.enum === undefined;
    if (wantsText) this.secrets.push(...found);
    const read = this.#scalarAs(wantsText ? result.text : plainScalar(result.text), schema);
    if (read !== invalid) return this.#withoutHome(read, schema, place);
    return this.#problem(place, `expected ${expectedText(schema)}, found another value behind ${shorten(text)}`);
  }

  #withoutHome(read: Read, schema: FieldSchema, place: Place): Read {
    const problem = homePathProblem(String(read), schema, this.#environment);
    return problem === undefined ? read : this.#problem(place, problem);
  }

  #scalarAs(value: unknown, schema: FieldSchema): Read {
    const { minimum = -Infinity, maximum = Infinity, multipleOf = 1 } = schema;
    const kind = schema["x-quantity"];
    if (kind !== undefined) {
      const amount = typeof value === "string" ? parseQuantity(kind, value) : value;
      if (typeof amount !== "number" || !(amount >= minimum && amount <= maximum)) return invalid;
      return kind === "size" ? Math.round(amount) : amount;
    }
    if (schema.anyOf !== undefined) {
      for (const one of schema.anyOf) {
        const read = this.#scalarAs(value, one);
        if (read !== invalid) return read;
      }
      return invalid;
    }
    if (schema.type === "boolean") return typeof value === "boolean" ? value : invalid;
    if (schema.type === "integer" || schema.type === "number") {
      const fits = typeof value === "number" && value >= minimum && value <= maximum;
      return fits && (schema.type === "number" || Number.isSafeInteger(value / multipleOf)) ? value : invalid;
    }
    if (typeof value !== "string" || schema.type === "array") return invalid;
    if (value.length < (schema.minLength ?? 0) || value.length > (schema.maxLength ?? Infinity)) return invalid;
    // The system would take the part before it for the whole.
    if (schema["x-path"] !== undefined && value.includes("\0")) return invalid;
    if (schema.enum !== undefined && !schema.enum.includes(value)) return invalid;
    if (schema.const !== undefined && schema.const !== value) return invalid;
    if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) return invalid;
    return value;
  }
}
