/** A channel's specification in the API's spelling, which is the YAML's. */
import type { ChannelSpec } from "../engine/engine.ts";
import type { SpecReport } from "../engine/report.ts";

export function toSpecReport(spec: ChannelSpec): SpecReport {
  return {
    source: spec.source,
    ring: { slots: spec.ring.slots, handling: spec.ring.handling ?? null },
    pipeline: spec.pipeline.map(({ name, arguments: values }) => ({ [name]: values })),
    sinks: spec.sinks.map(({ onFull, ...sink }) => ({ ...sink, on_full: onFull })),
    deadline: spec.deadline ?? null,
    on_overload: spec.onOverload,
    in_flight: spec.inFlight,
    threads: spec.threads,
    max_memory: spec.maxMemory ?? null,
    stall: spec.stall,
    schedule: spec.schedule,
    retry: spec.retry,
    start: spec.start,
  };
}
