/**
 * Runs the tests: npm test [-- [unit|contract|e2e|native]... [--sanitize address,undefined|thread] [--name PATTERN]]
 * Without a suite: all of them; the native ones only where GoogleTest is installed.
 * --node PATH runs the JavaScript tests with another Node.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildNative, hasHeader } from "./build-native.mjs";
import { InstallError } from "./install/process.mjs";
import { findCompiler } from "./install/toolchain.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const suites = ["native", "unit", "contract", "e2e"];
/** A test that hangs must not hang the run. */
const fileTimeoutMs = 600_000;

export function testFiles(suite) {
  const folder = join(root, "test", suite);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => relative(root, join(folder, name)))
    .sort();
}

/** Settings under which a report of a sanitizer is an error of the project. */
function sanitizerEnvironment(sanitize) {
  const file = (name) => join(root, "test/native", name);
  return {
    "address,undefined": {
      ASAN_OPTIONS: "detect_stack_use_after_return=1:check_initialization_order=1:strict_init_order=1",
      UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1",
    },
    // Halide's generated code synchronises through atomics that it emits without fences TSan knows.
    thread: {
      TSAN_OPTIONS: `report_atomic_races=0:halt_on_error=1:second_deadlock_stack=1:suppressions=${file("tsan.supp")}`,
    },
  }[sanitize];
}

function parse() {
  const options = { sanitize: { type: "string" }, name: { type: "string" }, node: { type: "string" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const unknown = positionals.find((name) => !suites.includes(name));
  if (unknown) throw new InstallError(`there is no suite '${unknown}': ${suites.join(", ")}`);
  return { ...values, chosen: positionals };
}

/** The contract and the whole service run on what `npm install` builds. */
function buildService(wanted) {
  if (!wanted.includes("contract") && !wanted.includes("e2e")) return;
  const built = spawnSync(process.execPath, [join(root, "scripts/install.mjs"), "--bench"], { stdio: "inherit" });
  if (built.status !== 0) throw new InstallError("the service was not built, no test was run");
}

/** Builds the native tests; undefined where GoogleTest is missing and nobody asked for them by name. */
async function nativeTests({ chosen, sanitize }) {
  if (chosen.length > 0 && !chosen.includes("native")) return undefined;
  if (!chosen.includes("native") && !hasHeader("gtest/gtest.h", findCompiler())) {
    process.stdout.write("framelane: GoogleTest is not installed, native tests are left out: scripts/setup-dev\n");
    return undefined;
  }
  return buildNative({ sanitize });
}

/** Whole services on the fake CUDA driver, which is built like a native test, but never with a sanitizer. */
const needsFakeCuda = (file) => file.startsWith("test/e2e/cuda-");

async function withFakeCuda(files) {
  if (!files.some(needsFakeCuda)) return files;
  if (!hasHeader("gtest/gtest.h", findCompiler())) {
    process.stdout.write(
      "framelane: GoogleTest is not installed, services on the fake GPU are left out: scripts/setup-dev\n",
    );
    return files.filter((file) => !needsFakeCuda(file));
  }
  await buildNative({ target: "cuda_fake" });
  return files;
}

try {
  const options = parse();
  const wanted = suites.filter((suite) => options.chosen.length === 0 || options.chosen.includes(suite));
  buildService(wanted);
  const binaries = await nativeTests(options);
  const found = wanted.filter((suite) => suite !== "native" || binaries !== undefined).flatMap(testFiles);
  const files = await withFakeCuda(found);
  if (files.length === 0) throw new InstallError(`no test found in ${wanted.join(", ")}`);
  const args = [
    "--import",
    "tsx",
    "--test",
    "--test-reporter=spec",
    "--test-concurrency=1",
    `--test-timeout=${fileTimeoutMs}`,
  ];
  if (options.name) args.push(`--test-name-pattern=${options.name}`);
  const env = { ...process.env, ...sanitizerEnvironment(options.sanitize), FRAMELANE_NATIVE_TESTS: binaries ?? "" };
  const child = spawn(options.node ?? process.execPath, [...args, ...files], { cwd: root, stdio: "inherit", env });
  child.on("error", (error) => process.stderr.write(`framelane: ${error.message}\n`));
  child.on("close", (code) => {
    process.exitCode = code ?? 1;
  });
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  process.stderr.write(`${error.output}framelane: ${error.message}\n`);
  process.exitCode = 1;
}
