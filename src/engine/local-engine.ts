/** The native engine in this process with a statistics block of its own: for measurements, without a service. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FramelaneError } from "../errors.ts";
import { loadAddon, type NativeAddon } from "../native/binding.ts";
import type { DeviceInfo, EngineOptions } from "./engine.ts";
import { InProcessEngine } from "./in-process-engine.ts";
import { createStatisticsBlock } from "./statistics-block.ts";
import { StatisticsReader } from "./statistics-reader.ts";

export interface LocalEngine {
  readonly engine: InProcessEngine;
  readonly device: DeviceInfo;
  readonly statistics: StatisticsReader;
  close(): Promise<void>;
}

function load(): NativeAddon {
  try {
    return loadAddon();
  } catch (thrown) {
    const [reason] = (thrown as Error).message.split("\n");
    throw new FramelaneError("addon_missing", `The addon cannot be loaded: ${reason}`, { cause: thrown });
  }
}

export type LocalEngineOptions = Pick<EngineOptions, "device" | "cuda" | "compileThreads">;

/** Started; `channels` are their names by cell. */
export async function startLocalEngine(channels: readonly string[], options: LocalEngineOptions): Promise<LocalEngine> {
  const addon = load();
  const directory = mkdtempSync(join(tmpdir(), "framelane-engine-"));
  const statisticsPath = join(directory, "statistics");
  createStatisticsBlock(statisticsPath, { engines: [options.device], channels });
  const engine = new InProcessEngine({ ...options, statisticsPath, engineCell: 0 }, addon);
  const statistics = new StatisticsReader(statisticsPath);
  const close = async () => {
    await engine.stop();
    statistics.close();
    rmSync(directory, { recursive: true });
  };
  try {
    return { engine, device: await engine.start(), statistics, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}
