/** `framelane bench channels`: what this machine does, without a service around it. */
import { writeFileSync } from "node:fs";
import { Argument, InvalidArgumentError, Option } from "commander";
import { FramelaneError } from "../errors.ts";
import type { ChannelsRow } from "./bench-channels.ts";
import type { BenchHead } from "./bench-head.ts";
import { type ModeName, modes, staggers, type WorkloadName, waits, workloads } from "./bench-workloads.ts";
import { Command, paint, type Streams } from "./command.ts";

interface BenchOptions {
  readonly workload: WorkloadName;
  readonly mode?: ModeName;
  readonly device: string;
  readonly wait: (typeof waits)[number];
  readonly stagger: (typeof staggers)[number];
  readonly channels: readonly number[];
  readonly size?: { readonly width: number; readonly height: number };
  readonly fps: number | "max";
  readonly inFlight: number;
  readonly threads: number;
  readonly seconds: number;
  readonly json?: string;
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

const columns = [
  ["WORKLOAD", "workload"],
  ["SIZE", "size"],
  ["MODE", "mode"],
  ["DEVICE", "device"],
  ["CHANNELS", "channels"],
  ["THREADS", "threads"],
  ["IN FLIGHT", "in_flight"],
  ["WAIT", "wait"],
  ["PACE", "pace_fps"],
  ["STAGGER", "stagger"],
  ["FPS", "fps"],
  ["P50 us", "p50_us"],
  ["P99 us", "p99_us"],
  ["P99.9 us", "p999_us"],
  ["MAX us", "max_us"],
  ["LOST", "lost"],
  ["CORES", "engine_cores"],
] as const satisfies readonly (readonly [string, keyof ChannelsRow])[];

/** Each value below its title: rows appear one by one, long before the last is known. */
const line = (cells: readonly string[]): string =>
  `${cells.map((cell, index) => cell.padStart(Math.max(9, columns[index]?.[0].length ?? 0))).join(" ")}\n`;

const cell = (row: ChannelsRow, name: keyof ChannelsRow): string =>
  row[name] === null ? (name === "pace_fps" ? "max" : "-") : String(row[name]);

async function bench(options: BenchOptions, { stdout }: Streams): Promise<void> {
  const { measureChannels } = await import("./bench-channels.ts");
  const { benchHead } = await import("./bench-head.ts");
  const { json, fps, ...rest } = options;
  const mode = options.device === "cpu" ? "cpu" : "framelane-replay";
  if (options.mode !== undefined && options.mode !== mode)
    throw new FramelaneError("usage", `--mode ${options.mode} does not run on ${options.device}, expected ${mode}.`);
  const rows: ChannelsRow[] = [];
  let head: BenchHead | undefined;
  stdout.write(paint(stdout, "dim", line(columns.map(([title]) => title))));
  for (const channels of options.channels) {
    const { row, device } = await measureChannels({
      ...rest,
      mode,
      channels,
      size: options.size ?? workloads[options.workload].size,
      fps: fps === "max" ? undefined : fps,
    });
    head ??= benchHead(device);
    rows.push(row);
    stdout.write(line(columns.map(([, name]) => cell(row, name))));
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ...head, rows }, null, 2)}\n`);
}

export const makeCommand = (streams: Streams): Command =>
  new Command("bench")
    .description("measures channels of a test pattern in an engine of this process")
    .addArgument(new Argument("<what>", "what is measured").choices(["channels"]))
    .addOption(new Option("--workload <name>", "the pipeline").choices(Object.keys(workloads)).default("gain"))
    .option("--device <id>", "where they run: cpu, cuda:0 ...", device, "cpu")
    .addOption(new Option("--mode <name>", "how frames are run; the device's own otherwise").choices(modes))
    .addOption(new Option("--wait <name>", "how workers wait").choices(waits).default("blocking"))
    .option("--channels <n...>", "channels side by side; several numbers make several rows", (text, before) => {
      const list = Array.isArray(before) ? before : [];
      return [...list, whole(text)];
    })
    .option("--size <WxH>", "of the frames; the workload's own otherwise", size)
    .option("--fps <rate>", "frames per second of each channel, or max", pace, "max")
    .addOption(
      new Option("--stagger <name>", "with a rate: frames of all channels spread over the period, or at one time")
        .choices(staggers)
        .default("auto"),
    )
    .option("--in-flight <k>", "frames of a channel in work at once", whole, 1)
    .option("--threads <t>", "CPU threads that work on one frame", whole, 1)
    .option("--seconds <s>", "length of each row's measurement", positive, 5)
    .option("--json <file>", "writes the rows as JSON")
    .action((_what: string, options: BenchOptions) =>
      bench({ ...options, channels: options.channels ?? [1] }, streams),
    );
