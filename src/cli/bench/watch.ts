/** What watched channels go through while something is done beside them. */
import { setTimeout as delay } from "node:timers/promises";
import type { StatisticsReader } from "../../engine/statistics-reader.ts";
import { statsLayout } from "../../engine/stats-layout.gen.ts";
import { callsAreFresh, countedBetween, type Moment, moment } from "./measurement.ts";

/** Until what was held up is done as well. */
const settleMs = 50;

/** The sum of all pieces of time in which one thing was done. */
export interface Stretch {
  readonly counted: Float64Array;
  readonly tookMs: number[];
  frames: number;
  lost: number;
  ms: number;
}

export const emptyStretch = (): Stretch => ({
  counted: new Float64Array(statsLayout.histogramBins),
  tookMs: [],
  frames: 0,
  lost: 0,
  ms: 0,
});

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Channels by their cells, from 0 on. Pieces follow one another without a gap, so that each frame is in one. */
export class Watch {
  readonly #statistics: StatisticsReader;
  readonly #channels: number;
  readonly #onGpu: boolean;
  #last: Moment;
  #before: Moment["calls"];

  constructor(statistics: StatisticsReader, channels: number, onGpu: boolean) {
    this.#statistics = statistics;
    this.#channels = channels;
    this.#onGpu = onGpu;
    this.#last = moment(statistics, channels);
    this.#before = this.#last.calls;
  }

  /** What was until now is in no piece. */
  async begin(): Promise<void> {
    await this.#callsAreFresh();
    this.#last = moment(this.#statistics, this.#channels);
    this.#before = this.#last.calls;
  }

  /** `leastMs` long, or until what `act` held up is done as well. */
  async piece(stretch: Stretch, leastMs: number, act: () => Promise<void>): Promise<void> {
    const begin = performance.now();
    await act();
    const tookMs = performance.now() - begin;
    stretch.tookMs.push(tookMs);
    this.#add(stretch, await this.#momentAt(Math.max(this.#last.timeMs + leastMs, begin + tookMs + settleMs)));
  }

  /** Calls of the driver since begin(), by kind. */
  async driverCalls(): Promise<ReadonlyMap<string, number>> {
    await this.#callsAreFresh();
    const { calls } = moment(this.#statistics, this.#channels);
    return new Map([...calls].map(([kind, count]) => [kind, count - (this.#before.get(kind) ?? 0)]));
  }

  /** A timer may fire up to a millisecond early. */
  async #momentAt(timeMs: number): Promise<Moment> {
    let now = moment(this.#statistics, this.#channels);
    while (now.timeMs < timeMs) {
      await delay(timeMs - now.timeMs);
      now = moment(this.#statistics, this.#channels);
    }
    return now;
  }

  async #callsAreFresh(): Promise<void> {
    if (this.#onGpu) await callsAreFresh(this.#statistics);
  }

  #add(stretch: Stretch, now: Moment): void {
    for (const [bin, count] of countedBetween(this.#last, now).entries())
      stretch.counted[bin] = (stretch.counted[bin] ?? 0) + count;
    stretch.frames += sum(now.processed) - sum(this.#last.processed);
    stretch.lost += now.lost - this.#last.lost;
    stretch.ms += now.timeMs - this.#last.timeMs;
    this.#last = now;
  }
}
