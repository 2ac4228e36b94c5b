/** `framelane bench channels`: what this machine does, without a service around it. */
import { Option } from "commander";
import { FramelaneError } from "../../errors.ts";
import { Command, paint, type Streams } from "../command.ts";
import type { BenchHead } from "./head.ts";
import { device, listOf, oneOf, pace, positive, size, whole } from "./options.ts";
import type { PlotOf } from "./plot.ts";
import type { ChannelsRow } from "./rows.ts";
import type { RowsTable } from "./table.ts";
import { isStock, type ModeName, modes, staggers, type WorkloadName, waits, workloads } from "./workloads.ts";

export interface ChannelsOptions {
  readonly workload: WorkloadName;
  readonly modes?: readonly ModeName[];
  readonly device: string;
  readonly wait?: readonly (typeof waits)[number][];
  readonly stagger: (typeof staggers)[number];
  readonly channels?: readonly number[];
  readonly size?: { readonly width: number; readonly height: number };
  readonly fps: number | "max";
  readonly inFlight?: readonly number[];
  readonly threads: number;
  readonly seconds: number;
  readonly runs: number;
  readonly compare: boolean;
  readonly json?: string;
  readonly plot?: string;
}

/** How the rows are shown. */
export interface Shown {
  readonly table: RowsTable;
  readonly plot: PlotOf;
}

const loadOf = ({ workload, size, fps, channels = [1] }: ChannelsOptions) => ({
  size: size ?? workloads[workload].size,
  fps: fps === "max" ? undefined : fps,
  channels,
});

/** The device's own unless others are asked for. */
function modesFor({ modes: wanted, device, workload }: ChannelsOptions): readonly ModeName[] {
  if (wanted?.some(isStock) && workloads[workload].format !== "mono8")
    throw new FramelaneError("usage", `Stock Halide is measured with mono8 frames only, not with ${workload}.`);
  const onCpu = device === "cpu";
  const strange = wanted?.find((name) => (name === "cpu") !== onCpu);
  if (strange !== undefined) throw new FramelaneError("usage", `--modes ${strange} does not run on ${device}.`);
  return wanted ?? [onCpu ? "cpu" : "framelane-replay"];
}

interface Measured {
  head: BenchHead;
  pcieGbps: number | undefined;
  readonly rows: ChannelsRow[];
}

/** Stock Halide's rows, and what the bus carries wherever that can be measured, once for all rows. */
async function measureStockModes(options: ChannelsOptions, measured: Measured, add: (row: ChannelsRow) => void) {
  const { cudaDefaults } = await import("./channels.ts");
  const { hasStockProgram, measureStock } = await import("./stock.ts");
  const stock = modesFor(options).filter(isStock);
  if (stock.length === 0 && (options.device === "cpu" || !hasStockProgram())) return;
  const run = { ...options, ...loadOf(options), modes: stock, library: cudaDefaults().library };
  await measureStock(run, {
    bus: ({ gpu, driver, pcie_both_gbps }) => {
      measured.head = { ...measured.head, gpu, driver };
      measured.pcieGbps = pcie_both_gbps;
    },
    row: add,
  });
}

async function measureOwnModes(options: ChannelsOptions, measured: Measured, add: (row: ChannelsRow) => void) {
  const { measureMedian } = await import("./channels.ts");
  const { comparable, ExpectedResults } = await import("./expected.ts");
  const { runs, pcieGbps } = { ...options, ...measured };
  const compares = options.compare && comparable(options.workload, loadOf(options).size);
  const expected = compares ? new ExpectedResults(options.workload) : undefined;
  try {
    for (const load of ownLoads(options)) {
      const run = { ...load, pcieGbps, compare: await expected?.sinkFor(load) };
      const { row, device } = await measureMedian(run, runs);
      if (device.id !== "cpu") measured.head = { ...measured.head, gpu: device.name, driver: device.driver ?? null };
      add(row);
    }
  } finally {
    expected?.close();
  }
}

/** Each combination of what may be a list. */
function ownLoads(options: ChannelsOptions) {
  const own = modesFor(options).filter((mode) => !isStock(mode));
  const { channels: counts, ...load } = loadOf(options);
  return counts.flatMap((channels) =>
    own.flatMap((mode) =>
      (options.wait ?? [waits[0]]).flatMap((wait) =>
        (options.inFlight ?? [1]).map((inFlight) => ({ ...options, ...load, channels, mode, wait, inFlight })),
      ),
    ),
  );
}

async function write(options: ChannelsOptions, shown: Shown, { head, pcieGbps, rows }: Measured): Promise<void> {
  const { checkResult } = await import("./rows.ts");
  const { channelsPlot } = await import("./plot.ts");
  const { writeFiles } = await import("./files.ts");
  const result = checkResult({ ...head, pcie_both_gbps: pcieGbps ?? null, rows });
  writeFiles(options, result, (drawn) => channelsPlot(drawn, shown.plot));
}

export async function benchChannels(options: ChannelsOptions, shown: Shown, { stdout }: Streams): Promise<void> {
  const { benchHead } = await import("./head.ts");
  modesFor(options);
  const measured: Measured = { head: benchHead({ gpu: null, driver: null }), pcieGbps: undefined, rows: [] };
  const add = (row: ChannelsRow): void => {
    stdout.write(shown.table.row(row, measured.rows));
    measured.rows.push(row);
  };
  stdout.write(paint(stdout, "dim", shown.table.head()));
  try {
    await measureStockModes(options, measured, add);
    await measureOwnModes(options, measured, add);
  } finally {
    // Of a run that fails, what was measured is kept.
    if (measured.rows.length > 0) await write(options, shown, measured);
  }
}

export const channelsCommand = (streams: Streams): Command =>
  new Command("channels")
    .description("frames by number of channels, in an engine of this process, beside stock Halide where asked for")
    .addOption(new Option("--workload <name>", "the pipeline").choices(Object.keys(workloads)).default("gain"))
    .option("--device <id>", "where they run: cpu, cuda:0 ...", device, "cpu")
    .option(
      "--modes <list...>",
      `what is compared: ${modes.join(", ")}; the device's own otherwise`,
      listOf(oneOf(modes)),
    )
    .option("--wait <list...>", `how workers wait: ${waits.join(", ")} (default: ${waits[0]})`, listOf(oneOf(waits)))
    .option(
      "--channels <n...>",
      "channels side by side (default: 1); several make several rows, here as elsewhere",
      listOf(whole),
    )
    .option("--size <WxH>", "of the frames; the workload's own otherwise", size)
    .option("--fps <rate>", "frames per second of each channel, or max", pace, "max")
    .addOption(
      new Option("--stagger <name>", "with a rate: frames of all channels spread over the period, or at one time")
        .choices(staggers)
        .default("auto"),
    )
    .option("--in-flight <k...>", "frames of a channel in work at once (default: 1)", listOf(whole))
    .option("--threads <t>", "CPU threads that work on one frame", whole, 1)
    .option("--seconds <s>", "length of each row's measurement", positive, 4)
    .option("--runs <k>", "measures each row so often and shows the median", whole, 1)
    .option("--no-compare", "does not compare 1 in 100 frames with the CPU's, as on a GPU that runs no kernels")
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws frames per second by number of channels, as SVG")
    .action(async (options: ChannelsOptions) => {
      const { channelsTable } = await import("./table.ts");
      await benchChannels(options, { table: channelsTable, plot: { by: "channels", counted: "Frames" } }, streams);
    });
