/** Measures what channels notice of an operation on another channel of their engine, which is in this process. */
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelSpec, DeviceInfo, Engine } from "../../engine/engine.ts";
import { type LocalEngine, startLocalEngine } from "../../engine/local-engine.ts";
import { emptyEngineCells, type StatisticsReader } from "../../engine/statistics-reader.ts";
import { FramelaneError } from "../../errors.ts";
import { cudaDefaults } from "./channels.ts";
import { ExtraChannel, freshPipelines } from "./extra-channel.ts";
import { allRunning, quantilesUs, warmUpMs } from "./measurement.ts";
import { heavyCalls, type NeighbourRow, type OperationName } from "./neighbour-rows.ts";
import { emptyStretch, type Stretch, Watch } from "./watch.ts";
import { type ChannelLoad, channelOf, type WorkloadName, workloads } from "./workloads.ts";

export interface NeighbourRun extends ChannelLoad {
  readonly workload: WorkloadName;
  readonly device: string;
  readonly fps: number;
  readonly channels: number;
  readonly times: number;
  /** Of each row at least. */
  readonly seconds: number;
}

const onGpu = ({ device }: NeighbourRun): boolean => device !== "cpu";

/** Frames of each channel that are page-locked, and that the device has room for, with what lies between stages. */
const hostFrames = 10;
const deviceFrames = 32;

/** Of the channel that overloads the device: the bus has its next frame before the last one is out. */
const overloadInFlight = 3;

