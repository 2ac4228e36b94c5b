/** The project's own text files, as the checks see them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { capture, InstallError } from "../install/process.mjs";

/** Tracked files and those that would be, by extension; a file deleted in the work tree is left out. */
export function listFiles(root, extensions) {
  const listed = capture("git", ["ls-files", "-co", "--exclude-standard", "--deduplicate"], { cwd: root });
  if (!listed.ok) throw new InstallError(`git ls-files failed in ${root}: ${listed.output.trim()}`);
  const deleted = new Set(capture("git", ["ls-files", "-d"], { cwd: root }).stdout.split("\n"));
  return listed.stdout
    .split("\n")
    .filter((name) => extensions.some((extension) => name.endsWith(extension)) && !deleted.has(name))
    .sort();
}

/** [{ name, text }] of the files with one of the extensions. */
export function readSources(root, extensions) {
  return listFiles(root, extensions).map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));
}

/** The line number of an offset. */
export const lineAt = (text, offset) => text.slice(0, offset).split("\n").length;

/** C++ text with comments and literals blanked out, so that offsets and lines stay. */
export function codeOnly(text) {
  const pattern = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"(\w*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'/g;
  return text.replace(pattern, (match, _delimiter, offset) => {
    // 1'000'000 holds no character literal.
    if (match[0] === "'" && /[0-9a-fA-F]/.test(text[offset - 1] ?? "")) return match;
    return match.replace(/[^\n]/g, " ");
  });
}
