import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOperationsResult, type OperationsResult } from "../../../../src/cli/bench/operations-rows.ts";
import { operationsPlot, operationsTable } from "../../../../src/cli/bench/operations-view.ts";

const unmeasured = { operation: "gamma", format: "mono8", width: 640, height: 480, compile_ms: 80 } as const;
const nothing = { kernels: null, frame_us: null, traffic_bytes: null, stored_bytes: null, reason: null } as const;
const noShare = { bandwidth_fraction: null, traffic_fraction: null } as const;

const result: OperationsResult = checkOperationsResult({
  ...{ machine: "2 cores", cpu: "a CPU", gpu: "a GPU", driver: "13.0", commit: "0", date: "2026-12-03T00:00:00.000Z" },
  ...{ device: "cuda:0", threads: null, seconds: 0.2, device_gbps: 4000, kernel_us: 2, compile_threads: 8 },
  rows: [
    {
      ...unmeasured,
      ...{
        operation: "unsharp, radius 1",
        kernels: 2,
        frame_us: 20,
        traffic_bytes: 24_000_000,
        stored_bytes: 8_000_000,
      },
      ...{ bandwidth_fraction: 0.3, traffic_fraction: 0.5, reason: "stores 8 MB between its kernels" },
    },
    { ...unmeasured, ...nothing, ...noShare },
  ],
});

const widths = (svg: string): number[] =>
  [...svg.matchAll(/<rect x="[\d.]+" y="\d+" width="([\d.]+)"/g)].map(([, width]) => Number(width));

test("a row says what was measured, its shares and the reason", () => {
  const [first = "", second = ""] = result.rows.map((row) => operationsTable.row(row));
  assert.match(
    first,
    /^ +unsharp, radius 1 +mono8 +640x480 +2 +20 +24\.0 +8\.0 +30\.0 +50\.0 +80 stores 8 MB between its kernels\n$/,
  );
  assert.match(second, /^ +gamma +mono8 +640x480 +- +- +- +- +- +- +80 -\n$/);
});

test("bars on a GPU are shares: what has to move, and what is stored besides", () => {
  const svg = operationsPlot(result);
  const [moved = 0, stored = 0, ...none] = widths(svg);
  assert.ok(Math.abs(stored / moved - 20 / 30) < 0.01, `${stored} / ${moved}`);
  assert.deepEqual(none, [0, 0]);
  for (const words of ["unsharp, radius 1", "mono8, 20 us", "mono8, - us", "50"])
    assert.match(svg, new RegExp(`>${words}<`));
  assert.match(svg, /4000 GB\/s/);
});

test("bars on the CPU are milliseconds", () => {
  const rows = [{ ...unmeasured, ...nothing, ...noShare, frame_us: 2500 }];
  const svg = operationsPlot({ ...result, gpu: null, device: "cpu", threads: 2, device_gbps: null, rows });
  assert.match(svg, />2\.5</);
  assert.match(svg, /2 threads/);
});
