/** The Prometheus side: names and labels are part of the API. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Build, ServiceView } from "../engine/report.ts";
import { channelMetrics } from "./channel-metrics.ts";
import { deviceMetrics } from "./device-metrics.ts";
import { engineMetrics } from "./engine-metrics.ts";
import { gauge, toMetric } from "./family.ts";
import { stageHistograms } from "./stage-histograms.ts";

/** Gauges of prom-client that end in `_total`, which a gauge must not. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

export interface BuildInfo extends Build {
  readonly node: string;
}

export class Metrics {
  readonly #registry = new Registry();

  constructor(view: ServiceView, build: BuildInfo) {
    collectDefaultMetrics({ register: this.#registry });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
    const buildInfo = gauge("build_info", "1; the labels say which build this is.", () => [
      { labels: { ...build }, value: 1 },
    ]);
    for (const family of [...channelMetrics(view), ...engineMetrics(view), ...deviceMetrics(view), buildInfo]) {
      this.#registry.registerMetric(toMetric(family));
    }
    this.#registry.registerMetric(stageHistograms(view));
  }

  async text(): Promise<{ type: string; text: string }> {
    return { type: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}
