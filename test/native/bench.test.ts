/** A short form of the native measurements, so that they keep running. What they measure here means nothing. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const folder = process.env.FRAMELANE_NATIVE_TESTS ?? "";

/** The sanitizers' builds have no benchmarks. */
const options = { skip: folder !== "" && !existsSync(join(folder, "bench_shm_latency")) };

async function rows(binary: string, ...args: string[]): Promise<Record<string, number | string>[]> {
  const { stdout } = await promisify(execFile)(join(folder, `bench_${binary}`), args);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("bench_channel_overhead compares a channel with the bare Callable", options, async () => {
  const [row, ...more] = await rows(
    "channel_overhead",
    ..."--workload gain --threads 1 --rounds 2 --seconds 0.02".split(" "),
  );
  assert.equal(more.length, 0);
  assert.equal(row?.["workload"], "gain");
  for (const name of ["bare_fps", "channel_fps", "ratio"]) assert.ok(Number(row?.[name]) > 0, name);
  assert.ok(Number(row?.["ratio_min"]) <= Number(row?.["ratio_max"]));
});

test("bench_shm_latency sees every frame of its producer", options, async () => {
  const [row] = await rows("shm_latency", ..."--fps 100 --seconds 0.5 --settle 0".split(" "));
  assert.equal(row?.["frames"], 50);
  assert.equal(row?.["lost"], 0);
  assert.ok(Number(row?.["p50_us"]) <= Number(row?.["p99_us"]) && Number(row?.["p50_us"]) > 0);
});

test("bench_device_cache serves every frame after the first from the stream's own lists", options, async () => {
  const words = ["--library", "idle", "--threads", "1,3", "--seconds", "0.01"];
  const [place, ...measured] = await rows("device_cache", ...words);
  assert.deepEqual(place, { gpu: "none", driver: "0.0", no_pool: null });
  const modes = ["framelane", "driver-pool", "driver"];
  assert.deepEqual(
    measured.map(({ trace, threads, mode }) => [trace, threads, mode]),
    ["r14", "mixed"].flatMap((trace) => [1, 3].flatMap((threads) => modes.map((mode) => [trace, threads, mode]))),
  );
  for (const row of measured) {
    const { mode, pair_ns, slowest_thread_ns, pair_wall_ns, pairs, misses, hit_rate, waste, allocations } = row;
    assert.ok(Number(pair_ns) > 0 && Number(pair_ns) <= Number(slowest_thread_ns) && Number(pair_wall_ns) > 0);
    assert.ok(Number(pairs) > 0);
    if (mode === "framelane") {
      // No thread takes more blocks than it has in use at once.
      assert.ok(Number(misses) > 0 && Number(misses) < 100 * Number(row["threads"]), `${misses} misses`);
      assert.ok(Number(hit_rate) > 0.99 && Number(waste) > 0, `${hit_rate} hits, ${waste} wasted`);
      assert.equal(allocations, 0);
    } else {
      assert.deepEqual([misses, hit_rate, waste, allocations], [null, null, null, null], String(mode));
    }
  }
});

/** On the fake GPU. */
function stockHalide(...args: string[]): Promise<Record<string, number | string | null>[]> {
  const library = join(folder, "libcuda_fake.so");
  const small = ["--library", library, "--size", "64x48", "--seconds", "0.2"];
  return rows("stock_halide", ...small, ...args) as Promise<Record<string, number | string | null>[]>;
}

test(
  "bench_stock_halide says what the bus carries and each mode's frames and calls of the driver",
  options,
  async () => {
    const [bus, ...measured] = await stockHalide("--channels", "1,2", "--compare", "0");
    assert.equal(bus?.["mode"], "pcie");
    assert.ok(Number(bus?.["pcie_both_gbps"]) > 0);
    assert.deepEqual(
      measured.map(({ mode, channels }) => [mode, channels]),
      [1, 2].flatMap((channels) => ["stock", "stock-streams", "stock-reuse"].map((mode) => [mode, channels])),
    );
    for (const row of measured) {
      const reused = row["mode"] === "stock-reuse";
      const blocks = reused ? 0 : 13;
      const device_sync = row["mode"] === "stock" ? 2 : 0;
      const calls = { alloc: blocks, free: blocks, module_load: 0, device_sync, launch: 14 };
      assert.deepEqual(row["driver_calls_per_frame"], calls, String(row["mode"]));
      assert.ok(Number(row["fps"]) > 0 && Number(row["p50_us"]) <= Number(row["max_us"]));
      assert.deepEqual([row["lost"], row["pace_fps"], row["stagger"], row["compared"]], [0, null, null, null]);
    }
  },
);

test("bench_stock_halide shows the median of several runs", options, async () => {
  const [, row] = await stockHalide("--modes", "stock-reuse", "--runs", "3", "--compare", "0", "--seconds", "0.05");
  const runs = row?.["fps_runs"] as unknown as number[];
  assert.equal(runs.length, 3);
  assert.equal(row?.["fps"], [...runs].sort((a, b) => a - b)[1]);
});

test("bench_stock_halide loses frames of a pace that it cannot keep", options, async () => {
  const paced = ["--modes", "stock-streams", "--channels", "2", "--compare", "0", "--fps"];
  const [, kept] = await stockHalide(...paced, "50");
  assert.deepEqual([kept?.["pace_fps"], kept?.["stagger"], kept?.["lost"]], [50, "auto", 0]);
  const [, missed] = await stockHalide(...paced, "1e6", "--stagger", "off");
  assert.equal(missed?.["stagger"], "off");
  assert.ok(Number(missed?.["lost"]) > 1000, `${missed?.["lost"]} lost`);
});

test("bench_stock_halide ends with an error when a frame is not what the CPU makes of it", options, async () => {
  // The fake GPU runs no kernels.
  await assert.rejects(stockHalide("--modes", "stock-reuse"), /a frame is not what the CPU makes of it/);
});
