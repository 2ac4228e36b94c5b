/** Running other programs, and the one error of the installation. */
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What a person has to do; printed as one line. `output` is a failed program's own words, printed before it. */
export class InstallError extends Error {
  constructor(message, output = "") {
    super(message);
    this.output = output;
  }
}

/** The path of a program on PATH, or undefined. A path with a slash is taken as it is. */
export function which(program, path = process.env.PATH ?? "") {
  const candidates = program.includes("/") ? [program] : path.split(delimiter).map((folder) => join(folder, program));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return statSync(candidate).isFile();
    } catch {
      return false;
    }
  });
}

/** Runs a short program; never throws. */
export function capture(program, args, options = {}) {
  const result = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 26, ...options });
  return {
    ok: result.status === 0,
    stdout: result.stdout ?? "",
    output: `${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}`,
  };
}

/** Runs a long program without showing its output; resolves to { ok, output }. */
export function runQuietly(program, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
    let output = "";
    const take = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    child.on("error", (error) => resolve({ ok: false, output: `${output}${error.message}\n` }));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}
