import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import Schema from "typebox/schema";
import { parse } from "yaml";
import { configSchema } from "../../../src/config/json-schema.ts";
import { formatProblem, parseConfig } from "../../../src/config/load.ts";
import { operationSchemas } from "../../../src/config/schema-operations.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const machine = { cores: 2, memoryBytes: 4 * 2 ** 30, environment: {} };
const validator = Schema.Compile(configSchema());
const files = [
  "config/framelane.yaml",
  ...readdirSync(`${root}config/examples`).map((name) => `config/examples/${name}`),
];

test("there are five set-ups beside the first configuration", () => assert.equal(files.length, 6));

for (const file of files) {
  const text = readFileSync(root + file, "utf8");

  test(`${file} is good, for the reader and for editors`, () => {
    assert.deepEqual(parseConfig(text, file, machine).problems.map(formatProblem), []);
    assert.deepEqual(validator.Errors(parse(text)), [true, []]);
  });

  test(`${file} names its schema for editors`, () => {
    const schema = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1] ?? "";
    assert.equal(new URL(schema, `file:///${file}`).pathname, "/config/schema.json");
  });
}

test("the first configuration has three channels at 30 fps, and a film is one edited line away", () => {
  const text = readFileSync(`${root}config/framelane.yaml`, "utf8");
  const { configuration } = parseConfig(text, "config/framelane.yaml", machine);
  assert.deepEqual(
    configuration?.channels.map(({ source }) => source["fps"]),
    [30, 30, 30],
  );
  const lines = text.split("\n");
  const commented = lines.findIndex((line) => /^ {2}#film: /.test(line));
  const edited = lines.with(commented, (lines[commented] ?? "").replace("#", "")).join("\n");
  const film = parseConfig(edited, "config/framelane.yaml", machine).configuration?.channels.at(-1);
  assert.equal(film?.source.type, "ffmpeg");
});

/** Of a list's first item. */
const isOperation = (yaml: string): boolean => Object.hasOwn(operationSchemas, /^- (\w+)/.exec(yaml)?.[1] ?? "");

test("every whole configuration in the reference is good", () => {
  const blocks = readFileSync(`${root}docs/configuration.md`, "utf8").matchAll(/```yaml\n(.*?)```/gs);
  const whole = [...blocks].map(([, yaml = ""]) => yaml);
  assert.ok(whole.length > 15);
  const environment = { ...machine, environment: { CREDENTIALS_DIRECTORY: "/nowhere" } };
  for (const yaml of whole) {
    const source = "source: { type: pattern, width: 800, height: 600, fps: 1 }";
    const text = yaml.includes("channels:")
      ? yaml
      : yaml.startsWith("source:")
        ? `channels:\n  a:\n    ${yaml}`
        : `channels:\n  a:\n    ${source}\n    ${isOperation(yaml) ? "pipeline" : "sinks"}:\n    ${yaml}`;
    const problems = parseConfig(text, "docs", environment).problems.filter(
      ({ message }) => !message.startsWith("credential camera cannot be read"),
    );
    assert.deepEqual(problems.map(formatProblem), [], text);
  }
});

test("the schema for editors and the reference are what the definition says", () => {
  execFileSync(`${root}scripts/generate-config-docs`, ["--check"], { stdio: "inherit" });
});

test("every field of the reference has a description", () => {
  const missing: string[] = [];
  const visit = (schema: Record<string, unknown>, path: string): void => {
    for (const [name, field] of Object.entries(
      (schema["properties"] ?? {}) as Record<string, Record<string, unknown>>,
    )) {
      if (field["const"] === undefined && field["description"] === undefined && field["anyOf"] === undefined) {
        missing.push(`${path}.${name}`);
      }
      visit(field, `${path}.${name}`);
    }
    for (const part of (schema["anyOf"] ?? []) as Record<string, unknown>[]) visit(part, path);
    if (typeof schema["items"] === "object") visit(schema["items"] as Record<string, unknown>, `${path}[]`);
    for (const part of Object.values((schema["patternProperties"] ?? {}) as Record<string, Record<string, unknown>>)) {
      visit(part, `${path}.*`);
    }
  };
  visit(configSchema(), "");
  assert.deepEqual(missing, []);
});
