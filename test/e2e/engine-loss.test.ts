import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CounterGuard, fakeEntry, patternYaml, ServiceProcess, sumOf } from "../fakes/service-process.ts";

describe("an engine that is lost", { timeout: 120_000 }, () => {
  test("kill -9: HTTP answers and says so, channels come back, counts stay exact", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a", "b") });
    try {
      await service.allRunning();
      const guard = new CounterGuard();
      await service.until("ten frames", (channels) => channels.every(({ frames }) => frames.processed >= 10));
      const before = await service.channels();
      process.kill(await service.enginePid(), "SIGKILL");
      let saidSo = false;
      let inFlight: number | undefined;
      await service.until("back again", (channels) => {
        guard.check(channels);
        if (channels.every(({ state, reason }) => state === "backoff" && reason === "engine_restart")) {
          saidSo = true;
          inFlight ??= channels[0]?.frames.in_flight;
        }
        return saidSo && channels.every(({ state }) => state === "running");
      });
      const after = await service.channels();
      for (const [index, { frames, restarts }] of after.entries()) {
        assert.ok(frames.received > (before[index]?.frames.received ?? 0));
        assert.equal(restarts.engine, 1);
        assert.equal(sumOf(frames.dropped), frames.dropped.restart);
      }
      assert.equal(after[0]?.frames.dropped.restart, inFlight);
      const [engine] = (await service.health()).engines;
      assert.deepEqual(engine?.restarts, { crashed: 1, hung: 0, start_failed: 0, device_lost: 0 });
      assert.match(engine?.last_exit?.detail ?? "", /SIGKILL/);
      assert.ok(guard.reports > 3);
    } finally {
      await service.stop();
    }
  });

  test("a stopped engine is replaced as hung", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") });
    try {
      await service.allRunning();
      const pid = await service.enginePid();
      process.kill(pid, "SIGSTOP");
      const guard = new CounterGuard();
      let gone = false;
      const took = await service.until("replaced", (channels) => {
        guard.check(channels);
        gone ||= channels[0]?.state === "backoff";
        return gone && channels[0]?.state === "running";
      });
      assert.ok(took > 2000, `killed after ${took} ms already`);
      const { engines } = await service.health();
      assert.equal(engines[0]?.restarts.hung, 1);
      assert.notEqual(engines[0]?.pid, pid);
    } finally {
      await service.stop();
    }
  });

  test("an engine that cannot start leaves the service up, saying why", async () => {
    const service = await ServiceProcess.start({
      entry: fakeEntry,
      channels: patternYaml("a"),
      environment: { FRAMELANE_FAKE_START: "fail" },
    });
    try {
      await service.until("tried twice", () => service.stderr.split("start_failed").length > 2);
      const health = await service.health();
      assert.equal(health.status, "degraded");
      assert.match(health.engines[0]?.last_exit?.detail ?? "", /told to fail/);
      const ready = await fetch(`${service.url}/ready`);
      assert.equal(ready.status, 503);
      assert.deepEqual(((await ready.json()) as { waiting: string[] }).waiting, ["a"]);
    } finally {
      await service.stop();
    }
  });
});
