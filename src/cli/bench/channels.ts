/** Measures channels in an engine of this process. */
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelSpec, SinkSpec } from "../../config/channel-spec.ts";
import { resolveCuda } from "../../config/resolve.ts";
import type { DeviceInfo } from "../../engine/engine.ts";
import { startLocalEngine } from "../../engine/local-engine.ts";
import { FramelaneError } from "../../errors.ts";
import { comparedFrames } from "./expected.ts";
import {
  allRunning,
  callsAreFresh,
  callsPerFrame,
  framesPerSecond,
  latenciesUs,
  moment,
  warmUpMs,
} from "./measurement.ts";
import type { ChannelsRow } from "./rows.ts";
import { type ChannelLoad, channelOf, frameBytes, type OwnModeName, type WorkloadName } from "./workloads.ts";

/** As a service without a configuration takes it. */
export const cudaDefaults = () => resolveCuda(undefined, process.cwd(), process.env["FRAMELANE_CUDA_LIBRARY"]);

export interface ChannelsRun extends ChannelLoad {
  readonly workload: WorkloadName;
  readonly mode: OwnModeName;
  readonly device: string;
  readonly channels: number;
  readonly seconds: number;
  /** What the bus carries both ways at once; undefined: not measured. */
  readonly pcieGbps: number | undefined;
  /** What compares results; undefined: nothing does. */
  readonly compare: SinkSpec | undefined;
}

/** Of what the bus carries each way while both are busy. */
export const pcieFraction = (run: Pick<ChannelsRun, "workload" | "size">, fps: number, gbps: number): number =>
  Math.round(((fps * frameBytes(run.workload, run.size)) / (gbps * 1e9)) * 1e4) / 1e4;

/** The run in the middle by its frames per second, with those of all; they follow one another. */
export async function measureMedian(run: ChannelsRun, runs: number): Promise<{ row: ChannelsRow; device: DeviceInfo }> {
  const taken: { row: ChannelsRow; device: DeviceInfo }[] = [];
  while (taken.length < runs) taken.push(await measureChannels(run));
  const fps_runs = taken.map(({ row }) => row.fps);
  taken.sort((a, b) => a.row.fps - b.row.fps);
  const median = taken[Math.floor((runs - 1) / 2)];
  if (median === undefined) throw new FramelaneError("internal", "No run was made.");
  return { row: { ...median.row, fps_runs }, device: median.device };
}

function specOf(run: ChannelsRun, cell: number): ChannelSpec {
  const spec = channelOf(run.workload, run, cell);
  return run.compare === undefined ? spec : { ...spec, sinks: [...spec.sinks, run.compare] };
}

/** Latencies are from a frame's arrival in its slot to the end of its pipeline. */
async function measureChannels(run: ChannelsRun): Promise<{ row: ChannelsRow; device: DeviceInfo }> {
  const onGpu = run.mode !== "cpu";
  const cuda = { ...cudaDefaults(), replay: run.mode === "framelane-replay" };
  const specs = Array.from({ length: run.channels }, (_, cell) => specOf(run, cell));
  const { engine, device, statistics, close } = await startLocalEngine(
    specs.map(({ name }) => name),
    { device: run.device, compileThreads: 1, ...(onGpu ? { cuda } : {}) },
  );
  let failure = "";
  engine.on("event", ({ sink, message = "" }) => {
    if (sink !== undefined) failure = message;
  });
  try {
    for (const spec of specs) await engine.createChannel(spec);
    await allRunning(engine, statistics, run.channels);
    await delay(warmUpMs);
    if (onGpu) await callsAreFresh(statistics);
    const first = moment(statistics, run.channels);
    await delay(run.seconds * 1000);
    if (onGpu) await callsAreFresh(statistics);
    const last = moment(statistics, run.channels);
    const compared = run.compare && { frames: comparedFrames(statistics, run.channels, 1, failure) };
    const fps = framesPerSecond(first, last);
    const row: ChannelsRow = {
      workload: run.workload,
      size: `${run.size.width}x${run.size.height}`,
      mode: run.mode,
      device: run.device,
      channels: run.channels,
      threads: run.threads,
      in_flight: run.inFlight,
      wait: run.wait,
      pace_fps: run.fps ?? null,
      stagger: run.fps === undefined ? null : run.stagger,
      fps: Math.round(fps * 10) / 10,
      fps_runs: [Math.round(fps * 10) / 10],
      ...latenciesUs(first, last),
      pcie_fraction: run.pcieGbps === undefined ? null : pcieFraction(run, fps, run.pcieGbps),
      lost: last.lost - first.lost,
      engine_cores: Math.round((last.cpuUs - first.cpuUs) / (last.timeMs - first.timeMs) / 10) / 100,
      captured: onGpu ? last.captured : null,
      compared: compared ? { ...compared, worst_difference: null } : null,
      driver_calls_per_frame: onGpu ? callsPerFrame(first, last) : null,
    };
    return { row, device };
  } finally {
    await close();
  }
}
