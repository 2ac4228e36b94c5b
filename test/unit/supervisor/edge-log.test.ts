import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { mock, test } from "node:test";
import { EdgeLog } from "../../../src/supervisor/edge-log.ts";
import type { Supervisor } from "../../../src/supervisor/supervisor.ts";
import type { Log } from "../../../src/telemetry/log.ts";

test("the last state in the log is the channel's state", () => {
  mock.timers.enable({ apis: ["setInterval"] });
  const lines: string[] = [];
  const write = (_fields: object, text: string) => lines.push(text);
  const supervisor = new EventEmitter();
  const log = new EdgeLog(
    { debug: write, info: write, warn: write, error: write } as unknown as Log,
    supervisor as Supervisor,
  );
  const say = (state: string, more = {}) => supervisor.emit("channelEvent", { channel: "a", state, time: 0, ...more });
  for (const state of ["starting", "compiling", "starting", "running"]) say(state);
  mock.timers.tick(1000);
  assert.deepEqual(lines.splice(0), ["starting", "compiling", "running"]);
  for (const state of ["stalled", "running", "stalled"]) say(state);
  mock.timers.tick(1000);
  assert.equal(lines.splice(0).at(-1), "stalled");
  const error = { code: "source_lost", message: "gone" };
  for (let count = 0; count < 3; count++) say("backoff", error);
  say("starting");
  mock.timers.tick(1000);
  assert.deepEqual(lines.splice(0), ["backoff: gone", "starting", "backoff: gone"], "no error is left out");
  log.close();
  mock.timers.reset();
});
