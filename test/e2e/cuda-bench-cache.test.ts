/** `framelane bench cache` on the fake GPU, which has no stream-ordered pool. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkCacheResult } from "../../src/cli/bench/cache-rows.ts";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { realEntry } from "../fakes/service-process.ts";

const bench = (environment: Readonly<Record<string, string>>, ...words: string[]) =>
  spawnSync(process.execPath, [realEntry, "bench", "cache", ...words], {
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });

test("framelane bench cache puts the service's cache beside the driver", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "framelane-bench-cache-"));
  const fake = new FakeCuda("devices=1");
  context.after(() => {
    fake.close();
    rmSync(folder, { recursive: true });
  });
  const [json, plot] = [join(folder, "rows.json"), join(folder, "rows.svg")];
  const words = ["--threads", "1,2", "--seconds", "0.02", "--json", json, "--plot", plot];
  const { status, stdout, stderr } = bench(fake.environment, ...words);
  assert.equal(status, 0, stderr);
  fake.assertNothingDetected();
  const { gpu, no_pool, rows } = checkCacheResult(JSON.parse(readFileSync(json, "utf8")));
  assert.ok(gpu);
  assert.match(no_pool ?? "", /lacks cuMemAllocAsync/);
  assert.match(stderr, /^framelane: no rows of driver-pool: the driver lacks cuMemAllocAsync/m);
  assert.deepEqual(
    rows.map(({ trace, threads, mode }) => [trace, threads, mode]),
    ["r14", "mixed"].flatMap((trace) =>
      [1, 2].flatMap((threads) => ["framelane", "driver"].map((mode) => [trace, threads, mode])),
    ),
  );
  for (const [index, row] of rows.entries()) {
    assert.ok(row.pair_ns > 0 && row.pairs > 0);
    const own = rows[index - 1]?.pair_ns ?? 0;
    if (row.mode === "driver") assert.match(stdout, new RegExp(` ${row.pair_ns} +${(row.pair_ns / own).toFixed(1)} `));
    // The fake driver keeps account of every block, in host memory of its own: that counts here.
    else assert.ok(row.allocations !== null && row.hit_rate !== null && row.waste !== null && row.waste > 0);
  }
  const svg = readFileSync(plot, "utf8");
  for (const name of ["framelane, r14", "driver, mixed"]) assert.match(svg, new RegExp(`>${name}<`));
  assert.equal(svg.match(/<circle/g)?.length, rows.length);
});

test("framelane bench cache says that there is no GPU", () => {
  const without = bench({ FRAMELANE_CUDA_LIBRARY: "/nowhere/libcuda.so.1" });
  assert.equal(without.status, 69, without.stderr);
  assert.match(without.stderr, /no NVIDIA driver here: .*libcuda\.so\.1/);
  const cpu = bench({}, "--device", "cpu");
  assert.equal(cpu.status, 64);
  assert.match(cpu.stderr, /--device cuda:0/);
});
