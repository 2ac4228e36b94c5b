import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chooseRuntimeDirectory, prepareRuntimeDirectory } from "../../../src/supervisor/runtime-directory.ts";

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

test("it is made for its owner only", () => {
  const path = join(directory, "a/b");
  prepareRuntimeDirectory(path, uid);
  prepareRuntimeDirectory(path, uid);
  assert.equal(statSync(path).mode & 0o777, 0o700);
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
