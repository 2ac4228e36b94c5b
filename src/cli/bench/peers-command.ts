/** `framelane bench peers`: the service beside PyTorch, on one GPU in one run. */
import { FramelaneError } from "../../errors.ts";
import { Command, paint, type Streams } from "../command.ts";
import type { BenchHead } from "./head.ts";
import { device, listOf, oneOf, positive, size, whole } from "./options.ts";
import type { ChannelsRow } from "./rows.ts";
import { type TorchModeName, torchModes, waits, workloads } from "./workloads.ts";

interface PeersOptions {
  readonly python: string;
  readonly modes?: readonly TorchModeName[];
  readonly device: string;
  readonly channels?: readonly number[];
  readonly inFlight?: readonly number[];
  readonly wait?: readonly (typeof waits)[number][];
  readonly size?: { readonly width: number; readonly height: number };
  readonly seconds: number;
  readonly runs: number;
  readonly compare: boolean;
  readonly json?: string;
  readonly plot?: string;
}

const workload = "r14";
const manyChannels = [1, 2, 4, 8, 16, 32, 64];

const runOf = (options: PeersOptions) =>
  ({
    ...options,
    workload,
    modes: options.modes ?? torchModes,
    channels: options.channels ?? manyChannels,
    inFlight: options.inFlight ?? [3],
    wait: options.wait ?? [waits[0]],
    size: options.size ?? workloads[workload].size,
  }) as const;
type PeersRun = ReturnType<typeof runOf>;

interface Measured {
  head: BenchHead;
  peer: string | undefined;
  pcieGbps: number | undefined;
  readonly rows: ChannelsRow[];
}

/** Where the program for it is there; the GPU is nobody else's yet. */
async function measureBus(run: PeersRun, measured: Measured): Promise<void> {
  const { cudaDefaults } = await import("./channels.ts");
  const { hasStockProgram, measureStock } = await import("./stock.ts");
  if (!hasStockProgram()) return;
  const { library } = cudaDefaults();
  await measureStock(
    { ...run, modes: [], library, fps: undefined, stagger: "auto" },
    {
      bus: ({ pcie_both_gbps }) => {
        measured.pcieGbps = pcie_both_gbps;
      },
      row: () => undefined,
    },
  );
}

async function measurePeer(run: PeersRun, measured: Measured, add: (row: ChannelsRow) => void): Promise<void> {
  const { pcieFraction } = await import("./channels.ts");
  const { measureTorch } = await import("./torch.ts");
  await measureTorch(run, {
    peer: ({ peer }) => {
      measured.peer = peer;
    },
    row: (row) => {
      const { pcieGbps: gbps } = measured;
      add({ ...row, pcie_fraction: gbps === undefined ? null : pcieFraction(run, row.fps, gbps) });
    },
  });
}

async function measureOwn(run: PeersRun, measured: Measured, add: (row: ChannelsRow) => void): Promise<void> {
  const { measureMedian } = await import("./channels.ts");
  const rest = { mode: "framelane-replay", threads: 1, fps: undefined, stagger: "auto" } as const;
  for (const channels of run.channels) {
    for (const wait of run.wait) {
      for (const inFlight of run.inFlight) {
        const one = { ...run, ...rest, channels, wait, inFlight, pcieGbps: measured.pcieGbps, compare: undefined };
        const { row, device } = await measureMedian(one, run.runs);
        measured.head = { ...measured.head, gpu: device.name, driver: device.driver ?? null };
        add(row);
      }
    }
  }
}

async function write(options: PeersOptions, { head, peer, pcieGbps, rows }: Measured): Promise<void> {
  const { checkResult } = await import("./rows.ts");
  const { channelsPlot } = await import("./plot.ts");
  const { writeFiles } = await import("./files.ts");
  const named = peer === undefined ? {} : { peer };
  const result = checkResult({ ...head, pcie_both_gbps: pcieGbps ?? null, ...named, rows });
  writeFiles(options, result, (drawn) => channelsPlot(drawn));
}

async function benchPeers(options: PeersOptions, { stdout }: Streams): Promise<void> {
  if (options.device === "cpu") throw new FramelaneError("usage", "Peers are measured on a GPU: --device cuda:0.");
  const { benchHead } = await import("./head.ts");
  const { peersTable } = await import("./table.ts");
  const run = runOf(options);
  const head = benchHead({ gpu: null, driver: null });
  const measured: Measured = { head, peer: undefined, pcieGbps: undefined, rows: [] };
  const add = (row: ChannelsRow): void => {
    stdout.write(peersTable.row(row, measured.rows));
    measured.rows.push(row);
  };
  stdout.write(paint(stdout, "dim", peersTable.head()));
  try {
    await measureBus(run, measured);
    await measurePeer(run, measured, add);
    await measureOwn(run, measured, add);
  } finally {
    // Of a run that fails, what was measured is kept.
    if (measured.rows.length > 0) await write(options, measured);
  }
}

export const peersCommand = (streams: Streams): Command =>
  new Command("peers")
    .description("workload r14 on a GPU, in PyTorch with CUDA graphs and in the service, one after the other")
    .option("--python <program>", "a Python with PyTorch", "python3")
    .option("--device <id>", "the GPU", device, "cuda:0")
    .option("--modes <list...>", `PyTorch's: ${torchModes.join(", ")} (default: all)`, listOf(oneOf(torchModes)))
    .option(
      "--channels <n...>",
      `channels side by side (default: ${manyChannels.join(" ")}); several make several rows, here as elsewhere`,
      listOf(whole),
    )
    .option("--in-flight <k...>", "frames of a channel in work at once (default: 3)", listOf(whole))
    .option("--wait <list...>", `how workers wait: ${waits.join(", ")} (default: ${waits[0]})`, listOf(oneOf(waits)))
    .option("--size <WxH>", "of the frames; the workload's own otherwise", size)
    .option("--seconds <s>", "length of each row's measurement", positive, 4)
    .option("--runs <k>", "measures each row so often and shows the median", whole, 1)
    .option("--no-compare", "does not compare 1 in 100 of PyTorch's frames with what plain Python makes of it")
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws frames per second by number of channels, as SVG")
    .action((options: PeersOptions) => benchPeers(options, streams));
