/** The compiler and the build tool of the native addon. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture, InstallError, which } from "./process.mjs";

const cxx20Program = `
#include <atomic>
#include <bit>
#include <concepts>
#include <span>
template <std::integral T> T doubled(T value) { return value + value; }
int main() {
  std::atomic<int> flag{1};
  flag.notify_all();
  int values[] = {std::popcount(7u), doubled(2)};
  return static_cast<int>(std::span<int>(values).size()) - 2 * flag.load();
}
`;

/** Compiles and links; a compiler without its C++ library, or an old one, is found here and not halfway. */
function compileErrors(compiler) {
  const folder = mkdtempSync(join(tmpdir(), "framelane-cxx-"));
  try {
    const file = join(folder, "probe.cpp");
    writeFileSync(file, cxx20Program);
    const result = capture(compiler, ["-std=c++20", "-o", join(folder, "probe"), file]);
    return result.ok ? "" : result.output.trim() || "it failed";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The C++ compiler: CXX when set, else what the machine has. */
export function findCompiler(env = process.env) {
  const names = env.CXX ? [env.CXX] : ["c++", "g++", "clang++"];
  const found = names.map((name) => which(name, env.PATH)).filter((path) => path !== undefined);
  if (found.length === 0) {
    throw new InstallError(`no C++ compiler (${names.join(", ")}) is installed: apt-get install g++`);
  }
  for (const path of found) {
    if (compileErrors(path) === "") return path;
  }
  const version = capture(found[0], ["-dumpversion"]).stdout.trim();
  throw new InstallError(
    `${found[0]} ${version} does not build C++20 programs: apt-get install g++ (10 or newer), or set CXX to a newer one`,
  );
}

/** The generator of CMake: the earlier one while its tool is there, so that a new tool does not cause a full rebuild. */
export function findGenerator(earlier, env = process.env) {
  const tools = { Ninja: ["ninja", "ninja-build"], "Unix Makefiles": ["make", "gmake"] };
  const order = earlier in tools ? [earlier, ...Object.keys(tools)] : Object.keys(tools);
  for (const generator of order) {
    const path = tools[generator].map((name) => which(name, env.PATH)).find((found) => found !== undefined);
    if (path) return { generator, path };
  }
  throw new InstallError("neither make nor ninja is installed: apt-get install make");
}
