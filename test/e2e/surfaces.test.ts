import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ChannelDetail, DeviceReport, ReadinessReport } from "../../src/engine/report.ts";
import type { Problem } from "../../src/http/problem.ts";
import { fakeEntry, patternYaml, ServiceProcess } from "../fakes/service-process.ts";

const cli = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** fetch() sets Host itself; this does not. */
async function statusWithHost(url: string, host: string): Promise<number> {
  const asked = request(url, { headers: { host } }).end();
  const [response] = await once(asked, "response");
  response.resume();
  return response.statusCode;
}

describe("what a running service answers", { timeout: 120_000 }, () => {
  let service: ServiceProcess;
  const path = "/nowhere/film.y4m";

  before(async () => {
    const others = `  faulty-one: { source: { type: pattern, width: 64, height: 48, fps: 100 } }
  missing: { source: { type: y4m, path: ${path} } }
  waits: { start: false, source: { type: pattern, width: 64, height: 48, fps: 100 } }
  filtered:
    deadline: 20ms
    source: { type: pattern, width: 64, height: 48, fps: 100 }
    pipeline: [{ gain: 1.5 }]
    sinks: [memory]
  unwritten:
    source: { type: pattern, width: 64, height: 48, fps: 100 }
    sinks: [{ file: { path: /nowhere/frames.raw, format: raw } }]
`;
    service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") + others });
    await service.until("all settled", (channels) =>
      channels.every(
        ({ name, state }) =>
          state === { "faulty-one": "faulted", missing: "backoff", waits: "idle" }[name] || state === "running",
      ),
    );
    await service.until("windows filled", (channels) => (channels[0]?.latency.window.total.count ?? 0) > 100);
  });
  after(() => service.stop());

  test("/ready is 200 with the channels that fail by name", async () => {
    const response = await fetch(`${service.url}/ready`);
    assert.equal(response.status, 200);
    const { failing, waiting } = (await response.json()) as ReadinessReport;
    assert.deepEqual(waiting, []);
    assert.deepEqual(
      failing.map(({ name, state, error }) => [name, state, error?.code]),
      [
        ["faulty-one", "faulted", "compile_failed"],
        ["missing", "backoff", "source_unavailable"],
      ],
    );
  });

  test("a channel in detail: counters, latencies, specification, parameters", async () => {
    const channel = await service.json<ChannelDetail>("/api/v1/channels/filtered");
    assert.equal(channel.state, "running");
    assert.ok(Math.abs(Date.parse(channel.since ?? "") - Date.now()) < 60_000);
    assert.deepEqual(
      channel.parameters?.map(({ name, value }) => [name, value]),
      [["gain.value", 1.5]],
    );
    assert.equal(channel.spec.deadline, 0.02);
    assert.deepEqual(channel.spec.ring, { slots: 6, handling: "oldest-first-overwrite" });
    const { on_overload, in_flight, stagger } = channel.spec;
    assert.deepEqual([on_overload, in_flight, stagger], ["never", 1, "auto"]);
    assert.deepEqual(channel.spec.pipeline, [{ gain: { value: 1.5 } }]);
    assert.deepEqual(
      channel.sinks.map(({ type }) => type),
      ["memory"],
    );
    assert.ok(Math.abs(channel.fps.measured - 100) < 10, `${channel.fps.measured} fps`);
    assert.equal(channel.fps.expected, 100);
    const { p50, p99 } = channel.latency.window.total;
    // The fake engine's frames take 1.65 ms; a bin is within 5 % of the truth.
    for (const value of [p50, p99]) assert.ok(Math.abs((value ?? 0) - 1.65e-3) < 0.05 * 1.65e-3, `${value}`);
  });

  test("a failed channel says why", async () => {
    const channel = await service.json<ChannelDetail>("/api/v1/channels/missing");
    assert.deepEqual(channel.error, { code: "source_unavailable", message: `cannot open ${path}` });
  });

  test("devices tell their engine", async () => {
    const { devices } = await service.json<{ devices: DeviceReport[] }>("/api/v1/devices");
    assert.deepEqual(
      devices.map(({ id, engine }) => [id, engine?.state, engine?.starts]),
      [["cpu", "running", 1]],
    );
  });

  test("what is not there is a problem with a stable code", async () => {
    for (const [method, at] of [
      ["GET", "/api/v1/channels/nobody"],
      ["GET", "/nothing"],
      ["DELETE", "/api/v1/channels"],
    ]) {
      const response = await fetch(`${service.url}${at}`, { method: method ?? "" });
      assert.equal(response.status, 404);
      assert.match(response.headers.get("content-type") ?? "", /^application\/problem\+json/);
      const problem = (await response.json()) as Problem;
      assert.deepEqual([problem.code, problem.status, problem.instance], ["not_found", 404, at]);
    }
  });

  test("a device that is not there: which there are, and why no GPU", async () => {
    const init = {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: '{"memory":{"max_bytes":"1GiB"}}',
    };
    for (const request of [{}, init]) {
      const response = await fetch(`${service.url}/api/v1/devices/cuda:99`, request);
      const { code, detail } = (await response.json()) as Problem;
      assert.equal(code, "not_found");
      assert.match(detail, /^There is no device "cuda:99", only cpu/);
    }
  });

  test("a body that does not say what it is", async () => {
    const response = await fetch(`${service.url}/api/v1/channels/a`, {
      method: "PATCH",
      body: new URLSearchParams("memory=1GiB"),
    });
    const { code, detail } = (await response.json()) as Problem;
    assert.deepEqual([code, detail], ["bad_request", "The body has to be Content-Type: application/json."]);
  });

  test("/api/v1/live without an upgrade says what it takes", async () => {
    const response = await fetch(`${service.url}/api/v1/live`);
    assert.deepEqual([response.status, response.headers.get("upgrade")], [426, "websocket"]);
    assert.match(response.headers.get("content-type") ?? "", /^application\/problem\+json/);
    assert.equal(((await response.json()) as Problem).code, "upgrade_required");
  });

  test("a reader that leaves early ends a command quietly", () => {
    const command = `${process.execPath} --import tsx ${cli} schema | head -n 1`;
    const { stdout, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
    assert.deepEqual([stdout, stderr], ["{\n", ""]);
  });

  test("a path that is no URL is a problem too", async () => {
    const response = await fetch(`${service.url}/api/v1/channels/%zz`);
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as Problem).code, "bad_request");
  });

  test("another Host is refused", async () => {
    assert.equal(await statusWithHost(service.url, "evil.example"), 421);
    assert.equal(await statusWithHost(service.url, "localhost:1"), 200);
    assert.equal(await statusWithHost(service.url, "[::1]:8600"), 200);
    assert.equal(await statusWithHost(service.url, "127.0.0.1.evil.example"), 421);
  });

  test("/ says where to look", async () => {
    const text = await (await fetch(service.url)).text();
    for (const part of ["/api/v1/channels", "/metrics", "/api/v1/live"]) assert.ok(text.includes(part));
  });

  test("promtool has nothing to say about /metrics, and the agreed names are there", async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    const { status, error, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input: text,
      encoding: "utf8",
    });
    assert.equal(error, undefined, "promtool is missing: it comes with the Debian package prometheus");
    assert.equal(status, 0, stdout + stderr);
    assert.equal(stdout + stderr, "");
    for (const line of [
      /^framelane_frames_received_total\{channel="a"\} \d+$/m,
      /^framelane_frames_processed_total\{channel="a"\} \d+$/m,
      /^framelane_frames_dropped_total\{channel="a",reason="overwritten"\} 0$/m,
      /^framelane_frames_lost_total\{channel="a",reason="ring_full"\} 0$/m,
      /^framelane_deadline_missed_total\{channel="a"\} 0$/m,
      /^framelane_channel_state\{channel="a",state="running"\} 1$/m,
      /^framelane_channel_state\{channel="missing",state="backoff"\} 1$/m,
      /^framelane_channel_restarts_total\{channel="a",reason="engine"\} 0$/m,
      /^framelane_ring_slots\{channel="a",state="free"\} \d+$/m,
      /^framelane_build_info\{version="\d+\.\d+\.\d+",commit="\w+",node="v[\d.]+"\} 1$/m,
      /^process_cpu_seconds_total /m,
    ]) {
      assert.match(text, line);
    }
  });

  test("the latency histogram adds up", async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    const of = (part: string): number[] => {
      const lines = text.split("\n").filter((line) => line.startsWith(`framelane_frame_latency_seconds_${part}`));
      const own = lines.filter((line) => line.includes('channel="a"') && line.includes('stage="total"'));
      return own.map((line) => Number(line.slice(line.lastIndexOf(" "))));
    };
    const buckets = of("bucket");
    assert.deepEqual(
      buckets,
      buckets.toSorted((a, b) => a - b),
    );
    assert.equal(buckets.at(-1), of("count")[0]);
    assert.ok(Math.abs((of("sum")[0] ?? 0) / (of("count")[0] ?? 1) - 1.65e-3) < 1e-6);
  });

  test("framelane status prints a table, JSON, and fails where nobody answers", () => {
    const status = (...more: string[]) =>
      spawnSync(process.execPath, ["--import", "tsx", cli, "status", ...more], { encoding: "utf8" });
    const shown = status("--url", service.url);
    assert.equal(shown.status, 0, shown.stderr);
    assert.match(shown.stdout, /^a +cpu +running +\d+\.\d\/100\.0 +1\.\d\d +1\.\d\d +\d+ +-$/m);
    assert.match(shown.stdout, /^missing +cpu +backoff \(source_unavailable\)/m);
    const json = JSON.parse(status("--url", service.url, "--json").stdout) as { channels: unknown[] };
    assert.equal(json.channels.length, 6);
    assert.match(shown.stdout, new RegExp(`^missing: backoff: cannot open ${path} \\(source_unavailable\\)$`, "m"));
    assert.match(shown.stdout, /^unwritten +cpu +running .* sink_failed 7$/m);
    assert.match(shown.stdout, /^unwritten: sink 0 \(file\) fails: .*cannot write \S+ \(io_failed\)$/m);
    assert.match(status(service.file).stdout, /^missing: backoff: cannot open/m);
    assert.match(shown.stdout, /^cpu +running +6 +- +- +- +a processor that is not there$/m);
    const nobody = status("--url", "http://127.0.0.1:1");
    assert.equal(nobody.status, 69);
    assert.match(nobody.stderr, /No Framelane answers at http:\/\/127\.0\.0\.1:1 \(connection refused\)\./);
  });
});
