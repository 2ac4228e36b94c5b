/** Percentiles of one channel's stages over a sliding window, from snapshots of its histograms. */
import { quantilesNs } from "../engine/histogram.ts";
import type { Percentiles, StagePercentiles } from "../engine/report.ts";
import { emptyHistogramCells, type HistogramCells, type StatisticsReader } from "../engine/statistics-reader.ts";
import { stageNames, statsLayout } from "../engine/stats-layout.gen.ts";

const quantiles = [0.5, 0.95, 0.99, 0.999];
const binCount = statsLayout.histogramBins;

/** Where every window of the process computes; nothing here outlives a call. */
const differences = new Uint32Array(binCount);
const results = new Float64Array(quantiles.length);

const rounded = (ns: number | undefined): number | null =>
  ns === undefined || Number.isNaN(ns) ? null : Math.round(ns) / 1e9;

function percentiles(bins: Float64Array | Uint32Array, count: number): Percentiles {
  quantilesNs(bins, quantiles, results);
  const [p50, p95, p99, p999] = results;
  return { count, p50: rounded(p50), p95: rounded(p95), p99: rounded(p99), p999: rounded(p999) };
}

class StageHistory {
  readonly now: HistogramCells = emptyHistogramCells();
  /** The low halves of the bins, one row per sample: differences are right modulo 2^32. */
  readonly #rows: readonly Uint32Array[];

  constructor(rows: number) {
    this.#rows = Array.from({ length: rows }, () => new Uint32Array(binCount));
  }

  keep(row: number): void {
    this.#rows[row]?.set(this.now.bins);
  }

  sinceStart(): Percentiles {
    return percentiles(this.now.bins, this.now.count);
  }

  since(row: number): Percentiles {
    const before = this.#rows[row];
    let count = 0;
    for (let bin = 0; bin < binCount; bin++) {
      const more = ((this.now.bins[bin] ?? 0) - (before?.[bin] ?? 0)) >>> 0;
      differences[bin] = more;
      count += more;
    }
    return percentiles(differences, count);
  }
}

export class StageWindow {
  readonly #stages: readonly StageHistory[];
  readonly #rows: number;
  #samples = 0;
  #window: StagePercentiles | undefined;
  #sinceStart: StagePercentiles | undefined;

  /** `samples`: how many sampling periods the window spans. */
  constructor(samples: number) {
    this.#rows = samples + 1;
    this.#stages = stageNames.map(() => new StageHistory(this.#rows));
  }

  sample(reader: StatisticsReader, cell: number): void {
    for (const [index, stage] of this.#stages.entries()) {
      reader.readStage(cell, index, stage.now);
      stage.keep(this.#samples % this.#rows);
    }
    this.#samples++;
    this.#window = undefined;
    this.#sinceStart = undefined;
  }

  /** A stage as the last sample found it. */
  now(stage: number): HistogramCells | undefined {
    return this.#stages[stage]?.now;
  }

  /** Computed once per sample, when asked for. */
  get window(): StagePercentiles {
    // Before the window is full it starts with the service, where all bins are zero: the rows that are still unused.
    const oldest = this.#samples % this.#rows;
    this.#window ??= this.#each((stage) => stage.since(oldest));
    return this.#window;
  }

  get sinceStart(): StagePercentiles {
    this.#sinceStart ??= this.#each((stage) => stage.sinceStart());
    return this.#sinceStart;
  }

  #each(of: (stage: StageHistory) => Percentiles): StagePercentiles {
    const entries = stageNames.map((name, index) => [name, of(this.#stages[index] as StageHistory)] as const);
    return Object.fromEntries(entries) as unknown as StagePercentiles;
  }
}
