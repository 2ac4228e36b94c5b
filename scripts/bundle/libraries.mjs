/** What the programs and libraries of a bundle need of the machine that they run on. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { capture, InstallError } from "../install/process.mjs";

/** Of libc6, libgcc-s1 and libstdc++6: on every Debian and Ubuntu, apt itself needs them. */
const onEveryMachine = /^(lib(c|m|dl|rt|pthread)\.so\.\d|ld-linux-x86-64\.so\.2|libgcc_s\.so\.1|libstdc\+\+\.so\.6)$/;
/** The lower of Ubuntu 22.04 (glibc 2.35, gcc 12.3) and Debian 12 (glibc 2.36, gcc 12.2). */
const newest = { GLIBC: "2.35", GLIBCXX: "3.4.30", CXXABI: "1.3.13", GCC: "12.0.0" };

function isElf(path) {
  const file = openSync(path, "r");
  const start = Buffer.alloc(4);
  readSync(file, start);
  closeSync(file);
  return start.equals(Buffer.from("\x7fELF", "latin1"));
}

/** The programs and libraries below a folder, sorted. */
export function elfFiles(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return paths.filter(isElf).sort();
}

/** "3.4.30" is later than "3.4.9". */
export function isLater(version, limit) {
  const [left, right] = [version, limit].map((text) => text.split(".").map(Number));
  const different = left.findIndex((number, index) => number !== (right[index] ?? 0));
  return different >= 0 && left[different] > (right[different] ?? 0);
}

/** What `objdump -p` says: { libraries: ["libc.so.6"], versions: ["GLIBC_2.34"] }. */
export function parseNeeds(text) {
  const references = /^Version References:\n((?: .*\n)*)/m.exec(text)?.[1] ?? "";
  return {
    libraries: [...text.matchAll(/^ +NEEDED +(\S+)$/gm)].map(([, name]) => name),
    versions: [...references.matchAll(/ ([A-Z]+_[\d.]+)$/gm)].map(([, name]) => name),
  };
}

/** Why a file does not run on a machine that has nothing but its base system; empty: it does. */
export function problemsOf({ libraries, versions }, inBundle) {
  const missing = libraries.filter((name) => !onEveryMachine.test(name) && !inBundle.has(name));
  const tooNew = versions.filter((name) => {
    const [family, version] = name.split("_");
    return family in newest && isLater(version, newest[family]);
  });
  return [...missing, ...tooNew];
}

/** Throws where a file of the bundle needs what a minimal Debian 12 or Ubuntu 22.04 lacks. `exempt`: a base name's test. */
export function checkLibraries(folder, exempt) {
  const files = elfFiles(folder);
  const inBundle = new Set(files.map((file) => basename(file)));
  for (const file of files.filter((path) => !exempt(path))) {
    const described = capture("objdump", ["-p", file]);
    if (!described.ok) throw new InstallError(`objdump -p ${file} failed: apt-get install binutils`, described.output);
    const problems = problemsOf(parseNeeds(described.stdout), inBundle);
    if (problems.length > 0) {
      throw new InstallError(
        `${basename(file)} needs ${problems.join(", ")}, which Debian 12 or Ubuntu 22.04 lacks: build on one of them`,
      );
    }
  }
}
