/** What a result was measured on; scripts/bench.mjs writes the same. */
import { execFileSync } from "node:child_process";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { DeviceInfo } from "../engine/engine.ts";

export interface BenchHead {
  readonly machine: string;
  readonly cpu: string;
  /** Name and driver of the GPU; null where none is measured. */
  readonly gpu: string | null;
  readonly driver: string | null;
  /** Null outside a clone. */
  readonly commit: string | null;
  readonly date: string;
}

function commit(): string | null {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  try {
    const words = ["rev-parse", "--short=12", "HEAD"];
    return execFileSync("git", words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
}

export function benchHead({ id, name, driver }: DeviceInfo): BenchHead {
  const cores = availableParallelism();
  return {
    machine: `${cores} ${cores === 1 ? "core" : "cores"}, ${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    gpu: id === "cpu" ? null : name,
    driver: driver ?? null,
    commit: commit(),
    date: new Date().toISOString(),
  };
}
