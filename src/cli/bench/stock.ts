/** Stock Halide beside the service: in a process of its own, for a process has one CUDA runtime below Halide. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { FramelaneError } from "../../errors.ts";
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
  const child = spawn(program, wordsOf(run), { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  let first = true;
  for await (const line of createInterface({ input: child.stdout })) {
    const value: unknown = JSON.parse(line);
    if (first) on.bus(checkBusLine(value));
    else on.row(checkRow(value));
    first = false;
  }
  const code = await ended;
  if (code !== 0)
    throw new FramelaneError("device_failed", said.trim() || `Stock Halide's benchmark ended with ${code}.`);
}
