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
  const [row, ...more] = await rows("device_cache", ..."--threads 3 --seconds 0.01".split(" "));
  assert.equal(more.length, 0);
  assert.equal(row?.["threads"], 3);
  assert.equal(row?.["misses"], 3 * 14);
  assert.equal(row?.["allocations"], 0);
  assert.ok(Number(row?.["pair_ns"]) > 0 && Number(row?.["pair_ns"]) <= Number(row?.["slowest_thread_ns"]));
});
