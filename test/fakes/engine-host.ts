/**
 * The engine's host process with the fake native engine. FRAMELANE_FAKE_START=fail: it refuses to start;
 * FRAMELANE_FAKE_STOP=never: it does not come to an end; slow: that takes half a second;
 * linger: the process stays though its engine has stopped.
 */
import { setTimeout as delay } from "node:timers/promises";
import { serveEngine } from "../../src/engine/serve-engine.ts";
import { fakeAddon } from "./native-engine.ts";

class EndlessEngine extends fakeAddon.Engine {
  override stop(): Promise<void> {
    return new Promise(() => {});
  }
}

class SlowEngine extends fakeAddon.Engine {
  override async stop(): Promise<void> {
    await delay(500);
    await super.stop();
  }
}

const engines: Readonly<Record<string, typeof fakeAddon>> = {
  never: { Engine: EndlessEngine },
  slow: { Engine: SlowEngine },
};

if (process.env["FRAMELANE_FAKE_STOP"] === "linger") {
  process.exit = (() => {}) as typeof process.exit;
  setInterval(() => {}, 1000);
}

function chosen() {
  if (process.env["FRAMELANE_FAKE_START"] === "fail") throw new Error("told to fail");
  return engines[process.env["FRAMELANE_FAKE_STOP"] ?? ""] ?? fakeAddon;
}

serveEngine(chosen);
