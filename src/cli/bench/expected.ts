/** What the CPU makes of a workload's frames, for whoever compares with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChannelSpec, SinkSpec } from "../../config/channel-spec.ts";
import { startLocalEngine } from "../../engine/local-engine.ts";
import { emptyChannelCells, type StatisticsReader } from "../../engine/statistics-reader.ts";
import { channelStates } from "../../engine/stats-layout.gen.ts";
import { FramelaneError } from "../../errors.ts";
import { unlessStopped } from "./measurement.ts";
import { type ChannelLoad, channelOf, type WorkloadName, workloads } from "./workloads.ts";

/** One frame in so many is compared. */
const every = 100;
/** A stamp and its surroundings are left out of what is compared: addon/io/sinks/compare.cpp. */
const smallest = { width: 161, height: 145 };

/** Samples of 8 bits in frames that have more than their stamp. */
export const comparable = (workload: WorkloadName, { width, height }: ChannelLoad["size"]): boolean =>
  workloads[workload].format === "mono8" && width >= smallest.width && height >= smallest.height;

async function runOnCpu(spec: ChannelSpec): Promise<void> {
  const { engine, statistics, close } = await startLocalEngine([spec.name], { device: "cpu", compileThreads: 1 });
  try {
    await engine.createChannel(spec);
    const cells = emptyChannelCells();
    await unlessStopped(engine, () => {
      statistics.readChannel(0, cells);
      return channelStates[cells.worker.state] === "finished";
    });
  } finally {
    await close();
  }
}

/** Results of the pictures that the source draws into its slots, made once for each number of slots. */
export class ExpectedResults {
  readonly #workload: WorkloadName;
  readonly #directory = mkdtempSync(join(tmpdir(), "framelane-bench-"));
  readonly #files = new Map<number, string>();

  constructor(workload: WorkloadName) {
    this.#workload = workload;
  }

  async sinkFor(load: ChannelLoad): Promise<SinkSpec> {
    const { slots } = channelOf(this.#workload, load, 0).ring;
    const path = this.#files.get(slots) ?? (await this.#make(load, slots));
    return { type: "compare", path, every, queue: 1, onFull: "drop-newest" };
  }

  close(): void {
    rmSync(this.#directory, { recursive: true });
  }

  async #make(load: ChannelLoad, slots: number): Promise<string> {
    const path = join(this.#directory, `${slots}.raw`);
    const spec = channelOf(this.#workload, { ...load, fps: undefined, inFlight: 1 }, 0);
    await runOnCpu({
      ...spec,
      ring: { slots },
      source: { ...spec.source, frames: slots },
      sinks: [{ type: "file", path, every: 1, queue: 4, onFull: "wait" }],
    });
    this.#files.set(slots, path);
    return path;
  }
}

/** Frames that were one of the expected ones; throws where one was none. `failure`: what its sink said. */
export function comparedFrames(statistics: StatisticsReader, channels: number, sink: number, failure: string): number {
  const cells = emptyChannelCells();
  let frames = 0;
  for (let cell = 0; cell < channels; cell++) {
    statistics.readChannel(cell, cells);
    const { written = 0, failed = 0 } = cells.sinks[sink] ?? {};
    if (failed > 0) throw new FramelaneError("sink_failed", failure);
    frames += written;
  }
  return frames;
}
