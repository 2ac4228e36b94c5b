import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fakeEntry, isAlive, patternYaml, ServiceProcess, sumOf } from "../fakes/service-process.ts";

const untilGone = async (pid: number, withinMs: number): Promise<void> => {
  for (const start = performance.now(); isAlive(pid); await delay(10)) {
    assert.ok(performance.now() - start < withinMs, `process ${pid} is still there after ${withinMs} ms`);
  }
};

describe("the service's life", { timeout: 120_000 }, () => {
  test("SIGINT ends everything within two seconds, with exit code 0", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a", "b") });
    await service.allRunning();
    const engine = await service.enginePid();
    const start = performance.now();
    assert.equal(await service.stop(), 0);
    assert.ok(performance.now() - start < 2000);
    assert.ok(!isAlive(engine));
  });

  test("a second signal ends it at once", async () => {
    const service = await ServiceProcess.start({
      entry: fakeEntry,
      channels: patternYaml("a"),
      environment: { FRAMELANE_FAKE_STOP: "never" },
    });
    await service.allRunning();
    const engine = await service.enginePid();
    service.child.kill("SIGTERM");
    while ((await service.health()).status !== "stopping") await delay(5);
    service.child.kill("SIGTERM");
    assert.equal(await service.exited, 143);
    await untilGone(engine, 5000);
    await service.stop();
  });

  test("an engine does not outlive a supervisor that was killed", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") });
    await service.allRunning();
    const engine = await service.enginePid();
    service.child.kill("SIGKILL");
    await service.exited;
    await untilGone(engine, 5000);
    await service.stop();
  });

  test("a second instance of a runtime directory is refused", async () => {
    const first = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") });
    try {
      const second = new ServiceProcess({ entry: fakeEntry, channels: patternYaml("a"), directory: first.directory });
      assert.equal(await second.exited, 75);
      assert.match(second.stderr, /Another Framelane uses the runtime directory/);
      assert.equal((await first.health()).status, "ok");
    } finally {
      await first.stop();
    }
  });

  test("a port in use is named, and the exit code is 69", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const service = new ServiceProcess({ entry: fakeEntry, channels: patternYaml("a"), listen: `127.0.0.1:${port}` });
    assert.equal(await service.exited, 69);
    assert.match(service.stderr, new RegExp(`Another program listens on 127\\.0\\.0\\.1:${port}\\.`));
    other.close();
    await service.stop();
  });

  test("JavaScript may stop for a second on both sides and no frame is lost", async () => {
    const preload = new URL("../fakes/block-on-sigusr2.mjs", import.meta.url);
    const service = await ServiceProcess.start({
      entry: fakeEntry,
      channels: patternYaml("a", "b"),
      environment: { NODE_OPTIONS: `--import ${preload.href}` },
    });
    try {
      await service.allRunning();
      const engine = await service.enginePid();
      const before = await service.channels();
      const start = performance.now();
      process.kill(engine, "SIGUSR2");
      service.child.kill("SIGUSR2");
      await delay(20);
      const after = await service.channels();
      const seconds = (performance.now() - start) / 1000;
      assert.ok(seconds > 0.9, `the supervisor answered after ${seconds} s: it was not blocked`);
      for (const [index, { frames }] of after.entries()) {
        const more = frames.processed - (before[index]?.frames.processed ?? 0);
        assert.ok(more > 0.8 * 100 * (seconds - 0.1), `${more} frames in ${seconds} s`);
        assert.equal(sumOf(frames.dropped) + sumOf(frames.lost), 0);
      }
      await service.until("runs on", (channels) => channels.every(({ state }) => state === "running"));
      assert.deepEqual((await service.health()).engines[0]?.restarts, { crashed: 0, hung: 0, start_failed: 0 });
    } finally {
      await service.stop();
    }
  });
});
