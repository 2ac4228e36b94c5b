import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { commitOf, recordCommit } from "../../../../scripts/install/commit.mjs";

function emptyFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "framelane-commit-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "dist"));
  return folder;
}

/** A repository with one commit; `git` runs in it. */
function checkout(context: TestContext) {
  const folder = emptyFolder(context);
  const author = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
  const env = { PATH: process.env["PATH"], HOME: folder, GIT_COMMITTER_DATE: "@1700000000 +0000" };
  const git = (...args: string[]) =>
    execFileSync("git", [...author, ...args], { cwd: folder, env, encoding: "utf8" }).trim();
  git("init", "--quiet");
  writeFileSync(join(folder, ".gitignore"), "dist/\n");
  git("add", ".gitignore");
  git("commit", "--quiet", "--message", "first");
  return { folder, git, hash: git("rev-parse", "HEAD") };
}

const recorded = (folder: string): unknown => JSON.parse(readFileSync(join(folder, "dist/commit.json"), "utf8"));

test("a checkout has its commit, and says when something was changed", (context) => {
  const { folder, hash } = checkout(context);
  assert.match(hash, /^[0-9a-f]{40}$/);
  assert.deepEqual(commitOf(folder), { name: hash, time: "1700000000" });
  writeFileSync(join(folder, "new"), "");
  assert.deepEqual(commitOf(folder), { name: `${hash}-dirty`, time: "1700000000" });
});

test("a folder within another project's checkout has not that one's commit", (context) => {
  const { folder } = checkout(context);
  const inner = join(folder, "inner");
  mkdirSync(inner);
  assert.equal(commitOf(inner), undefined);
});

test("the commit is written after a build, and again when it is another one", (context) => {
  const { folder, git, hash } = checkout(context);
  recordCommit(folder, false);
  assert.deepEqual(recorded(folder), { commit: hash });
  const { ino, mtimeNs } = statSync(join(folder, "dist/commit.json"), { bigint: true });
  recordCommit(folder, true);
  const after = statSync(join(folder, "dist/commit.json"), { bigint: true });
  assert.deepEqual([after.ino, after.mtimeNs], [ino, mtimeNs]);
  git("commit", "--quiet", "--allow-empty", "--message", "second");
  recordCommit(folder, false);
  assert.deepEqual(recorded(folder), { commit: git("rev-parse", "HEAD") });
});

test("without a checkout the commit is unknown, but what was built from one keeps its own", (context) => {
  const folder = emptyFolder(context);
  recordCommit(folder, false);
  assert.deepEqual(recorded(folder), { commit: "unknown" });
  writeFileSync(join(folder, "dist/commit.json"), '{"commit":"0123abc"}');
  recordCommit(folder, false);
  assert.deepEqual(recorded(folder), { commit: "0123abc" });
  recordCommit(folder, true);
  assert.deepEqual(recorded(folder), { commit: "unknown" });
});
