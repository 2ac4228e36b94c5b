/** `framelane bench cache`: what a block of device memory costs, from the service's cache and from the driver. */
import { FramelaneError } from "../../errors.ts";
import { Command, paint, type Streams } from "../command.ts";
import type { CacheRow, PlaceLine } from "./cache-rows.ts";
import { device, listOf, oneOf, positive, whole } from "./options.ts";
import { type MemoryModeName, memoryModes, type TraceName, traces } from "./workloads.ts";

interface CacheOptions {
  readonly device: string;
  readonly threads?: readonly number[];
  readonly traces?: readonly TraceName[];
  readonly modes?: readonly MemoryModeName[];
  readonly seconds: number;
  readonly json?: string;
  readonly plot?: string;
}

const manyThreads = [1, 2, 4, 8, 16, 32, 64];

async function write(options: CacheOptions, place: PlaceLine, rows: readonly CacheRow[]): Promise<void> {
  const { checkCacheResult } = await import("./cache-rows.ts");
  const { cachePlot } = await import("./cache-view.ts");
  const { writeFiles } = await import("./files.ts");
  const { benchHead } = await import("./head.ts");
  const { gpu, driver, no_pool } = place;
  writeFiles(options, checkCacheResult({ ...benchHead({ gpu, driver }), no_pool, rows }), cachePlot);
}

async function benchCache(options: CacheOptions, { stdout, stderr }: Streams): Promise<void> {
  if (options.device === "cpu") throw new FramelaneError("usage", "A GPU's memory is measured: --device cuda:0.");
  const { measureCache } = await import("./cache.ts");
  const { cacheTable } = await import("./cache-view.ts");
  const run = {
    ...options,
    threads: options.threads ?? manyThreads,
    traces: options.traces ?? traces,
    modes: options.modes ?? memoryModes,
  };
  let place: PlaceLine | undefined;
  const rows: CacheRow[] = [];
  stdout.write(paint(stdout, "dim", cacheTable.head()));
  try {
    await measureCache(run, {
      place: (line) => {
        place = line;
        if (line.no_pool !== null) stderr.write(`framelane: no rows of driver-pool: ${line.no_pool}\n`);
      },
      row: (row) => {
        stdout.write(cacheTable.row(row, rows));
        rows.push(row);
      },
    });
  } finally {
    // Of a run that fails, what was measured is kept.
    if (place !== undefined && rows.length > 0) await write(options, place, rows);
  }
}

export const cacheCommand = (streams: Streams): Command =>
  new Command("cache")
    .description("what a block of device memory costs: from the service's cache, the driver's pool and the driver")
    .option("--device <id>", "the GPU", device, "cuda:0")
    .option(
      "--threads <n...>",
      `threads at once, each with a stream (default: ${manyThreads.join(" ")}); several make several rows, here as elsewhere`,
      listOf(whole),
    )
    .option("--traces <list...>", `what is asked for: ${traces.join(", ")} (default: both)`, listOf(oneOf(traces)))
    .option("--modes <list...>", `of ${memoryModes.join(", ")} (default: all)`, listOf(oneOf(memoryModes)))
    .option("--seconds <s>", "length of each row's measurement", positive, 0.5)
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws the cost by number of threads, as SVG")
    .action((options: CacheOptions) => benchCache(options, streams));
