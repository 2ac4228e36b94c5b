/** What every Engine must do, whichever process it runs in. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelState, Engine, EngineEvent, EngineOptions } from "../../src/engine/engine.ts";
import { createStatisticsBlock } from "../../src/engine/statistics-block.ts";
import { emptyChannelCells, StatisticsReader } from "../../src/engine/statistics-reader.ts";
import { FramelaneError } from "../../src/errors.ts";
import { patternChannel } from "../fakes/channel-spec.ts";

const rejectsWith = (code: string) => (thrown: unknown) => {
  assert.ok(thrown instanceof FramelaneError, `${thrown} is no FramelaneError`);
  assert.equal(thrown.code, code, thrown.message);
  return true;
};

/** Remembers events, and waits for one that came already or comes later. */
class EventLog {
  readonly seen: EngineEvent[] = [];
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.on("event", (event) => this.seen.push(event));
  }

  async state(channel: string, state: ChannelState): Promise<EngineEvent> {
    for (;;) {
      const found = this.seen.find((event) => event.channel === channel && event.state === state);
      if (found !== undefined) return found;
      await once(this.#engine, "event");
    }
  }
}

export function engineContract(title: string, make: (options: EngineOptions) => Engine): void {
  describe(title, { timeout: 60_000 }, () => {
    let directory = "";
    const engines: Engine[] = [];

    before(() => {
      directory = mkdtempSync(join(tmpdir(), "framelane-contract-"));
    });
    after(async () => {
      await Promise.all(engines.map((engine) => engine.stop()));
      rmSync(directory, { recursive: true, force: true });
    });

    const prepare = (block: string): { engine: Engine; events: EventLog; statisticsPath: string } => {
      const statisticsPath = join(directory, block);
      createStatisticsBlock(statisticsPath, { engines: ["cpu"], channels: ["a", "b", "c"] });
      const engine = make({ device: "cpu", statisticsPath, engineCell: 0, compileThreads: 1 });
      engines.push(engine);
      return { engine, events: new EventLog(engine), statisticsPath };
    };

    test("start answers with the device", async () => {
      const { engine } = prepare("device");
      const device = await engine.start();
      assert.equal(device.id, "cpu");
      assert.ok(device.cores >= 1);
    });

    test("a channel runs, counts into its cell and stops with nothing in flight", async () => {
      const { engine, events, statisticsPath } = prepare("run");
      await engine.start();
      await engine.createChannel(patternChannel("b", 1));
      const running = await events.state("b", "running");
      assert.ok(Number.isSafeInteger(running.time) && running.time > 0);
      const reader = new StatisticsReader(statisticsPath);
      const cells = emptyChannelCells();
      while (cells.worker.processed < 10) {
        await delay(5);
        reader.readChannel(1, cells);
      }
      await engine.stopChannel("b");
      await events.state("b", "stopped");
      reader.readChannel(1, cells);
      const { worker, source } = cells;
      const dropped = worker.droppedLate + worker.droppedError + worker.droppedRestart + worker.droppedShutdown;
      const pushedOut = source.droppedOverwritten + source.droppedSuperseded;
      assert.equal(source.received, worker.processed + dropped + pushedOut);
      assert.ok(reader.heartbeatNs(0) > 0);
      reader.close();
    });

    test("a channel with start: false waits for startChannel", async () => {
      const { engine, events } = prepare("idle");
      await engine.start();
      await engine.createChannel(patternChannel("a", 0, { start: false }));
      assert.ok(!events.seen.some((event) => event.state === "running"));
      await engine.startChannel("a");
      await events.state("a", "running");
    });

    test("parameters are listed and set", async () => {
      const { engine, events } = prepare("parameters");
      await engine.start();
      await engine.createChannel(patternChannel("a", 0));
      await events.state("a", "running");
      await engine.setParameter("a", "gain.value", 2);
      const [parameter, ...others] = await engine.parameters("a");
      assert.deepEqual({ name: parameter?.name, value: parameter?.value }, { name: "gain.value", value: 2 });
      assert.equal(others.length, 0);
      await assert.rejects(engine.setParameter("a", "gain.absent", 2), FramelaneError);
    });

    test("refusals keep their codes", async () => {
      const { engine } = prepare("refusals");
      await engine.start();
      await assert.rejects(engine.stopChannel("nobody"), rejectsWith("not_found"));
      await engine.createChannel(patternChannel("a", 0));
      await assert.rejects(engine.createChannel(patternChannel("a", 1)), rejectsWith("invalid_argument"));
      const noRing = patternChannel("b", 1, { ring: { slots: 1 } });
      await assert.rejects(engine.createChannel(noRing), rejectsWith("invalid_argument"));
    });

    test("a failure of a channel is an event with its code", async () => {
      const { engine, events } = prepare("failure");
      await engine.start();
      const path = join(directory, "nothing.raw");
      const source = { type: "raw", path, width: 8, height: 8, fps: 30, format: "mono8", pace: "realtime" } as const;
      await engine.createChannel(patternChannel("a", 0, { source }));
      const event = await events.state("a", "backoff");
      assert.equal(event.code, "source_unavailable");
      assert.match(event.message ?? "", /nothing\.raw/);
    });

    test("a deleted channel is gone and its name is free again", async () => {
      const { engine } = prepare("delete");
      await engine.start();
      await engine.createChannel(patternChannel("a", 0));
      await engine.deleteChannel("a");
      await assert.rejects(engine.deleteChannel("a"), rejectsWith("not_found"));
      await engine.createChannel(patternChannel("a", 0));
    });

    test("stop is idempotent, says so once, and later calls are refused", async () => {
      const { engine } = prepare("stop");
      await engine.start();
      await engine.createChannel(patternChannel("a", 0));
      const exits: unknown[] = [];
      engine.on("exit", (exit) => exits.push(exit.reason));
      await Promise.all([engine.stop(), engine.stop()]);
      await engine.stop();
      assert.deepEqual(exits, ["stopped"]);
      await assert.rejects(engine.startChannel("a"), rejectsWith("engine_gone"));
      await assert.rejects(engine.start(), rejectsWith("engine_gone"));
    });

    test("an engine without its statistics block does not start", async () => {
      const statisticsPath = join(directory, "absent");
      const engine = make({ device: "cpu", statisticsPath, engineCell: 0, compileThreads: 1 });
      engines.push(engine);
      await assert.rejects(engine.start(), FramelaneError);
    });
  });
}
