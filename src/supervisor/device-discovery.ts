/** Which GPUs this machine has. No driver is loaded into this process: it must live, whatever a driver does. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { DeviceInfo } from "../engine/engine.ts";

export interface FoundDevices {
  readonly devices: readonly DeviceInfo[];
  /** Why there is none, in one sentence. */
  readonly problem?: string;
}

/** A driver that wakes eight GPUs takes seconds. */
const answerWithinMs = 60_000;

const usualPlaces = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib"];

function loaderKnows(name: string): boolean {
  try {
    return readFileSync("/etc/ld.so.cache").includes(name);
  } catch {
    return false;
  }
}

/** Whether it is worth a process to ask the driver. */
function hasDriver(library: string | undefined): boolean {
  if (library !== undefined) return !library.includes("/") || existsSync(library);
  const name = "libcuda.so.1";
  const given = (process.env["LD_LIBRARY_PATH"] ?? "").split(":").filter((directory) => directory !== "");
  return [...given, ...usualPlaces].some((directory) => existsSync(join(directory, name))) || loaderKnows(name);
}

/**
 * Never rejects. `library`: the driver's; undefined: the system's own. `asked`: the caller wants to end; then there is
 * no device.
 */
export async function discoverDevices(library?: string, asked?: AbortSignal): Promise<FoundDevices> {
  if (!hasDriver(library)) {
    return { devices: [], problem: `no NVIDIA driver here: there is no ${library ?? "libcuda.so.1"}` };
  }
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const program = fileURLToPath(new URL(`../native/list-devices.${extension}`, import.meta.url));
  const args = [...process.execArgv, program, ...(library === undefined ? [] : [library])];
  // A process that hangs in the driver may not end: it is killed and not waited for.
  const late = AbortSignal.timeout(answerWithinMs);
  const signal = asked === undefined ? late : AbortSignal.any([late, asked]);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { signal, killSignal: "SIGKILL" });
    const found = JSON.parse(stdout) as FoundDevices;
    const problem = found.problem ?? (found.devices.length === 0 ? "the NVIDIA driver shows no GPU" : undefined);
    return { devices: found.devices, ...(problem === undefined ? {} : { problem }) };
  } catch (thrown) {
    if (asked?.aborted) return { devices: [], problem: "the NVIDIA driver was not waited for" };
    if (late.aborted)
      return { devices: [], problem: `the NVIDIA driver did not answer within ${answerWithinMs / 1000} s` };
    const { signal: by, stderr = "" } = thrown as { signal?: string; stderr?: string };
    if (by) return { devices: [], problem: `the process that asked the NVIDIA driver was ended by ${by}` };
    return { devices: [], problem: /^\w*Error: (.*)$/m.exec(stderr)?.[1] ?? String(thrown) };
  }
}
