import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import Schema from "typebox/schema";
import { stringify } from "yaml";
import type { ResolvedChannel } from "../../../src/config/channel-spec.ts";
import type { FieldSchema } from "../../../src/config/fields.ts";
import { configSchema } from "../../../src/config/json-schema.ts";
import { type Configuration, formatProblem, parseConfig } from "../../../src/config/load.ts";
import { formatQuantity } from "../../../src/config/quantity.ts";
import { ConfigFile } from "../../../src/config/schema.ts";

const machine = { cores: 4, memoryBytes: 2 ** 50, environment: { NAME: "value" } };
const validator = Schema.Compile(configSchema());

/** A text is either a configuration or has problems, each with a place and in one line. */
function examine(text: string): Configuration | undefined {
  const { configuration, problems } = parseConfig(text, "f", machine);
  assert.equal(configuration === undefined, problems.length > 0);
  for (const problem of problems) {
    assert.ok(problem.line >= 1 && problem.column >= 1);
    assert.doesNotMatch(formatProblem(problem), /[\p{Cc}\p{Zl}\p{Zp}]/u);
  }
  return configuration;
}

const words = [
  ..."channels defaults source type pattern width fps ring slots pipeline gain value sinks file path threads".split(
    " ",
  ),
  ..."a: b: - [ ] { } , : ? | > # & * ! % @ ` ' \" <<: &x *x ~ null true .nan 0x1 1e9 16ms 8GiB --- ...".split(" "),
  ...[
    "\n",
    "\n  ",
    "\n    - ",
    "\t",
    " ",
    "${env:NAME}",
    "${env:",
    "$${",
    "\u0000",
    "\u2028",
    "\ufeff",
    "!!binary",
    "!!set",
  ],
];

test("no text makes the reader throw", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(fc.constantFrom(...words)).map((all) => all.join(" ")),
      ),
      (text) => {
        examine(text);
      },
    ),
    { numRuns: 1000 },
  );
});

/** Values that a field takes; what depends on other fields is kept away from its bounds. */
function anyOfField(schema: FieldSchema, name = ""): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = 0 } = schema;
  const kind = schema["x-quantity"];
  if (name === "listen") return fc.constantFrom("127.0.0.1:0", "[::1]:8600", "localhost:65535");
  if (name === "on_overload") return fc.constant("never");
  if (name === "most") return fc.constantFrom("1h", "24h");
  if (name === "slots") return fc.integer({ min: 3, max: 256 });
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
  if (schema.type === "integer") return fc.integer({ min: minimum, max: Math.min(maximum, 4096) });
  if (schema.type === "number") return fc.double({ min: minimum, max: maximum, noNaN: true });
  if (schema.type === "array")
    return fc.array(anyOfField(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 4, 4) });
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

const files = anyOfField(ConfigFile as unknown as FieldSchema);

/** Problems of fields that do not fit each other, which no single field can tell. */
const crossChecks =
  /expected a rate such as|a y4m file takes|memory|expected at most \d+, the (width|height)|drop-late needs|has the same path|expected at least retry\.first/;

/** A resolved channel in the file's words again. */
function asWritten(channel: ResolvedChannel): Record<string, unknown> {
  const { onOverload, inFlight, maxMemory, pipeline, sinks, name: _name, ...same } = channel;
  return {
    ...same,
    on_overload: onOverload,
    in_flight: inFlight,
    ...(maxMemory === undefined ? {} : { max_memory: maxMemory }),
    pipeline: pipeline.map(({ name, arguments: given }) => ({ [name]: given })),
    sinks: sinks.map(({ type, every, queue, onFull, ...own }) =>
      type === "none" || type === "memory" ? { [type]: own } : { [type]: { ...own, every, queue, on_full: onFull } },
    ),
  };
}

test("what the schema allows is read, and what was resolved resolves to itself", () => {
  let resolved = 0;
  fc.assert(
    fc.property(files, (file) => {
      assert.deepEqual(validator.Errors(file), [true, []]);
      const { configuration, problems } = parseConfig(stringify(file), "f", machine);
      for (const problem of problems) assert.match(formatProblem(problem), crossChecks);
      if (configuration === undefined) return;
      resolved += 1;
      const channels = Object.fromEntries(configuration.channels.map((one) => [one.name, asWritten(one)]));
      const again = parseConfig(stringify({ channels }, { aliasDuplicateObjects: false }), "f", machine);
      assert.deepEqual(again.problems.map(formatProblem), []);
      assert.deepEqual(again.configuration?.channels, configuration.channels);
    }),
    { numRuns: 200 },
  );
  assert.ok(resolved > 30, `${resolved} of 200 files could be resolved`);
});

/** One value somewhere in the file replaced by something else. */
function damage(value: unknown, path: readonly number[], junk: unknown): unknown {
  if (typeof value !== "object" || value === null || path.length === 0) return junk;
  const [index = 0, ...rest] = path;
  const keys = Object.keys(value);
  if (keys.length === 0) return junk;
  const key = keys[index % keys.length] ?? "";
  const changed = damage((value as Record<string, unknown>)[key], rest, junk);
  return Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed };
}

test("a damaged configuration has problems or still is one, and never throws", () => {
  fc.assert(
    fc.property(files, fc.array(fc.nat(20), { maxLength: 7 }), fc.anything(), (file, path, junk) => {
      let text: string;
      try {
        text = stringify(damage(file, path, junk)) ?? "";
      } catch {
        return; // Not everything can be written as YAML.
      }
      examine(text);
    }),
    { numRuns: 300 },
  );
});
