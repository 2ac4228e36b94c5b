/** What a result was measured on; scripts/bench.mjs writes the same. */
import { availableParallelism, cpus } from "node:os";
import type { DeviceInfo } from "../../engine/engine.ts";
import { projectBuild } from "../build.ts";

export interface BenchHead {
  readonly machine: string;
  readonly cpu: string;
  /** Name and driver of the GPU; null where none is measured. */
  readonly gpu: string | null;
  readonly driver: string | null;
  /** Of the build; "unknown" where it did not come from a clone. */
  readonly commit: string;
  readonly date: string;
}

export function benchHead({ gpu, driver }: Pick<BenchHead, "gpu" | "driver">): BenchHead {
  const cores = availableParallelism();
  return {
    machine: `${cores} ${cores === 1 ? "core" : "cores"}, ${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    gpu,
    driver,
    commit: projectBuild().commit,
    date: new Date().toISOString(),
  };
}

/** Undefined: not known yet. */
export const deviceHead = (device?: DeviceInfo): BenchHead =>
  benchHead(
    device === undefined || device.id === "cpu"
      ? { gpu: null, driver: null }
      : { gpu: device.name, driver: device.driver ?? null },
  );
