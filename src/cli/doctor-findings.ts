/** What a machine's properties mean for the service, and what helps. */
import { formatQuantity } from "../config/quantity.ts";
import { describeBuild } from "./build.ts";
import type { Machine } from "./doctor-probes.ts";

export interface Finding {
  readonly name: string;
  /** `missing`: the service cannot run. `absent`: it runs, without this. */
  readonly state: "good" | "absent" | "missing";
  readonly value: string;
  /** What helps, for what is not good. */
  readonly help?: string;
  /** Debian and Ubuntu packages that bring it. */
  readonly packages?: readonly string[];
}

const size = (bytes: number): string => (bytes === Infinity ? "unlimited" : formatQuantity("size", bytes));

function nodeFinding({ node }: Machine): Finding {
  const [major = 0, minor = 0] = node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return { name: "Node.js", state: "good", value: node };
  return { name: "Node.js", state: "missing", value: node, help: "20.19 or later is needed", packages: ["nodejs"] };
}

function addonFinding({ addon }: Machine): Finding {
  const name = "native addon";
  if (!("problem" in addon)) return { name, state: "good", value: `Halide ${addon.halide}, ${addon.compiler}` };
  return {
    name,
    state: "missing",
    value: addon.problem,
    help: "npm run build builds it",
    packages: ["g++", "make", "python3", "python3-pip"],
  };
}

function ffmpegFinding({ addon }: Machine): Finding {
  const name = "ffmpeg source";
  const version = "problem" in addon ? undefined : addon.plugins["ffmpeg"];
  if (version !== undefined) return { name, state: "good", value: `FFmpeg ${version}` };
  return {
    name,
    state: "absent",
    value: "not in this build",
    help: "scripts/setup-dev installs the libraries and builds it; a bundle has it when made with --with ffmpeg",
    packages: ["libavformat-dev", "libavcodec-dev", "libavutil-dev", "libswscale-dev"],
  };
}

function gpuFindings({ gpus: { devices, problem }, refusedDeviceFiles }: Machine): Finding[] {
  if (devices.length > 0) {
    return devices.map(({ id, name, memoryBytes, uuid, architecture, driver, numaNode }) => {
      const node = numaNode === undefined ? "NUMA node unknown" : `NUMA node ${numaNode}`;
      const value = [name, size(memoryBytes), uuid, architecture, `CUDA ${driver}`, node].join(", ");
      return { name: `GPU ${id}`, state: "good", value };
    });
  }
  const value = `${problem ?? "none"}; channels run on the CPU`;
  const help =
    refusedDeviceFiles.length > 0
      ? `no permission on ${refusedDeviceFiles.join(", ")}: take the user into the group that owns them, often video`
      : gpuHelp(problem ?? "");
  return [{ name: "GPU", state: "absent", value, ...(help === undefined ? {} : { help }) }];
}

function gpuHelp(problem: string): string | undefined {
  if (problem.endsWith("there is no libcuda.so.1"))
    return "a GPU needs NVIDIA's driver, 525 or newer, and nothing else";
  if (problem.startsWith("no NVIDIA driver")) return "FRAMELANE_CUDA_LIBRARY names that file";
  if (problem.includes("is too old")) return "install a newer NVIDIA driver";
  if (/CUDA_ERROR_(NO_DEVICE|SYSTEM_DRIVER_MISMATCH|UNKNOWN)|shows no GPU/.test(problem)) {
    return "nvidia-smi says what the driver sees; after an update of the driver the machine has to be restarted";
  }
  return undefined;
}

function lockedFinding({ limits: { lockedBytes } }: Machine): Finding {
  const name = "locked memory";
  if (lockedBytes >= 64 * 2 ** 20) return { name, state: "good", value: size(lockedBytes) };
  const help = "LimitMEMLOCK=infinity in the unit, or memlock in /etc/security/limits.conf";
  return { name, state: "absent", value: `${size(lockedBytes)}; frames may be paged out`, help };
}

function priorityFinding({ limits: { realtimePriority } }: Machine): Finding {
  const name = "real-time priority";
  if (realtimePriority > 0) return { name, state: "good", value: `up to ${realtimePriority}` };
  const help = "LimitRTPRIO=99 in the unit, or rtprio in /etc/security/limits.conf";
  return { name, state: "absent", value: "none allowed; schedule.fifo has no effect", help };
}

function sharedMemoryFinding({ sharedMemoryBytes }: Machine): Finding {
  const name = "/dev/shm";
  if (sharedMemoryBytes === undefined) {
    return { name, state: "absent", value: "there is none", help: "mount a tmpfs there" };
  }
  if (sharedMemoryBytes >= 64 * 2 ** 20) return { name, state: "good", value: size(sharedMemoryBytes) };
  const help = "mount -o remount,size=1G /dev/shm, or --shm-size for a container";
  return { name, state: "absent", value: `${size(sharedMemoryBytes)}; small`, help };
}

export function findingsOf(machine: Machine): Finding[] {
  const { cpu } = machine;
  const extensions = cpu.features.length === 0 ? "no vector extensions known" : cpu.features.join(" ");
  return [
    { name: "Framelane", state: "good", value: describeBuild(machine.build) },
    nodeFinding(machine),
    { name: "system", state: "good", value: `Linux ${machine.kernel}, ${machine.architecture}` },
    { name: "CPU", state: "good", value: `${cpu.cores} cores, ${cpu.model}, ${extensions}` },
    { name: "memory", state: "good", value: size(machine.memoryBytes) },
    addonFinding(machine),
    ffmpegFinding(machine),
    ...gpuFindings(machine),
    lockedFinding(machine),
    priorityFinding(machine),
    sharedMemoryFinding(machine),
  ];
}

export const canRun = (findings: readonly Finding[]): boolean => findings.every(({ state }) => state !== "missing");
