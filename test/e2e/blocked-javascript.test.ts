/** The invariant of the service: JavaScript may stop, frames go on. With the real engine. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { CounterGuard, realEntry, ServiceProcess, sumOf } from "../fakes/service-process.ts";

const fps = 50;
const channels = ["a", "b"]
  .map(
    (name) => `  ${name}: { source: { type: pattern, width: 320, height: 240, fps: ${fps} }, pipeline: [gain: 1.1] }\n`,
  )
  .join("");

describe("both JavaScript threads blocked", { timeout: 120_000 }, () => {
  test("for a second: no frame is lost, and nothing is wrong afterwards", async () => {
    const preload = new URL("../fakes/block-on-sigusr2.mjs", import.meta.url);
    const environment = { NODE_OPTIONS: `--import ${preload.href}` };
    const service = await ServiceProcess.start({ entry: realEntry, channels, environment });
    try {
      await service.allRunning();
      const guard = new CounterGuard();
      const engine = await service.enginePid();
      const before = await service.channels();
      guard.check(before);
      const start = performance.now();
      process.kill(engine, "SIGUSR2");
      service.child.kill("SIGUSR2");
      await delay(20);
      const after = await service.channels();
      const seconds = (performance.now() - start) / 1000;
      guard.check(after);
      assert.ok(seconds > 0.9, `the supervisor answered after ${seconds} s: it was not blocked`);
      for (const [index, { name, frames }] of after.entries()) {
        const more = frames.processed - (before[index]?.frames.processed ?? 0);
        assert.ok(more > 0.8 * fps * (seconds - 0.1), `${name}: ${more} frames in ${seconds} s`);
        assert.equal(sumOf(frames.dropped) + sumOf(frames.lost), 0, `${name} lost frames`);
      }
      await service.until("goes on", (now) => {
        guard.check(now);
        return now.every(({ frames }, index) => frames.processed > (after[index]?.frames.processed ?? 0) + fps);
      });
      for (const { name, state, restarts, error } of await service.channels()) {
        assert.deepEqual(
          { name, state, error, restarts: sumOf(restarts) },
          { name, state: "running", error: null, restarts: 0 },
        );
      }
      const { status, engines } = await service.health();
      assert.equal(status, "ok");
      assert.equal(engines[0]?.pid, engine);
      assert.deepEqual(engines[0]?.restarts, { crashed: 0, hung: 0, start_failed: 0, device_lost: 0 });
    } finally {
      await service.stop();
    }
  });
});
