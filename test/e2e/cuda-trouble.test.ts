import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { isAlive, ServiceProcess } from "../fakes/service-process.ts";

const channels = `  gpu: { source: { type: pattern, width: 64, height: 48, fps: 50 }, pipeline: [ gain: 1.5 ], device: cuda:0 }
  plain: { source: { type: pattern, width: 64, height: 48, fps: 50 }, device: cpu }
`;

const childrenOf = (pid: number | undefined): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

/** Within two seconds, in order, and nothing is left. */
async function assertEnds(service: ServiceProcess, signal: NodeJS.Signals): Promise<void> {
  const children = childrenOf(service.child.pid);
  const start = performance.now();
  service.child.kill(signal);
  assert.equal(await service.exited, 0, service.stderr);
  assert.ok(performance.now() - start < 2000);
  while (children.some(isAlive)) {
    assert.ok(performance.now() - start < 5000, "a process is left");
    await delay(20);
  }
}

describe("a GPU that makes trouble before its first frame", { timeout: 300_000 }, () => {
  test("a driver that does not answer at all does not hold up the end", async () => {
    const fake = new FakeCuda("devices=1,delay=cuDeviceGetCount:100000000000");
    const service = new ServiceProcess(fake.settings(channels));
    try {
      while (childrenOf(service.child.pid).length === 0) await delay(20);
      await assertEnds(service, "SIGTERM");
    } finally {
      await service.stop();
      fake.close();
    }
  });

  test("a kernel that never ends does so in its first run: the GPU is lost, the CPU goes on", async () => {
    const fake = new FakeCuda("devices=1,hang=*:1");
    const service = await ServiceProcess.start(fake.settings(channels, ", gpu_timeout: 1s"));
    try {
      const why = /channel gpu was not finished within 1000 ms/;
      await service.until(
        "lost",
        ([gpu]) => gpu?.reason === "device_lost" && why.test(gpu.error?.message ?? ""),
        60_000,
      );
      const [, plain] = await service.channels();
      assert.deepEqual([plain?.state, plain?.restarts.engine], ["running", 0]);
      await assertEnds(service, "SIGTERM");
    } finally {
      await service.stop();
      fake.close();
    }
  });

  test("a reserve that the GPU does not have is told by the channel that waits for it", async () => {
    const fake = new FakeCuda("devices=1,memory=8MiB");
    const service = await ServiceProcess.start(fake.settings(channels));
    try {
      await service.until("tried", ([gpu]) => gpu?.state === "backoff" && gpu.error !== null, 60_000);
      const [gpu, plain] = await service.channels();
      assert.equal(gpu?.error?.code, "engine_gone");
      assert.match(gpu.error.message, /the reserve of 16 MiB of device memory: .*OUT_OF_MEMORY/);
      assert.equal(plain?.restarts.engine, 0);
      await service.until("the CPU runs", (all) => all[1]?.state === "running", 60_000);
      await assertEnds(service, "SIGTERM");
    } finally {
      await service.stop();
      fake.close();
    }
  });
});
