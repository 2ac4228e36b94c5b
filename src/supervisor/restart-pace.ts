/** How long to wait before the next attempt: nothing the first time, then longer and longer. */
import { monotonicNs } from "../engine/monotonic.ts";

const firstMs = 250;
const mostMs = 10_000;
/** An engine that ran for so long counts as healthy: the next loss starts from the beginning. */
const healthyNs = 30e9;

export class RestartPace {
  readonly #now: () => number;
  readonly #random: () => number;
  #losses = 0;
  #startedNs: number | undefined;

  constructor(now: () => number = monotonicNs, random: () => number = Math.random) {
    this.#now = now;
    this.#random = random;
  }

  started(): void {
    this.#startedNs = this.#now();
  }

  /** Milliseconds. Jittered, so that what failed together does not come back together. */
  next(): number {
    if (this.#startedNs !== undefined && this.#now() - this.#startedNs >= healthyNs) this.#losses = 0;
    this.#startedNs = undefined;
    const losses = this.#losses++;
    if (losses === 0) return 0;
    const most = Math.min(mostMs, firstMs * 2 ** losses);
    return Math.round(most * (0.5 + 0.5 * this.#random()));
  }
}
