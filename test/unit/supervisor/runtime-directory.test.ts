import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  chooseCacheDirectory,
  chooseRuntimeDirectory,
  leaveRuntimeDirectory,
  prepareRuntimeDirectory,
} from "../../../src/supervisor/runtime-directory.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-runtime-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const uid = process.getuid?.() ?? 0;

test("the configuration goes before systemd, systemd before the user's, the user's before shared memory", () => {
  const both = { RUNTIME_DIRECTORY: "/run/framelane:/run/other", XDG_RUNTIME_DIR: "/run/user/7" };
  assert.equal(chooseRuntimeDirectory("/x", both, 7), "/x");
  assert.equal(chooseRuntimeDirectory(undefined, both, 7), "/run/framelane");
  assert.equal(chooseRuntimeDirectory(undefined, { XDG_RUNTIME_DIR: "/run/user/7" }, 7), "/run/user/7/framelane");
  assert.match(chooseRuntimeDirectory(undefined, {}, 7), /^\/(dev\/shm|tmp)\/framelane-7$/);
});

test("what outlives a boot lies where systemd says, else with the user", () => {
  const both = { CACHE_DIRECTORY: "/var/cache/framelane:/x", XDG_CACHE_HOME: "/users/u/.cache", HOME: "/users/u" };
  assert.equal(chooseCacheDirectory(both), "/var/cache/framelane");
  assert.equal(chooseCacheDirectory({ ...both, CACHE_DIRECTORY: "" }), "/users/u/.cache/framelane");
  assert.equal(chooseCacheDirectory({ HOME: "/users/u" }), "/users/u/.cache/framelane");
  assert.equal(chooseCacheDirectory({}), undefined);
});

test("it is made for its owner only", () => {
  const path = join(directory, "a/b");
  prepareRuntimeDirectory(path, uid);
  prepareRuntimeDirectory(path, uid);
  assert.equal(statSync(path).mode & 0o777, 0o700);
});

test("a start that came to nothing leaves what was there before it, and what others have put there", () => {
  const fill = (path: string): void => {
    for (const name of ["lock", "statistics"]) writeFileSync(join(path, name), "");
  };
  const path = join(directory, "c/d");
  const made = prepareRuntimeDirectory(path, uid);
  fill(path);
  leaveRuntimeDirectory(made);
  assert.ok(!existsSync(join(directory, "c")));

  prepareRuntimeDirectory(path, uid);
  writeFileSync(join(path, "lock"), "");
  const again = prepareRuntimeDirectory(path, uid);
  fill(path);
  leaveRuntimeDirectory(again);
  assert.deepEqual(readdirSync(path), ["lock"]);

  const shared = prepareRuntimeDirectory(join(path, "e"), uid);
  writeFileSync(join(path, "e/camera.sock"), "");
  leaveRuntimeDirectory(shared);
  assert.deepEqual(readdirSync(join(path, "e")), ["camera.sock"]);
});

test("what is no directory of one's own is not used", () => {
  const file = join(directory, "file");
  writeFileSync(file, "");
  const link = join(directory, "link");
  symlinkSync(directory, link);
  const refused = { code: "runtime_directory_unusable" };
  assert.throws(() => prepareRuntimeDirectory(file, uid), refused);
  assert.throws(() => prepareRuntimeDirectory(join(file, "below"), uid), refused);
  assert.throws(() => prepareRuntimeDirectory(link, uid), refused);
  assert.throws(() => prepareRuntimeDirectory("/proc/framelane", uid), refused);
  assert.throws(() => prepareRuntimeDirectory(directory, uid + 1), refused);
});
