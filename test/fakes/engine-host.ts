/**
 * The engine's host process with the fake native engine. FRAMELANE_FAKE_START=fail: it refuses to start;
 * FRAMELANE_FAKE_STOP=never: it does not come to an end.
 */
import { serveEngine } from "../../src/engine/serve-engine.ts";
import { fakeAddon } from "./native-engine.ts";

class EndlessEngine extends fakeAddon.Engine {
  override stop(): Promise<void> {
    return new Promise(() => {});
  }
}

function chosen() {
  if (process.env["FRAMELANE_FAKE_START"] === "fail") throw new Error("told to fail");
  return process.env["FRAMELANE_FAKE_STOP"] === "never" ? { Engine: EndlessEngine } : fakeAddon;
}

serveEngine(chosen);
