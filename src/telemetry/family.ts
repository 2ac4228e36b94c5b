/** Metrics whose values live elsewhere: collected when asked for, not counted twice. */
import type { Metric } from "prom-client";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly collect: () => Sample[];
}

const family =
  (type: Family["type"]) =>
  (name: string, help: string, collect: () => Sample[]): Family => ({ name: `framelane_${name}`, help, type, collect });

export const counter = family("counter");
export const gauge = family("gauge");

/** A registry asks a metric for its name and get(), nothing else; its type knows only its own classes. */
export function toMetric({ name, help, type, collect }: Family): Metric {
  const get = async () => ({ name, help, type, aggregator: "sum", values: collect() });
  return { name, get, reset() {} } as unknown as Metric;
}
