/** Sees when a running engine no longer makes progress. */
import { monotonicNs } from "./monotonic.ts";
import { StatisticsReader } from "./statistics-reader.ts";

/** Milliseconds. */
export interface Limits {
  /** Age of the heartbeat cell, which a native thread of the engine writes every 100 ms. */
  readonly heartbeat: number;
  /** Silence of the engine's JavaScript thread; a long call or a collection is no reason to kill it. */
  readonly silence: number;
  readonly period: number;
}

const defaultLimits: Limits = { heartbeat: 2000, silence: 5000, period: 250 };

export interface LivenessWatchOptions {
  readonly statisticsPath: string;
  readonly engineCell: number;
  readonly ping: () => Promise<void>;
  readonly limits: Partial<Limits>;
}

/**
 * Where this process itself was stopped or starved, the engine probably was as well: a verdict therefore needs two
 * looks in a row, and silence is counted in looks, not in time.
 */
export class LivenessWatch {
  readonly #options: LivenessWatchOptions;
  readonly #limits: Limits;
  readonly #statistics: StatisticsReader;
  #timer: NodeJS.Timeout | undefined;
  #startedNs = 0;
  #staleLooks = 0;
  #silentLooks = 0;
  #pinging = false;

  constructor(options: LivenessWatchOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#statistics = new StatisticsReader(options.statisticsPath);
  }

  start(onHung: (detail: string) => void): void {
    this.#startedNs = monotonicNs();
    this.#timer = setInterval(() => {
      const verdict = this.#look();
      if (verdict === undefined) return;
      this.stop();
      onHung(verdict);
    }, this.#limits.period);
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#statistics.close();
  }

  #look(): string | undefined {
    // The cell may still hold the beat of the engine before.
    const heartbeat = Math.max(this.#startedNs, this.#statistics.heartbeatNs(this.#options.engineCell));
    const age = (monotonicNs() - heartbeat) / 1e6;
    this.#staleLooks = age > this.#limits.heartbeat ? this.#staleLooks + 1 : 0;
    if (this.#staleLooks >= 2) return `no heartbeat for ${(age / 1000).toFixed(1)} s`;
    this.#silentLooks = this.#pinging ? this.#silentLooks + 1 : 0;
    if (this.#silentLooks * this.#limits.period > this.#limits.silence) {
      return `no answer for ${(this.#limits.silence / 1000).toFixed(1)} s`;
    }
    this.#ping();
    return undefined;
  }

  #ping(): void {
    if (this.#pinging) return;
    this.#pinging = true;
    const done = () => {
      this.#pinging = false;
    };
    this.#options.ping().then(done, done);
  }
}
