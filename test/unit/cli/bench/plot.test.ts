import assert from "node:assert/strict";
import { test } from "node:test";
import { channelsPlot } from "../../../../src/cli/bench/plot.ts";
import { type ChannelsRow, checkResult, checkRow } from "../../../../src/cli/bench/rows.ts";

function row(mode: ChannelsRow["mode"], channels: number, fps: number, more: Partial<ChannelsRow> = {}): ChannelsRow {
  return checkRow({
    ...{ workload: "r14", size: "100x50", mode, device: "cuda:0", channels, threads: 1, in_flight: 1 },
    ...{
      wait: "blocking",
      pace_fps: null,
      stagger: null,
      fps,
      fps_runs: [fps],
      p50_us: 1,
      p99_us: 2,
      p999_us: 3,
      max_us: 4,
    },
    ...{ pcie_fraction: null, lost: 0, engine_cores: 1, captured: 1, compared: null, driver_calls_per_frame: null },
    ...more,
  });
}

const plotOf = (rows: readonly ChannelsRow[], bus: number | null = null): string =>
  channelsPlot(
    checkResult({
      ...{ machine: "2 cores", cpu: "a CPU", gpu: "a <GPU>", driver: "13.0", commit: "0123456789abcdef" },
      ...{ date: "2026-12-03T00:00:00.000Z", pcie_both_gbps: bus, rows },
    }),
  );

const heightOf = (svg: string, label: string): number =>
  Number(new RegExp(`y="([\\d.]+)" [^>]*>${label}`).exec(svg)?.[1] ?? Number.NaN);

test("a plot has a line for each mode, and its ratio to stock Halide at its end", () => {
  const svg = plotOf([row("stock", 1, 100), row("stock", 2, 80), row("framelane-replay", 2, 800)]);
  assert.match(svg, />stock</);
  assert.match(svg, />framelane-replay \(10\.0 x stock\)</);
  assert.equal(svg.match(/<circle/g)?.length, 3);
  assert.match(svg, /a &lt;GPU>, CUDA 13\.0/);
  assert.ok(heightOf(svg, "framelane-replay") < heightOf(svg, "stock<"));
});

test("a plot says what the bus could carry, where that was measured", () => {
  const rows = [row("stock", 1, 100)];
  assert.doesNotMatch(plotOf(rows), /limit/);
  // 0.005 GB/s in frames of 5000 bytes: 1000 a second.
  const svg = plotOf(rows, 0.005);
  assert.match(svg, /bus 0\.0 GB\/s each way/);
  assert.equal(heightOf(svg, "the bus"), heightOf(svg, "1,000"));
});

test("labels of lines that end at one place stand below each other", () => {
  const svg = plotOf([
    row("stock", 1, 0.5),
    row("stock-streams", 1, 0.5),
    row("stock-reuse", 1, 0.4),
    row("framelane-replay", 1, 900),
  ]);
  const heights = ["stock<", "stock-streams", "stock-reuse"].map((label) => heightOf(svg, label)).sort((a, b) => a - b);
  for (const [index, height] of heights.slice(1).entries()) assert.ok(height - (heights[index] ?? 0) >= 16);
});

test("modes are told apart by their frames in flight and their waits only where there are several", () => {
  const one = row("framelane-replay", 1, 5);
  assert.match(plotOf([one]), />framelane-replay</);
  const svg = plotOf([
    one,
    row("framelane-replay", 1, 6, { in_flight: 3 }),
    row("framelane-replay", 1, 7, { wait: "spin" }),
  ]);
  assert.match(svg, />framelane-replay, 3 in flight, blocking</);
  assert.match(svg, />framelane-replay, 1 in flight, spin</);
});

test("a plot of PyTorch's rows has the ratio to the best of them", () => {
  const rows = [row("torch-graph", 1, 10), row("torch-compile-graph-loop", 1, 20), row("framelane-replay", 1, 50)];
  const svg = plotOf(rows);
  assert.match(svg, />framelane-replay \(2\.50 x torch\)</);
  assert.match(svg, />torch-compile-graph-loop</);
});

test("a row that is not as it should be is refused, with what is wrong", () => {
  assert.throws(() => checkRow({ ...row("stock", 1, 1), fps: -1 }), /not as it should be: .*fps/);
  assert.throws(() => checkRow({ ...row("stock", 1, 1), more: 1 }), /not as it should be/);
});
