/**
 * Builds the native tests in build/test, with a sanitizer in build/<sanitizer>, or the benchmarks in build/bench.
 *   scripts/build-native [--sanitize address,undefined|thread] [--bench] [--target NAME]
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildJobs } from "./install/addon.mjs";
import { findCmake } from "./install/cmake.mjs";
import { findHalide } from "./install/halide.mjs";
import { capture, InstallError, runQuietly } from "./install/process.mjs";
import { findCompiler, findGenerator } from "./install/toolchain.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sanitizers = ["address,undefined", "thread"];
const report = (step) => {
  if (step) process.stdout.write(`framelane: ${step} ...\n`);
  return (done) => process.stdout.write(`framelane: ${done}\n`);
};

/** The folder of a build; one per kind, so that none has to be rebuilt for another. */
export function nativeFolder({ sanitize, bench } = {}) {
  const kind = bench ? "bench" : sanitize ? sanitize.replace(",", "-") : "test";
  return join(root, "build", kind);
}

/** Whether a header can be included: the packages of the tests come with scripts/setup-dev. */
export function hasHeader(header, compiler) {
  return capture(compiler, ["-std=c++20", "-fsyntax-only", "-x", "c++", "-"], { input: `#include <${header}>\n` }).ok;
}

async function configureArguments(kind, compiler) {
  const setting = (name, value) => `-D${name}=${value}`;
  const { generator, path } = findGenerator();
  const optimised = kind.bench ? "Release" : "Debug";
  return [
    ...["-S", root, "-B", nativeFolder(kind), "-G", generator],
    setting("CMAKE_MAKE_PROGRAM", path),
    setting("CMAKE_CXX_COMPILER", compiler),
    setting("CMAKE_BUILD_TYPE", optimised),
    setting("HALIDE_ROOT", await findHalide(root, report)),
    setting("FRAMELANE_ADDON", "OFF"),
    setting("FRAMELANE_TESTS", kind.bench ? "OFF" : "ON"),
    setting("FRAMELANE_BENCH", kind.bench ? "ON" : "OFF"),
    setting("FRAMELANE_SANITIZE", kind.sanitize ?? ""),
    // Headers take most of the time: several files are compiled as one, where nobody edits and builds again.
    setting("CMAKE_UNITY_BUILD", kind.sanitize || process.env.CI ? "ON" : "OFF"),
    setting("CMAKE_UNITY_BUILD_BATCH_SIZE", 6),
  ];
}

async function run(program, args, what) {
  const result = await runQuietly(program, args, { cwd: root });
  if (!result.ok) throw new InstallError(`${what} failed; its output stands above`, result.output);
}

/** Configures when the settings changed, then builds what is out of date. */
export async function buildNative({ target, ...kind } = {}) {
  const folder = nativeFolder(kind);
  const compiler = findCompiler();
  if (!kind.bench && !hasHeader("gtest/gtest.h", compiler)) {
    throw new InstallError("gtest/gtest.h is not installed: scripts/setup-dev");
  }
  const cmake = await findCmake(root, report);
  const settings = [cmake, ...(await configureArguments(kind, compiler))];
  const stamp = join(folder, "settings.json");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== JSON.stringify(settings)) {
    rmSync(join(folder, "CMakeCache.txt"), { force: true });
    mkdirSync(folder, { recursive: true });
    await run(cmake, settings.slice(1), "configuring the native tests");
    writeFileSync(stamp, JSON.stringify(settings));
  }
  const programs = kind.bench ? "benchmarks" : "tests";
  report(`building the native ${programs} (minutes the first time)`);
  const only = target === undefined ? [] : ["--target", target];
  await run(cmake, ["--build", folder, ...only, "--parallel", String(buildJobs())], `building the native ${programs}`);
  return join(folder, "Release");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const options = { sanitize: { type: "string" }, bench: { type: "boolean" }, target: { type: "string" } };
    const { values } = parseArgs({ options });
    if (values.sanitize && !sanitizers.includes(values.sanitize)) {
      throw new InstallError(`--sanitize takes ${sanitizers.join(" or ")}`);
    }
    const start = performance.now();
    const folder = await buildNative(values);
    process.stdout.write(`framelane: ${folder} built (${((performance.now() - start) / 1000).toFixed(1)} s)\n`);
  } catch (error) {
    process.stderr.write(`${error.output ?? ""}framelane: ${error.message}\n`);
    process.exitCode = 1;
  }
}
