/** What Prometheus is told about GPUs; all of it has the label `device`. */
import type { GpuReport, ServiceView } from "../engine/report.ts";
import { counter, type Family, gauge, type Sample } from "./family.ts";

const each =
  (view: ServiceView, value: (gpu: GpuReport) => number | null): (() => Sample[]) =>
  () =>
    view.devices().flatMap(({ id, gpu }) => {
      const found = gpu === null ? null : value(gpu);
      return found === null ? [] : [{ labels: { device: id }, value: found }];
    });

const by =
  (view: ServiceView, label: string, values: (gpu: GpuReport) => Readonly<Record<string, number>>): (() => Sample[]) =>
  () =>
    view.devices().flatMap(({ id, gpu }) => {
      const entries = gpu === null ? [] : Object.entries(values(gpu));
      return entries.map(([key, value]) => ({ labels: { device: id, [label]: key }, value }));
    });

const memoryMetrics = (view: ServiceView): Family[] => [
  gauge(
    "device_cache_bytes",
    "Device memory by what it is for.",
    by(view, "state", ({ memory: { in_use, cached, reserved } }) => ({ in_use, cached, reserved })),
  ),
  gauge(
    "device_cache_high_water_bytes",
    "The most device memory that the engine had in use or cached.",
    each(view, ({ memory }) => memory.high_water),
  ),
  gauge(
    "device_cache_buffers",
    "Blocks of device memory, in use or cached.",
    each(view, ({ memory }) => memory.buffers),
  ),
  gauge(
    "device_cache_limit_bytes",
    "The bound of the device memory.",
    each(view, ({ limits }) => limits.max_bytes),
  ),
  gauge(
    "device_cache_limit_buffers",
    "The bound of the blocks of device memory.",
    each(view, ({ limits }) => limits.max_buffers),
  ),
  gauge(
    "device_pinned_bytes",
    "Page-locked host memory.",
    each(view, ({ memory }) => memory.pinned),
  ),
  gauge(
    "device_pinned_lent_bytes",
    "Page-locked host memory in use, of what was taken when the engine started.",
    each(view, ({ memory }) => memory.pinned_lent),
  ),
  counter(
    "device_pinned_refusals_total",
    "Mappings of host memory that the driver did not page-lock.",
    each(view, (gpu) => gpu.pinned_refusals),
  ),
  counter(
    "device_cache_requests_total",
    "Requests for device memory, by whether the stream's own blocks served them.",
    by(view, "result", ({ cache: { hits, misses } }) => ({ hit: hits, miss: misses })),
  ),
  counter(
    "device_cache_refusals_total",
    "Requests for device memory that got nothing: a bound was reached, or memory was out.",
    each(view, ({ cache }) => cache.refusals),
  ),
  counter(
    "device_cache_trims_total",
    "Blocks that were given back to the driver.",
    each(view, ({ cache }) => cache.trims),
  ),
];

export const deviceMetrics = (view: ServiceView): Family[] => [
  ...memoryMetrics(view),
  counter(
    "device_bus_waits_total",
    "Copies that waited for their turn on the device's bus.",
    by(view, "direction", ({ bus }) => ({ upload: bus.upload_waits, download: bus.download_waits })),
  ),
  counter(
    "device_bus_overruns_total",
    "Copies whose turn on the bus did not come in time and that went without; wanted: none.",
    each(view, ({ bus }) => bus.overruns),
  ),
  counter(
    "driver_calls_total",
    "Calls of the device's driver.",
    by(view, "call", ({ driver_calls }) => driver_calls),
  ),
  counter(
    "device_steady_alarms_total",
    "Driver calls for memory on frames' way; wanted: none.",
    each(view, (gpu) => gpu.steady_alarms),
  ),
  counter(
    "device_losses_total",
    "How often the device was lost.",
    each(view, ({ losses }) => losses),
  ),
];
