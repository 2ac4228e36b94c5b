/** Percentiles and buckets from the native bins. */
import { statsLayout as layout } from "./stats-layout.gen.ts";

const subBuckets = layout.histogramSubBuckets;
const bits = Math.log2(subBuckets);

/** The smallest duration of a bin, in nanoseconds; `histogramBins` gives the end of the last one. */
export function binStartNs(bin: number): number {
  if (bin < subBuckets) return bin;
  const exponent = Math.floor(bin / subBuckets) + bits - 1;
  return 2 ** exponent + (bin % subBuckets) * 2 ** (exponent - bits);
}

const starts = Float64Array.from({ length: layout.histogramBins + 1 }, (_, bin) => binStartNs(bin));
const startOf = (bin: number): number => starts[bin] ?? 0;

/** The bin that a duration falls in, as native code chooses it. */
export function binOf(durationNs: number): number {
  if (durationNs < subBuckets) return Math.max(0, Math.floor(durationNs));
  const rounded = Math.floor(Math.log2(durationNs));
  const exponent = 2 ** rounded > durationNs ? rounded - 1 : rounded;
  const bin = (exponent - bits + 1) * subBuckets + Math.floor(durationNs / 2 ** (exponent - bits) - subBuckets);
  return Math.min(bin, layout.histogramBins - 1);
}

/** Bins as counts, absolute or as differences of two snapshots. */
export type Bins = Float64Array | Uint32Array;

/** The quantiles of `bins` in nanoseconds, interpolated within a bin; `into` is as long as `quantiles`, ascending. */
export function quantilesNs(bins: Bins, quantiles: readonly number[], into: Float64Array): void {
  let total = 0;
  for (const count of bins) total += count;
  into.fill(Number.NaN);
  if (total === 0) return;
  let bin = 0;
  let below = 0;
  for (const [index, quantile] of quantiles.entries()) {
    const rank = quantile * total;
    while (bin < bins.length - 1 && below + (bins[bin] ?? 0) < rank) below += bins[bin++] ?? 0;
    const count = bins[bin] ?? 0;
    const part = count === 0 ? 0 : Math.min(1, Math.max(0, (rank - below) / count));
    // The first bins hold one duration each: 0 stays 0.
    into[index] = bin < subBuckets ? bin : startOf(bin) + part * (startOf(bin + 1) - startOf(bin));
  }
}

/** Upper bounds of the exported buckets: edges of native bins, so that the counts are exact. Nanoseconds. */
export const bucketBoundsNs: readonly number[] = [14, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30, 32, 34].map(
  (exponent) => 2 ** exponent,
);

const bucketEnds = bucketBoundsNs.map((bound) => binOf(bound));

/** Cumulative counts below each of `bucketBoundsNs`. */
export function cumulativeBuckets(bins: Bins, into: Float64Array): void {
  let bin = 0;
  let below = 0;
  for (const [index, end] of bucketEnds.entries()) {
    while (bin < end) below += bins[bin++] ?? 0;
    into[index] = below;
  }
}
