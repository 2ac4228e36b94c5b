/** A short form of the measurements, so that they keep running. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { measureLoad } from "../../bench/load/load.mjs";
import { makeCommand } from "../../src/cli/bench/command.ts";
import { checkLatencyResult } from "../../src/cli/bench/latency-rows.ts";
import { checkNeighbourResult } from "../../src/cli/bench/neighbour-rows.ts";
import { checkResult } from "../../src/cli/bench/rows.ts";
import { runCommand } from "../../src/cli/command.ts";
import { realEntry } from "../fakes/service-process.ts";

const commands = { bench: async () => ({ makeCommand }) };

async function runBench(...words: string[]) {
  const said = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
  });
  const streams = { stdout: stream("stdout"), stderr: stream("stderr") };
  const code = await runCommand(["bench", ...words], commands, "0.0.0", streams);
  return { code, ...said };
}

test("framelane bench channels writes a row for each number of channels", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "rows.json");
  const words = ["--channels", "1", "2", "--size", "64x48", "--seconds", "0.2", "--json", file];
  const { code, stdout, stderr } = await runBench("channels", ...words);
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trim().split("\n").length, 3);
  const { machine, cpu, commit, date, rows } = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(machine && cpu && commit !== undefined && !Number.isNaN(Date.parse(date)));
  assert.deepEqual(
    rows.map((row: Record<string, unknown>) => [
      row["workload"],
      row["mode"],
      row["channels"],
      row["pace_fps"],
      row["stagger"],
    ]),
    [
      ["gain", "cpu", 1, null, null],
      ["gain", "cpu", 2, null, null],
    ],
  );
  for (const row of rows) {
    assert.equal(row.lost, 0);
    assert.ok(row.fps > 0 && row.p50_us > 0 && row.max_us >= row.p99_us && row.p99_us >= row.p50_us);
    assert.ok(row.engine_cores > 0);
  }
});

test("framelane bench channels with a rate says whether its channels are staggered", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "rows.json");
  for (const [stagger, words] of [
    ["auto", []],
    ["off", ["--stagger", "off"]],
  ] as const) {
    const common = ["--fps", "100", "--channels", "2", "--size", "64x48", "--seconds", "0.2", "--json", file];
    const { code, stderr } = await runBench("channels", ...common, ...words);
    assert.equal(code, 0, stderr);
    const { rows } = JSON.parse(readFileSync(file, "utf8"));
    assert.deepEqual([rows[0].pace_fps, rows[0].stagger], [100, stagger]);
  }
});

test("framelane bench channels shows the median of several runs", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "rows.json");
  const words = ["--size", "64x48", "--seconds", "0.1", "--runs", "3", "--json", file];
  const { code, stderr } = await runBench("channels", ...words);
  assert.equal(code, 0, stderr);
  const { rows } = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(rows.length, 1);
  assert.equal(rows[0].fps_runs.length, 3);
  assert.equal(rows[0].fps, [...rows[0].fps_runs].sort((a, b) => a - b)[1]);
});

test("framelane bench channels compares 1 in 100 frames with what the CPU makes of them", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "rows.json");
  const common = ["--workload", "r14", "--size", "320x240", "--in-flight", "1,5", "--seconds", "0.5", "--json", file];
  for (const [words, compares] of [
    [[], true],
    [["--no-compare"], false],
  ] as const) {
    const { code, stderr } = await runBench("channels", ...common, ...words);
    assert.equal(code, 0, stderr);
    const { rows } = checkResult(JSON.parse(readFileSync(file, "utf8")));
    for (const { fps, compared } of rows) {
      // Since the start of the channel, which comes some hundred frames before the measurement.
      const frames = compared?.frames ?? 0;
      assert.equal(compared !== null, compares);
      assert.ok(!compares || (frames >= Math.floor((fps * 0.5) / 100) && frames <= 1 + (fps * 3) / 100), `${frames}`);
    }
  }
});

test("framelane bench neighbour compares each operation with none", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const [file, plot] = [join(directory, "rows.json"), join(directory, "rows.svg")];
  const load = ["--channels", "2", "--size", "64x48", "--fps", "100", "--times", "2", "--seconds", "0.2"];
  const { code, stdout, stderr } = await runBench("neighbour", ...load, "--json", file, "--plot", plot);
  assert.equal(code, 0, stderr);
  const { rows } = checkNeighbourResult(JSON.parse(readFileSync(file, "utf8")));
  assert.deepEqual(
    rows.map(({ operation, times }) => [operation, times]),
    [
      ["idle", 0],
      ["add", 2],
      ["remove", 2],
      ["reconfigure", 2],
      ["replace", 2],
    ],
  );
  const { max_us: idleMax, p99_us: idleP99 } = rows[0] ?? {};
  const [idle, idle99] = [idleMax ?? Number.NaN, idleP99 ?? Number.NaN];
  for (const { operation, frames, seconds, max_us, p99_us, p99_ratio, growth_us, operation_ms } of rows) {
    assert.ok(seconds >= 0.2, operation);
    // Of the two that are watched, not of the third.
    assert.ok(frames > 0 && frames <= 2 * (seconds * 100 + 10), `${operation}: ${frames} frames in ${seconds} s`);
    assert.ok(Math.abs((max_us ?? 0) - idle - (growth_us ?? 0)) < 0.2, operation);
    assert.ok(Math.abs((p99_us ?? 0) / idle99 - (p99_ratio ?? 0)) < 0.001, operation);
    assert.equal(operation_ms === null, operation === "idle");
    assert.match(stdout, new RegExp(`^ *${operation} `, "m"));
    assert.match(readFileSync(plot, "utf8"), new RegExp(`>${operation}[,<]`));
  }
  // Code that is there already starts within a millisecond or two, and the first frame comes within 10.
  for (const { operation, operation_ms } of rows.filter(({ operation: name }) => name === "add" || name === "replace"))
    assert.ok((operation_ms?.median ?? 0) > 25, `${operation} took ${operation_ms?.median} ms: compiled anew?`);
});

test("framelane bench latency measures one channel with each way to wait", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-bench-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const [file, plot] = [join(directory, "rows.json"), join(directory, "rows.svg")];
  const load = ["--size", "64x48", "--fps", "100", "--seconds", "0.3"];
  const { code, stdout, stderr } = await runBench("latency", ...load, "--json", file, "--plot", plot);
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trim().split("\n").length, 3);
  const { rows } = checkLatencyResult(JSON.parse(readFileSync(file, "utf8")));
  assert.deepEqual(
    rows.map(({ wait, alone_us, ratio }) => [wait, alone_us, ratio]),
    [
      ["spin", null, null],
      ["blocking", null, null],
    ],
  );
  for (const { wait, frames, p50_us, p99_us, stages } of rows) {
    assert.ok(frames > 0 && frames <= 100, `${wait}: ${frames} frames`);
    assert.equal(stages.upload?.p99_us, 0);
    const compute = stages.compute?.p50_us ?? 0;
    assert.ok(compute > 0 && compute <= (p99_us ?? 0), `${wait}: ${compute} of ${p50_us} to ${p99_us} us`);
    assert.match(readFileSync(plot, "utf8"), new RegExp(`>wait: ${wait}<`));
  }
});

test("framelane bench refuses what it does not know", async () => {
  for (const words of [
    ["gpus"],
    ["channels", "--size", "big"],
    ["channels", "--workload", "none"],
    ["channels", "--stagger", "on"],
    ["channels", "--modes", "stock,fast"],
    ["channels", "--device", "cuda:0", "--modes", "cpu"],
    ["channels", "--modes", "stock"],
    ["neighbour", "--times", "0"],
    ["neighbour", "--wait", "busy"],
    ["latency", "--fps", "max"],
    ["channels", "--workload", "images", "--device", "cuda:0", "--modes", "stock"],
    ["images", "--in-flight", "0"],
  ]) {
    const { code, stderr } = await runBench(...words);
    assert.equal(code, 64);
    assert.match(stderr, /^framelane: /);
  }
});

test("the load measurement counts frames and CPU time", async () => {
  const entry = [realEntry];
  const settings = { channels: 4, width: 64, height: 48, fps: 30, seconds: 1, settle: 0 };
  const [alone, watched] = await measureLoad({ entry, ...settings });
  assert.ok(alone && watched);
  for (const row of [alone, watched]) {
    assert.equal(row.running, 4);
    assert.ok(row.processed >= 4 * 20, `${row.processed} frames`);
    // Read one after the other, in the kernel's ticks: each of the two may be a tick short.
    const tickPercent = 1 / row.seconds;
    const [all, main] = [row.engine_percent, row.engine_main_percent];
    assert.ok(all + 2 * tickPercent >= main, `${all} % of all threads, ${main} % of the main one`);
  }
  assert.equal(alone.websockets, 0);
  assert.ok(watched.snapshots >= 3, `${watched.snapshots} snapshots`);
});
