import assert from "node:assert/strict";
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
