/** A channel's specification in the API's spelling, which is the YAML's; without its secrets. */
import { defaultHandling } from "../config/handling.ts";
import type { Redact } from "../config/secrets.ts";
import type { ChannelSpec } from "../engine/engine.ts";
import type { SpecReport } from "../engine/report.ts";

function redacted<Fields extends object>(fields: Fields, redact: Redact): Fields {
  const pairs = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "string" ? redact(value) : value,
  ]);
  return Object.fromEntries(pairs) as Fields;
}

export function toSpecReport(spec: ChannelSpec, redact: Redact): SpecReport {
  return {
    source: redacted(spec.source, redact),
    ring: { slots: spec.ring.slots, handling: spec.ring.handling ?? defaultHandling(spec.source) ?? null },
    pipeline: spec.pipeline.map(({ name, arguments: values }) => ({ [name]: values })),
    sinks: spec.sinks.map(({ onFull, ...sink }) => ({ ...redacted(sink, redact), on_full: onFull })),
    deadline: spec.deadline ?? null,
    on_overload: spec.onOverload,
    wait: spec.wait,
    stagger: spec.stagger,
    in_flight: spec.inFlight,
    threads: spec.threads,
    max_memory: spec.maxMemory ?? null,
    memory: { max_bytes: spec.memory.maxBytes || null, max_buffers: spec.memory.maxBuffers || null },
    pinned: spec.pinned,
    stall: spec.stall,
    schedule: spec.schedule,
    retry: spec.retry,
    start: spec.start,
  };
}
