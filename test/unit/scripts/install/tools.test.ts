/** What is missing is named in one line, with the package that brings it. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findCmake } from "../../../../scripts/install/cmake.mjs";
import { findHalide } from "../../../../scripts/install/halide.mjs";
import { which } from "../../../../scripts/install/process.mjs";
import { findCompiler, findGenerator } from "../../../../scripts/install/toolchain.mjs";
import { fetchWheel } from "../../../../scripts/install/wheels.mjs";

/** A folder with fake programs, the only one on the PATH that it returns. */
function machineWith(context: TestContext, programs: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "framelane-machine-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return { folder, env: { PATH: folder } as NodeJS.ProcessEnv };
}

const silent = () => () => undefined;
const oneLine = (text: RegExp) => (error: Error) => {
  assert.match(error.message, text);
  assert.doesNotMatch(error.message, /\n/);
  return true;
};

test("which finds executable files only", (context) => {
  const { folder } = machineWith(context, { tool: "exit 0" });
  writeFileSync(join(folder, "text"), "");
  mkdirSync(join(folder, "folder"));
  assert.equal(which("tool", folder), join(folder, "tool"));
  assert.equal(which("text", folder), undefined);
  assert.equal(which("folder", folder), undefined);
});

test("no compiler, and one that does not know C++20", (context) => {
  assert.throws(() => findCompiler(machineWith(context, {}).env), oneLine(/apt-get install g\+\+$/));
  const old = machineWith(context, { "g++": '[ "$1" = -dumpversion ] && echo 9.4.0 && exit; echo no >&2; exit 1' });
  assert.throws(() => findCompiler(old.env), oneLine(/g\+\+ 9\.4\.0 does not build C\+\+20 .*apt-get install g\+\+/));
});

test("a compiler that does not work is passed over for one that does", (context) => {
  const { env, folder } = machineWith(context, { "c++": "exit 1", "g++": "exit 0" });
  assert.equal(findCompiler(env), join(folder, "g++"));
  assert.throws(() => findCompiler({ ...env, CXX: "c++" }), oneLine(/does not build C\+\+20/));
});

test("no make; ninja comes first, an earlier choice stays", (context) => {
  assert.throws(() => findGenerator(undefined, machineWith(context, {}).env), oneLine(/apt-get install make$/));
  const { env } = machineWith(context, { make: "exit 0", ninja: "exit 0" });
  assert.equal(findGenerator(undefined, env).generator, "Ninja");
  assert.equal(findGenerator("Unix Makefiles", env).generator, "Unix Makefiles");
});

test("no Python, no pip, and a pip that fails", async (context) => {
  const target = join(machineWith(context, {}).folder, "vendor", "halide");
  const fetch = (programs: Readonly<Record<string, string>>) =>
    fetchWheel("halide", target, machineWith(context, programs).env);
  await assert.rejects(fetch({}), oneLine(/apt-get install python3 python3-pip$/));
  await assert.rejects(fetch({ python3: "exit 1" }), oneLine(/apt-get install python3-pip$/));
  const broken = '[ "$3" = --version ] && exit 0; echo "ERROR: first"; echo "ERROR: no such host"; exit 1';
  await assert.rejects(fetch({ python3: broken }), oneLine(/could not fetch halide 21\.0\.0: no such host$/));
  const offline =
    '[ "$3" = --version ] && exit 0; echo "WARNING: Retrying (Retry(total=4))"; echo "ERROR: none"; exit 1';
  await assert.rejects(fetch({ python3: offline }), oneLine(/package index cannot be reached$/));
});

test("HALIDE_ROOT is taken as it is or refused", async (context) => {
  const { folder } = machineWith(context, {});
  const env = { PATH: "", HALIDE_ROOT: folder };
  await assert.rejects(findHalide(folder, silent, env), oneLine(/holds no include\/Halide\.h/));
  mkdirSync(join(folder, "include"));
  mkdirSync(join(folder, "lib"));
  writeFileSync(join(folder, "include/Halide.h"), "");
  writeFileSync(join(folder, "lib/libHalide.so"), "");
  assert.equal(await findHalide(folder, silent, env), folder);
});

test("a half Halide in vendor is refused, not overwritten", async (context) => {
  const { folder, env } = machineWith(context, {});
  mkdirSync(join(folder, "vendor/halide-21.0.0"), { recursive: true });
  await assert.rejects(findHalide(folder, silent, env), oneLine(/remove that folder/));
});

test("an old CMake is replaced by a fetched one", async (context) => {
  const recent = machineWith(context, { cmake: "echo cmake version 3.22.1" });
  assert.equal(await findCmake(recent.folder, silent, recent.env), join(recent.folder, "cmake"));
  const fake = `
    [ "$3" = --version ] && exit 0
    while [ "$1" != --target ]; do shift; done
    /bin/mkdir -p "$2/cmake/data/bin"
    printf '#!/bin/sh\\necho cmake version 3.31.10\\n' >"$2/cmake/data/bin/cmake"
    /bin/chmod 755 "$2/cmake/data/bin/cmake"`;
  const old = machineWith(context, { cmake: "echo cmake version 3.16.3", python3: fake });
  const expected = join(old.folder, "vendor/cmake-3.31.10/cmake/data/bin/cmake");
  assert.equal(await findCmake(old.folder, silent, old.env), expected);
});
