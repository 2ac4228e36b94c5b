/** The latency histograms, straight from the native bins. */
import type { Metric } from "prom-client";
import { bucketBoundsNs, cumulativeBuckets } from "../engine/histogram.ts";
import type { ServiceView } from "../engine/report.ts";
import { stageNames } from "../engine/stats-layout.gen.ts";

const name = "framelane_frame_latency_seconds";
const counts = new Float64Array(bucketBoundsNs.length);
const bounds = bucketBoundsNs.map((bound) => bound / 1e9);

interface HistogramSample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

function samplesOf(view: ServiceView, channel: string, into: HistogramSample[]): void {
  for (const stage of stageNames) {
    const histogram = view.histogram(channel, stage);
    if (histogram === undefined) continue;
    cumulativeBuckets(histogram.bins, counts);
    // The cells of a histogram may be a frame apart: the bins are what the buckets must add up to.
    let total = 0;
    for (const count of histogram.bins) total += count;
    for (const [index, le] of bounds.entries()) {
      into.push({ metricName: `${name}_bucket`, labels: { le, channel, stage }, value: counts[index] ?? 0 });
    }
    into.push({ metricName: `${name}_bucket`, labels: { le: "+Inf", channel, stage }, value: total });
    into.push({ metricName: `${name}_sum`, labels: { channel, stage }, value: histogram.sumNs / 1e9 });
    into.push({ metricName: `${name}_count`, labels: { channel, stage }, value: total });
  }
}

export function stageHistograms(view: ServiceView): Metric {
  const get = async () => {
    const values: HistogramSample[] = [];
    for (const channel of view.channelNames()) samplesOf(view, channel, values);
    return { name, help: "Time from stage to stage of a frame's way.", type: "histogram", aggregator: "sum", values };
  };
  return { name, get, reset() {} } as unknown as Metric;
}
