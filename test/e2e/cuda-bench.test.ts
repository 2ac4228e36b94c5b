import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkLatencyResult } from "../../src/cli/bench/latency-rows.ts";
import { checkNeighbourResult } from "../../src/cli/bench/neighbour-rows.ts";
import { type ChannelsRow, checkResult } from "../../src/cli/bench/rows.ts";
import { stockModes } from "../../src/cli/bench/workloads.ts";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { realEntry } from "../fakes/service-process.ts";

test("framelane bench channels on a GPU says what the driver was asked for", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-cuda-bench-"));
  const fake = new FakeCuda("devices=1");
  context.after(() => {
    fake.close();
    rmSync(directory, { recursive: true });
  });
  const file = join(directory, "rows.json");
  const words = ["--device", "cuda:0", "--wait", "spin", "--channels", "2", "--size", "64x48", "--seconds", "0.5"];
  const env = { ...process.env, ...fake.environment };
  const command = [realEntry, "bench", "channels", ...words, "--json", file];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
  fake.assertNothingDetected();
  const { gpu, driver, rows } = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(gpu && driver);
  const [row] = rows;
  assert.deepEqual([row.mode, row.device, row.wait, row.captured], ["framelane-replay", "cuda:0", "spin", 2]);
  const { alloc, free, module_load, device_sync, launch } = row.driver_calls_per_frame;
  assert.deepEqual([alloc, free, module_load, device_sync], [0, 0, 0, 0]);
  assert.ok(launch >= 0.9 && launch < 1.5, `${launch} launches a frame`);
  assert.ok(row.fps > 0 && row.lost === 0);
});

test("framelane bench channels ends where results are not the CPU's", (context) => {
  const fake = new FakeCuda("devices=1");
  context.after(() => fake.close());
  // Its kernels do nothing.
  const words = ["--device", "cuda:0", "--size", "320x240", "--seconds", "0.2"];
  const env = { ...process.env, ...fake.environment };
  const command = [realEntry, "bench", "channels", ...words];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", env });
  assert.notEqual(status, 0);
  assert.match(stderr, /sink compare .* of channel gain-0: frame \d+ (holds the result of frame|differs by)/);
});

test("framelane bench channels compares a service's channels with stock Halide", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-cuda-bench-"));
  const fake = new FakeCuda("devices=1");
  context.after(() => {
    fake.close();
    rmSync(directory, { recursive: true });
  });
  const [file, plot] = [join(directory, "rows.json"), join(directory, "rows.svg")];
  const own = ["framelane-direct", "framelane-replay"] as const;
  const wanted = [...stockModes, ...own];
  // The fake GPU runs no kernels: there is nothing to compare.
  const load = ["--workload", "r14", "--device", "cuda:0", "--size", "64x48", "--seconds", "0.2", "--no-compare"];
  const words = [...load, "--modes", wanted.join(","), "--channels", "2", "--json", file, "--plot", plot];
  const env = { ...process.env, ...fake.environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [realEntry, "bench", "channels", ...words], {
    encoding: "utf8",
    env,
  });
  assert.equal(status, 0, stderr);
  fake.assertNothingDetected();
  const { pcie_both_gbps: bus, rows } = checkResult(JSON.parse(readFileSync(file, "utf8")));
  assert.ok(bus !== null && bus > 0);
  assert.deepEqual(
    rows.map(({ mode }) => mode),
    wanted,
  );
  const fpsOf = (mode: ChannelsRow["mode"]): number => rows.find((row) => row.mode === mode)?.fps ?? 0;
  for (const row of rows) {
    assert.ok(row.fps > 0 && row.pcie_fraction !== null, row.mode);
    const ofBus = (row.fps * 64 * 48) / (bus * 1e9);
    assert.ok(Math.abs(row.pcie_fraction - ofBus) < 1e-4, `${row.mode}: ${row.pcie_fraction}, not ${ofBus}`);
    assert.equal(row.compared, null);
    assert.match(stdout, new RegExp(` ${row.mode} .* ${(row.fps / fpsOf("stock")).toFixed(2)} `));
  }
  const launches = (mode: ChannelsRow["mode"]) => rows.find((row) => row.mode === mode)?.driver_calls_per_frame?.launch;
  assert.equal(launches("stock"), 14);
  assert.equal(Math.round(launches("framelane-direct") ?? 0), 14);
  assert.equal(Math.round(launches("framelane-replay") ?? 0), 1);
  assert.deepEqual(
    own.map((mode) => rows.find((row) => row.mode === mode)?.captured),
    [0, 2],
  );
  for (const mode of wanted) assert.match(readFileSync(plot, "utf8"), new RegExp(`>${mode}[ <]`));
});

test("framelane bench neighbour compiles anew what it adds and what it puts in place of another", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-cuda-bench-"));
  const fake = new FakeCuda("devices=1");
  context.after(() => {
    fake.close();
    rmSync(directory, { recursive: true });
  });
  const file = join(directory, "rows.json");
  const load = ["--device", "cuda:0", "--channels", "2", "--size", "64x48", "--fps", "20"];
  const command = [realEntry, "bench", "neighbour", ...load, "--times", "2", "--seconds", "0.2", "--json", file];
  const env = { ...process.env, ...fake.environment };
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
  fake.assertNothingDetected();
  const { gpu, rows } = checkNeighbourResult(JSON.parse(readFileSync(file, "utf8")));
  assert.ok(gpu);
  assert.deepEqual(
    rows.map(({ operation, driver_calls }) => [operation, driver_calls?.module_load, driver_calls?.alloc]),
    [
      ["idle", 0, 0],
      ["add", 2, 0],
      ["remove", 2, 0], // what was loaded for `add` as well
      ["overload", 0, 0],
      ["reconfigure", 0, 0],
      ["replace", 2, 0],
      ["limits", 0, 0],
    ],
  );
  for (const { operation, frames, seconds, other_fps } of rows) {
    assert.equal(other_fps !== null, operation === "overload");
    // The watched channels keep their rate beside the one that has none.
    if (operation === "overload")
      assert.ok((other_fps ?? 0) > 100 && frames >= 2 * (seconds * 20 - 2), `${frames} frames`);
  }
});

test("framelane bench latency compares a frame with its steps alone", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-cuda-bench-"));
  const fake = new FakeCuda("devices=1");
  context.after(() => {
    fake.close();
    rmSync(directory, { recursive: true });
  });
  const [file, plot] = [join(directory, "rows.json"), join(directory, "rows.svg")];
  const load = ["--device", "cuda:0", "--size", "64x48", "--fps", "50", "--seconds", "0.5", "--wait", "blocking"];
  const command = [realEntry, "bench", "latency", ...load, "--json", file, "--plot", plot];
  const env = { ...process.env, ...fake.environment };
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
  fake.assertNothingDetected();
  const { gpu, rows } = checkLatencyResult(JSON.parse(readFileSync(file, "utf8")));
  assert.ok(gpu);
  const [row] = rows;
  assert.ok(rows.length === 1 && row?.alone_us && row.p99_us !== null && row.ratio !== null);
  const { upload, kernels, kernels_launched, download } = row.alone_us;
  assert.ok(upload > 0 && kernels !== null && kernels > 0 && kernels_launched > 0 && download > 0);
  const expected = row.p99_us / (upload + kernels + download);
  assert.ok(Math.abs(row.ratio - expected) < 0.001, `${row.ratio}, not ${expected}`);
  for (const stage of ["wait", "upload", "compute", "download"] as const) assert.ok(row.stages[stage], stage);
  assert.match(readFileSync(plot, "utf8"), />upload, kernels and download alone</);
});
