/** Measures how long one frame of one channel takes, and its steps by themselves. */
import { setTimeout as delay } from "node:timers/promises";
import type { DeviceInfo } from "../../engine/engine.ts";
import { startLocalEngine } from "../../engine/local-engine.ts";
import { emptyHistogramCells, type StatisticsReader } from "../../engine/statistics-reader.ts";
import { stageNames } from "../../engine/stats-layout.gen.ts";
import { cudaDefaults } from "./channels.ts";
import type { LatencyRow } from "./latency-rows.ts";
import { allRunning, latenciesUs, moment, quantilesUs, warmUpMs } from "./measurement.ts";
import { hasStockProgram, measureAlone } from "./stock.ts";
import { type ChannelLoad, channelOf, type WorkloadName } from "./workloads.ts";

export interface LatencyRun extends ChannelLoad {
  readonly workload: WorkloadName;
  readonly device: string;
  readonly fps: number;
  readonly seconds: number;
}

export type Alone = LatencyRow["alone_us"];

/** In a process of its own. Null: the CPU has no such steps, or the program is not there. */
export async function measureStepsAlone(run: LatencyRun): Promise<Alone> {
  if (run.device === "cpu" || !hasStockProgram()) return null;
  const alone = await measureAlone({ ...run, library: cudaDefaults().library });
  return {
    upload: alone.upload_us,
    kernels: alone.kernels_us,
    kernels_launched: alone.kernels_launched_us,
    download: alone.download_us,
  };
}

function ratioOf(p99Us: number | null, alone: Alone): number | null {
  if (alone === null || p99Us === null) return null;
  const sum = alone.upload + (alone.kernels ?? alone.kernels_launched) + alone.download;
  return sum === 0 ? null : Math.round((p99Us / sum) * 1000) / 1000;
}

type StageName = Exclude<(typeof stageNames)[number], "total">;
type StageBins = ReadonlyMap<string, Float64Array>;

function stageBins(statistics: StatisticsReader): StageBins {
  const histogram = emptyHistogramCells();
  return new Map(
    stageNames.map((name, stage) => {
      statistics.readStage(0, stage, histogram);
      return [name, Float64Array.from(histogram.bins)];
    }),
  );
}

function stageBetween(name: StageName, first: StageBins, last: StageBins): LatencyRow["stages"][StageName] {
  const before = first.get(name);
  const counted = (last.get(name) ?? new Float64Array()).map((count, bin) => count - (before?.[bin] ?? 0));
  const { p50_us, p99_us } = quantilesUs(counted);
  return p50_us === null || p99_us === null ? null : { p50_us, p99_us };
}

export async function measureLatency(run: LatencyRun, alone: Alone): Promise<{ row: LatencyRow; device: DeviceInfo }> {
  const spec = channelOf(run.workload, run, 0);
  const onGpu = run.device !== "cpu";
  const { engine, device, statistics, close } = await startLocalEngine([spec.name], {
    device: run.device,
    compileThreads: 1,
    ...(onGpu ? { cuda: cudaDefaults() } : {}),
  });
  try {
    await engine.createChannel(spec);
    await allRunning(engine, statistics, 1);
    await delay(warmUpFor(run));
    const [first, firstStages] = [moment(statistics, 1), stageBins(statistics)];
    await delay(run.seconds * 1000);
    const [last, lastStages] = [moment(statistics, 1), stageBins(statistics)];
    const latencies = latenciesUs(first, last);
    const stageOf = (name: StageName) => stageBetween(name, firstStages, lastStages);
    const row: LatencyRow = {
      workload: run.workload,
      size: `${run.size.width}x${run.size.height}`,
      ...{ device: run.device, wait: run.wait, fps: run.fps },
      seconds: Math.round(last.timeMs - first.timeMs) / 1000,
      frames: (last.processed[0] ?? 0) - (first.processed[0] ?? 0),
      lost: last.lost - first.lost,
      ...latencies,
      stages: {
        wait: stageOf("wait"),
        upload: stageOf("upload"),
        compute: stageOf("compute"),
        download: stageOf("download"),
      },
      alone_us: alone,
      ratio: ratioOf(latencies.p99_us, alone),
    };
    return { row, device };
  } finally {
    await close();
  }
}

/** A spinning worker learns the source's period first, and how late this machine's timers wake it. */
const warmUpFor = ({ wait, seconds }: LatencyRun): number =>
  wait === "spin" ? Math.min(3000, Math.max(warmUpMs, seconds * 1000)) : warmUpMs;
