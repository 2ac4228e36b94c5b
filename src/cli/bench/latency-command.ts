/** `framelane bench latency`: how long one frame takes, beside its steps by themselves. */
import { Option } from "commander";
import { Command, paint, type Streams } from "../command.ts";
import type { LatencyRow } from "./latency-rows.ts";
import { device, listOf, oneOf, positive, size } from "./options.ts";
import { type WorkloadName, waits, workloads } from "./workloads.ts";

interface LatencyOptions {
  readonly workload: WorkloadName;
  readonly device: string;
  readonly size?: { readonly width: number; readonly height: number };
  readonly fps: number;
  readonly wait?: readonly (typeof waits)[number][];
  readonly seconds: number;
  readonly json?: string;
  readonly plot?: string;
}

async function bench(options: LatencyOptions, { stdout }: Streams): Promise<void> {
  const { deviceHead } = await import("./head.ts");
  const { checkLatencyResult } = await import("./latency-rows.ts");
  const { latencyPlot, latencyTable } = await import("./latency-view.ts");
  const { measureLatency, measureStepsAlone } = await import("./latency.ts");
  const { writeFiles } = await import("./files.ts");
  const load = { ...options, size: options.size ?? workloads[options.workload].size };
  const rows: LatencyRow[] = [];
  let head = deviceHead();
  stdout.write(paint(stdout, "dim", latencyTable.head()));
  const runOf = (wait: (typeof waits)[number]) =>
    ({ ...load, wait, inFlight: 1, threads: 1, stagger: "auto" }) as const;
  const alone = await measureStepsAlone(runOf(waits[0]));
  try {
    for (const wait of options.wait ?? ["spin", "blocking"]) {
      const { row, device: measured } = await measureLatency(runOf(wait), alone);
      head = deviceHead(measured);
      stdout.write(latencyTable.row(row));
      rows.push(row);
    }
  } finally {
    // Of a run that fails, what was measured is kept.
    if (rows.length > 0) writeFiles(options, checkLatencyResult({ ...head, rows }), latencyPlot);
  }
}

export const latencyCommand = (streams: Streams): Command =>
  new Command("latency")
    .description("how long one frame of one channel takes; on a GPU beside its upload, kernels and download alone")
    .addOption(new Option("--workload <name>", "the pipeline").choices(Object.keys(workloads)).default("r14"))
    .option("--device <id>", "where it runs: cpu, cuda:0 ...", device, "cpu")
    .option("--size <WxH>", "of the frames; the workload's own otherwise", size)
    .option("--fps <rate>", "frames per second, fewer than the channel can do", positive, 240)
    .option("--wait <list...>", "how the worker waits (default: spin, blocking)", listOf(oneOf(waits)))
    .option("--seconds <s>", "length of each row's measurement, and of that of the steps alone", positive, 10)
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws the latencies, as SVG")
    .action((options: LatencyOptions) => bench(options, streams));
