/** `framelane bench channels`: what this machine does, without a service around it. */
import { writeFileSync } from "node:fs";
import { Argument, InvalidArgumentError, Option } from "commander";
import { FramelaneError } from "../errors.ts";
import type { ChannelsRow } from "./bench-rows.ts";
import { isStock, type ModeName, modes, staggers, type WorkloadName, waits, workloads } from "./bench-workloads.ts";
import { Command, paint, type Streams } from "./command.ts";

interface BenchOptions {
  readonly workload: WorkloadName;
  readonly modes?: readonly ModeName[];
  readonly device: string;
  readonly wait: (typeof waits)[number];
  readonly stagger: (typeof staggers)[number];
  readonly channels?: readonly number[];
  readonly size?: { readonly width: number; readonly height: number };
  readonly fps: number | "max";
  readonly inFlight: number;
  readonly threads: number;
  readonly seconds: number;
  readonly runs: number;
  readonly compare: boolean;
  readonly json?: string;
  readonly plot?: string;
}

const most = 1024;

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > most) {
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${most}.`);
  }
  return number;
}

function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0 && number <= 100_000)) throw new InvalidArgumentError("Expected a number above 0.");
  return number;
}

function size(text: string): { width: number; height: number } {
  const found = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text);
  if (found === null) throw new InvalidArgumentError("Expected WIDTHxHEIGHT, as 1920x1080.");
  return { width: Number(found[1]), height: Number(found[2]) };
}

function device(text: string): string {
  if (!/^(cpu|cuda:\d{1,3})$/.test(text)) throw new InvalidArgumentError("Expected cpu or a GPU such as cuda:0.");
  return text;
}

const pace = (text: string): number | "max" => (text === "max" ? "max" : positive(text));

function mode(text: string): ModeName {
  const found = modes.find((name) => name === text);
  if (found === undefined) throw new InvalidArgumentError(`Expected some of ${modes.join(", ")}.`);
  return found;
}

/** `1,2 4` and `1 2 4` alike. */
const listOf =
  <T>(one: (text: string) => T) =>
  (text: string, before: unknown): T[] => [
    ...(Array.isArray(before) ? (before as T[]) : []),
    ...text.split(",").map(one),
  ];

/** The device's own unless others are asked for. */
function modesFor({ modes: wanted, device }: BenchOptions): readonly ModeName[] {
  const onCpu = device === "cpu";
  const strange = wanted?.find((name) => (name === "cpu") !== onCpu);
  if (strange !== undefined) throw new FramelaneError("usage", `--modes ${strange} does not run on ${device}.`);
  return wanted ?? [onCpu ? "cpu" : "framelane-replay"];
}

async function bench(options: BenchOptions, { stdout }: Streams): Promise<void> {
  const { cudaDefaults, measureMedian } = await import("./bench-channels.ts");
  const { hasStockProgram, measureStock } = await import("./bench-stock.ts");
  const { checkResult } = await import("./bench-rows.ts");
  const { benchHead } = await import("./bench-head.ts");
  const { tableHead, tableRow } = await import("./bench-table.ts");
  const { json, plot, modes: _, fps: pace, channels = [1], runs, ...rest } = options;
  const wanted = modesFor(options);
  const load = { ...rest, size: options.size ?? workloads[options.workload].size };
  const fps = pace === "max" ? undefined : pace;
  const rows: ChannelsRow[] = [];
  const add = (row: ChannelsRow): void => {
    stdout.write(tableRow(row, rows));
    rows.push(row);
  };
  let head = benchHead({ gpu: null, driver: null });
  let pcieGbps: number | undefined;
  stdout.write(paint(stdout, "dim", tableHead()));
  const stock = wanted.filter(isStock);
  // The bus is measured wherever that can be done, once for all rows.
  if (stock.length > 0 || (options.device !== "cpu" && hasStockProgram())) {
    const run = { ...load, fps, channels, runs, modes: stock, library: cudaDefaults().library };
    await measureStock(run, {
      bus: ({ gpu, driver, pcie_both_gbps }) => {
        head = { ...head, gpu, driver };
        pcieGbps = pcie_both_gbps;
      },
      row: add,
    });
  }
  for (const count of channels) {
    for (const name of wanted) {
      if (isStock(name)) continue;
      const { row, device } = await measureMedian({ ...load, fps, mode: name, channels: count, pcieGbps }, runs);
      if (device.id !== "cpu") head = { ...head, gpu: device.name, driver: device.driver ?? null };
      add(row);
    }
  }
  const result = checkResult({ ...head, pcie_both_gbps: pcieGbps ?? null, rows });
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  if (plot !== undefined) writeFileSync(plot, (await import("./bench-plot.ts")).channelsPlot(result));
}

export const makeCommand = (streams: Streams): Command =>
  new Command("bench")
    .description("measures channels of a test pattern in an engine of this process")
    .addArgument(new Argument("<what>", "what is measured").choices(["channels"]))
    .addOption(new Option("--workload <name>", "the pipeline").choices(Object.keys(workloads)).default("gain"))
    .option("--device <id>", "where they run: cpu, cuda:0 ...", device, "cpu")
    .option("--modes <list...>", `what is compared: ${modes.join(", ")}; the device's own otherwise`, listOf(mode))
    .addOption(new Option("--wait <name>", "how workers wait").choices(waits).default("blocking"))
    .option("--channels <n...>", "channels side by side; several numbers make several rows", listOf(whole))
    .option("--size <WxH>", "of the frames; the workload's own otherwise", size)
    .option("--fps <rate>", "frames per second of each channel, or max", pace, "max")
    .addOption(
      new Option("--stagger <name>", "with a rate: frames of all channels spread over the period, or at one time")
        .choices(staggers)
        .default("auto"),
    )
    .option("--in-flight <k>", "frames of a channel in work at once", whole, 1)
    .option("--threads <t>", "CPU threads that work on one frame", whole, 1)
    .option("--seconds <s>", "length of each row's measurement", positive, 4)
    .option("--runs <k>", "measures each row so often and shows the median", whole, 1)
    .option("--no-compare", "does not compare 1 in 100 of stock Halide's frames with the CPU's")
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws frames per second by number of channels, as SVG")
    .action((_what: string, options: BenchOptions) => bench(options, streams));
