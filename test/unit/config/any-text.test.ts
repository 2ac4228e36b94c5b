import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import Schema from "typebox/schema";
import { stringify } from "yaml";
import type { ResolvedChannel } from "../../../src/config/channel-spec.ts";
import { configSchema } from "../../../src/config/json-schema.ts";
import { type Configuration, formatProblem, parseConfig } from "../../../src/config/load.ts";
import { anyFile } from "../../fakes/any-config.ts";

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

/** Problems of fields that do not fit each other, which no single field can tell. */
const crossChecks =
  /expected a rate such as|a y4m file takes|memory|expected at most \d+, the (width|height)|drop-late needs|has the same path|devices\.cuda\.use is |expected at most max_bytes|expected at least retry\.first/;

/** A resolved channel in the file's words again. */
function asWritten(channel: ResolvedChannel): Record<string, unknown> {
  const { onOverload, inFlight, maxMemory, memory, pipeline, sinks, name: _name, ...same } = channel;
  return {
    ...same,
    on_overload: onOverload,
    in_flight: inFlight,
    memory: { max_bytes: memory.maxBytes, max_buffers: memory.maxBuffers },
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
    fc.property(anyFile, (file) => {
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
  // Most have fields that do not fit each other; 40 to 46 were left in six runs.
  assert.ok(resolved > 10, `${resolved} of 200 files could be resolved`);
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
    fc.property(anyFile, fc.array(fc.nat(20), { maxLength: 7 }), fc.anything(), (file, path, junk) => {
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
