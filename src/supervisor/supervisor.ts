/** Holds the desired state, keeps the engines alive, and answers for both. */
import { EventEmitter } from "node:events";
import type { Redact } from "../config/secrets.ts";
import type { ChannelSpec, Engine, EngineEvent, EngineExit, EngineOptions } from "../engine/engine.ts";
import { monotonicNs } from "../engine/monotonic.ts";
import type {
  ChannelDetail,
  ChannelReport,
  DeviceReport,
  EngineReport,
  EngineState,
  HealthReport,
  ReadinessReport,
  ServiceEvent,
  ServiceView,
  Stage,
} from "../engine/report.ts";
import { createStatisticsBlock } from "../engine/statistics-block.ts";
import { type EngineCells, type HistogramCells, StatisticsReader } from "../engine/statistics-reader.ts";
import { stageNames } from "../engine/stats-layout.gen.ts";
import { FramelaneError } from "../errors.ts";
import { samplePeriodMs } from "../telemetry/channel-statistics.ts";
import { ChannelRecord, toTimestamp } from "./channel-record.ts";
import { EngineKeeper } from "./engine-keeper.ts";
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
  readonly version: string;
  readonly statisticsPath: string;
  readonly compileThreads: number;
  readonly channels: readonly Omit<ChannelSpec, "cell">[];
  /** Applied to every text of a specification or an engine that is told. */
  readonly redact: Redact;
  readonly makeEngine: (options: EngineOptions) => Engine;
}

const device = "cpu";
const engineCell = 0;
/** Reads of the counters that come closer together than this share one. */
const freshNs = 20e6;

export class Supervisor extends EventEmitter<SupervisorEvents> implements ServiceView {
  readonly version: string;
  readonly #startedNs = monotonicNs();
  readonly #records: ReadonlyMap<string, ChannelRecord>;
  readonly #reader: StatisticsReader;
  readonly #keeper: EngineKeeper;
  readonly #redact: Redact;
  readonly #engineCells: EngineCells = { pid: 0, heartbeatNs: 0, starts: 0, eventsLost: 0 };
  readonly #sampler: NodeJS.Timeout;
  #refreshedNs = 0;
  /** What channels() gave for the counters as last refreshed. */
  #reports: readonly ChannelReport[] | undefined;
  #stopping = false;

  constructor(options: SupervisorOptions) {
    super();
    this.version = options.version;
    this.#redact = options.redact;
    const specs = options.channels.map((channel, cell) => ({ ...channel, cell }));
    this.#records = new Map(specs.map((spec) => [spec.name, new ChannelRecord(spec, device)]));
    createStatisticsBlock(options.statisticsPath, { engines: [device], channels: specs.map(({ name }) => name) });
    this.#reader = new StatisticsReader(options.statisticsPath);
    const { statisticsPath, compileThreads } = options;
    this.#keeper = new EngineKeeper({
      device,
      make: () => options.makeEngine({ device, statisticsPath, engineCell, compileThreads }),
      populate: (engine) => this.#populate(engine),
    });
    this.#listen();
    this.#sampler = setInterval(() => this.#sample(), samplePeriodMs);
  }

  start(): void {
    this.#keeper.start();
  }

  /** Ends the engines; the counters stay readable until close(). */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#sampler);
    await this.#keeper.stop();
  }

  close(): void {
    this.#reader.close();
  }

  health(): HealthReport {
    const engines = [this.#engineReport()];
    const healthy = engines.every(({ state }) => state === "running");
    const status = this.#stopping ? "stopping" : healthy ? "ok" : "degraded";
    return { status, version: this.version, uptime: (monotonicNs() - this.#startedNs) / 1e9, engines };
  }

  /** The engine's heartbeat moves, or another engine is on its way. */
  get makesProgress(): boolean {
    if (this.#keeper.state !== "running") return true;
    return monotonicNs() - this.#reader.heartbeatNs(engineCell) < 2e9;
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
    const info = this.#keeper.deviceInfo;
    return [
      {
        id: device,
        name: info?.name ?? null,
        memory_bytes: info?.memoryBytes ?? null,
        cores: info?.cores ?? null,
        engine: this.#engineReport(),
      },
    ];
  }

  histogram(name: string, stage: Stage): HistogramCells | undefined {
    return this.#records.get(name)?.statistics.stages.now(stageNames.indexOf(stage));
  }

  subscribe(listener: (event: ServiceEvent) => void): () => void {
    this.on("event", listener);
    return () => this.off("event", listener);
  }

  async #askParameters(name: string) {
    try {
      return await this.#keeper.engine.parameters(name);
    } catch {
      // No engine, or one that did not take the channel over: its state says why.
      return null;
    }
  }

  #listen(): void {
    this.#keeper.on("event", (event) => this.#heard(event));
    this.#keeper.on("state", (state) => {
      this.emit("engineState", device, state);
      this.#tell({ time: new Date().toISOString(), channel: null, state, reason: null, error: null });
    });
    this.#keeper.on("lost", (exit, delayMs) => this.#lost(exit, delayMs));
  }

  #lost(exit: EngineExit, delayMs: number): void {
    this.emit("engineLost", device, exit, delayMs);
    const time = new Date().toISOString();
    for (const [channel, record] of this.#records) {
      record.engineLost();
      this.#tell({ time, channel, state: "backoff", reason: "engine_restart", error: null });
    }
  }

  async #populate(engine: Engine): Promise<void> {
    for (const [name, record] of this.#records) {
      record.handOver();
      try {
        await engine.createChannel(record.spec);
        record.handedOver();
      } catch (thrown) {
        const { code, message } = FramelaneError.from(thrown);
        if (code === "engine_gone") return;
        const error = new FramelaneError(code, this.#redact(message));
        record.refused(error);
        this.emit("refused", name, error);
      }
    }
  }

  #heard(told: EngineEvent): void {
    const event = told.message === undefined ? told : { ...told, message: this.#redact(told.message) };
    this.emit("channelEvent", event);
    const { channel, state, code, message } = event;
    if (channel === undefined) return;
    this.#records.get(channel)?.heard(event);
    const error = code === undefined ? null : { code, message: message ?? "" };
    this.#tell({ time: toTimestamp(event.time), channel, state, reason: null, error });
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

  #engineReport(): EngineReport {
    this.#reader.readEngine(engineCell, this.#engineCells);
    const { pid, heartbeatNs, starts, eventsLost } = this.#engineCells;
    const running = this.#keeper.state === "running";
    return {
      device,
      state: this.#keeper.state,
      pid: running && pid !== 0 ? pid : null,
      heartbeat_age: running && heartbeatNs !== 0 ? (monotonicNs() - heartbeatNs) / 1e9 : null,
      starts,
      restarts: { ...this.#keeper.restarts },
      events_lost: eventsLost,
      last_exit: this.#keeper.lastExit ?? null,
    };
  }
}
