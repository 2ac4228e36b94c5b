/** Keeps one engine alive: starts it, and another when it is gone. */
import { EventEmitter } from "node:events";
import type { DeviceInfo, Engine, EngineEvent, EngineExit } from "../engine/engine.ts";
import type { EngineState } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import { RestartPace } from "./restart-pace.ts";

export interface KeeperEvents {
  state: [EngineState];
  event: [EngineEvent];
  /** An engine is gone; another follows after so many milliseconds, unless the keeper was stopped. */
  lost: [EngineExit, number];
}

export interface EngineKeeperOptions {
  readonly device: string;
  readonly make: () => Engine;
  /** Sends the desired state to an engine that has just started. */
  readonly populate: (engine: Engine) => Promise<void>;
}

export type RestartCounts = Record<Exclude<EngineExit["reason"], "stopped">, number>;

export class EngineKeeper extends EventEmitter<KeeperEvents> {
  readonly device: string;
  readonly restarts: RestartCounts = { crashed: 0, hung: 0, start_failed: 0, device_lost: 0 };
  deviceInfo: DeviceInfo | undefined;
  lastExit: EngineExit | undefined;
  readonly #options: EngineKeeperOptions;
  readonly #pace = new RestartPace();
  #engine: Engine | undefined;
  #state: EngineState = "stopped";
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(options: EngineKeeperOptions) {
    super();
    this.device = options.device;
    this.#options = options;
  }

  get state(): EngineState {
    return this.#state;
  }

  /** The engine that takes calls now; throws `engine_gone` while there is none. */
  get engine(): Engine {
    if (this.#engine === undefined || this.#state !== "running") {
      throw new FramelaneError("engine_gone", `The engine of ${this.device} is being started.`);
    }
    return this.#engine;
  }

  /** Of what is part of the desired state: an engine that is not there yet, or goes meanwhile, hears of it later. */
  async tell(order: (engine: Engine) => Promise<void>): Promise<void> {
    if (this.#engine === undefined || this.#state !== "running") return;
    try {
      await order(this.#engine);
    } catch (thrown) {
      const error = FramelaneError.from(thrown);
      if (error.code !== "engine_gone") throw error;
    }
  }

  start(): void {
    this.#launch();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#engine?.stop();
    this.#engine = undefined;
    this.#enter("stopped");
  }

  #launch(): void {
    const engine = this.#options.make();
    this.#engine = engine;
    this.#enter("starting");
    engine.on("event", (event) => this.emit("event", event));
    engine.once("exit", (exit) => this.#lost(exit));
    // What goes wrong here ends the engine, and its exit says so.
    this.#bringUp(engine).catch(() => {});
  }

  async #bringUp(engine: Engine): Promise<void> {
    this.deviceInfo = await engine.start();
    if (this.#engine !== engine || this.#stopping) return;
    this.#pace.started();
    this.#enter("running");
    await this.#options.populate(engine);
  }

  #lost(exit: EngineExit): void {
    this.#engine = undefined;
    if (this.#stopping) return;
    this.lastExit = exit;
    if (exit.reason !== "stopped") this.restarts[exit.reason]++;
    const delayMs = this.#pace.next();
    this.#enter("backoff");
    this.emit("lost", exit, delayMs);
    this.#timer = setTimeout(() => this.#launch(), delayMs);
  }

  #enter(state: EngineState): void {
    this.#state = state;
    this.emit("state", state);
  }
}
