import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
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