/** As a service whose operator has followed docs/gpu.md: nothing has to be taken from the driver while channels run. */
function cudaFor({ channels, size }: NeighbourRun) {
  const frames = (channels + 1 + overloadInFlight) * size.width * size.height;
  return {
    ...cudaDefaults(),
    memory: { reserve: frames * deviceFrames },
    pinned: { reserve: frames * hostFrames },
  };
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

function durations(tookMs: readonly number[]): NeighbourRow["operation_ms"] {
  const sorted = [...tookMs].sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  const max = sorted.at(-1);
  return median === undefined || max === undefined ? null : { median: rounded(median), max: rounded(max) };
}

function driverCalls(calls: ReadonlyMap<string, number>): NonNullable<NeighbourRow["driver_calls"]> {
  const [alloc, free, module_load, device_sync] = heavyCalls.map((kind) => calls.get(kind) ?? 0) as [
    number,
    number,
    number,
    number,
  ];
  return { alloc, free, module_load, device_sync };
}

type Latencies = ReturnType<typeof quantilesUs>;

/** Of two figures that were measured; null where one was not. */
const both = (
  idle: number | null | undefined,
  now: number | null,
  compare: (idle: number, now: number) => number,
): number | null => (idle === null || idle === undefined || now === null ? null : compare(idle, now));

/** A result that comes after the next frame is of no use: their copies go before those of who has all the time. */
const watchedChannel = (run: NeighbourRun, cell: number): ChannelSpec => ({
  ...channelOf(run.workload, run, cell),
  deadline: 1 / run.fps,
});

class Neighbours {
  readonly #run: NeighbourRun;
  readonly #engine: Engine;
  readonly #statistics: StatisticsReader;
  readonly #watch: Watch;
  readonly #extra: ExtraChannel;
  readonly #fresh = freshPipelines();
  readonly #add: (row: NeighbourRow) => void;
  #idle: Latencies | undefined;

  constructor(run: NeighbourRun, { engine, statistics }: LocalEngine, add: (row: NeighbourRow) => void) {
    this.#run = run;
    this.#engine = engine;
    this.#statistics = statistics;
    this.#watch = new Watch(statistics, run.channels, onGpu(run));
    this.#extra = new ExtraChannel(engine, statistics, watchedChannel(run, run.channels));
    this.#add = add;
  }

  async measure(): Promise<void> {
    await this.#nothing();
    await this.#comingAndGoing();
    if (onGpu(this.#run)) await this.#overload();
    await this.#extra.add(workloads[this.#run.workload].pipeline);
    await this.#repeat("reconfigure", await this.#parameterChanges());
    await this.#repeat("replace", () => this.#extra.replace(this.#fresh()));
    // The CPU's memory has no such bounds.
    if (onGpu(this.#run)) await this.#repeat("limits", this.#limitChanges());
  }

  async #nothing(): Promise<void> {
    const stretch = await this.#undisturbed();
    this.#idle = quantilesUs(stretch.counted);
    this.#add(this.#row("idle", stretch, await this.#watch.driverCalls()));
  }

  /** One more channel takes what the others leave of the device, as fast as it can. */
  async #overload(): Promise<void> {
    const load = { ...this.#run, fps: undefined, inFlight: overloadInFlight };
    const spec = channelOf(this.#run.workload, load, this.#run.channels);
    const other = new ExtraChannel(this.#engine, this.#statistics, spec);
    await other.add(spec.pipeline);
    await delay(warmUpMs);
    const before = other.processed();
    const stretch = await this.#undisturbed();
    const otherFps = Math.round(((other.processed() - before) * 1e4) / stretch.ms) / 10;
    this.#add({ ...this.#row("overload", stretch, await this.#watch.driverCalls()), other_fps: otherFps });
    await other.remove();
  }

  async #undisturbed(): Promise<Stretch> {
    const stretch = emptyStretch();
    await this.#watch.begin();
    await this.#watch.piece(stretch, this.#run.seconds * 1000, async () => {});
    return { ...stretch, tookMs: [] };
  }

  /** The two take turns, so that there is one channel more at most. */
  async #comingAndGoing(): Promise<void> {
    const [add, remove] = [emptyStretch(), emptyStretch()];
    await this.#watch.begin();
    for (let time = 0; time < this.#run.times; time++) {
      await this.#watch.piece(add, this.#leastMs(), () => this.#extra.add(this.#fresh()));
      await this.#watch.piece(remove, this.#leastMs(), () => this.#extra.remove());
    }
    const calls = await this.#watch.driverCalls();
    this.#add(this.#row("add", add, calls));
    this.#add(this.#row("remove", remove, calls));
  }

  async #repeat(operation: OperationName, act: () => Promise<void>): Promise<void> {
    const stretch = emptyStretch();
    await delay(warmUpMs);
    await this.#watch.begin();
    for (let time = 0; time < this.#run.times; time++) await this.#watch.piece(stretch, this.#leastMs(), act);
    this.#add(this.#row(operation, stretch, await this.#watch.driverCalls()));
  }

  #leastMs(): number {
    return (this.#run.seconds * 1000) / this.#run.times;
  }

  async #parameterChanges(): Promise<() => Promise<void>> {
    const { name } = this.#extra;
    const [parameter] = await this.#engine.parameters(name);
    if (parameter === undefined) throw new FramelaneError("internal", `Channel ${name} has no parameter.`);
    const other = Math.min(parameter.maximum, parameter.value + (parameter.maximum - parameter.minimum) / 100);
    let value = parameter.value;
    return () => {
      value = value === other ? parameter.value : other;
      return this.#engine.setParameter(name, parameter.name, value);
    };
  }

  /** Of the device and of the channel, above what is taken already. */
  #limitChanges(): () => Promise<void> {
    const cells = emptyEngineCells();
    this.#statistics.readEngine(0, cells);
    const taken = cells.device.inUseBytes + cells.device.cachedBytes + cells.device.reservedBytes;
    let factor = 2;
    return async () => {
      factor = 6 - factor;
      const limits = { maxBytes: factor * taken, maxBuffers: factor * 1024 };
      await this.#engine.setDeviceLimits(limits);
      await this.#engine.setDeviceLimits({ ...limits, channel: this.#extra.name });
    };
  }

  #row(operation: NeighbourRow["operation"], stretch: Stretch, calls: ReadonlyMap<string, number>): NeighbourRow {
    const { workload, size, device, channels, wait, fps } = this.#run;
    const latencies = quantilesUs(stretch.counted);
    const growth = both(this.#idle?.max_us, latencies.max_us, (idle, now) => Math.round((now - idle) * 10) / 10);
    return {
      operation,
      times: stretch.tookMs.length,
      ...{ workload, size: `${size.width}x${size.height}`, device, channels, wait, fps },
      seconds: rounded(stretch.ms / 1000),
      frames: stretch.frames,
      ...latencies,
      p99_ratio: both(this.#idle?.p99_us, latencies.p99_us, (idle, now) => Math.round((now / idle) * 1000) / 1000),
      growth_us: growth,
      lost: stretch.lost,
      other_fps: null,
      operation_ms: durations(stretch.tookMs),
      driver_calls: onGpu(this.#run) ? driverCalls(calls) : null,
    };
  }
}

/** Rows come one by one. Latencies are from a frame's arrival in its slot to the end of its pipeline. */
export async function measureNeighbours(
  run: NeighbourRun,
  on: { device(device: DeviceInfo): void; row(row: NeighbourRow): void },
): Promise<void> {
  const specs = Array.from({ length: run.channels + 1 }, (_, cell) => watchedChannel(run, cell));
  const local = await startLocalEngine(
    specs.map(({ name }) => name),
    { device: run.device, compileThreads: 1, ...(onGpu(run) ? { cuda: cudaFor(run) } : {}) },
  );
  try {
    on.device(local.device);
    for (const spec of specs.slice(0, run.channels)) await local.engine.createChannel(spec);
    await allRunning(local.engine, local.statistics, run.channels);
    await delay(warmUpMs);
    await new Neighbours(run, local, on.row).measure();
  } finally {
    await local.close();
  }
}
