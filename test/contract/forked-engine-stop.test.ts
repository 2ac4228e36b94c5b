/** How a forked engine ends when its machine is slow. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { EngineExit } from "../../src/engine/engine.ts";
import { ForkedEngine, type ForkedEngineOptions } from "../../src/engine/forked-engine.ts";
import { createStatisticsBlock } from "../../src/engine/statistics-block.ts";

describe("a forked engine that is asked to stop", { timeout: 60_000 }, () => {
  let directory = "";
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "framelane-stop-"));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** The host process inherits how it stops: test/fakes/engine-host.ts. */
  async function exitOf(stop: "slow" | "linger" | "never", settings: ForkedEngineOptions): Promise<EngineExit> {
    process.env["FRAMELANE_FAKE_STOP"] = stop;
    const statisticsPath = join(directory, "statistics");
    createStatisticsBlock(statisticsPath, { engines: ["cpu"], channels: ["a"] });
    const options = { device: "cpu", statisticsPath, engineCell: 0, compileThreads: 1 } as const;
    const engine = new ForkedEngine(options, {
      ...settings,
      host: new URL("../fakes/engine-host.ts", import.meta.url),
    });
    const exits: EngineExit[] = [];
    engine.on("exit", (exit) => exits.push(exit));
    await engine.start();
    delete process.env["FRAMELANE_FAKE_STOP"];
    await engine.stop();
    assert.equal(exits.length, 1);
    return exits[0] as EngineExit;
  }

  test("has stopped, however long that takes on a busy machine", async () => {
    const limits = { heartbeat: 60_000, silence: 200, period: 10 };
    assert.deepEqual(await exitOf("slow", { limits }), { reason: "stopped", detail: "stopped as asked" });
  });

  test("has stopped once it said so, though its process had to be ended", async () => {
    const { reason } = await exitOf("linger", { stopWithin: 1500 });
    assert.equal(reason, "stopped");
  });

  test("is hung where it never answers", async () => {
    const { reason, detail } = await exitOf("never", { stopWithin: 300 });
    assert.deepEqual([reason, detail], ["hung", "did not stop within 0.3 s"]);
  });
});
