/** The thread of the fake native engine: heartbeat, channel states, frames. */
import { existsSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { ChannelSpec, ChannelState, EngineOptions } from "../../src/engine/engine.ts";
import { monotonicNs } from "../../src/engine/monotonic.ts";
import type { ChannelCells } from "../../src/engine/statistics-reader.ts";
import { channelStates, nativeErrorCodes } from "../../src/engine/stats-layout.gen.ts";
import { CellFile } from "./cell-file.ts";
import type { FromFakeWorker, ToFakeWorker } from "./native-engine.ts";

const options = workerData as EngineOptions;
const file = new CellFile(options.statisticsPath);
const tell = (message: FromFakeWorker): void => parentPort?.postMessage(message);

/** What a stage takes, by its place in `stageNames`: wait, upload, compute, download, total. */
const stageNs = [20_000, 50_000, 1_500_000, 80_000, 1_650_000];
const compileNs = 50e6;

const droppedOf = ({ worker, source }: ChannelCells): number =>
  worker.droppedLate +
  worker.droppedError +
  worker.droppedRestart +
  worker.droppedShutdown +
  source.droppedOverwritten +
  source.droppedSuperseded;

class FakeChannel {
  readonly spec: ChannelSpec;
  readonly #cells: ChannelCells;
  readonly #fps: number;
  #state: ChannelState = "idle";
  #stateSince = 0;
  #dueNs = 0;

  constructor(spec: ChannelSpec) {
    this.spec = spec;
    this.#fps = Number(spec.source["fps"] ?? 30);
    this.#cells = file.readChannel(spec.cell);
    const { worker, source } = this.#cells;
    if (worker.stateSinceNs !== 0) {
      worker.droppedRestart += source.received - worker.processed - droppedOf(this.#cells);
      worker.restartsEngine++;
    }
    worker.slotsTotal = spec.ring.slots;
    worker.expectedFpsMilli = this.#fps * 1000;
    worker.inputWidth = Number(spec.source["width"] ?? 0);
    worker.inputHeight = Number(spec.source["height"] ?? 0);
    this.#enter("idle");
    if (spec.start) this.start();
  }

  start(): void {
    if (this.#state !== "idle" && this.#state !== "stopped") return;
    this.#enter("compiling");
  }

  stop(): void {
    const { worker, source } = this.#cells;
    worker.droppedShutdown += source.received - worker.processed - droppedOf(this.#cells);
    this.#enter("stopped");
  }

  restart(): void {
    this.stop();
    this.#cells.worker.restartsCommand++;
    this.start();
  }

  tick(now: number): void {
    if (this.#state === "compiling" && now - this.#stateSince >= compileNs) this.#compiled(now);
    if (this.#state !== "running") return;
    this.#process(now);
    while (this.#dueNs <= now) {
      this.#cells.source.received++;
      this.#cells.source.lastArrivalNs = this.#dueNs;
      this.#dueNs += 1e9 / this.#fps;
    }
    file.writeSource(this.spec.cell, this.#cells.source);
  }

  /** What arrived by the last tick is done by this one, so that there is nearly always something in flight. */
  #process(now: number): void {
    const { worker, source } = this.#cells;
    const arrived = source.received - worker.processed - droppedOf(this.#cells);
    if (arrived === 0) return;
    for (const stage of stageNs.keys()) file.addDurations(this.spec.cell, stage, stageNs[stage] ?? 0, arrived);
    worker.processed += arrived;
    worker.lastProcessedNs = now;
    worker.slotsReading = 1;
    file.writeWorker(this.spec.cell, worker);
  }

  /** A sink that writes to a file which is not there fails. */
  #failSinks(now: number): void {
    for (const [sink, { type, ...fields }] of this.spec.sinks.entries()) {
      const path = fields["path"];
      if (typeof path !== "string") continue;
      const message = `sink ${type} ${sink} of channel ${this.spec.name}: cannot write ${path}`;
      file.writeSinkFailure(this.spec.cell, sink, 7, nativeErrorCodes.indexOf("io_failed"));
      const channel = this.spec.name;
      tell({ kind: "event", event: { channel, state: this.#state, code: "sink_failed", message, time: now, sink } });
    }
  }

  #compiled(now: number): void {
    const path = this.spec.source["path"];
    if (this.spec.name.startsWith("faulty-")) {
      this.#enter("faulted", "compile_failed", "nothing compiles on a processor that is not there");
    } else if (typeof path === "string" && !existsSync(path)) {
      this.#enter("backoff", "source_unavailable", `cannot open ${path}`);
    } else {
      this.#enter("starting");
      this.#dueNs = now;
      this.#enter("running");
      this.#failSinks(now);
    }
  }

  #enter(state: ChannelState, code: (typeof nativeErrorCodes)[number] = "ok", message = ""): void {
    const now = monotonicNs();
    const { worker } = this.#cells;
    this.#state = state;
    this.#stateSince = now;
    worker.state = channelStates.indexOf(state);
    worker.stateSinceNs = now;
    worker.errorCode = nativeErrorCodes.indexOf(code);
    file.writeWorker(this.spec.cell, worker);
    tell({ kind: "event", event: { channel: this.spec.name, state, code, message, time: now } });
  }
}

const channels = new Map<string, FakeChannel>();

function receive(message: ToFakeWorker): void {
  switch (message.kind) {
    case "create":
      channels.set(message.spec.name, new FakeChannel(message.spec));
      break;
    case "delete":
      channels.get(message.name)?.stop();
      channels.delete(message.name);
      tell({ kind: "deleted", id: message.id });
      break;
    case "end":
      for (const channel of channels.values()) channel.stop();
      channels.clear();
      tell({ kind: "ended" });
      break;
    default:
      channels.get(message.name)?.[message.kind]();
  }
}

file.writeEngineCell(options.engineCell, "pid", process.pid);
file.writeEngineCell(options.engineCell, "starts", file.readEngineCell(options.engineCell, "starts") + 1);
parentPort?.on("message", receive);
setInterval(() => {
  const now = monotonicNs();
  file.writeEngineCell(options.engineCell, "heartbeatNs", now);
  for (const channel of channels.values()) channel.tick(now);
}, 10);
