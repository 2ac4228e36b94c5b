/** Holds the desired state, keeps the engines alive, and answers for both. */
import { EventEmitter } from "node:events";
import type { CudaConfiguration, DeviceLimits, ResolvedChannel } from "../config/channel-spec.ts";
import type { Redact } from "../config/secrets.ts";
import type { Engine, EngineEvent, EngineExit, EngineOptions } from "../engine/engine.ts";
import { monotonicNs } from "../engine/monotonic.ts";
import type {
  Build,
  ChannelDetail,
  ChannelReport,
  DeviceReport,
  EngineState,
  HealthReport,
  ReadinessReport,
  ServiceControl,
  ServiceEvent,
  ServiceView,
  Stage,
} from "../engine/report.ts";
import { createStatisticsBlock } from "../engine/statistics-block.ts";
import { type HistogramCells, StatisticsReader } from "../engine/statistics-reader.ts";
import { stageNames } from "../engine/stats-layout.gen.ts";
import { FramelaneError } from "../errors.ts";
import { samplePeriodMs } from "../telemetry/channel-statistics.ts";
import { ChannelRecord, toTimestamp } from "./channel-record.ts";
import type { FoundDevices } from "./device-discovery.ts";
import { DeviceRecord } from "./device-record.ts";
import { leastLoaded, loadOf, placeChannels, problemOf, usableGpus, type Wish } from "./placement.ts";
import { toSpecReport } from "./spec-report.ts";

export interface SupervisorEvents {
  event: [ServiceEvent];
  engineState: [string, EngineState];
  engineLost: [string, EngineExit, number];
  /** What the engine said of a channel, as it said it. */
  channelEvent: [EngineEvent];
  /** The engine did not take a channel over. */
  refused: [string, FramelaneError];
}

export interface SupervisorOptions {
  readonly build: Build;
  readonly statisticsPath: string;
  readonly compileThreads: number;
  readonly channels: readonly ResolvedChannel[];
  readonly cuda: CudaConfiguration;
  readonly gpus: FoundDevices;
  /** For code compiled for GPUs. */
  readonly cacheDirectory?: string;
  /** Applied to every text of a specification or an engine that is told. */
  readonly redact: Redact;
  readonly makeEngine: (options: EngineOptions) => Engine;
}

/** Engine cells of the statistics block, less the CPU's. */
const mostGpus = 15;
/** Reads of the counters that come closer together than this share one. */
const freshNs = 20e6;

export class Supervisor extends EventEmitter<SupervisorEvents> implements ServiceView, ServiceControl {
  readonly build: Build;
  readonly #startedNs = monotonicNs();
  readonly #records: ReadonlyMap<string, ChannelRecord>;
  readonly #reader: StatisticsReader;
  readonly gpuProblem: string | null;
  readonly #devices: ReadonlyMap<string, DeviceRecord>;
  readonly #wishes: ReadonlyMap<string, Wish>;
  readonly #redact: Redact;
  readonly #sampler: NodeJS.Timeout;
  #refreshedNs = 0;
  /** What channels() gave for the counters as last refreshed. */
  #reports: readonly ChannelReport[] | undefined;
  #stopping = false;

