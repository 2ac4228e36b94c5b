/** A CMake that is new enough: the machine's, else the wheel in vendor/. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { capture, InstallError, which } from "./process.mjs";
import { fetchWheel, wheelVersion } from "./wheels.mjs";

const least = [3, 22];

/** [3, 25] of a CMake's path, or undefined when it does not run. */
function versionOf(path) {
  const match = /cmake version (\d+)\.(\d+)/.exec(capture(path, ["--version"]).stdout);
  return match ? [Number(match[1]), Number(match[2])] : undefined;
}

const newEnough = (version) =>
  version !== undefined && (version[0] > least[0] || (version[0] === least[0] && version[1] >= least[1]));

/** The path of the cmake program; `report` hears of a fetch. */
export async function findCmake(root, report, env = process.env) {
  const installed = which("cmake", env.PATH);
  if (installed && newEnough(versionOf(installed))) return installed;
  const version = wheelVersion("cmake");
  const target = join(root, "vendor", `cmake-${version}`);
  const program = join(target, "cmake/data/bin/cmake");
  if (!existsSync(target)) {
    if (process.arch !== "x64")
      throw new InstallError(`CMake ${least.join(".")} or newer is missing: apt-get install cmake`);
    const done = report(`fetching CMake ${version} into vendor/`);
    await fetchWheel("cmake", target, env);
    done(`CMake ${version} fetched`);
  }
  if (newEnough(versionOf(program))) return program;
  throw new InstallError(`${target} holds no working CMake: remove that folder, or apt-get install cmake`);
}
