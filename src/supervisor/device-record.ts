/** What the supervisor knows of one device: its engine, the bounds that are wanted of it, and what its cells say. */
import type { CudaOptions, DeviceLimits } from "../config/channel-spec.ts";
import type { DeviceInfo, Engine, EngineOptions } from "../engine/engine.ts";
import { monotonicNs } from "../engine/monotonic.ts";
import type { DeviceReport, EngineReport } from "../engine/report.ts";
import { emptyEngineCells, type StatisticsReader } from "../engine/statistics-reader.ts";
import { EngineKeeper } from "./engine-keeper.ts";

export interface DeviceRecordOptions {
  readonly id: string;
  readonly engineCell: number;
  /** From discovery; undefined for the CPU, which its engine describes. */
  readonly info: DeviceInfo | undefined;
  readonly base: Pick<EngineOptions, "statisticsPath" | "compileThreads">;
  readonly cuda: CudaOptions & { readonly cacheDirectory?: string };
  readonly makeEngine: (options: EngineOptions) => Engine;
  readonly populate: (engine: Engine) => Promise<void>;
}

export class DeviceRecord {
  readonly id: string;
  readonly engineCell: number;
  readonly keeper: EngineKeeper;
  readonly #options: DeviceRecordOptions;
  readonly #cells = emptyEngineCells();
  #limits: DeviceLimits;
  /** What the newest engine was made with. */
  #given: DeviceLimits | undefined;
  /** The bounds are the configuration's. */
  #asConfigured = true;
  #started = false;

  constructor(options: DeviceRecordOptions) {
    this.id = options.id;
    this.engineCell = options.engineCell;
    this.#options = options;
    const { maxBytes, maxBuffers } = options.cuda.memory;
    this.#limits = {
      ...(maxBytes === undefined ? {} : { maxBytes }),
      ...(maxBuffers === undefined ? {} : { maxBuffers }),
    };
    this.keeper = new EngineKeeper({
      device: options.id,
      make: () => options.makeEngine(this.#engineOptions()),
      populate: async (engine) => {
        // Bounds that were changed while it started. It hears of them first; whoever comes while it does is not in
        // the list of its channels, and is handed over by himself.
        const told = this.#limits === this.#given ? undefined : engine.setDeviceLimits(this.#limits);
        await Promise.all([told, options.populate(engine)]);
      },
    });
  }

  /** Its engine, once; a device that no channel uses has none. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.keeper.start();
  }

  get started(): boolean {
    return this.#started;
  }

  get isGpu(): boolean {
    return this.id !== "cpu";
  }

  /** In force at once where an engine runs; the next one starts with them. */
  async setLimits(limits: DeviceLimits): Promise<void> {
    // At once: who asks for another bound meanwhile adds to this one.
    this.#limits = { ...this.#limits, ...limits };
    this.#asConfigured = false;
    await this.keeper.tell((engine) => engine.setDeviceLimits(this.#limits));
  }

  report(reader: StatisticsReader, channels: readonly string[]): DeviceReport {
    reader.readEngine(this.engineCell, this.#cells);
    const info = this.keeper.deviceInfo ?? this.#options.info;
    return {
      id: this.id,
      name: info?.name ?? null,
      memory_bytes: info?.memoryBytes ?? null,
      cores: info?.cores ?? null,
      uuid: info?.uuid ?? null,
      bus_id: info?.busId ?? null,
      architecture: info?.architecture ?? null,
      driver_version: info?.driver ?? null,
      numa_node: info?.numaNode ?? null,
      channels,
      engine: this.#started ? this.engineReport(reader) : null,
      gpu: this.isGpu ? this.#gpuReport() : null,
    };
  }

  engineReport(reader: StatisticsReader): EngineReport {
    reader.readEngine(this.engineCell, this.#cells);
    const { pid, heartbeatNs, starts, eventsLost } = this.#cells;
    const { state, restarts, lastExit } = this.keeper;
    const running = state === "running";
    return {
      device: this.id,
      state,
      pid: running && pid !== 0 ? pid : null,
      heartbeat_age: running && heartbeatNs !== 0 ? (monotonicNs() - heartbeatNs) / 1e9 : null,
      starts,
      restarts: { ...restarts },
      events_lost: eventsLost,
      last_exit: lastExit ?? null,
    };
  }

  #gpuReport(): NonNullable<DeviceReport["gpu"]> {
    const { device, driver } = this.#cells;
    return {
      limits: {
        max_bytes: this.#limits.maxBytes || null,
        max_buffers: this.#limits.maxBuffers || null,
        persisted: this.#asConfigured,
      },
      memory: {
        in_use: device.inUseBytes,
        cached: device.cachedBytes,
        reserved: device.reservedBytes,
        high_water: device.highWaterBytes,
        buffers: device.buffers,
        pinned: device.pinnedBytes,
        pinned_lent: device.pinnedLentBytes,
      },
      cache: { hits: device.hits, misses: device.misses, refusals: device.refusals, trims: device.trims },
      pinned_refusals: device.pinnedRefusals,
      bus: {
        upload_waits: device.uploadWaits,
        download_waits: device.downloadWaits,
        overruns: device.busOverruns,
      },
      driver_calls: Object.fromEntries(driver.map(({ name, calls }) => [name, calls])),
      steady_alarms: device.steadyAlarms,
      losses: device.losses,
    };
  }

  #engineOptions(): EngineOptions {
    const { id, engineCell, base, cuda } = this.#options;
    this.#given = this.#limits;
    if (!this.isGpu) return { ...base, device: id, engineCell };
    const { reserve } = cuda.memory;
    return { ...base, device: id, engineCell, cuda: { ...cuda, memory: { reserve, ...this.#limits } } };
  }
}
