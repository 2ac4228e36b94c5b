/** Stock Halide beside the service: in a process of its own, for a process has one CUDA runtime below Halide. */
import { existsSync } from "node:fs";
import { FramelaneError } from "../../errors.ts";
import { type AloneLine, checkAloneLine } from "./latency-rows.ts";
import { builtProgram, runProgram } from "./program.ts";
import { type BusLine, type ChannelsRow, checkBusLine, checkRow } from "./rows.ts";
import type { ChannelLoad, StockModeName, WorkloadName } from "./workloads.ts";

const program = builtProgram("bench_stock_halide");

export const hasStockProgram = (): boolean => existsSync(program);

interface StockLoad extends Pick<ChannelLoad, "size" | "fps"> {
  readonly workload: WorkloadName;
  readonly device: string;
  readonly library: string | undefined;
  readonly seconds: number;
}

export interface StockRun extends StockLoad, Pick<ChannelLoad, "stagger"> {
  /** None: only the bus is measured. */
  readonly modes: readonly StockModeName[];
  readonly channels: readonly number[];
  readonly runs: number;
  /** 1 in 100 frames with what the CPU makes of it. */
  readonly compare: boolean;
}

const loadWords = ({ workload, size, fps, device, library, seconds }: StockLoad): string[] => [
  ...["--workload", workload, "--size", `${size.width}x${size.height}`, "--device", device],
  ...["--fps", String(fps ?? 0), "--seconds", String(seconds)],
  ...(library === undefined ? [] : ["--library", library]),
];

/** `take`: what the program prints, line by line. */
async function runStock(words: readonly string[], take: (line: unknown, index: number) => void): Promise<void> {
  if (!hasStockProgram())
    throw new FramelaneError(
      "unsupported",
      "Stock Halide's benchmark is not built; npm run build -- --bench builds it.",
    );
  const { code, said } = await runProgram(program, words, take);
  if (code !== 0) throw new FramelaneError("device_failed", said || `Stock Halide's benchmark ended with ${code}.`);
}

/** Rows come one by one, after what the bus carries. */
export async function measureStock(
  run: StockRun,
  on: { bus(line: BusLine): void; row(row: ChannelsRow): void },
): Promise<void> {
  const words = [
    ...["--modes", run.modes.join(","), "--channels", run.channels.join(","), "--stagger", run.stagger],
    ...["--compare", run.compare ? "1" : "0", "--runs", String(run.runs)],
  ];
  await runStock([...loadWords(run), ...words], (line, index) => {
    if (index === 0) on.bus(checkBusLine(line));
    else on.row(checkRow(line));
  });
}

/** What a frame's steps take while nothing else is on the GPU, at the same rate. */
export async function measureAlone(run: StockLoad): Promise<AloneLine> {
  let alone: AloneLine | undefined;
  await runStock([...loadWords(run), "--alone", "1"], (line) => {
    alone = checkAloneLine(line);
  });
  if (alone === undefined) throw new FramelaneError("device_failed", "Stock Halide's benchmark said nothing.");
  return alone;
}
