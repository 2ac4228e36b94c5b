/** What Prometheus is told about engines; all of it has the label `device`. */
import { readFileSync } from "node:fs";
import type { ServiceView } from "../engine/report.ts";
import { counter, type Family, gauge, type Sample } from "./family.ts";

/** USER_HZ of every Linux ABI. */
const ticksPerSecond = 100;

/** Seconds of CPU time from the text of /proc/PID/stat; the command in it may hold spaces and brackets. */
export function cpuSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export function residentBytes(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

function ofProcesses(view: ServiceView, file: string, value: (text: string) => number): Sample[] {
  return view.devices().flatMap(({ id, engine }) => {
    if (engine?.pid == null) return [];
    try {
      const text = readFileSync(`/proc/${engine.pid}/${file}`, "utf8");
      return [{ labels: { device: id }, value: value(text) }];
    } catch {
      // It ended just now.
      return [];
    }
  });
}

export function engineMetrics(view: ServiceView): Family[] {
  const engines = () => view.devices().flatMap(({ engine }) => (engine === null ? [] : [engine]));
  return [
    gauge("engine_up", "1 while the device's engine runs.", () =>
      engines().map(({ device, state }) => ({ labels: { device }, value: state === "running" ? 1 : 0 })),
    ),
    counter("engine_restarts_total", "Engines that were replaced, by what happened to them.", () =>
      engines().flatMap(({ device, restarts }) =>
        Object.entries(restarts).map(([reason, value]) => ({ labels: { device, reason }, value })),
      ),
    ),
    counter("engine_events_lost_total", "Events that found their queue full.", () =>
      engines().map(({ device, events_lost }) => ({ labels: { device }, value: events_lost })),
    ),
    counter("engine_cpu_seconds_total", "CPU time of the engine's process; starts again with another engine.", () =>
      ofProcesses(view, "stat", cpuSeconds),
    ),
    gauge("engine_resident_memory_bytes", "Resident memory of the engine's process.", () =>
      ofProcesses(view, "status", residentBytes),
    ),
  ];
}
