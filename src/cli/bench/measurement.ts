/** What the statistics of an engine in this process say between two moments. */
import { setTimeout as delay } from "node:timers/promises";
import type { Engine, EngineEvent } from "../../engine/engine.ts";
import { quantilesNs } from "../../engine/histogram.ts";
import {
  type ChannelCells,
  emptyChannelCells,
  emptyEngineCells,
  emptyHistogramCells,
  type StatisticsReader,
} from "../../engine/statistics-reader.ts";
import { channelStates, replays, stageNames, statsLayout } from "../../engine/stats-layout.gen.ts";
import { FramelaneError } from "../../errors.ts";
import { type ChannelsRow, countedKinds } from "./rows.ts";

const pollMs = 20;
export const warmUpMs = 200;
/** Where no frames come, no calls do. */
const freshMs = 1000;
const totalStage = stageNames.indexOf("total");
const bins = statsLayout.histogramBins;

export interface Moment {
  readonly processed: readonly number[];
  readonly lastNs: readonly number[];
  readonly lost: number;
  readonly total: Float64Array;
  readonly captured: number;
  readonly calls: ReadonlyMap<string, number>;
  readonly cpuUs: number;
  readonly timeMs: number;
}

const lossOf = ({ worker, source }: ChannelCells): number =>
  worker.droppedLate +
  worker.droppedError +
  worker.droppedRestart +
  source.droppedOverwritten +
  source.droppedSuperseded +
  source.lostTransport +
  source.lostIncomplete +
  source.lostIdGap +
  source.lostRingFull;

/** By kind. */
function driverCalls(statistics: StatisticsReader): Map<string, number> {
  const engine = emptyEngineCells();
  statistics.readEngine(0, engine);
  const calls = new Map<string, number>();
  for (const { kind, calls: count } of engine.driver) calls.set(kind, (calls.get(kind) ?? 0) + count);
  return calls;
}

export function callsPerFrame(first: Moment, last: Moment): ChannelsRow["driver_calls_per_frame"] {
  const sum = ({ processed }: Moment): number => processed.reduce((total, count) => total + count, 0);
  const frames = Math.max(1, sum(last) - sum(first));
  const perFrame = (kind: (typeof countedKinds)[number]): number =>
    Math.round((((last.calls.get(kind) ?? 0) - (first.calls.get(kind) ?? 0)) / frames) * 1e4) / 1e4;
  const [alloc, free, module_load, device_sync, launch] = countedKinds.map(perFrame) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return { alloc, free, module_load, device_sync, launch };
}

/** The engine copies what its device counts four times a second; what is read right after is of the same time. */
export async function callsAreFresh(statistics: StatisticsReader): Promise<void> {
  const sum = (): number => [...driverCalls(statistics).values()].reduce((total, count) => total + count, 0);
  const before = sum();
  const until = performance.now() + freshMs;
  while (sum() === before && performance.now() < until) await delay(1);
}

export function moment(statistics: StatisticsReader, channels: number): Moment {
  const processed: number[] = [];
  const lastNs: number[] = [];
  const total = new Float64Array(bins);
  let lost = 0;
  let captured = 0;
  const cells = emptyChannelCells();
  const histogram = emptyHistogramCells();
  for (let cell = 0; cell < channels; cell++) {
    statistics.readChannel(cell, cells);
    processed.push(cells.worker.processed);
    lastNs.push(cells.worker.lastProcessedNs);
    lost += lossOf(cells);
    if (replays[cells.worker.replay] === "captured") captured++;
    statistics.readStage(cell, totalStage, histogram);
    for (let bin = 0; bin < bins; bin++) total[bin] = (total[bin] ?? 0) + (histogram.bins[bin] ?? 0);
  }
  const { user, system } = process.cpuUsage();
  const calls = driverCalls(statistics);
  return { processed, lastNs, lost, total, captured, calls, cpuUs: user + system, timeMs: performance.now() };
}

/** Resolves when `done` says so; rejects with what stops a channel meanwhile. */
export async function unlessStopped(engine: Engine, done: () => boolean, everyMs = pollMs): Promise<void> {
  let failure: FramelaneError | undefined;
  const hear = ({ state, code, message }: EngineEvent): void => {
    if ((state === "faulted" || state === "backoff") && code !== undefined)
      failure ??= new FramelaneError(code, message ?? "");
  };
  engine.on("event", hear);
  try {
    while (!done()) {
      if (failure !== undefined) throw failure;
      await delay(everyMs);
    }
  } finally {
    engine.off("event", hear);
  }
}

export async function allRunning(engine: Engine, statistics: StatisticsReader, channels: number): Promise<void> {
  const cells = emptyChannelCells();
  let cell = 0;
  await unlessStopped(engine, () => {
    for (; cell < channels; cell++) {
      statistics.readChannel(cell, cells);
      if (channelStates[cells.worker.state] !== "running" || cells.worker.processed === 0) return false;
    }
    return true;
  });
}

/** Each channel's own clock: from its last frame before to its last frame of the measurement. */
export function framesPerSecond(first: Moment, last: Moment): number {
  let sum = 0;
  for (const [channel, processed] of last.processed.entries()) {
    const ns = (last.lastNs[channel] ?? 0) - (first.lastNs[channel] ?? 0);
    if (ns > 0) sum += ((processed - (first.processed[channel] ?? 0)) * 1e9) / ns;
  }
  return sum;
}

/** Of durations counted in bins. */
export function quantilesUs(counted: Float64Array) {
  const results = new Float64Array(4);
  quantilesNs(counted, [0.5, 0.99, 0.999, 1], results);
  const rounded = (ns: number | undefined) => (ns === undefined || Number.isNaN(ns) ? null : Math.round(ns / 100) / 10);
  return {
    p50_us: rounded(results[0]),
    p99_us: rounded(results[1]),
    p999_us: rounded(results[2]),
    max_us: rounded(results[3]),
  };
}

export const countedBetween = (first: Moment, last: Moment): Float64Array =>
  last.total.map((count, bin) => count - (first.total[bin] ?? 0));

export const latenciesUs = (first: Moment, last: Moment) => quantilesUs(countedBetween(first, last));
