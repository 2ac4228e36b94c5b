/** A short form of the native measurements, so that they keep running. What they measure here means nothing. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const folder = process.env.FRAMELANE_NATIVE_TESTS ?? "";

async function rows(binary: string, ...args: string[]): Promise<Record<string, number | string>[]> {
  const { stdout } = await promisify(execFile)(join(folder, `bench_${binary}`), args);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("bench_channel_overhead compares a channel with the bare Callable", async () => {
  const [row, ...more] = await rows(
    "channel_overhead",
    ..."--workload gain --threads 1 --rounds 2 --seconds 0.02".split(" "),
  );
  assert.equal(more.length, 0);
  assert.equal(row?.["workload"], "gain");
  for (const name of ["bare_fps", "channel_fps", "ratio"]) assert.ok(Number(row?.[name]) > 0, name);
  assert.ok(Number(row?.["ratio_min"]) <= Number(row?.["ratio_max"]));
});

test("bench_shm_latency sees every frame of its producer", async () => {
  const [row] = await rows("shm_latency", ..."--fps 100 --seconds 0.5 --settle 0".split(" "));
  assert.equal(row?.["frames"], 50);
  assert.equal(row?.["lost"], 0);
  assert.ok(Number(row?.["p50_us"]) <= Number(row?.["p99_us"]) && Number(row?.["p50_us"]) > 0);
});
