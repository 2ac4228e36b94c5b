/** The device cache beside the driver's memory: a program of its own, for the service makes none of the driver's calls. */
import { existsSync } from "node:fs";
import { FramelaneError } from "../../errors.ts";
import { type CacheRow, checkCacheRow, checkPlaceLine, type PlaceLine } from "./cache-rows.ts";
import { cudaDefaults } from "./channels.ts";
import { builtProgram, runProgram } from "./program.ts";
import type { MemoryModeName, TraceName } from "./workloads.ts";

const program = builtProgram("bench_device_cache");

export interface CacheRun {
  readonly device: string;
  readonly threads: readonly number[];
  readonly traces: readonly TraceName[];
  readonly modes: readonly MemoryModeName[];
  /** Of each row's measurement. */
  readonly seconds: number;
}

function wordsOf({ device, threads, traces, modes, seconds }: CacheRun): string[] {
  const { library } = cudaDefaults();
  return [
    ...["--device", device, "--seconds", String(seconds), "--threads", threads.join(",")],
    ...["--traces", traces.join(","), "--modes", modes.join(",")],
    ...(library === undefined ? [] : ["--library", library]),
  ];
}

/** Rows come one by one, after what they are measured on. */
export async function measureCache(
  run: CacheRun,
  on: { place(line: PlaceLine): void; row(row: CacheRow): void },
): Promise<void> {
  if (!existsSync(program))
    throw new FramelaneError("unsupported", "The cache's benchmark is not built; npm run build -- --bench builds it.");
  const { code, said } = await runProgram(program, wordsOf(run), (line, index) => {
    if (index === 0) on.place(checkPlaceLine(line));
    else on.row(checkCacheRow(line));
  });
  if (code !== 0) throw new FramelaneError("device_failed", said || `The cache's benchmark ended with ${code}.`);
}
