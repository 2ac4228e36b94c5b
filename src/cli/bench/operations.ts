/** Each operation's kernels by themselves: a program of its own puts them on the device without a channel around. */
import { existsSync } from "node:fs";
import type { PixelFormatName } from "../../config/pixel-format.ts";
import { FramelaneError } from "../../errors.ts";
import { checkDeviceLine, checkMeasuredRow, type DeviceLine, type MeasuredRow } from "./operations-rows.ts";
import { builtProgram, runProgram } from "./program.ts";

const program = builtProgram("bench_operations");
/** The program's: what it was asked for does not exist. */
const badUsage = 64;

export interface OperationsRun {
  readonly device: string;
  readonly library: string | undefined;
  /** Undefined: all. */
  readonly operations: readonly string[] | undefined;
  readonly formats: readonly PixelFormatName[];
  readonly size: { readonly width: number; readonly height: number };
  readonly seconds: number;
  readonly threads: number;
}

const wordsOf = ({ device, library, operations, formats, size, seconds, threads }: OperationsRun): string[] => [
  ...["--device", device, "--formats", formats.join(","), "--size", `${size.width}x${size.height}`],
  ...["--seconds", String(seconds), "--threads", String(threads)],
  ...(library === undefined ? [] : ["--library", library]),
  ...(operations === undefined ? [] : ["--operations", operations.join(",")]),
];

/** Rows come one by one, those of one operation together, after what the device gives. */
export async function measureOperations(
  run: OperationsRun,
  on: { device(line: DeviceLine): void; row(row: MeasuredRow): void },
): Promise<void> {
  if (!existsSync(program))
    throw new FramelaneError(
      "unsupported",
      "The operations' benchmark is not built; npm run build -- --bench builds it.",
    );
  const { code, said } = await runProgram(program, wordsOf(run), (line, index) => {
    if (index === 0) on.device(checkDeviceLine(line));
    else on.row(checkMeasuredRow(line));
  });
  if (code === 0) return;
  const why = said || `The operations' benchmark ended with ${code}.`;
  throw new FramelaneError(code === badUsage ? "usage" : "device_failed", why);
}
