import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { binOf, binStartNs, bucketBoundsNs, cumulativeBuckets, quantilesNs } from "../../../src/engine/histogram.ts";
import { statsLayout } from "../../../src/engine/stats-layout.gen.ts";

const duration = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  fc.integer({ min: 0, max: 37 }).map((exponent) => 2 ** exponent),
  fc.integer({ min: 1, max: 37 }).map((exponent) => 2 ** exponent - 1),
);

test("a bin holds the durations from its start to the next one's", () => {
  fc.assert(
    fc.property(duration, (value) => {
      const bin = binOf(value);
      assert.ok(binStartNs(bin) <= value && value < binStartNs(bin + 1));
    }),
  );
});

test("what is longer than the last bin goes into it", () => {
  assert.equal(binOf(2 ** 45), statsLayout.histogramBins - 1);
});

/** By the definition: the value that a fraction of all others does not exceed. */
const exactQuantile = (sorted: readonly number[], quantile: number): number =>
  sorted[Math.max(0, Math.ceil(quantile * sorted.length) - 1)] ?? Number.NaN;

test("percentiles are within 5 % of the truth from 10 us to 100 s", () => {
  const quantiles = [0.5, 0.95, 0.99, 0.999];
  const found = new Float64Array(quantiles.length);
  for (const centre of [1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 8e10]) {
    let seed = 12345;
    const random = (): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed / 2 ** 31;
    };
    const values = Array.from({ length: 20_000 }, () => Math.round(centre * (1 + 0.25 * random() ** 8))).sort(
      (a, b) => a - b,
    );
    const bins = new Float64Array(statsLayout.histogramBins);
    for (const value of values) bins[binOf(value)] = (bins[binOf(value)] ?? 0) + 1;
    quantilesNs(bins, quantiles, found);
    for (const [index, quantile] of quantiles.entries()) {
      const truth = exactQuantile(values, quantile);
      const value = found[index] ?? Number.NaN;
      assert.ok(Math.abs(value - truth) <= 0.05 * truth, `p${quantile} around ${centre}: ${value}, in truth ${truth}`);
    }
  }
});

test("no frames, no percentiles", () => {
  const found = new Float64Array(1);
  quantilesNs(new Uint32Array(statsLayout.histogramBins), [0.5], found);
  assert.ok(Number.isNaN(found[0]));
});

test("buckets count exactly what is below their bounds", () => {
  const bins = new Float64Array(statsLayout.histogramBins);
  const counts = new Float64Array(bucketBoundsNs.length);
  for (const bound of bucketBoundsNs) {
    bins[binOf(bound - 1)] = (bins[binOf(bound - 1)] ?? 0) + 1;
    bins[binOf(bound)] = (bins[binOf(bound)] ?? 0) + 1;
  }
  cumulativeBuckets(bins, counts);
  assert.deepEqual(
    [...counts],
    bucketBoundsNs.map((_, index) => 2 * index + 1),
  );
});
