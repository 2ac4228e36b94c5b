/** The engine's side of the process boundary. */
import { FramelaneError } from "../errors.ts";
import type { NativeAddon } from "../native/binding.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { type FromHost, methods, type Request, type ToHost } from "./engine-protocol.ts";
import { EventOutbox } from "./event-outbox.ts";
import { InProcessEngine } from "./in-process-engine.ts";

/** How long an engine that lost its supervisor may take to complete what its sinks hold. */
const orphanStopMs = 1500;

/** Runs an engine for the process that forked this one. The options come as the process's one argument. */
export function serveEngine(load: () => Pick<NativeAddon, "Engine">): void {
  const given = JSON.parse(process.argv[2] ?? "{}") as EngineOptions;
  const options = { ...given, ownsProcess: true, parentPid: process.ppid };
  const engine = new InProcessEngine(options, loadedLate(load));
  const events = new EventOutbox((batch, done) =>
    send({ kind: "events", events: batch }, () => {
      if (batch.some(({ channel, code }) => channel === undefined && code === "device_lost")) endAtOnce();
      done();
    }),
  );
  engine.on("event", (event) => events.push(event));
  process.on("message", (message: ToHost) => void answer(engine, message));
  // The supervisor decides when an engine ends: Ctrl-C on a terminal reaches both.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => void leave(engine));
  process.on("disconnect", () => void leave(engine));
  leaveWithParent(engine);
}

/** The addon is loaded with the engine's start, so that a failure to load it is the answer to `start`. */
function loadedLate(load: () => Pick<NativeAddon, "Engine">): Pick<NativeAddon, "Engine"> {
  return {
    get Engine() {
      try {
        return load().Engine;
      } catch (thrown) {
        const code = (thrown as NodeJS.ErrnoException).code;
        if (code !== "MODULE_NOT_FOUND" && code !== "ERR_DLOPEN_FAILED") throw thrown;
        throw new FramelaneError("addon_missing", (thrown as Error).message.split("\n")[0] ?? "", { cause: thrown });
      }
    },
  };
}

async function answer(engine: Engine, request: Request): Promise<void> {
  const sent = request.method === "stop" ? () => process.disconnect() : undefined;
  try {
    const value = await call(engine, request);
    send({ kind: "reply", id: request.id, ...(value === undefined ? {} : { value }) }, sent);
  } catch (thrown) {
    const error = FramelaneError.from(thrown);
    send({ kind: "failure", id: request.id, code: error.code, detail: error.message }, sent);
  }
}

async function call(engine: Engine, request: Request): Promise<unknown> {
  if (request.method === "ping") return undefined;
  if (!methods.includes(request.method)) throw new FramelaneError("internal", `No such call: ${request.method}.`);
  const method = engine[request.method] as (...args: readonly unknown[]) => Promise<unknown>;
  return method.apply(engine, request.arguments as unknown[]);
}

function send(message: FromHost, done?: () => void): void {
  if (process.connected !== true) return;
  // An error here means that the supervisor is gone: "disconnect" follows.
  process.send?.(message, undefined, {}, () => done?.());
}

/**
 * Without a word to native code: with its device lost, threads may be stuck in the driver for ever, and whoever waits
 * for them is as well.
 */
const endAtOnce = (): void => void process.kill(process.pid, "SIGKILL");

let leaving = false;

async function leave(engine: Engine): Promise<void> {
  if (leaving) return;
  leaving = true;
  setTimeout(() => process.exit(1), orphanStopMs);
  await engine.stop().catch(() => {});
  process.exit(0);
}

/** "disconnect" says that the parent is gone; where a descriptor of the channel leaked elsewhere, this does. */
function leaveWithParent(engine: Engine): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void leave(engine);
  }, 1000).unref();
}
