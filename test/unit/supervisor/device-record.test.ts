import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { Engine, EngineOptions, LimitsOrder } from "../../../src/engine/engine.ts";
import { FramelaneError } from "../../../src/errors.ts";
import { DeviceRecord } from "../../../src/supervisor/device-record.ts";

/** An engine that starts when the test says so, and notes the bounds it is told. */
class SlowEngine extends EventEmitter {
  readonly told: LimitsOrder[] = [];
  readonly options: EngineOptions;
  started: () => void = () => {};

  constructor(options: EngineOptions) {
    super();
    this.options = options;
  }

  start() {
    const info = { id: this.options.device, name: "a GPU", memoryBytes: 1, cores: 1 };
    return new Promise((resolve) => {
      this.started = () => resolve(info);
    });
  }

  async setDeviceLimits(limits: LimitsOrder): Promise<void> {
    this.told.push(limits);
  }

  async stop(): Promise<void> {}
}

test("bounds that change while an engine starts reach it before its channels, and the next engine begins with them", async () => {
  const engines: SlowEngine[] = [];
  let populated: () => void = () => {};
  const record = new DeviceRecord({
    id: "cuda:0",
    engineCell: 1,
    info: undefined,
    base: { statisticsPath: "/nowhere", compileThreads: 1 },
    cuda: { memory: { reserve: 7, maxBytes: 100 }, pinned: { reserve: 0 }, gpuTimeout: 5 },
    makeEngine: (options) => {
      const engine = new SlowEngine(options);
      engines.push(engine);
      return engine as unknown as Engine;
    },
    populate: async () => populated(),
  });
  const next = () =>
    new Promise<void>((resolve) => {
      populated = resolve;
    });
  let done = next();
  record.start();
  const [first] = engines;
  assert.deepEqual(first?.options.cuda?.memory, { reserve: 7, maxBytes: 100 });
  await record.setLimits({ maxBuffers: 5 });
  assert.deepEqual(first?.told, []);
  first?.started();
  await done;
  assert.deepEqual(first?.told, [{ maxBytes: 100, maxBuffers: 5 }]);
  done = next();
  const made = new Promise((resolve) => record.keeper.on("state", (state) => state === "starting" && resolve(state)));
  first?.emit("exit", { reason: "crashed", detail: "" });
  await made;
  const [, second] = engines;
  assert.deepEqual(second?.options.cuda?.memory, { reserve: 7, maxBytes: 100, maxBuffers: 5 });
  second?.started();
  await done;
  assert.deepEqual(second?.told, []);
  // Two ask at the same time: neither takes back what the other has set.
  await Promise.all([record.setLimits({ maxBytes: 50 }), record.setLimits({ maxBuffers: 6 })]);
  assert.deepEqual(second?.told.at(-1), { maxBytes: 50, maxBuffers: 6 });
  // An engine that goes meanwhile has not heard of it; the next one begins with it.
  if (second) second.setDeviceLimits = () => Promise.reject(new FramelaneError("engine_gone", "gone"));
  await record.setLimits({ maxBuffers: 7 });
  const again = new Promise((resolve) => record.keeper.on("state", (state) => state === "starting" && resolve(state)));
  second?.emit("exit", { reason: "crashed", detail: "" });
  await again;
  assert.deepEqual(engines[2]?.options.cuda?.memory, { reserve: 7, maxBytes: 50, maxBuffers: 7 });
  await record.keeper.stop();
});
