/** Renders the configuration's schema for editors (JSON Schema) and for people (Markdown). */
import { readFileSync, writeFileSync } from "node:fs";
import { expectedText, type FieldSchema } from "../src/config/fields.ts";
import { configSchema } from "../src/config/json-schema.ts";
import * as schema from "../src/config/schema.ts";
import { operationSchemas } from "../src/config/schema-operations.ts";
import { sinkSchemas } from "../src/config/schema-sinks.ts";
import { sourceSchemas } from "../src/config/schema-sources.ts";

const fenced = (yaml: string): string => `\`\`\`yaml\n${yaml.trim()}\n\`\`\`\n`;

const introduction = `# Configuration

<!-- Written by scripts/generate-config-docs from src/config. Change the schema there, not this page. -->

Framelane reads one YAML file. It says what the channels are: where each one's frames come from, what is done with them, and who takes the results.

${fenced(`
# yaml-language-server: $schema=./schema.json
server: { listen: 127.0.0.1:8600 }
defaults:
  ring: { slots: 6 }
  deadline: 33ms
channels:
  press-left:
    source: { type: pattern, width: 640, height: 480, fps: 30fps, format: rgb8 }
    pipeline:
      - local_contrast: { gain: 0.8, levels: 3 }
      - gamma: 1.8
    sinks:
      - file: { path: press-left.y4m, every: 30 }
`)}
\`config/framelane.yaml\` is a file to start from, \`config/examples/\` has one for each of several real set-ups.

- \`framelane check FILE\` says everything that is wrong with a file, each with line, column, path and what was expected, and exits with 78. Unknown names are errors: nothing is ignored in silence. Where a source's file does not exist (yet), or a sink's file or a socket cannot be made where it is to be, that is a warning.
- \`framelane schema\` prints the JSON Schema (\`config/schema.json\`). With the first line above, editors with a YAML language server complete names and mark mistakes.

A problem is one line, in the form that editors jump to:

\`\`\`
config/framelane.yaml:22:27: channels.press-left.pipeline[0].local_contrast.gian: unknown argument, did you mean "gain"?
\`\`\`

## How values are written

**Quantities** take a unit; a bare number is in the base unit.

| quantity | base unit | other units | example |
| --- | --- | --- | --- |
| duration | \`s\` | \`ns\` \`us\` \`ms\` \`min\` \`h\` | \`16ms\` |
| size | \`B\` | \`kB\` \`MB\` \`GB\` \`TB\` (1000), \`KiB\` \`MiB\` \`GiB\` \`TiB\` (1024) | \`8GiB\` |
| rate | \`fps\` | \`Hz\` \`kHz\` | \`30fps\`, \`30000/1001fps\` |

**References**: \`\${env:NAME}\` is a variable of the environment, \`\${credential:name}\` a file in systemd's credentials directory (\`LoadCredential=\`). They may stand in any value, alone or within a text. Messages, the log and the API show the reference, never what it stands for (where that has 4 characters or more); of a log-in in an address, \`rtsp://user:password@camera/\`, they show \`rtsp://***@camera/\`. \`$\${\` is a plain \`\${\`.

**Paths** that are relative start at the configuration file's directory, wherever the program was started. \`~\` is not expanded.

**Anchors and aliases** (\`&name\`, \`*name\`) work; merge keys (\`<<\`) do not, \`defaults\` is there for that.
`;

const closing = `## Limits

At most ${schema.mostChannels} channels; frames of at most 65535 by 65535 pixels that fit into \`max_memory\` and the machine's memory; one owner for every path that is written.
`;

const shown = (value: unknown): string =>
  Array.isArray(value)
    ? `\`[${value.join(", ")}]\``
    : `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;

function defaultText(field: FieldSchema, required: boolean): string {
  if (field["x-default"] !== undefined) return field["x-default"];
  return field.default === undefined ? (required ? "required" : "") : shown(field.default);
}

/** What a field takes; words that are written as they stand are set as code. */
function takes(field: FieldSchema, links: Readonly<Record<string, string>>, name: string): string {
  const link = links[name];
  if (link !== undefined) return link;
  if (field.enum !== undefined) return field.enum.map(shown).join(" ");
  if (field.type === "array" && field["x-expected"] === undefined)
    return `a list of ${expectedText(field.items ?? {})
      .replace("a whole number", "whole numbers")
      .replace("a GPU", "GPUs")}`;
  if (field.anyOf !== undefined && field["x-quantity"] === undefined && field["x-expected"] === undefined) {
    return field.anyOf.map((one) => takes(one, {}, name)).join(" or ");
  }
  return expectedText(field).replaceAll("|", "\\|");
}

function table(object: FieldSchema, links: Readonly<Record<string, string>> = {}): string {
  const rows = Object.entries(object.properties ?? {})
    .filter(([, field]) => field.const === undefined)
    .map(([name, field]) => {
      const required = object.required?.includes(name) ?? false;
      const cells = [`\`${name}\``, takes(field, links, name), defaultText(field, required), field.description ?? ""];
      return `| ${cells.join(" | ")} |`;
    });
  if (rows.length === 0) return "No fields.\n";
  return `${["| field | takes | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n")}\n`;
}

const fields = (definition: unknown): FieldSchema => definition as FieldSchema;

