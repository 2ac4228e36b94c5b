/** Halide and CMake from PyPI: pinned, hashed wheels, unpacked under vendor/ in one step. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { capture, InstallError, runQuietly, which } from "./process.mjs";

const platforms = {
  halide: ["--python-version", "3.12", "--platform", "manylinux_2_28_x86_64"],
  cmake: ["--python-version", "3.12", "--platform", "manylinux_2_17_x86_64"],
  film: ["--python-version", "3.12", "--platform", "any"],
};

/** The requirement file of a wheel: `name==version --hash=...`. */
function wheelFile(name) {
  return fileURLToPath(new URL(`wheels/${name}.txt`, import.meta.url));
}

/** "21.0.0" of `halide==21.0.0 --hash=...`. */
export function wheelVersion(name) {
  const version = /^[a-z-]+==(\S+) /.exec(readFileSync(wheelFile(name), "utf8"))?.[1];
  if (!version) throw new InstallError(`scripts/install/wheels/${name}.txt pins no version`);
  return version;
}

/** A Python 3 with a pip that works. */
function findPip(wanted, env = process.env) {
  const python = which("python3", env.PATH);
  if (!python) throw new InstallError(`python3 is not installed, ${wanted}: apt-get install python3 python3-pip`);
  if (!capture(python, ["-m", "pip", "--version"], { env }).ok) {
    throw new InstallError(`${python} has no pip, ${wanted}: apt-get install python3-pip`);
  }
  return python;
}

/** What pip said, in one line. */
function reason(output) {
  if (/Retrying \(|ProxyError|ConnectionError/.test(output)) return "the package index cannot be reached";
  const lines = output.split("\n").map((line) => line.trim());
  return lines.findLast((line) => line.startsWith("ERROR:"))?.slice(7) ?? lines.findLast((line) => line !== "") ?? "";
}

/** Unpacks a wheel into `target`; nothing is there until all of it is. */
export async function fetchWheel(name, target, env = process.env) {
  const wanted = `needed to fetch ${name} ${wheelVersion(name)}`;
  const python = findPip(wanted, env);
  mkdirSync(join(target, ".."), { recursive: true });
  const folder = mkdtempSync(`${target}.part-`);
  try {
    const args = ["-m", "pip", "install", "-q", "--target", folder, "--no-deps", "--no-compile", "--only-binary=:all:"];
    args.push("--implementation", "cp", ...platforms[name], "--require-hashes", "-r", wheelFile(name));
    // A user's own pip settings must not turn --target down.
    const settings = { ...env, PIP_USER: "0", PIP_REQUIRE_VIRTUALENV: "0", PIP_DISABLE_PIP_VERSION_CHECK: "1" };
    const result = await runQuietly(python, args, { env: settings });
    if (!result.ok) {
      throw new InstallError(`pip could not fetch ${name} ${wheelVersion(name)}: ${reason(result.output)}`);
    }
    // mkdtemp's folder is private, but a service may run under another user.
    chmodSync(folder, 0o755);
    if (!existsSync(target)) renameSync(folder, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