  constructor(options: SupervisorOptions) {
    super();
    this.build = options.build;
    this.#redact = options.redact;
    const gpus = usableGpus(options.cuda.use, options.gpus.devices).slice(0, mostGpus);
    const gpuProblem = problemOf(options.cuda.use, options.gpus);
    this.gpuProblem = gpuProblem ?? null;
    this.#wishes = new Map(options.channels.map((channel) => [channel.name, channel]));
    this.#records = this.#placeAll(options.channels, gpus, gpuProblem);
    const engines = ["cpu", ...gpus.map(({ id }) => id)];
    createStatisticsBlock(options.statisticsPath, { engines, channels: [...this.#records.keys()] });
    this.#reader = new StatisticsReader(options.statisticsPath);
    const { statisticsPath, compileThreads, makeEngine, cacheDirectory } = options;
    const { use: _use, ...settings } = options.cuda;
    const cuda = cacheDirectory === undefined ? settings : { ...settings, cacheDirectory };
    this.#devices = new Map(
      engines.map((id, engineCell) => {
        const info = gpus.find((gpu) => gpu.id === id);
        const populate = (engine: Engine) => this.#populate(id, engine);
        const base = { statisticsPath, compileThreads };
        return [id, new DeviceRecord({ id, engineCell, info, base, cuda, makeEngine, populate })];
      }),
    );
    for (const device of this.#devices.values()) this.#listen(device);
    this.#sampler = setInterval(() => this.#sample(), samplePeriodMs);
  }

  #placeAll(channels: readonly ResolvedChannel[], gpus: FoundDevices["devices"], problem: string | undefined) {
    const places = placeChannels(channels, gpus, problem);
    return new Map(
      channels.map(({ device: wish, ...channel }, cell) => {
        const place = places.get(channel.name) ?? wish;
        const record = new ChannelRecord({ ...channel, cell }, typeof place === "string" ? place : wish);
        if (typeof place !== "string") record.refused(place);
        return [channel.name, record];
      }),
    );
  }

  /** One engine for each device that a channel runs on. */
  start(): void {
    for (const [name, record] of this.#records) {
      const device = this.#devices.get(record.device);
      if (device !== undefined) device.start();
      else
        this.emit(
          "refused",
          name,
          new FramelaneError(record.error?.code ?? "unsupported", record.error?.message ?? ""),
        );
    }
  }

  /** Ends the engines; the counters stay readable until close(). */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#sampler);
    await Promise.all(this.#started().map(({ keeper }) => keeper.stop()));
  }

  close(): void {
    this.#reader.close();
  }

  health(): HealthReport {
    const engines = this.#started().map((device) => device.engineReport(this.#reader));
    const healthy = engines.every(({ state }) => state === "running");
    const status = this.#stopping ? "stopping" : healthy ? "ok" : "degraded";
    return { status, ...this.build, uptime: (monotonicNs() - this.#startedNs) / 1e9, engines };
  }

  /** The heartbeat of every engine moves, or another engine is on its way. */
  get makesProgress(): boolean {
    return this.#started().every(
      ({ keeper, engineCell }) =>
        keeper.state !== "running" || monotonicNs() - this.#reader.heartbeatNs(engineCell) < 2e9,
    );
  }

  readiness(): ReadinessReport {
    this.#refresh();
    const records = [...this.#records.values()];
    const waiting = records.filter((record) => !record.leftFirstStart).map(({ spec }) => spec.name);
    const failing = records
      .filter((record) => record.isFailing)
      .map((record) => ({ name: record.spec.name, state: record.state, error: record.error }));
    return { ready: waiting.length === 0 && !this.#stopping, waiting, failing };
  }

  channelNames(): readonly string[] {
    return [...this.#records.keys()];
  }

  channels(): readonly ChannelReport[] {
    this.#refresh();
    this.#reports ??= Array.from(this.#records.values(), (record) => record.report());
    return this.#reports;
  }

  channel(name: string): ChannelReport | undefined {
    this.#refresh();
    return this.#records.get(name)?.report();
  }

  async channelDetail(name: string): Promise<ChannelDetail | undefined> {
    const record = this.#records.get(name);
    if (record === undefined) return undefined;
    const parameters = await this.#askParameters(name);
    this.#refresh();
    return { ...record.report(), spec: toSpecReport(record.spec, this.#redact), parameters };
  }

  devices(): readonly DeviceReport[] {
    return Array.from(this.#devices.values(), (device) => this.#deviceReport(device));
  }

  async setDeviceLimits(id: string, limits: DeviceLimits): Promise<DeviceReport> {
    const device = this.#devices.get(id);
    if (device === undefined) throw new FramelaneError("not_found", `There is no device "${id}".`);
    if (!device.isGpu) throw new FramelaneError("unsupported", `${id} has no memory of its own to bound.`);
    await device.setLimits(limits);
    for (const [, record] of this.#on(id)) await this.#tryWithNewBounds(record);
    return this.#deviceReport(device);
  }

  async setChannelLimits(name: string, limits: DeviceLimits): Promise<ChannelDetail> {
    const record = this.#records.get(name);
    if (record === undefined) throw new FramelaneError("not_found", `There is no channel "${name}".`);
    const device = this.#devices.get(record.device);
    // At once, as for a device. An engine that is yet to come is told with the channel itself.
    const merged = { ...record.spec.memory, ...limits };
    record.setLimits(merged);
    if (device?.isGpu) await device.keeper.tell((engine) => engine.setDeviceLimits({ channel: name, ...merged }));
    await this.#tryWithNewBounds(record);
    return (await this.channelDetail(name)) as ChannelDetail;
  }

  histogram(name: string, stage: Stage): HistogramCells | undefined {
    return this.#records.get(name)?.statistics.stages.now(stageNames.indexOf(stage));
  }

  subscribe(listener: (event: ServiceEvent) => void): () => void {
    this.on("event", listener);
    return () => this.off("event", listener);
  }

  /** A channel that had no room tries again at once. */
  async #tryWithNewBounds(record: ChannelRecord): Promise<void> {
    this.#refresh();
    const device = this.#devices.get(record.device);
    const failed = record.state === "faulted" || record.state === "backoff";
    const code = record.error?.code;
    if (!failed || (code !== "out_of_memory" && code !== "over_limit")) return;
    await device?.keeper.tell((engine) => engine.restartChannel(record.spec.name));
  }

  async #askParameters(name: string) {
    try {
      const device = this.#devices.get(this.#records.get(name)?.device ?? "");
      return (await device?.keeper.engine.parameters(name)) ?? null;
    } catch {
      // No engine, or one that did not take the channel over: its state says why.
      return null;
    }
  }

  #started(): DeviceRecord[] {
    return [...this.#devices.values()].filter(({ started }) => started);
  }

  #deviceReport(device: DeviceRecord): DeviceReport {
    return device.report(
      this.#reader,
      this.#on(device.id).map(([name]) => name),
    );
  }

  #on(device: string): (readonly [string, ChannelRecord])[] {
    return [...this.#records].filter(([, record]) => record.device === device);
  }

  #listen({ id, keeper }: DeviceRecord): void {
    keeper.on("event", (event) => this.#heard(event, id));
    keeper.on("state", (state) => {
      this.emit("engineState", id, state);
      this.#tell({ time: new Date().toISOString(), channel: null, device: id, state, reason: null, error: null });
    });
    keeper.on("lost", (exit, delayMs) => this.#lost(id, exit, delayMs));
  }

  #lost(id: string, exit: EngineExit, delayMs: number): void {
    this.emit("engineLost", id, exit, delayMs);
    const time = new Date().toISOString();
    for (const [channel, record] of this.#on(id)) {
      const told = record.engineLost({ ...exit, detail: this.#redact(exit.detail) });
      this.#tell({ time, channel, device: id, state: "backoff", ...told });
    }
    if (id !== "cpu" && (exit.reason === "device_lost" || exit.reason === "start_failed")) this.#moveAway(id);
  }

  /** Channels that did not name the device go to the GPUs that work. Where there is none they wait for this one. */
  #moveAway(id: string): void {
    const healthy = [...this.#devices.values()].filter(
      (device) => device.isGpu && device.id !== id && device.keeper.state !== "backoff",
    );
    const loads = new Map<string, number>();
    for (const [name, record] of this.#records) {
      loads.set(record.device, (loads.get(record.device) ?? 0) + loadOf(this.#wishes.get(name) ?? record.spec));
    }
    for (const [name, record] of this.#on(id)) {
      const target = this.#wishes.get(name)?.device === "auto" ? leastLoaded(healthy, loads) : undefined;
      const device = this.#devices.get(target ?? "");
      if (device === undefined) continue;
      record.device = device.id;
      loads.set(device.id, (loads.get(device.id) ?? 0) + loadOf(record.spec));
      // An engine that starts takes all its channels over.
      if (device.keeper.state === "running") void this.#handOver(name, record, device.keeper.engine);
      else device.start();
    }
  }

  async #populate(id: string, engine: Engine): Promise<void> {
    for (const [name, record] of this.#on(id)) {
      if (!(await this.#handOver(name, record, engine))) return;
    }
  }

  /** False: the engine is gone. */
  async #handOver(name: string, record: ChannelRecord, engine: Engine): Promise<boolean> {
    record.handOver();
    try {
      await engine.createChannel(record.order);
      record.handedOver();
    } catch (thrown) {
      const { code, message } = FramelaneError.from(thrown);
      if (code === "engine_gone") return false;
      const error = new FramelaneError(code, this.#redact(message));
      record.refused(error);
      this.emit("refused", name, error);
    }
    return true;
  }

  #heard(told: EngineEvent, device: string): void {
    const event = told.message === undefined ? told : { ...told, message: this.#redact(told.message) };
    this.emit("channelEvent", event);
    const { channel, state, code, message } = event;
    if (channel !== undefined) this.#records.get(channel)?.heard(event);
    const error = code === undefined ? null : { code, message: message ?? "" };
    this.#tell({ time: toTimestamp(event.time), channel: channel ?? null, device, state, reason: null, error });
  }

  #tell(event: ServiceEvent): void {
    // Whoever asks after an event must not get what was before it.
    this.#refreshedNs = 0;
    this.emit("event", event);
  }

  #sample(): void {
    const now = monotonicNs();
    for (const record of this.#records.values()) record.statistics.sample(this.#reader, now);
    this.#refreshedNs = now;
    this.#reports = undefined;
  }

  #refresh(): void {
    const now = monotonicNs();
    if (now - this.#refreshedNs < freshNs) return;
    this.#refreshedNs = now;
    this.#reports = undefined;
    for (const record of this.#records.values()) record.statistics.refresh(this.#reader);
  }
}
