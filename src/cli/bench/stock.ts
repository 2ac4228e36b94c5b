/** Stock Halide beside the service: in a process of its own, for a process has one CUDA runtime below Halide. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { FramelaneError } from "../../errors.ts";
import { runProgram } from "./program.ts";
import { type BusLine, type ChannelsRow, checkBusLine, checkRow } from "./rows.ts";
import type { ChannelLoad, StockModeName, WorkloadName } from "./workloads.ts";

/** bench/native/stock, as `npm run build -- --bench` and the bundle put it beside the addon. */
const program = fileURLToPath(new URL("../../../build/Release/bench_stock_halide", import.meta.url));

export const hasStockProgram = (): boolean => existsSync(program);

export interface StockRun extends Pick<ChannelLoad, "size" | "fps" | "stagger"> {
  readonly workload: WorkloadName;
  /** None: only the bus is measured. */
  readonly modes: readonly StockModeName[];
  readonly channels: readonly number[];
  readonly device: string;
  readonly library: string | undefined;
  readonly seconds: number;
  readonly runs: number;
  /** 1 in 100 frames with what the CPU makes of it. */
  readonly compare: boolean;
}

function wordsOf(run: StockRun): string[] {
  const { width, height } = run.size;
  return [
    ...["--workload", run.workload, "--size", `${width}x${height}`, "--device", run.device],
    ...["--modes", run.modes.join(","), "--channels", run.channels.join(","), "--seconds", String(run.seconds)],
    ...["--fps", String(run.fps ?? 0), "--stagger", run.stagger, "--compare", run.compare ? "1" : "0"],
    ...["--runs", String(run.runs)],
    ...(run.library === undefined ? [] : ["--library", run.library]),
  ];
}

/** Rows come one by one, after what the bus carries. */
export async function measureStock(
  run: StockRun,
  on: { bus(line: BusLine): void; row(row: ChannelsRow): void },
): Promise<void> {
  if (!hasStockProgram())
    throw new FramelaneError(
      "unsupported",
      "Stock Halide's benchmark is not built; npm run build -- --bench builds it.",
    );
  const { code, said } = await runProgram(program, wordsOf(run), (line, index) => {
    if (index === 0) on.bus(checkBusLine(line));
    else on.row(checkRow(line));
  });
  if (code !== 0) throw new FramelaneError("device_failed", said || `Stock Halide's benchmark ended with ${code}.`);
}
