import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import type { ChannelReport, DeviceReport } from "../../src/engine/report.ts";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { CounterGuard, ServiceProcess } from "../fakes/service-process.ts";

const channelsYaml = (count: number, more = ""): string =>
  Array.from(
    { length: count },
    (_, index) =>
      `  c${index}: { source: { type: pattern, width: 64, height: 48, fps: 50 }, pipeline: [ gain: 1.5 ], sinks: [ memory ]${more} }\n`,
  ).join("");

async function onFake(
  options: string,
  channels: string,
  body: (service: ServiceProcess, fake: FakeCuda) => Promise<void>,
  more = "",
): Promise<void> {
  const fake = new FakeCuda(options);
  const service = await ServiceProcess.start(fake.settings(channels, more));
  try {
    await body(service, fake);
    assert.equal(await service.stop(), 0, service.stderr);
    fake.assertNothingDetected();
  } finally {
    await service.stop();
    fake.close();
  }
}

const named = (channels: readonly ChannelReport[], name: string): ChannelReport => {
  const found = channels.find((channel) => channel.name === name);
  assert.ok(found, name);
  return found;
};

async function patch(service: ServiceProcess, path: string, body: unknown) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(service.url + path, { method: "PATCH", headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("GPUs", { timeout: 300_000 }, () => {
  test("auto spreads channels over eight, each with an engine of its own; none starts for the CPU", async () => {
    await onFake("devices=8", channelsYaml(8), async (service) => {
      await service.until("all run", (channels) => channels.every(({ state }) => state === "running"), 120_000);
      const devices = new Set((await service.channels()).map(({ device }) => device));
      assert.equal(devices.size, 8);
      assert.equal((await service.device("cpu")).engine, null);
      const { engines } = await service.health();
      assert.equal(new Set(engines.map(({ pid }) => pid)).size, 8);
    });
  });

  test("statistics show replay, lanes, and no allocation while frames run", async () => {
    await onFake("devices=1", channelsYaml(2, ", in_flight: 2"), async (service, fake) => {
      await service.until("frames", (channels) => channels.every(({ frames }) => frames.processed >= 20), 60_000);
      for (const { replay, lanes, device } of await service.channels()) {
        assert.deepEqual([replay.mode, replay.obstacle, lanes, device], ["captured", "none", 2, "cuda:0"]);
      }
      // From here on the driver itself watches for calls that a running machine must not make.
      await fake.order("steady=1");
      const before = await service.device("cuda:0");
      const [first] = await service.channels();
      await service.until(
        "more frames",
        ([now]) => (now?.frames.processed ?? 0) >= (first?.frames.processed ?? 0) + 50,
      );
      const after = await service.device("cuda:0");
      await fake.order("steady=0");
      const calls = ({ gpu }: DeviceReport, name: string): number => gpu?.driver_calls[name] ?? Number.NaN;
      assert.ok(calls(before, "cuMemAlloc") >= 1);
      for (const name of ["cuMemAlloc", "cuMemFree", "cuModuleLoadData"]) {
        assert.equal(calls(after, name), calls(before, name), name);
      }
      assert.ok(calls(after, "cuGraphLaunch") > calls(before, "cuGraphLaunch"));
      assert.equal(after.gpu?.steady_alarms, 0);
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      assert.match(metrics, /^framelane_channel_replay\{channel="c0",mode="captured"\} 1$/m);
      assert.match(metrics, /^framelane_driver_calls_total\{device="cuda:0",call="cuGraphLaunch"\} \d+$/m);
      const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
        input: metrics,
        encoding: "utf8",
      });
      assert.deepEqual([status, stdout, stderr], [0, "", ""]);
      assert.match(metrics, /^framelane_device_cache_bytes\{device="cuda:0",state="in_use"\} [1-9]\d*$/m);
    });
  });

  test("what the fake driver detects in an engine is found at its end", async () => {
    const fake = new FakeCuda("devices=1,steady=1");
    const service = await ServiceProcess.start(fake.settings(channelsYaml(1)));
    try {
      await service.until("runs", ([c]) => c?.state === "running", 60_000);
      assert.equal(await service.stop(), 0, service.stderr);
      assert.match(fake.detections, /^steady_call: /m);
      assert.throws(() => fake.assertNothingDetected(), assert.AssertionError);
    } finally {
      await service.stop();
      fake.close();
    }
  });

  test("kill -9 of one GPU's engine: the other's channels go on", async () => {
    await onFake("devices=2", channelsYaml(2), async (service) => {
      await service.until("frames", (channels) => channels.every(({ frames }) => frames.processed >= 5), 60_000);
      const [lost, kept] = await service.channels();
      assert.deepEqual([lost?.device, kept?.device], ["cuda:0", "cuda:1"]);
      const guard = new CounterGuard();
      process.kill((await service.device("cuda:0")).engine?.pid ?? 0, "SIGKILL");
      let gone = false;
      await service.until(
        "back again",
        (channels) => {
          guard.check(channels);
          assert.equal(named(channels, "c1").state, "running");
          gone ||= named(channels, "c0").state !== "running";
          return gone && named(channels, "c0").state === "running";
        },
        60_000,
      );
      const after = await service.channels();
      assert.equal(named(after, "c0").restarts.engine, 1);
      assert.deepEqual(named(after, "c1").restarts, kept?.restarts);
      assert.equal((await service.device("cuda:1")).engine?.starts, 1);
    });
  });

  for (const [fault, order] of [
    ["a poisoned GPU", "poison=cuGraphLaunch:1"],
    ["an endless kernel", "hang=:1"],
  ] as const) {
    test(`${fault}: a new engine, and the channel says why`, async () => {
      const explicit = channelsYaml(1, ", device: cuda:0");
      await onFake(
        "devices=1",
        explicit,
        async (service, fake) => {
          await service.until("frames", ([c]) => (c?.frames.processed ?? 0) >= 5, 60_000);
          const pid = (await service.device("cuda:0")).engine?.pid;
          const guard = new CounterGuard();
          await fake.order(order);
          await service.until(
            "counted",
            (channels) => {
              guard.check(channels);
              return channels[0]?.restarts.device_lost === 1 && channels[0].state === "running";
            },
            60_000,
          );
          const device = await service.device("cuda:0");
          assert.notEqual(device.engine?.pid, pid);
          assert.deepEqual(
            [device.engine?.restarts.device_lost, device.engine?.last_exit?.reason, device.gpu?.losses],
            [1, "device_lost", 1],
          );
          assert.match(service.stderr, /cuda:0 is lost: /);
          const metrics = await (await fetch(`${service.url}/metrics`)).text();
          assert.match(metrics, /^framelane_channel_restarts_total\{channel="c0",reason="device_lost"\} 1$/m);
        },
        ", gpu_timeout: 1s",
      );
    });
  }

  test("a lost GPU ends its engine also while JavaScript stands still", async () => {
    const fake = new FakeCuda("devices=1");
    const settings = fake.settings(channelsYaml(1, ", device: cuda:0"));
    const preload = new URL("../fakes/block-on-sigusr2.mjs", import.meta.url);
    const environment = {
      ...settings.environment,
      NODE_OPTIONS: `--import ${preload.href}`,
      FRAMELANE_BLOCK_MS: "2500",
    };
    const service = await ServiceProcess.start({ ...settings, environment });
    try {
      await service.until("frames", ([c]) => (c?.frames.processed ?? 0) >= 5, 60_000);
      process.kill((await service.device("cuda:0")).engine?.pid ?? 0, "SIGUSR2");
      await service.until("stands still", () => service.stderr.includes("JavaScript stands still"), 10_000);
      await fake.order("poison=cuGraphLaunch:1");
      await service.until("counted", ([c]) => c?.restarts.device_lost === 1 && c.state === "running", 60_000);
      const { engine } = await service.device("cuda:0");
      assert.deepEqual(engine?.last_exit, { reason: "device_lost", detail: "the engine lost its device" });
      assert.equal(await service.stop(), 0, service.stderr);
      fake.assertNothingDetected();
    } finally {
      await service.stop();
      fake.close();
    }
  });

  test("a channel on auto leaves a lost GPU for another one, whose own channel goes on", async () => {
    await onFake("devices=2", channelsYaml(2), async (service, fake) => {
      await service.until("frames", (channels) => channels.every(({ frames }) => frames.processed >= 5), 60_000);
      const before = await service.channels();
      assert.deepEqual(
        before.map(({ device }) => device),
        ["cuda:0", "cuda:1"],
      );
      // One of the two engines takes the order: that one's GPU is lost.
      await fake.order("poison=cuGraphLaunch:1");
      await service.until(
        "moved",
        (channels) =>
          channels.every(({ state }) => state === "running") &&
          channels.some(({ restarts }) => restarts.device_lost === 1),
        60_000,
      );
      const after = await service.channels();
      const moved = after.findIndex(({ restarts }) => restarts.device_lost === 1);
      const kept = 1 - moved;
      assert.equal(after[moved]?.device, before[kept]?.device);
      assert.deepEqual([after[kept]?.device, after[kept]?.restarts], [before[kept]?.device, before[kept]?.restarts]);
      assert.deepEqual((await service.device(before[kept]?.device ?? "")).channels, ["c0", "c1"]);
      assert.deepEqual((await service.device(before[moved]?.device ?? "")).channels, []);
    });
  });

  test("bounds are changed while running and outlive the engine", async () => {
    await onFake("devices=1", channelsYaml(1), async (service) => {
      await service.until("frames", ([c]) => (c?.frames.processed ?? 0) >= 5, 60_000);
      assert.equal((await service.device("cuda:0")).gpu?.limits.persisted, true);
      const changed = await patch(service, "/api/v1/devices/cuda:0", {
        memory: { max_bytes: "32MiB", max_buffers: 64 },
      });
      const limits = { max_bytes: 2 ** 25, max_buffers: 64, persisted: false };
      assert.equal(changed.status, 200);
      assert.deepEqual((await service.device("cuda:0")).gpu?.limits, limits);
      process.kill((await service.device("cuda:0")).engine?.pid ?? 0, "SIGKILL");
      await service.until("back", ([c]) => c?.restarts.engine === 1 && c.state === "running", 60_000);
      assert.deepEqual((await service.device("cuda:0")).gpu?.limits, limits);
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      assert.match(metrics, /^framelane_device_cache_limit_bytes\{device="cuda:0"\} 33554432$/m);
      const channel = await patch(service, "/api/v1/channels/c0", { memory: { max_bytes: "8MiB" } });
      assert.deepEqual((channel.body as { spec: { memory: object } }).spec.memory, {
        max_bytes: 2 ** 23,
        max_buffers: null,
      });
      for (const [path, body, code] of [
        ["/api/v1/devices/cuda:0", { memory: { max_bytes: 1 } }, "bad_request"],
        ["/api/v1/devices/cuda:5", { memory: { max_bytes: "1GiB" } }, "not_found"],
        ["/api/v1/devices/cpu", { memory: { max_bytes: "1GiB" } }, "unsupported"],
      ] as const) {
        assert.equal((await patch(service, path, body)).body["code"], code);
      }
    });
  });

  test("a channel's own bound holds from its start: what does not fit is refused, its neighbour runs", async () => {
    const small = "device: cuda:0, memory: { max_buffers: 1 }";
    const channels = `${channelsYaml(1)}  small: { source: { type: pattern, width: 64, height: 48, fps: 50 }, pipeline: [ gain: 1.5 ], ${small} }\n`;
    await onFake("devices=1", channels, async (service) => {
      await service.until(
        "refused",
        (all) => named(all, "c0").state === "running" && named(all, "small").error?.code === "over_limit",
        60_000,
      );
      await patch(service, "/api/v1/channels/small", { memory: { max_buffers: 64 } });
      await service.until("runs", (all) => named(all, "small").state === "running", 60_000);
    });
  });

  test("a GPU that is not there faults its channel with the reason; the others run", async () => {
    const channels = `${channelsYaml(1)}  absent: { source: { type: pattern, width: 64, height: 48, fps: 50 }, device: cuda:7 }\n`;
    await onFake("devices=1", channels, async (service) => {
      await service.until("runs", (all) => named(all, "c0").state === "running", 60_000);
      const absent = named(await service.channels(), "absent");
      assert.equal(absent.state, "faulted");
      assert.deepEqual(absent.error, { code: "unsupported", message: "There is no cuda:7: channels may use cuda:0." });
      assert.equal((await fetch(`${service.url}/ready`)).status, 200);
    });
  });
});
