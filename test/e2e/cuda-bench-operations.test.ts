/** `framelane bench operations` on the fake GPU, which runs no kernels, and on the CPU. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { goal } from "../../src/cli/bench/operations-reason.ts";
import { checkOperationsResult } from "../../src/cli/bench/operations-rows.ts";
import { operationSchemas } from "../../src/config/schema-operations.ts";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { realEntry } from "../fakes/service-process.ts";

function benchOnFake(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "framelane-bench-operations-"));
  // An eighth of its memory is copied to measure what it gives.
  const fake = new FakeCuda("devices=1,memory=256MiB");
  context.after(() => {
    fake.close();
    rmSync(folder, { recursive: true });
  });
  const env = { ...process.env, ...fake.environment };
  const small = ["--size", "90x60", "--seconds", "0.01"];
  return {
    folder,
    run: (...words: string[]) => {
      const command = [realEntry, "bench", "operations", ...small, ...words];
      const ran = spawnSync(process.execPath, command, { encoding: "utf8", env });
      fake.assertNothingDetected();
      return ran;
    },
  };
}

test("framelane bench operations says what each operation's kernels move and store", (context) => {
  const { folder, run } = benchOnFake(context);
  const [json, plot] = [join(folder, "rows.json"), join(folder, "rows.svg")];
  const wanted = ["--operations", "crop,local_contrast", "--formats", "mono8,mono32f"];
  const { status, stdout, stderr } = run(...wanted, "--json", json, "--plot", plot);
  assert.equal(status, 0, stderr);
  const { gpu, driver, device, device_gbps, kernel_us, rows } = checkOperationsResult(
    JSON.parse(readFileSync(json, "utf8")),
  );
  assert.ok(gpu && driver && device === "cuda:0");
  assert.ok(device_gbps !== null && device_gbps > 0 && kernel_us !== null && kernel_us > 0);
  const contrast = "local_contrast, 3 levels";
  assert.deepEqual(
    rows.map(({ operation, format, width, height }) => [operation, format, width, height]),
    ["crop to 60x40", contrast].flatMap((name) => ["mono8", "mono32f"].map((format) => [name, format, 90, 60])),
  );
  const [crop, cropFloats, local, localFloats] = rows;
  // Of the frame, a crop reads only what it gives.
  assert.deepEqual([crop?.traffic_bytes, cropFloats?.traffic_bytes], [2 * 60 * 40, 2 * 60 * 40 * 4]);
  assert.deepEqual([local?.traffic_bytes, localFloats?.traffic_bytes], [2 * 90 * 60, 2 * 90 * 60 * 4]);
  assert.deepEqual([crop?.kernels, crop?.stored_bytes], [1, 0]);
  // A pyramid's levels: quarters of the frame in float32, and more than one kernel.
  assert.ok((local?.kernels ?? 0) > 1 && (local?.stored_bytes ?? 0) >= 90 * 60, JSON.stringify(local));
  assert.equal(localFloats?.stored_bytes, local?.stored_bytes);
  for (const row of rows) {
    const { frame_us: frame, bandwidth_fraction: share, traffic_fraction: withStored } = row;
    assert.ok(frame !== null && share !== null && withStored !== null, JSON.stringify(row));
    const { traffic_bytes: traffic, stored_bytes: stored } = row;
    const expected = (bytes: number) => bytes / (frame * 1e-6) / (device_gbps * 1e9);
    assert.ok(Math.abs(share - expected(traffic ?? 0)) < 0.001 + share * 0.01, JSON.stringify(row));
    assert.ok(Math.abs(withStored - expected((traffic ?? 0) + 2 * (stored ?? 0))) < 0.001 + withStored * 0.01);
    assert.match(stdout, new RegExp(`${row.operation} +${row.format} +90x60 +${row.kernels} +${frame} `));
  }
  const below = (local?.bandwidth_fraction ?? 0) < goal;
  assert.match(local?.reason ?? "", below ? /^stores 0\.\d+ MB between its kernels/ : /^$/);
  assert.match(readFileSync(plot, "utf8"), />local_contrast, 3 levels</);
});

test("framelane bench operations --device cpu measures a frame of every built-in operation", (context) => {
  const { folder, run } = benchOnFake(context);
  const json = join(folder, "rows.json");
  const { status, stderr } = run("--device", "cpu", "--formats", "rgb8", "--threads", "2", "--json", json);
  assert.equal(status, 0, stderr);
  const { gpu, device_gbps, threads, rows } = checkOperationsResult(JSON.parse(readFileSync(json, "utf8")));
  assert.deepEqual([gpu, device_gbps, threads], [null, null, 2]);
  const measured = new Set(rows.map(({ operation }) => operation.split(/[ ,]/)[0] ?? ""));
  assert.deepEqual([...measured].sort(), Object.keys(operationSchemas).sort());
  for (const { frame_us, compile_ms, kernels, bandwidth_fraction, reason } of rows) {
    assert.ok((frame_us ?? 0) > 0 && compile_ms > 0);
    assert.deepEqual([kernels, bandwidth_fraction, reason], [null, null, null]);
  }
});

test("framelane bench operations refuses an operation that does not exist", (context) => {
  const { run } = benchOnFake(context);
  const { status, stderr } = run("--operations", "sharpen");
  assert.equal(status, 64, stderr);
  assert.match(stderr, /there is no operation 'sharpen'/);
});