function section(title: string, definition: unknown, links: Readonly<Record<string, string>> = {}): string {
  const object = fields(definition);
  return `${title}\n\n${object.description}\n\n${table(object, links)}`;
}

const sourceExamples: Readonly<Record<string, string>> = {
  pattern: "source: { type: pattern, width: 1280, height: 720, fps: 30fps, format: rgb8, pattern: bars }",
  raw: "source: { type: raw, path: scan.raw, width: 4096, height: 3112, format: rgb16, pace: max }",
  y4m: "source: { type: y4m, path: film.y4m, loop: true }",
  shm: "source: { type: shm, path: /run/framelane/line-camera.sock }",
  ffmpeg: `source: { type: ffmpeg, url: "rtsp://\${credential:camera}@192.0.2.7/stream1", timeout: 5s }`,
};

const operationExamples: Readonly<Record<string, string>> = {
  black_level: '- black_level: 16       # or "6.25%"',
  white_balance: "- white_balance: { red: 1.9, blue: 1.4 }",
  color_matrix: "- color_matrix: { matrix: [1.6, -0.4, -0.2, -0.3, 1.5, -0.2, 0, -0.6, 1.6] }",
  threshold: '- threshold: "50%"',
  flip: "- flip: horizontal",
  rotate: "- rotate: 90",
  gain: "- gain: 1.2            # the same as: - gain: { value: 1.2 }",
  gamma: "- gamma: 2.2",
  unsharp: "- unsharp: { amount: 0.8, radius: 2 }",
  gaussian: "- gaussian: { radius: 1.5 }",
  median: "- median: { size: 3 }",
  local_contrast: "- local_contrast: { gain: 0.8, levels: 3 }",
  resize: "- resize: { width: 640, height: 360, method: area }",
  crop: "- crop: { x: 100, y: 50, width: 320, height: 240 }",
  convert: "- convert: { type: uint8 }",
};

const shortOperations = Object.entries(fields(schema.Channel.properties.pipeline).items?.properties ?? {})
  .filter(([, field]) => field["x-shorthand"] === true)
  .map(([name]) => name);

const sinkExamples: Readonly<Record<string, string>> = {
  none: "- none",
  memory: "- memory",
  file: '- file: { path: "left/%06d.raw", every: 100 }',
  shm: "- shm: { path: /run/framelane/left.sock }",
};

const named = (
  heading: string,
  examples: Readonly<Record<string, string>>,
  entries: readonly (readonly [string, unknown])[],
) =>
  entries.map(([name, definition]) => `${section(`${heading} ${name}`, definition)}\n${fenced(examples[name] ?? "")}`);

function markdown(): string {
  const sources = sourceSchemas.map((one) => [fields(one).properties?.["type"]?.const ?? "", one] as const);
  const links = {
    source: "a map, see [Sources](#sources)",
    ring: "a map, see [ring](#ring)",
    pipeline: "a list, see [Operations](#operations)",
    sinks: "a list, see [Sinks](#sinks)",
    schedule: "a map, see [schedule](#schedule)",
    retry: "a map, see [retry](#retry)",
    memory: "a map, see [memory](#memory)",
  };
  return [
    introduction,
    section("## server", schema.Server),
    section("## engine", schema.Engine),
    section("## log", schema.Log),
    `## devices\n\n${fields(schema.Devices).description} How to choose these values: [GPUs](gpu.md).\n`,
    section("### devices.cuda", schema.Cuda, {
      memory: "a map, see [devices.cuda.memory](#devicescudamemory)",
      pinned: "a map, see [devices.cuda.pinned](#devicescudapinned)",
    }),
    section("### devices.cuda.memory", schema.DeviceMemory),
    section("### devices.cuda.pinned", schema.Pinned),
    `## defaults\n\n${fields(schema.Defaults).description} Every field of a channel but \`source\` may stand here.\n`,
    `## channels\n\n${fields(schema.ConfigFile.properties.channels).description}\n`,
    section("### A channel", schema.Channel, links),
    section("### ring", schema.Ring),
    section("### memory", schema.ChannelMemory),
    section("### schedule", schema.Schedule),
    section("### retry", schema.Retry),
    "## Sources\n\nThe field `type` names the source and with it the other fields.\n",
    ...named("###", sourceExamples, sources),
    "## Operations\n\nA pipeline is a list; each item is a map with one key, the operation. Arithmetic works in float32 in the nominal range of the source's type (0 to 255, 0 to 65535, 0 to 1) and neither rounds nor clips; that happens once, at `convert` or at the end.\n",
    `${shortOperations.map(shown).join(", ")}, whose one argument is \`value\`, take the short form: \`- gain: 1.2\` is \`- gain: { value: 1.2 }\`. The others take their arguments by name, as in \`- unsharp: { amount: 0.8 }\`.\n`,
    ...named("###", operationExamples, Object.entries(operationSchemas)),
    "## Sinks\n\nA list; each item is a map with one key, the sink.\n",
    ...named("###", sinkExamples, Object.entries(sinkSchemas)),
    closing,
  ].join("\n");
}

const outputs: Readonly<Record<string, string>> = {
  "config/schema.json": `${JSON.stringify(configSchema(), null, 2)}\n`,
  "docs/configuration.md": markdown(),
};

for (const [path, text] of Object.entries(outputs)) {
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    process.stderr.write(`${path} does not match src/config: run scripts/generate-config-docs\n`);
    process.exitCode = 1;
  }
}
