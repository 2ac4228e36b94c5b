/**
 * Takes Framelane's figures on this machine, in less than five minutes:
 *   npm run bench [-- [overhead|load|shm|device-cache|channels]... [--seconds S] [--results DIR]]
 * Each measurement writes DIR/NAME.json; in bench/results, where they go otherwise, also the tables of
 * docs/benchmarks.md, which says what the numbers mean. --seconds: the length of one turn (overhead) or of one row.
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { measureLoad } from "../bench/load/load.mjs";
import { buildNative } from "./build-native.mjs";
import { InstallError } from "./install/process.mjs";
import { findCompiler } from "./install/toolchain.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, "dist/cli/main.js");
const committedResults = join(root, "bench/results");
const resultsHeading = "## Results";
const runProgram = promisify(execFile);

/** What a result was measured on. */
function head() {
  const say = (command, ...args) => execFileSync(command, args, { cwd: root, encoding: "utf8" }).trim();
  const changed = say("git", "status", "--porcelain", "--", "addon", "src", "bench") !== "";
  return {
    machine: { cpu: cpus()[0]?.model.trim(), cores: availableParallelism(), kernel: release() },
    node: process.version,
    compiler: say(findCompiler(), "--version").split("\n")[0],
    commit: `${say("git", "rev-parse", "--short=12", "HEAD")}${changed ? "+" : ""}`,
    date: new Date().toISOString(),
  };
}

/** One JSON object on each line. */
async function nativeRows(binary, args) {
  const folder = await buildNative({ bench: true });
  const { stdout } = await runProgram(join(folder, `bench_${binary}`), args);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

async function channelRows(...args) {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-"));
  try {
    const file = join(directory, "rows.json");
    await runProgram(process.execPath, [program, "bench", "channels", ...args.map(String), "--json", file]);
    return JSON.parse(readFileSync(file, "utf8")).rows;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function channels(seconds = 4) {
  const rows = [];
  for (const workload of ["gain", "r14", "r14-fused"]) {
    rows.push(...(await channelRows("--workload", workload, "--channels", 1, 2, 4, "--seconds", seconds)));
  }
  rows.push(...(await channelRows("--workload", "gain", "--channels", 16, "--fps", 30, "--seconds", seconds)));
  return rows;
}

/** The cache alone, on a driver that does nothing. */
async function deviceCache(seconds = 0.2) {
  const words = ["--library", "idle", "--modes", "framelane", "--seconds", String(seconds)];
  const [, ...rows] = await nativeRows("device_cache", words);
  return rows;
}

const measurements = {
  overhead: (seconds = 0.4) => nativeRows("channel_overhead", ["--seconds", String(seconds)]),
  load: (seconds = 30) => measureLoad({ entry: [program], seconds, channels: 64, width: 320, height: 240, fps: 30 }),
  shm: (seconds = 15) => nativeRows("shm_latency", ["--seconds", String(seconds)]),
  "device-cache": deviceCache,
  channels,
};

/** { a: { b: 1 } } becomes { "a.b": 1 }; what a row has nothing of is left out. */
function flat(row) {
  const entries = Object.entries(row).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.flatMap(([name, value]) =>
      typeof value === "object"
        ? Object.entries(flat(value)).map(([inner, one]) => [`${name}.${inner}`, one])
        : [[name, value]],
    ),
  );
}

/** What is the same in every row is said once above the table. */
function tableOf(nested) {
  const rows = nested.map(flat);
  const names = [...new Set(rows.flatMap(Object.keys))];
  const columns = names.filter((name) => rows.length === 1 || rows.some((row) => row[name] !== rows[0][name]));
  const shared = names.filter((name) => !columns.includes(name)).map((name) => `${name} ${rows[0][name] ?? "-"}`);
  const cells = [columns, ...rows.map((row) => columns.map((name) => String(row[name] ?? "-")))];
  return { shared: shared.join(", "), cells };
}

function print(name, rows) {
  const { shared, cells } = tableOf(rows);
  const widths = cells[0].map((_, index) => Math.max(...cells.map((row) => row[index].length)));
  const lines = cells.map((row) => row.map((cell, index) => cell.padStart(widths[index])).join("  "));
  process.stdout.write(`\n${name}  ${shared}\n${lines.join("\n")}\n`);
}

function markdown(name, { machine, cpu, gpu, driver, node, compiler, commit, date, rows }) {
  const { shared, cells } = tableOf(rows);
  const line = (row) => `| ${row.join(" | ")} |`;
  const [head, ...body] = cells.map(line);
  const where = gpu
    ? `${gpu}, CUDA ${driver}, ${machine}, ${cpu}`
    : `${machine.cores} cores of ${machine.cpu}, Linux ${machine.kernel}, Node ${node}, ${compiler}`;
  const said = `${date.slice(0, 10)}, ${commit ? `commit ${commit}, ` : ""}${where}.${shared === "" ? "" : ` All rows: ${shared}.`}`;
  return [`### ${name}`, "", said, "", head, line(cells[0].map(() => "---:")), ...body].join("\n");
}

/** Puts the committed results into the page that explains them. */
function updatePage(results) {
  const file = join(root, "docs/benchmarks.md");
  // What `framelane bench` wrote on a machine with a GPU stands beside the rest.
  const onGpu = [
    "channels",
    "spread",
    "waits",
    "paced",
    "neighbour",
    "latency",
    "images",
    "peers",
    "cache",
    "operations",
  ];
  const files = [...Object.keys(measurements), ...onGpu.map((name) => `${name}-h200`)].filter((name) =>
    existsSync(join(results, `${name}.json`)),
  );
  const tables = files.map((name) => markdown(name, JSON.parse(readFileSync(join(results, `${name}.json`), "utf8"))));
  const [text] = readFileSync(file, "utf8").split(resultsHeading);
  writeFileSync(file, `${text}${resultsHeading}\n\n${tables.join("\n\n")}\n`);
}

function parse() {
  const options = { seconds: { type: "string" }, results: { type: "string" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const names = positionals.length === 0 ? Object.keys(measurements) : positionals;
  const unknown = names.find((name) => !Object.hasOwn(measurements, name));
  if (unknown) throw new InstallError(`there is no measurement '${unknown}': ${Object.keys(measurements).join(", ")}`);
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
  if (seconds !== undefined && !(seconds > 0)) throw new InstallError("--seconds takes a number above 0");
  return { names, seconds, results: values.results ?? committedResults };
}

try {
  const { names, seconds, results } = parse();
  if (!existsSync(program)) throw new InstallError("Framelane is not built: npm run build");
  mkdirSync(results, { recursive: true });
  for (const name of names) {
    const rows = await measurements[name](seconds);
    writeFileSync(join(results, `${name}.json`), `${JSON.stringify({ ...head(), rows }, null, 2)}\n`);
    print(name, rows);
  }
  if (results === committedResults) updatePage(results);
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  process.stderr.write(`${error.output}framelane: ${error.message}\n`);
  process.exitCode = 1;
}
