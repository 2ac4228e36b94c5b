/**
 * A native engine in TypeScript: channels that count frames into a real statistics block, from a thread of their own,
 * so that the service can be tested without the addon and its JavaScript thread may stop as with the real one.
 * Sources: `pattern` runs; a file that is not there is `backoff`; a channel named "faulty-..." cannot be compiled.
 */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type {
  ChannelSpec,
  DeviceInfo,
  EngineOptions,
  LimitsOrder,
  OperationSpec,
  ParameterInfo,
} from "../../src/engine/engine.ts";
import type { ErrorCode } from "../../src/errors.ts";
import type { NativeAddon, NativeEngine, NativeEvent } from "../../src/native/binding.ts";

export type ToFakeWorker =
  | { readonly kind: "create"; readonly spec: ChannelSpec }
  | { readonly kind: "start" | "stop" | "restart"; readonly name: string }
  | { readonly kind: "delete"; readonly name: string; readonly id: number }
  | { readonly kind: "end" };

export type FromFakeWorker =
  | { readonly kind: "event"; readonly event: NativeEvent }
  | { readonly kind: "deleted"; readonly id: number }
  | { readonly kind: "ended" };

interface FakeChannel {
  readonly spec: ChannelSpec;
  parameters: ParameterInfo[];
}

/** A worker does not inherit the loader that lets this process run TypeScript. */
const workerScript = `import("tsx/esm/api").then(({ tsImport }) => tsImport(
  ${JSON.stringify(new URL("./native-engine-worker.ts", import.meta.url).href)},
  ${JSON.stringify(import.meta.url)},
))`;

class FakeNativeEngine implements NativeEngine {
  readonly #worker: Worker;
  readonly #channels = new Map<string, FakeChannel>();
  readonly #waiting = new Map<number, () => void>();
  readonly #ended: Promise<void>;
  readonly #device: string;
  #nextId = 1;

  constructor(options: EngineOptions, onEvent: (event: NativeEvent) => void) {
    this.#device = options.device;
    if (!existsSync(options.statisticsPath)) throw refused("io_failed", `cannot open ${options.statisticsPath}`);
    this.#worker = new Worker(workerScript, { eval: true, workerData: options });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => {
      this.#worker.on("message", (message: FromFakeWorker) => {
        if (message.kind === "event") onEvent(message.event);
        else if (message.kind === "deleted") this.#waiting.get(message.id)?.();
        else resolve();
      });
    });
  }

  createChannel(spec: ChannelSpec): void {
    if (this.#channels.has(spec.name)) throw refused("invalid_argument", `there is a channel '${spec.name}' already`);
    if (spec.ring.slots < 2) throw refused("invalid_argument", "ring.slots: expected 2 to 256");
    this.#channels.set(spec.name, { spec, parameters: parametersOf(spec.pipeline) });
    this.#post({ kind: "create", spec });
  }

  deleteChannel(name: string): Promise<void> {
    this.#channel(name);
    this.#channels.delete(name);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#post({ kind: "delete", name, id });
    });
  }

  startChannel(name: string): void {
    this.#channel(name);
    this.#post({ kind: "start", name });
  }

  stopChannel(name: string): void {
    this.#channel(name);
    this.#post({ kind: "stop", name });
  }

  restartChannel(name: string): void {
    this.#channel(name);
    this.#post({ kind: "restart", name });
  }

  replacePipeline(name: string, pipeline: readonly OperationSpec[]): void {
    this.#channel(name).parameters = parametersOf(pipeline);
  }

  setParameter(name: string, parameter: string, value: number): void {
    const { parameters } = this.#channel(name);
    const index = parameters.findIndex((found) => found.name === parameter);
    const found = parameters[index];
    if (found === undefined) throw refused("not_found", `no parameter '${parameter}'`);
    if (!(value >= found.minimum && value <= found.maximum)) throw refused("invalid_argument", "out of range");
    parameters[index] = { ...found, value };
  }

  parameters(name: string): ParameterInfo[] {
    return this.#channel(name).parameters;
  }

  setDeviceLimits(limits: LimitsOrder): void {
    if (this.#device === "cpu") throw refused("unsupported", "device cpu has no memory of its own to bound");
    if (limits.channel !== undefined) this.#channel(limits.channel);
  }

  device(): DeviceInfo {
    return { id: this.#device, name: "a processor that is not there", memoryBytes: 2 ** 33, cores: 2 };
  }

  async stop(): Promise<void> {
    this.#worker.ref();
    this.#post({ kind: "end" });
    await this.#ended;
    await this.#worker.terminate();
  }

  #channel(name: string): FakeChannel {
    const channel = this.#channels.get(name);
    if (channel === undefined) throw refused("not_found", `no channel '${name}'`);
    return channel;
  }

  #post(message: ToFakeWorker): void {
    this.#worker.postMessage(message);
  }
}

/** As the addon throws: an Error with a code, not a FramelaneError. */
const refused = (code: ErrorCode, message: string): Error => Object.assign(new Error(message), { code });

const parametersOf = (pipeline: readonly OperationSpec[]): ParameterInfo[] =>
  pipeline.flatMap(({ name, arguments: values }) =>
    Object.entries(values).flatMap(([argument, value]) =>
      typeof value === "number" ? [{ name: `${name}.${argument}`, value, minimum: 0, maximum: 16 }] : [],
    ),
  );

export const fakeAddon: Pick<NativeAddon, "Engine"> = { Engine: FakeNativeEngine };
