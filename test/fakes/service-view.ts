/** A service's view with what a test puts into it. */
import type {
  ChannelDetail,
  ChannelReport,
  DeviceReport,
  HealthReport,
  Percentiles,
  ReadinessReport,
  ServiceEvent,
  ServiceView,
} from "../../src/engine/report.ts";
import type { HistogramCells } from "../../src/engine/statistics-reader.ts";

const percentiles: Percentiles = { count: 10, p50: 0.001, p95: 0.002, p99: 0.003, p999: 0.004 };
const stages = {
  wait: percentiles,
  upload: percentiles,
  compute: percentiles,
  download: percentiles,
  total: percentiles,
};

export const channelReport = (name: string, more: Partial<ChannelReport> = {}): ChannelReport => ({
  name,
  device: "cpu",
  state: "running",
  reason: null,
  since: "2026-01-01T00:00:00.000Z",
  error: null,
  fps: { measured: 30, expected: 30 },
  frames: {
    received: 100,
    received_bytes: 1000,
    processed: 99,
    in_flight: 1,
    dropped: { overwritten: 0, superseded: 0, late: 0, error: 0, restart: 0, shutdown: 0 },
    lost: { transport: 0, incomplete: 0, id_gap: 0, ring_full: 0 },
    deadline_missed: 0,
  },
  latency: { window_seconds: 10, window: stages, since_start: stages },
  lanes: 1,
  replay: { mode: "none", obstacle: "none", captures: 0, staged_frames: 0 },
  ring: { slots: 4, free: 3, full: 0, reading: 1 },
  input: { width: 64, height: 48, pixel: "mono8" },
  output: null,
  restarts: { source: 0, pipeline: 0, engine: 0, device_lost: 0, command: 0 },
  compilations: 1,
  pipeline_swaps: 0,
  sinks: [],
  ...more,
});

export class FakeView implements ServiceView {
  readonly build = { version: "1.2.3", commit: "0123abc" };
  readonly gpuProblem = null;
  reports: ChannelReport[];
  /** How often somebody asked for the channels. */
  asked = 0;
  readonly #listeners = new Set<(event: ServiceEvent) => void>();

  constructor(...reports: ChannelReport[]) {
    this.reports = reports;
  }

  tell(event: ServiceEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  health(): HealthReport {
    return {
      status: "ok",
      ...this.build,
      uptime: 1,
      engines: this.devices().flatMap(({ engine }) => engine ?? []),
    };
  }

  readiness(): ReadinessReport {
    return { ready: true, waiting: [], failing: [] };
  }

  channelNames(): readonly string[] {
    return this.reports.map(({ name }) => name);
  }

  channels(): readonly ChannelReport[] {
    this.asked++;
    return this.reports;
  }

  channel(name: string): ChannelReport | undefined {
    return this.reports.find((report) => report.name === name);
  }

  async channelDetail(): Promise<ChannelDetail | undefined> {
    return undefined;
  }

  devices(): readonly DeviceReport[] {
    const restarts = { crashed: 0, hung: 0, start_failed: 0, device_lost: 0 };
    const engine = { device: "cpu", state: "running", pid: process.pid, heartbeat_age: 0.1, starts: 1 } as const;
    const report = { ...engine, restarts, events_lost: 0, last_exit: null };
    const noGpu = { uuid: null, bus_id: null, architecture: null, driver_version: null, numa_node: null, gpu: null };
    return [
      { id: "cpu", name: "fake", memory_bytes: 1, cores: 1, ...noGpu, channels: this.channelNames(), engine: report },
    ];
  }

  histogram(): HistogramCells | undefined {
    return undefined;
  }

  subscribe(listener: (event: ServiceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
