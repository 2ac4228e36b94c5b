import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CounterGuard, realEntry, ServiceProcess, type ServiceSettings, sumOf } from "../fakes/service-process.ts";

const settings: ServiceSettings = {
  entry: realEntry,
  configuration: new URL("../../config/framelane.yaml", import.meta.url),
};
/** What the issue of a restart allows on two cores. */
const backWithinMs = 3000;

describe("config/framelane.yaml with the addon", { timeout: 180_000 }, () => {
  test("after kill -9 of the engine all channels are back within three seconds, counts exact", async (context) => {
    const service = await ServiceProcess.start(settings);
    try {
      await service.allRunning();
      await service.until("frames", (channels) => channels.every(({ frames }) => frames.processed >= 30));
      const guard = new CounterGuard();
      guard.check(await service.channels());
      process.kill(await service.enginePid(), "SIGKILL");
      let saidSo = false;
      const took = await service.until("back again", (channels) => {
        guard.check(channels);
        saidSo ||= channels.every(({ reason }) => reason === "engine_restart");
        return saidSo && channels.every(({ state }) => state === "running");
      });
      context.diagnostic(`back after ${took.toFixed(0)} ms`);
      assert.ok(took < backWithinMs, `back after ${took} ms`);
      await service.until("more frames", (channels) => {
        guard.check(channels);
        return channels.every(({ frames }) => frames.processed >= 60);
      });
      for (const { name, frames, restarts } of await service.channels()) {
        assert.equal(restarts.engine, 1, name);
        assert.equal(sumOf(frames.lost), 0, name);
      }
    } finally {
      assert.equal(await service.stop(), 0);
    }
  });

  test("a stopped engine is replaced as hung", async () => {
    const service = await ServiceProcess.start(settings);
    try {
      await service.allRunning();
      process.kill(await service.enginePid(), "SIGSTOP");
      const guard = new CounterGuard();
      let gone = false;
      await service.until("replaced", (channels) => {
        guard.check(channels);
        gone ||= channels.every(({ reason }) => reason === "engine_restart");
        return gone && channels.every(({ state }) => state === "running");
      });
      assert.deepEqual((await service.health()).engines[0]?.restarts, {
        crashed: 0,
        hung: 1,
        start_failed: 0,
        device_lost: 0,
      });
    } finally {
      await service.stop();
    }
  });
});
