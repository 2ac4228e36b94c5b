/** A sample of the driver's calls fails under a running service; test/native/cuda has every call in turn. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { CounterGuard, ServiceProcess } from "../fakes/service-process.ts";

const invalidValue = 1;
const outOfMemory = 2;

const framePath = ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuGraphLaunch", "cuEventRecord", "cuEventSynchronize"];
/** What an engine calls for its first channel, and with which result each fails, once in each engine. */
const starting: readonly (readonly [string, number])[] = [
  ["cuStreamCreateWithPriority", invalidValue],
  ["cuMemHostRegister", outOfMemory],
  ["cuLinkCreate", invalidValue],
  ["cuLinkComplete", outOfMemory],
  ["cuModuleLoadData", outOfMemory],
  ["cuModuleGetFunction", invalidValue],
  ["cuLaunchKernel", invalidValue],
  ["cuStreamBeginCapture", invalidValue],
  ["cuGraphInstantiate", outOfMemory],
  ["cuGraphUpload", outOfMemory],
];

const channel =
  "  c0: { source: { type: pattern, width: 64, height: 48, fps: 50 }, device: cuda:0, pipeline: [ gain: 1.5 ], sinks: [ memory ] }\n";

class FailingService {
  readonly #fake: FakeCuda;
  readonly #guard = new CounterGuard();
  #service!: ServiceProcess;

  constructor(options: string) {
    this.#fake = new FakeCuda(options);
  }

  static async with(options: string, body: (service: FailingService) => Promise<void>): Promise<void> {
    const failing = new FailingService(options);
    const fake = failing.#fake;
    const service = await ServiceProcess.start(fake.settings(channel));
    failing.#service = service;
    try {
      await failing.goesOn("start");
      await body(failing);
      assert.equal(await service.stop(), 0, service.stderr);
      fake.assertNothingDetected();
    } finally {
      await service.stop();
      fake.close();
    }
  }

  /** The next call of this function fails once. */
  fail(call: string, result: number): Promise<void> {
    return this.#fake.order(`fail=${call}:1:${result}:1`);
  }

  /** Until ten more frames have been processed; each report on the way adds up. */
  async goesOn(what: string): Promise<void> {
    let first: number | undefined;
    await this.#service.until(
      what,
      (channels) => {
        this.#guard.check(channels);
        const [{ state, frames } = assert.fail("no channel")] = channels;
        first ??= frames.processed;
        return state === "running" && frames.processed >= first + 10;
      },
      60_000,
    );
  }

  async report() {
    const [report = assert.fail("no channel")] = await this.#service.channels();
    return report;
  }
}

describe("a call of the GPU's driver fails", { timeout: 300_000 }, () => {
  test("on a frame's way: the frame is counted, the channel goes on", async () => {
    await FailingService.with("devices=1", async (service) => {
      for (const call of framePath) {
        await service.fail(call, invalidValue);
        await service.goesOn(call);
      }
      const { frames, restarts } = await service.report();
      assert.ok(frames.dropped["error"] >= 3, `${frames.dropped["error"]} frames were counted as failed`);
      assert.deepEqual([restarts.engine, restarts.device_lost], [0, 0]);
    });
  });

  for (const [call, result] of starting) {
    test(`${call}, while a channel starts: it runs in the end, in the engine that it had`, async () => {
      await FailingService.with(`devices=1,fail=${call}:1:${result}:1`, async (service) => {
        const { restarts } = await service.report();
        assert.deepEqual([restarts.engine, restarts.device_lost], [0, 0]);
      });
    });
  }
});
