/** TypeScript to JavaScript in dist/, when a source has changed. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { InstallError, runQuietly } from "./process.mjs";

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** Names the state of all that the compiler reads. */
function sourceHash(root) {
  const hash = createHash("sha256");
  for (const file of [...filesBelow(join(root, "src")), join(root, "tsconfig.json"), join(root, "package-lock.json")]) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
}

/** Takes away what an earlier build left of a source that is gone. */
function removeStale(root, dist) {
  for (const file of filesBelow(dist)) {
    const source = join(root, "src", relative(dist, file).replace(/\.js(\.map)?$/, ".ts"));
    if (/\.js(\.map)?$/.test(file) && !existsSync(source)) rmSync(file);
  }
}

export async function buildTypeScript(root, report) {
  const dist = join(root, "dist");
  const stamp = join(dist, ".sources");
  const hash = sourceHash(root);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return false;
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  if (!existsSync(compiler)) {
    throw new InstallError("the TypeScript compiler is not installed: run npm install --include=dev");
  }
  const done = report("");
  const result = await runQuietly(process.execPath, [compiler, "-p", join(root, "tsconfig.json")], { cwd: root });
  if (!result.ok) throw new InstallError("compiling the TypeScript failed; its output stands above", result.output);
  removeStale(root, dist);
  writeFileSync(stamp, hash);
  done("TypeScript compiled");
  return true;
}
