/** Who may import whom, in TypeScript and in C++; ARCHITECTURE.md says why. */
import { dirname, join } from "node:path/posix";
import { lineAt } from "./sources.mjs";

const surfaces = ["http", "ws", "systemd", "telemetry"];
const below = { errors: [], config: ["errors"] };
below.engine = ["config", ...below.config, "native"];
for (const surface of surfaces) below[surface] = ["engine", ...below.engine];
below.supervisor = [...surfaces, ...below.http];
below.cli = ["supervisor", ...below.supervisor];
/** The binding describes the engine's types; at run time it stands below it. */
below.native = ["errors"];
const typesOnly = { native: ["engine"] };

const layerOf = (name) => /^src\/(?:(\w+)\/|(errors)\.ts$)/.exec(name)?.slice(1).find(Boolean);

const importPattern =
  /^\s*(?:import|export)\s+(?<type>type\s)?(?:[^"';]*?\sfrom\s+)?"(?<target>[^"]+)"|\bimport\(\s*"(?<dynamic>[^"]+)"/gm;

function importProblems({ name, text }) {
  const layer = layerOf(name);
  if (!layer) return [{ file: name, line: 1, message: "belongs to no layer of src/" }];
  if (!(layer in below))
    return [{ file: name, line: 1, message: `src/${layer} is no known layer: scripts/check/layers.mjs` }];
  const problems = [];
  for (const match of text.matchAll(importPattern)) {
    const target = match.groups.target ?? match.groups.dynamic;
    if (!target.startsWith(".")) continue;
    const other = layerOf(join(dirname(name), target));
    const allowed = [layer, ...below[layer], ...(match.groups.type ? (typesOnly[layer] ?? []) : [])];
    if (!allowed.includes(other)) {
      const line = lineAt(text, match.index + match[0].search(/\S/));
      problems.push({ file: name, line, message: `${layer} must not import ${other ?? target}` });
    }
  }
  return problems;
}

/** Only the binding loads native code, and only the engine's process takes the addon with Halide in it. */
function loadingProblems({ name, text }) {
  const problems = [];
  const find = (pattern, allowed, message) => {
    if (allowed.test(name)) return;
    for (const match of text.matchAll(pattern)) problems.push({ file: name, line: lineAt(text, match.index), message });
  };
  const binding = /^src\/native\/binding\.ts$/;
  find(/\bcreateRequire\b|\bprocess\.dlopen\b/g, binding, "only src/native/binding.ts loads native code");
  find(/\bloadAddon\b/g, /^src\/(native|engine)\//, "only the engine takes the addon");
  return problems;
}

/**
 * @param {{ name: string, text: string }[]} sources
 * @returns {{ file: string, line: number, message: string }[]}
 */
export function typeScriptLayers(sources) {
  const own = sources.filter(({ name }) => name.startsWith("src/") && name.endsWith(".ts"));
  return own.flatMap((source) => [...importProblems(source), ...loadingProblems(source)]);
}

const sees = {
  core: ["core"],
  cuda: ["cuda", "core"],
  halide: ["halide", "cuda", "core"],
  io: ["io", "core"],
  node: ["node", "halide", "cuda", "io", "core"],
  notify: ["notify"],
};
/** Headers of libraries, by the only layers that may see them. */
const libraries = [
  { pattern: /^Halide\w*\.h$/, layers: ["halide"] },
  { pattern: /^(napi|node_api|node|uv|v8)\.h$/, layers: ["node", "notify"] },
  { pattern: /^lib(av|sw)\w+\//, layers: ["io"] },
];

function includeProblem(layer, header) {
  const library = libraries.find(({ pattern }) => pattern.test(header));
  if (library && !library.layers.includes(layer)) return `${layer} must not see ${header}`;
  const folder = header.split("/")[0];
  if (folder in sees && !sees[layer].includes(folder)) return `${layer} must not include ${header}`;
  return undefined;
}

/**
 * @param {{ name: string, text: string }[]} sources
 * @returns {{ file: string, line: number, message: string }[]}
 */
export function nativeLayers(sources) {
  const problems = [];
  for (const { name, text } of sources) {
    const layer = /^addon\/(\w+)\//.exec(name)?.[1];
    if (!layer) continue;
    if (!(layer in sees)) problems.push({ file: name, line: 1, message: `addon/${layer} is no known layer` });
    else {
      for (const match of text.matchAll(/^\s*#\s*include\s*["<]([^">]+)[">]/gm)) {
        const message = includeProblem(layer, match[1]);
        if (message) problems.push({ file: name, line: lineAt(text, match.index + match[0].search(/\S/)), message });
      }
    }
  }
  return problems;
}
