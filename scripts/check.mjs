/**
 * All that can be said about the project without running it: npm run check [-- NAME...]
 * --root DIR checks another folder; the tests of the checks use it.
 */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nativeLayers, typeScriptLayers } from "./check/layers.mjs";
import { lengths } from "./check/lengths.mjs";
import { links } from "./check/links.mjs";
import { listFiles, readSources } from "./check/sources.mjs";
import { threadSafety } from "./check/thread-safety.mjs";
import { words } from "./check/words.mjs";
import { runQuietly, which } from "./install/process.mjs";

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const native = [".h", ".cpp", ".def"];
const scripts = [".ts", ".mjs"];
const texts = [...native, ...scripts, ".py", ".cmake", "CMakeLists.txt", ".md", ".yaml", ".yml", ".json", ".service"];

/** Problems of the form file:line: message; none is success. */
const listProblems = (problems) => problems.map(({ file, line, message }) => `${file}:${line}: ${message}`).join("\n");

/** Runs a program of node_modules. */
async function npmProgram(root, file, args) {
  const result = await runQuietly(process.execPath, [join(project, "node_modules", file), ...args], { cwd: root });
  return result.ok ? "" : result.output || `${file} failed`;
}

async function clangFormat(root) {
  const program = ["clang-format-19", "clang-format"].find((name) => which(name));
  if (!program) return "clang-format is not installed: scripts/setup-dev";
  const files = listFiles(root, [".h", ".cpp"]);
  if (files.length === 0) return "";
  const result = await runQuietly(program, ["--dry-run", "-Werror", ...files], { cwd: root });
  const places = result.output.match(/^\S+:\d+(?=:\d+: error)/gm) ?? [result.output];
  return result.ok ? "" : `${[...new Set(places)].join("\n")}\nclang-format -i of these files corrects them`;
}

/** Generated files are what their generators write. */
async function generated(root) {
  const folder = join(root, "scripts");
  const generators = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("generate-")) : [];
  if (generators.length === 0) return "there is no scripts/generate-*";
  let problems = "";
  for (const name of generators) {
    const command = /\.m?[jt]s$/.test(name) ? [process.execPath, "--import", "tsx"] : [];
    const [program, ...args] = [...command, join(folder, name), "--check"];
    const result = await runQuietly(program, args, { cwd: root });
    if (!result.ok) problems += result.output || `scripts/${name} --check failed\n`;
  }
  return problems;
}

const checks = {
  biome: (root) =>
    npmProgram(root, "@biomejs/biome/bin/biome", [
      "check",
      "--error-on-warnings",
      "--diagnostic-level=warn",
      "--max-diagnostics=200",
      ".",
    ]),
  types: async (root) =>
    (await npmProgram(root, "typescript/bin/tsc", ["-p", "tsconfig.json", "--noEmit"])) ||
    npmProgram(root, "typescript/bin/tsc", ["-p", "tsconfig.test.json"]),
  "clang-format": clangFormat,
  layers: (root) => {
    const sources = readSources(root, [...scripts, ...native]);
    return listProblems([...typeScriptLayers(sources), ...nativeLayers(sources)]);
  },
  lengths: (root) => listProblems(lengths(readSources(root, [...scripts, ...native, ".py"]))),
  "thread-safety": (root) => listProblems(threadSafety(readSources(root, [".h"]))),
  words: (root) => listProblems(words(readSources(root, texts))),
  links: (root) => {
    const pages = readSources(root, [".md"]).filter(({ name }) => /^(README|ARCHITECTURE|docs\/[^/]+)\.md$/.test(name));
    return listProblems(links(pages, listFiles(root, [""])));
  },
  "dead-exports": (root) => npmProgram(root, "knip/bin/knip.js", ["--no-progress"]),
  generated,
};

const { values, positionals } = parseArgs({ options: { root: { type: "string" } }, allowPositionals: true });
const root = resolve(values.root ?? project);
const chosen = positionals.length > 0 ? positionals : Object.keys(checks);
let failed = 0;
for (const name of chosen) {
  const start = performance.now();
  const problems = name in checks ? await checks[name](root) : `there is no check '${name}'`;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (problems) failed += 1;
  process.stdout.write(`${problems ? "failed" : "ok    "} ${name} (${seconds} s)\n`);
  if (problems) process.stdout.write(`${problems.trimEnd()}\n`);
}
process.stdout.write(`check: ${chosen.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
