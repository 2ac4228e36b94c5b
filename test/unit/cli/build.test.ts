import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { describeBuild, projectBuild } from "../../../src/cli/build.ts";

const packageFile = new URL("../../../package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

test("the commit is what the build wrote, and unknown where it wrote none", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "framelane-build-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "commit.json");
  assert.deepEqual(projectBuild(pathToFileURL(file)), { version, commit: "unknown" });
  writeFileSync(file, '{"commit":"0123abc-dirty"}\n');
  assert.deepEqual(projectBuild(pathToFileURL(file)), { version, commit: "0123abc-dirty" });
  writeFileSync(file, "{");
  assert.deepEqual(projectBuild(pathToFileURL(file)), { version, commit: "unknown" });
});

test("sources that run uncompiled have no commit", () => {
  assert.deepEqual(projectBuild(), { version, commit: "unknown" });
  assert.equal(describeBuild(projectBuild()), `${version} (commit unknown)`);
});
