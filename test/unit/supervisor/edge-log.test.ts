import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, mock, test } from "node:test";
import { EdgeLog } from "../../../src/supervisor/edge-log.ts";
import type { Supervisor } from "../../../src/supervisor/supervisor.ts";
import type { Log } from "../../../src/telemetry/log.ts";

let lines: string[];
let supervisor: EventEmitter;
let log: EdgeLog;
const say = (state: string, more = {}) => supervisor.emit("channelEvent", { channel: "a", state, time: 0, ...more });

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  lines = [];
  supervisor = new EventEmitter();
  const write = (level: string) => (fields: { repeats?: number }, text: string) =>
    void lines.push(`${level} ${text}${fields.repeats === undefined ? "" : ` x${fields.repeats}`}`);
  const sink = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  log = new EdgeLog(sink as unknown as Log, supervisor as Supervisor);
});
afterEach(() => {
  log.close();
  mock.timers.reset();
});

test("the way to the work is for debugging, what ails a channel is a warning", () => {
  for (const state of ["starting", "compiling", "running", "stalled"]) say(state);
  say("faulted", { code: "compile_failed", message: "no" });
  assert.deepEqual(lines, ["debug starting", "debug compiling", "info running", "warn stalled", "error faulted: no"]);
});

test("the last line of a channel is its state", () => {
  say("running");
  mock.timers.tick(1000);
  for (const state of ["stalled", "running", "stalled"]) say(state);
  mock.timers.tick(1000);
  assert.equal(lines.at(-1), "warn stalled");
  const error = { code: "source_lost", message: "gone" };
  for (let count = 0; count < 3; count++) say("backoff", error);
  say("starting");
  say("running");
  mock.timers.tick(120_000);
  assert.equal(lines.at(-1), "info running");
});

test("a sink that fails at every frame is one line a minute, whatever the engine counted", () => {
  say("running");
  for (let second = 0; second <= 60; second++) {
    const message = second === 0 ? "disk full" : "disk full (30 times)";
    say("running", { code: "sink_failed", message, sink: 0 });
    mock.timers.tick(1000);
  }
  assert.deepEqual(lines, ["info running", "warn running: disk full", "warn running: disk full x1770"]);
});

test("an engine that came back is not reported gone afterwards", () => {
  const exit = { reason: "crashed", detail: "killed by SIGKILL" };
  for (let count = 0; count < 2; count++) supervisor.emit("engineLost", "cpu", exit, 100);
  supervisor.emit("engineState", "cpu", "running");
  mock.timers.tick(5000);
  assert.deepEqual(lines, [
    "error engine gone (crashed): killed by SIGKILL; the next one starts in 0.1 s",
    "info engine runs",
  ]);
});

test("one line says that there is no GPU, where a channel would take one", () => {
  log.gpus("no driver", ["cuda:0"], true);
  log.gpus("no driver", [], false);
  log.gpus(null, [], true);
  log.gpus(null, ["cuda:9"], true);
  assert.deepEqual(lines, [
    'info no GPU: no driver; channels with "device: auto" run on the CPU',
    "warn devices.cuda.use names what is not here: cuda:9",
  ]);
});
