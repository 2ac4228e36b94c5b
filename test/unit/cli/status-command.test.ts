import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { statusCommand } from "../../../src/cli/status-command.ts";

const url = "http://127.0.0.1:8600";

test("the command is one that works where the service was started", () => {
  assert.equal(statusCommand(url, "/a/dist/cli/main.js", { npm_execpath: "/npm" }, "/a"), "npx framelane status");
  assert.equal(statusCommand(url, "/usr/bin/framelane", {}, "/a"), "framelane status");
  assert.equal(statusCommand(url, "/a/dist/cli/main.js", {}, "/a"), "node dist/cli/main.js status");
  const other = "http://127.0.0.1:1234";
  assert.equal(statusCommand(other, "/usr/bin/framelane", {}, "/a"), `framelane status --url ${other}`);
  assert.equal(statusCommand(other, "/usr/bin/framelane", { FRAMELANE_URL: other }, "/a"), "framelane status");
});

test("paths are from where the service was started, and one word of a shell", () => {
  assert.equal(statusCommand(url, "/a/dist/cli/main.js", {}, "/b"), "node /a/dist/cli/main.js status");
  assert.equal(statusCommand(url, "/a/it's b/main.js", {}, "/a"), "node 'it'\\''s b/main.js' status");
});

test("a bundle is started by its launcher", (context) => {
  const bundle = mkdtempSync(join(tmpdir(), "framelane bundle-"));
  context.after(() => rmSync(bundle, { recursive: true, force: true }));
  mkdirSync(join(bundle, "bin"));
  writeFileSync(join(bundle, "bin/framelane"), "");
  const script = join(bundle, "dist/cli/main.js");
  assert.equal(statusCommand(url, script, {}, bundle), "bin/framelane status");
  assert.equal(statusCommand(url, script, {}, "/"), `'${bundle.slice(1)}/bin/framelane' status`);
});
