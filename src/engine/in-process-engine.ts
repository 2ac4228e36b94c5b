/** The engine inside this process: for tests, `framelane bench`, and the engine's host process. */
import { EventEmitter } from "node:events";
import { type ErrorCode, FramelaneError, isErrorCode } from "../errors.ts";
import type { NativeAddon, NativeEngine, NativeEvent } from "../native/binding.ts";
import type {
  ChannelSpec,
  ChannelState,
  DeviceInfo,
  Engine,
  EngineEvent,
  EngineEvents,
  EngineOptions,
  LimitsOrder,
  OperationSpec,
  ParameterInfo,
} from "./engine.ts";

/** The native side says "ok" where an event carries no error. */
const toErrorCode = (code: string): ErrorCode | undefined => {
  if (code === "" || code === "ok") return undefined;
  return isErrorCode(code) ? code : "internal";
};

function toEngineEvent(event: NativeEvent): EngineEvent {
  const code = toErrorCode(event.code);
  return {
    ...(event.channel === "" ? {} : { channel: event.channel }),
    state: event.state as ChannelState,
    ...(code === undefined ? {} : { code }),
    ...(event.message === "" ? {} : { message: event.message }),
    ...(event.sink === undefined ? {} : { sink: event.sink }),
    time: event.time,
  };
}

export class InProcessEngine extends EventEmitter<EngineEvents> implements Engine {
  readonly options: EngineOptions;
  readonly #addon: Pick<NativeAddon, "Engine">;
  #native: NativeEngine | undefined;
  /** Native threads do not keep Node's event loop going; whoever waits for an event must not find it ended. */
  #keepAlive: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: EngineOptions, addon: Pick<NativeAddon, "Engine">) {
    super();
    this.options = options;
    this.#addon = addon;
  }

  start(): Promise<DeviceInfo> {
    return attempt(() => {
      if (this.#stopped !== undefined) throw gone();
      if (this.#native !== undefined) throw new FramelaneError("internal", "The engine was started twice.");
      const { Engine: Native } = this.#addon;
      this.#native = new Native(this.options, (event) => this.emit("event", toEngineEvent(event)));
      this.#keepAlive = setInterval(() => {}, 2 ** 30);
      return this.#native.device();
    });
  }

  createChannel(spec: ChannelSpec): Promise<void> {
    return attempt(() => this.#running().createChannel(spec));
  }

  deleteChannel(name: string): Promise<void> {
    return attempt(() => this.#running().deleteChannel(name));
  }

  startChannel(name: string): Promise<void> {
    return attempt(() => this.#running().startChannel(name));
  }

  stopChannel(name: string): Promise<void> {
    return attempt(() => this.#running().stopChannel(name));
  }

  restartChannel(name: string): Promise<void> {
    return attempt(() => this.#running().restartChannel(name));
  }

  replacePipeline(name: string, pipeline: readonly OperationSpec[]): Promise<void> {
    return attempt(() => this.#running().replacePipeline(name, pipeline));
  }

  setParameter(name: string, parameter: string, value: number): Promise<void> {
    return attempt(() => this.#running().setParameter(name, parameter, value));
  }

  parameters(name: string): Promise<readonly ParameterInfo[]> {
    return attempt(() => this.#running().parameters(name));
  }

  setDeviceLimits(limits: LimitsOrder): Promise<void> {
    return attempt(() => this.#running().setDeviceLimits(limits));
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stopOnce();
    return this.#stopped;
  }

  async #stopOnce(): Promise<void> {
    const native = this.#native;
    this.#native = undefined;
    try {
      if (native !== undefined) await attempt(() => native.stop());
    } finally {
      clearInterval(this.#keepAlive);
      this.emit("exit", { reason: "stopped", detail: "stopped as asked" });
    }
  }

  #running(): NativeEngine {
    if (this.#native === undefined) throw gone();
    return this.#native;
  }
}

const gone = (): FramelaneError => new FramelaneError("engine_gone", "The engine is not running.");

/** Runs what may throw or reject; whatever comes out of it has a code. */
async function attempt<T>(action: () => T | Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (thrown) {
    throw FramelaneError.from(thrown);
  }
}
