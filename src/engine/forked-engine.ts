/** The engine in a process of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { FramelaneError } from "../errors.ts";
import type {
  ChannelSpec,
  DeviceInfo,
  Engine,
  EngineEvents,
  EngineExit,
  EngineOptions,
  LimitsOrder,
  OperationSpec,
  ParameterInfo,
} from "./engine.ts";
import type { FromHost, Request } from "./engine-protocol.ts";
import { type Limits, LivenessWatch } from "./liveness-watch.ts";
import { PendingCalls } from "./pending-calls.ts";

export interface ForkedEngineOptions {
  /** The host process's entry; by default the one beside this file. */
  readonly host?: URL;
  readonly limits?: Partial<Limits>;
  /** Milliseconds until start() must have answered. */
  readonly startWithin?: number;
  /** Milliseconds until stop() must have answered and the process be gone; then it is killed. */
  readonly stopWithin?: number;
}

/** kDeviceLostExit in addon/node/loss_watch.h. */
const deviceLostExitCode = 86;

const defaultHost = (): URL =>
  new URL(`./engine-host${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class ForkedEngine extends EventEmitter<EngineEvents> implements Engine {
  readonly options: EngineOptions;
  readonly #settings: ForkedEngineOptions;
  readonly #calls: PendingCalls;
  #child: ChildProcess | undefined;
  #watch: LivenessWatch | undefined;
  #stage: "new" | "starting" | "running" | "stopping" | "gone" = "new";
  #killedBecause: EngineExit | undefined;
  /** What the engine said of the loss of its device, after which it ends itself. */
  #deviceLost: string | undefined;
  /** The engine has said that all has come to its end: what is left is a process without work. */
  #stopAnswered = false;
  #stopped: Promise<void> | undefined;
  readonly #exited: Promise<void>;
  #resolveExited: () => void = () => {};

  constructor(options: EngineOptions, settings: ForkedEngineOptions = {}) {
    super();
    this.options = options;
    this.#settings = settings;
    this.#calls = new PendingCalls((request) => this.#send(request));
    this.#exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<DeviceInfo> {
    if (this.#stage === "gone" || this.#stage === "stopping") throw gone("it was stopped");
    if (this.#stage !== "new") throw new FramelaneError("internal", "The engine was started twice.");
    this.#stage = "starting";
    this.#launch();
    const within = this.#settings.startWithin ?? 30_000;
    const timer = setTimeout(() => this.#kill("start_failed", `did not start within ${within / 1000} s`), within);
    try {
      const device = (await this.#calls.call("start", [])) as DeviceInfo;
      if (this.#stage === "starting") {
        this.#stage = "running";
        this.#startWatch();
      }
      return device;
    } catch (thrown) {
      const error = FramelaneError.from(thrown);
      this.#kill("start_failed", error.message);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async createChannel(spec: ChannelSpec): Promise<void> {
    await this.#call("createChannel", spec);
  }

  async deleteChannel(name: string): Promise<void> {
    await this.#call("deleteChannel", name);
  }

  async startChannel(name: string): Promise<void> {
    await this.#call("startChannel", name);
  }

  async stopChannel(name: string): Promise<void> {
    await this.#call("stopChannel", name);
  }

  async restartChannel(name: string): Promise<void> {
    await this.#call("restartChannel", name);
  }

  async replacePipeline(name: string, pipeline: readonly OperationSpec[]): Promise<void> {
    await this.#call("replacePipeline", name, pipeline);
  }

  async setParameter(name: string, parameter: string, value: number): Promise<void> {
    await this.#call("setParameter", name, parameter, value);
  }

  async parameters(name: string): Promise<readonly ParameterInfo[]> {
    return (await this.#call("parameters", name)) as readonly ParameterInfo[];
  }

  async setDeviceLimits(limits: LimitsOrder): Promise<void> {
    await this.#call("setDeviceLimits", limits);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stopOnce();
    return this.#stopped;
  }

  /** Ends the process at once, as `kill -9` does. The exit event follows. */
  kill(): void {
    this.#kill("crashed", "killed on request");
  }

  async #stopOnce(): Promise<void> {
    if (this.#stage === "gone") return;
    if (this.#child === undefined) {
      this.#stage = "gone";
      this.emit("exit", { reason: "stopped", detail: "never started" });
      return;
    }
    this.#stage = "stopping";
    this.#watch?.stop();
    const within = this.#settings.stopWithin ?? 10_000;
    const timer = setTimeout(() => {
      if (this.#stopAnswered) this.#kill("stopped", "stopped as asked; its process had to be ended");
      else this.#kill("hung", `did not stop within ${within / 1000} s`);
    }, within);
    // An engine that dies while it stops has stopped.
    const answered = () => {
      this.#stopAnswered = true;
    };
    await this.#calls.call("stop", []).then(answered, () => {});
    await this.#exited;
    clearTimeout(timer);
  }

  #call(method: Request["method"], ...args: readonly unknown[]): Promise<unknown> {
    if (this.#stage !== "running") return Promise.reject(gone(`it is ${this.#stage}`));
    return this.#calls.call(method, args);
  }

  #launch(): void {
    const child = fork(fileURLToPath(this.#settings.host ?? defaultHost()), [JSON.stringify(this.options)], {
      // What native code prints belongs to the log, which is standard error.
      stdio: ["ignore", 2, 2, "ipc"],
    });
    this.#child = child;
    child.on("message", (message: FromHost) => this.#receive(message));
    child.on("error", (error) => this.#ended(`cannot be started: ${error.message}`));
    child.on("exit", (code, signal) =>
      this.#ended(signal === null ? `ended with code ${code}` : `killed by ${signal}`, code),
    );
  }

  #startWatch(): void {
    const { statisticsPath, engineCell } = this.options;
    const ping = () => this.#calls.call("ping", []).then(() => {});
    this.#watch = new LivenessWatch({ statisticsPath, engineCell, ping, limits: this.#settings.limits ?? {} });
    this.#watch.start((detail) => this.#kill("hung", detail));
  }

  #send(request: Request): void {
    // A failed send means that the process is gone: its exit event settles the call.
    this.#child?.send(request, () => {});
  }

  #receive(message: FromHost): void {
    if (message.kind !== "events") {
      this.#calls.settle(message);
      return;
    }
    for (const event of message.events) {
      if (event.channel === undefined && event.code === "device_lost") this.#deviceLost = event.message ?? "";
      this.emit("event", event);
    }
  }

  #kill(reason: EngineExit["reason"], detail: string): void {
    if (this.#stage === "gone") return;
    this.#killedBecause ??= { reason, detail };
    this.#child?.kill("SIGKILL");
  }

  #ended(detail: string, code: number | null = null): void {
    if (this.#stage === "gone") return;
    const stage = this.#stage;
    this.#stage = "gone";
    this.#watch?.stop();
    const lost = this.#deviceLost ?? (code === deviceLostExitCode ? "the engine lost its device" : undefined);
    const exit =
      lost !== undefined && stage !== "stopping"
        ? ({ reason: "device_lost", detail: lost } as const)
        : (this.#killedBecause ?? naturalExit(stage, detail));
    this.#calls.fail(gone(exit.detail));
    this.#resolveExited();
    this.emit("exit", exit);
  }
}

function naturalExit(stage: string, detail: string): EngineExit {
  if (stage === "stopping") return { reason: "stopped", detail: "stopped as asked" };
  return { reason: stage === "starting" ? "start_failed" : "crashed", detail };
}

const gone = (why: string): FramelaneError => new FramelaneError("engine_gone", `The engine is gone: ${why}.`);
