/** `framelane bench operations`: each built-in operation by itself, without a channel around it. */
import { type PixelFormatName, pixelFormatNames } from "../../config/pixel-format.ts";
import { Command, paint, type Streams } from "../command.ts";
import type { DeviceLine, MeasuredRow, OperationsRow } from "./operations-rows.ts";
import { device, listOf, oneOf, positive, size, whole } from "./options.ts";
import { workloads } from "./workloads.ts";

interface OperationsOptions {
  readonly device: string;
  readonly operations?: readonly string[];
  readonly formats?: readonly PixelFormatName[];
  readonly size?: { readonly width: number; readonly height: number };
  readonly threads: number;
  readonly seconds: number;
  readonly json?: string;
  readonly plot?: string;
}

const usualSize = workloads.images.size;
const usualFormats = ["mono8", "rgb8", "mono32f", "rgb32f"] as const;

interface Measured {
  line: DeviceLine | undefined;
  readonly rows: OperationsRow[];
}

async function write(options: OperationsOptions, { line, rows }: Measured): Promise<void> {
  const { benchHead } = await import("./head.ts");
  const { checkOperationsResult } = await import("./operations-rows.ts");
  const { operationsPlot } = await import("./operations-view.ts");
  const { writeFiles } = await import("./files.ts");
  if (line === undefined || rows.length === 0) return;
  const { mode: _, gpu, driver, ...gives } = line;
  const { device: id, seconds } = options;
  const threads = id === "cpu" ? options.threads : null;
  const head = benchHead({ gpu, driver });
  writeFiles(options, checkOperationsResult({ ...head, device: id, threads, seconds, ...gives, rows }), operationsPlot);
}

async function benchOperations(options: OperationsOptions, { stdout }: Streams): Promise<void> {
  const { cudaDefaults } = await import("./channels.ts");
  const { measureOperations } = await import("./operations.ts");
  const { reasonOf } = await import("./operations-reason.ts");
  const { operationsTable } = await import("./operations-view.ts");
  const measured: Measured = { line: undefined, rows: [] };
  // Of the operation that is being measured: reasons come from comparing its rows.
  let waiting: MeasuredRow[] = [];
  const finish = (): void => {
    for (const row of waiting) {
      const others = waiting.filter((other) => other !== row);
      const told = { ...row, reason: reasonOf(row, others, measured.line?.kernel_us ?? null) };
      stdout.write(operationsTable.row(told));
      measured.rows.push(told);
    }
    waiting = [];
  };
  const { library } = cudaDefaults();
  const { operations, formats = usualFormats, size: wanted = usualSize } = options;
  stdout.write(paint(stdout, "dim", operationsTable.head()));
  try {
    await measureOperations(
      { ...options, operations, formats, size: wanted, library },
      {
        device: (line) => {
          measured.line = line;
        },
        row: (row) => {
          if (waiting.some(({ operation }) => operation !== row.operation)) finish();
          waiting.push(row);
        },
      },
    );
  } finally {
    // Of a run that fails, what was measured is kept.
    finish();
    await write(options, measured);
  }
}

export const operationsCommand = (streams: Streams): Command =>
  new Command("operations")
    .description("how long each built-in operation takes; on a GPU its kernels, beside what the device's memory gives")
    .option("--device <id>", "where they run: cpu, cuda:0 ...", device, "cuda:0")
    .option(
      "--operations <list...>",
      "by their names in the configuration (default: all)",
      listOf((name) => name),
    )
    .option(
      "--formats <list...>",
      `of the frames (default: ${usualFormats.join(" ")})`,
      listOf(oneOf(pixelFormatNames)),
    )
    .option("--size <WxH>", `of the frames (default: ${usualSize.width}x${usualSize.height})`, size)
    .option("--threads <t>", "CPU threads that work on one frame", whole, 1)
    .option("--seconds <s>", "length of each row's measurement, on the CPU at most", positive, 0.2)
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws shares of the memory's bandwidth, or times on the CPU, as SVG")
    .action((options: OperationsOptions) => benchOperations(options, streams));
