/** What a result was measured on; scripts/bench.mjs writes the same. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";

export interface BenchHead {
  readonly machine: string;
  readonly cpu: string;
  /** Name and driver of the GPU; null where none is measured. */
  readonly gpu: string | null;
  readonly driver: string | null;
  /** Null outside a clone and a bundle. */
  readonly commit: string | null;
  readonly date: string;
}

/** A bundle says in its package.json which commit it was made from; a clone is asked. */
function commit(): string | null {
  const root = new URL("../../", import.meta.url);
  const { commit: bundled } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { commit?: string };
  if (bundled !== undefined) return bundled;
  try {
    const words = ["rev-parse", "--short=12", "HEAD"];
    const stdio = ["ignore", "pipe", "ignore"] as const;
    return execFileSync("git", words, { cwd: fileURLToPath(root), encoding: "utf8", stdio: [...stdio] }).trim();
  } catch {
    return null;
  }
}

export function benchHead({ gpu, driver }: Pick<BenchHead, "gpu" | "driver">): BenchHead {
  const cores = availableParallelism();
  return {
    machine: `${cores} ${cores === 1 ? "core" : "cores"}, ${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    gpu,
    driver,
    commit: commit(),
    date: new Date().toISOString(),
  };
}
