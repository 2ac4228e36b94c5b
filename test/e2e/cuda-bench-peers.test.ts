/** `framelane bench peers` and `bench images` on the fake GPU; for PyTorch stands a program that prints rows. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ChannelsRow, checkResult } from "../../src/cli/bench/rows.ts";
import { FakeCuda } from "../fakes/fake-cuda.ts";
import { realEntry } from "../fakes/service-process.ts";

interface Bench {
  readonly folder: string;
  run(...words: string[]): { status: number | null; stdout: string; stderr: string };
  program(text: string): string;
}

function benchOnFake(context: TestContext): Bench {
  const folder = mkdtempSync(join(tmpdir(), "framelane-bench-peers-"));
  const fake = new FakeCuda("devices=1");
  context.after(() => {
    fake.close();
    rmSync(folder, { recursive: true });
  });
  const { PYTHONPATH: _, ...own } = process.env;
  return {
    folder,
    run: (...words) => {
      const env = { ...own, ...fake.environment };
      const ran = spawnSync(process.execPath, [realEntry, "bench", ...words], { encoding: "utf8", env });
      fake.assertNothingDetected();
      return ran;
    },
    program: (text) => {
      const file = join(folder, "python");
      writeFileSync(file, `#!/bin/sh\n${text}\n`);
      chmodSync(file, 0o755);
      return file;
    },
  };
}

const peerLine = JSON.stringify({ mode: "peer", peer: "PyTorch 2.0, Python 3.12", gpu: "a GPU" });

const torchRow = (mode: ChannelsRow["mode"], channels: number, fps: number): string =>
  JSON.stringify({
    ...{ workload: "r14", size: "64x48", mode, device: "cuda:0", channels, threads: 1, in_flight: 3, wait: "blocking" },
    ...{ pace_fps: null, stagger: null, fps, fps_runs: [fps], p50_us: 1, p99_us: 2, p999_us: 3, max_us: 4 },
    ...{ pcie_fraction: null, lost: 0, engine_cores: 1, captured: channels, driver_calls_per_frame: null },
    compared: { frames: 1, worst_difference: 1 },
  });

const printed = (...lines: string[]): string => lines.map((line) => `echo '${line}'`).join("\n");
const small = ["--size", "64x48", "--seconds", "0.2"];

test("framelane bench peers measures the service beside PyTorch", (context) => {
  const bench = benchOnFake(context);
  const [json, plot] = [join(bench.folder, "rows.json"), join(bench.folder, "rows.svg")];
  const rows = [1, 2].flatMap((channels) => [
    torchRow("torch-graph", channels, 100 * channels),
    torchRow("torch-compile-graph-loop", channels, 200 * channels),
  ]);
  const python = bench.program(`echo "$@" >"${bench.folder}/words"\n${printed(peerLine, ...rows)}`);
  const words = ["--python", python, ...small, "--channels", "1,2", "--wait", "blocking,spin"];
  const { status, stdout, stderr } = bench.run("peers", ...words, "--json", json, "--plot", plot);
  assert.equal(status, 0, stderr);
  assert.match(
    readFileSync(join(bench.folder, "words"), "utf8"),
    /torch_channels\.py --size 64x48 .* --channels 1,2 --in-flight 3 --wait blocking,spin .* --compare 1\n/,
  );
  const result = checkResult(JSON.parse(readFileSync(json, "utf8")));
  assert.equal(result.peer, "PyTorch 2.0, Python 3.12");
  assert.ok(result.gpu !== null && result.pcie_both_gbps !== null);
  const own = result.rows.filter(({ mode }) => mode === "framelane-replay");
  assert.deepEqual(
    own.map(({ channels, wait, in_flight, captured }) => [channels, wait, in_flight, captured]),
    [1, 2].flatMap((channels) => ["blocking", "spin"].map((wait) => [channels, wait, 3, channels])),
  );
  for (const row of result.rows) {
    const ofBus = (row.fps * 64 * 48) / ((result.pcie_both_gbps ?? 0) * 1e9);
    assert.ok(row.pcie_fraction !== null && Math.abs(row.pcie_fraction - ofBus) < 1e-4, row.mode);
  }
  // By the better of PyTorch's two.
  for (const { fps, channels } of own)
    assert.match(stdout, new RegExp(` ${fps} +- +${(fps / (200 * channels)).toFixed(2)} `));
  const svg = readFileSync(plot, "utf8");
  assert.match(svg, />torch-compile-graph-loop, blocking</);
  assert.match(svg, />framelane-replay, spin \([\d.]+ x torch\)</);
});

test("framelane bench peers says what it lacks", (context) => {
  const bench = benchOnFake(context);
  const refused = (...words: string[]) => bench.run("peers", ...small, "--channels", "1", ...words);
  // The script itself; without site-packages there is no PyTorch.
  const without = refused("--python", bench.program('exec python3 -S "$@"'));
  assert.equal(without.status, 78, without.stderr);
  assert.match(without.stderr, /^framelane: there is no PyTorch in .*--python/);
  const missing = refused("--python", join(bench.folder, "none"));
  assert.equal(missing.status, 78);
  assert.match(missing.stderr, /none cannot be started: --python names/);
  const failing = refused("--python", bench.program(`${printed(peerLine)}\necho "PyTorch 2.0: no memory" >&2\nexit 1`));
  assert.equal(failing.status, 69);
  assert.match(failing.stderr, /^framelane: PyTorch 2\.0: no memory$/m);
  assert.equal(refused("--device", "cpu").status, 64);
});

test("framelane bench images shares out the bus by the bytes of its images", (context) => {
  const bench = benchOnFake(context);
  const [json, plot] = [join(bench.folder, "rows.json"), join(bench.folder, "rows.svg")];
  const words = ["--in-flight", "1,3", "--json", json, "--plot", plot];
  const { status, stdout, stderr } = bench.run("images", ...small, ...words);
  assert.equal(status, 0, stderr);
  const { pcie_both_gbps: bus, rows } = checkResult(JSON.parse(readFileSync(json, "utf8")));
  assert.deepEqual(
    rows.map(({ workload, channels, in_flight, wait }) => [workload, channels, in_flight, wait]),
    [1, 3].map((inFlight) => ["images", 1, inFlight, "blocking"]),
  );
  assert.match(stdout, / IMAGES\/S /);
  for (const { fps, pcie_fraction, in_flight } of rows) {
    const ofBus = (fps * 64 * 48 * 3 * 4) / ((bus ?? 0) * 1e9);
    assert.ok(pcie_fraction !== null && Math.abs(pcie_fraction - ofBus) < 1e-4, `${in_flight} in flight`);
    assert.match(stdout, new RegExp(` ${fps} +- +${(100_000 / fps / 60).toFixed(1)} `));
  }
  const svg = readFileSync(plot, "utf8");
  assert.match(svg, />Images per second by number of frames in flight: /);
  assert.equal(svg.match(/<circle/g)?.length, 2);
});
