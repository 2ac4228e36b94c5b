/** Which commit the build is of: dist/commit.json, which src/cli/build.ts reads. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "./process.mjs";

/**
 * The commit that is checked out at `root`, with "-dirty" where something in it was changed, and its time in seconds;
 * undefined where `root` is no checkout, also when it lies within another one.
 */
export function commitOf(root) {
  const git = (...args) => capture("git", ["--no-optional-locks", ...args], { cwd: root });
  const log = git("log", "-1", "--no-show-signature", "--format=%H %ct");
  if (!log.ok || git("rev-parse", "--show-prefix").stdout.trim() !== "") return undefined;
  const [hash, time] = log.stdout.trim().split(" ");
  const changed = git("status", "--porcelain").stdout !== "";
  return { name: changed ? `${hash}-dirty` : hash, time };
}

/** After the build. Where there is no commit the file of an earlier build stands, unless there is something `newer`. */
export function recordCommit(root, newer) {
  const path = join(root, "dist/commit.json");
  const commit = commitOf(root)?.name;
  if (commit === undefined && existsSync(path) && !newer) return;
  const text = `${JSON.stringify({ commit: commit ?? "unknown" })}\n`;
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
}
