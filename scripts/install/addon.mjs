/** The native addons, built by cmake-js in build/. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { findCmake } from "./cmake.mjs";
import { findHalide } from "./halide.mjs";
import { InstallError, runQuietly } from "./process.mjs";
import { findCompiler, findGenerator } from "./toolchain.mjs";

/** A file that includes Halide.h takes the compiler about 1.5 GB. */
const bytesPerJob = 1.5e9;
export const buildJobs = () => Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / bytesPerJob)));

/** What the last configuration was made with; undefined when there is none, or the folder was moved here. */
function lastSetup(build, root) {
  try {
    const setup = JSON.parse(readFileSync(join(build, "setup.json"), "utf8"));
    return setup.root === root && existsSync(join(build, "CMakeCache.txt")) ? setup : undefined;
  } catch {
    return undefined;
  }
}

/** Names one state of a program, so that an upgraded compiler is noticed. */
function identity(path) {
  const { size, mtimeMs } = statSync(path);
  return `${path}:${size}:${Math.round(mtimeMs)}`;
}

/** The compiler of the last setup while it is the same file, else one that has just proved itself. */
function chooseCompiler(last, env) {
  if (last && (env.CXX ?? "") === last.requestedCompiler) {
    try {
      if (identity(last.compiler) === last.compilerIdentity) return last.compiler;
    } catch {
      // It is gone: look for another.
    }
  }
  return findCompiler(env);
}

async function findSetup(root, build, report, env) {
  const last = lastSetup(build, root);
  const compiler = chooseCompiler(last, env);
  const { generator, path: buildTool } = findGenerator(last?.generator, env);
  const halide = await findHalide(root, report, env);
  const cmake = await findCmake(root, report, env);
  const setup = {
    root,
    requestedCompiler: env.CXX ?? "",
    compiler,
    compilerIdentity: identity(compiler),
    generator,
    buildTool,
    halide,
    cmake,
  };
  return { setup, last };
}

/** Runs cmake-js; its output is shown only when it fails. */
async function cmakeJs(root, setup, command, what, more = []) {
  const args = [join(root, "node_modules/cmake-js/bin/cmake-js"), command, "--directory", root];
  args.push("--out", join(root, "build"), "--config", "Release", "--cmake-path", setup.cmake);
  args.push("--generator", setup.generator, "--cc", setup.compiler, "--cxx", setup.compiler);
  args.push("--parallel", String(buildJobs()), `--CDHALIDE_ROOT=${setup.halide}`);
  args.push(`--CDCMAKE_MAKE_PROGRAM=${setup.buildTool}`, ...more);
  const result = await runQuietly(process.execPath, args, { cwd: root });
  if (!result.ok) throw new InstallError(`${what} failed; its output stands above`, result.output);
  return result.output;
}

/** What `framelane bench` runs in processes of their own. */
export const benchPrograms = ["bench_stock_halide", "bench_device_cache", "bench_operations"];

/** Builds what is out of date. `fresh` looks again for optional libraries; `bench` adds the benchmarks' programs. */
export async function buildAddon(root, report, { fresh = false, bench = false, env = process.env } = {}) {
  const build = join(root, "build");
  const { setup, last } = await findSetup(root, build, report, env);
  const same = JSON.stringify(last) === JSON.stringify(setup);
  const done = report(
    same && !fresh ? "" : `building the native addon with ${setup.compiler} (minutes the first time)`,
  );
  if (!same) {
    rmSync(join(build, "CMakeCache.txt"), { force: true });
    rmSync(join(build, "CMakeFiles"), { recursive: true, force: true });
  }
  if (!same || fresh) {
    mkdirSync(build, { recursive: true });
    await cmakeJs(root, setup, "configure", "configuring the native addon");
    writeFileSync(join(build, "setup.json"), `${JSON.stringify(setup, null, 2)}\n`);
  }
  const output = await cmakeJs(root, setup, "build", "building the native addon");
  const built = /Linking CXX/.test(output);
  if (built || !same || fresh) done("native addon built");
  for (const program of bench ? benchPrograms : []) {
    await cmakeJs(root, setup, "build", `building ${program}`, ["--target", program]);
  }
  return built;
}
