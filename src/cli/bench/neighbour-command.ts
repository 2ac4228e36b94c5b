/** `framelane bench neighbour`: what channels notice of an operation on another one. */
import { Option } from "commander";
import { Command, paint, type Streams } from "../command.ts";
import type { NeighbourRow } from "./neighbour-rows.ts";
import { device, positive, size, whole } from "./options.ts";
import { type WorkloadName, waits, workloads } from "./workloads.ts";

interface NeighbourOptions {
  readonly workload: WorkloadName;
  readonly device: string;
  readonly channels: number;
  readonly size?: { readonly width: number; readonly height: number };
  readonly fps: number;
  readonly wait: (typeof waits)[number];
  readonly times: number;
  readonly seconds: number;
  readonly json?: string;
  readonly plot?: string;
}

async function bench(options: NeighbourOptions, { stdout }: Streams): Promise<void> {
  const { deviceHead } = await import("./head.ts");
  const { checkNeighbourResult } = await import("./neighbour-rows.ts");
  const { neighbourPlot, neighbourTable } = await import("./neighbour-view.ts");
  const { writeFiles } = await import("./files.ts");
  const { measureNeighbours } = await import("./neighbour.ts");
  const run = { ...options, size: options.size ?? workloads[options.workload].size };
  const rows: NeighbourRow[] = [];
  let head = deviceHead();
  stdout.write(paint(stdout, "dim", neighbourTable.head()));
  try {
    await measureNeighbours(
      { ...run, inFlight: 1, threads: 1, stagger: "auto" },
      {
        device: (measured) => {
          head = deviceHead(measured);
        },
        row: (row) => {
          stdout.write(neighbourTable.row(row));
          rows.push(row);
        },
      },
    );
  } finally {
    // Of a run that fails, what was measured is kept.
    if (rows.length > 0) writeFiles(options, checkNeighbourResult({ ...head, rows }), neighbourPlot);
  }
}

export const neighbourCommand = (streams: Streams): Command =>
  new Command("neighbour")
    .description("what channels notice while another one is added, removed, changed, or bounds are: their worst frame")
    .addOption(
      new Option("--workload <name>", "the pipeline of the channels that are watched")
        .choices(Object.keys(workloads))
        .default("r14"),
    )
    .option("--device <id>", "where they run: cpu, cuda:0 ...", device, "cpu")
    .option("--channels <n>", "channels that are watched; the one that changes comes on top", whole, 16)
    .option("--size <WxH>", "of the frames; the workload's own otherwise", size)
    .option("--fps <rate>", "frames per second of each channel", positive, 240)
    .addOption(new Option("--wait <name>", "how workers wait").choices(waits).default(waits[0]))
    .option("--times <k>", "how often each operation is done", whole, 50)
    .option("--seconds <s>", "length of each row's measurement; longer where the operations take longer", positive, 10)
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws the latencies, as SVG")
    .action((options: NeighbourOptions) => bench(options, streams));
