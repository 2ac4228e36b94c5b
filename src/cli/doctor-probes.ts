/** What `framelane doctor` looks at. Each probe reads the machine; what it means is said in doctor-findings.ts. */
import { execFile } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync, statfsSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Build } from "../engine/report.ts";
import { discoverDevices, type FoundDevices } from "../supervisor/device-discovery.ts";
import { projectBuild } from "./build.ts";

/** Limits in /proc: Infinity for `unlimited`. */
export interface Limits {
  readonly lockedBytes: number;
  readonly realtimePriority: number;
}

export interface AddonBuild {
  readonly halide: string;
  readonly compiler: string;
  /** Optional parts of the build and the versions of what they use. */
  readonly plugins: Readonly<Record<string, string>>;
}

export interface Machine {
  readonly build: Build;
  readonly node: string;
  readonly kernel: string;
  readonly architecture: string;
  readonly addon: AddonBuild | { readonly problem: string };
  readonly cpu: { readonly model: string; readonly cores: number; readonly features: readonly string[] };
  readonly memoryBytes: number;
  readonly gpus: FoundDevices;
  readonly refusedDeviceFiles: readonly string[];
  readonly limits: Limits;
  /** undefined: there is no such directory. */
  readonly sharedMemoryBytes: number | undefined;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The soft limits of /proc/self/limits. */
export function parseLimits(text: string): Limits {
  const soft = (name: string): number => {
    const found = new RegExp(`^${name}\\s+(\\S+)`, "m").exec(text)?.[1];
    return found === "unlimited" ? Infinity : Number(found ?? 0);
  };
  return { lockedBytes: soft("Max locked memory"), realtimePriority: soft("Max realtime priority") };
}

/** The vector extensions that Halide makes use of, out of /proc/cpuinfo. */
export function parseCpuFeatures(text: string): string[] {
  const useful = ["sse4_1", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512_vnni", "asimd", "sve", "sve2"];
  const listed = new Set(/^(?:flags|Features)\s*:\s*(.*)$/m.exec(text)?.[1]?.split(/\s+/) ?? []);
  return useful.filter((feature) => listed.has(feature));
}

async function describeAddon(): Promise<Machine["addon"]> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const program = fileURLToPath(new URL(`../native/describe-addon.${extension}`, import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, program], { timeout: 30_000 });
    const build = JSON.parse(stdout) as Partial<AddonBuild>;
    return { halide: build.halide ?? "?", compiler: build.compiler ?? "?", plugins: build.plugins ?? {} };
  } catch (error) {
    const { signal, stderr = "" } = error as { signal?: string | null; stderr?: string };
    if (signal) return { problem: `it ends the process with ${signal}` };
    return { problem: /^\w*Error: (.*)$/m.exec(stderr)?.[1] ?? String(error) };
  }
}

/** Those of the driver's device files that this user may not open. */
function refusedDeviceFiles(directory = "/dev"): string[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => /^nvidia(\d+|ctl|-uvm)$/.test(name));
  } catch {
    return [];
  }
  return names.toSorted().flatMap((name) => {
    const path = `${directory}/${name}`;
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
      return [];
    } catch {
      return [path];
    }
  });
}

function sharedMemory(): number | undefined {
  try {
    const { bsize, blocks } = statfsSync("/dev/shm");
    return bsize * blocks;
  } catch {
    return undefined;
  }
}

export async function probeMachine(): Promise<Machine> {
  const library = process.env["FRAMELANE_CUDA_LIBRARY"] || undefined;
  const [addon, gpus] = await Promise.all([describeAddon(), discoverDevices(library)]);
  return {
    build: projectBuild(),
    node: process.versions.node,
    kernel: release(),
    architecture: process.arch,
    addon,
    cpu: {
      model: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      features: parseCpuFeatures(readText("/proc/cpuinfo")),
    },
    memoryBytes: totalmem(),
    gpus,
    refusedDeviceFiles: refusedDeviceFiles(),
    limits: parseLimits(readText("/proc/self/limits")),
    sharedMemoryBytes: sharedMemory(),
  };
}
