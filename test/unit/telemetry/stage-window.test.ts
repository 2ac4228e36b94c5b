import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createStatisticsBlock } from "../../../src/engine/statistics-block.ts";
import { StatisticsReader } from "../../../src/engine/statistics-reader.ts";
import { StageWindow } from "../../../src/telemetry/stage-window.ts";
import { CellFile } from "../../fakes/cell-file.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-window-"));
after(() => rmSync(directory, { recursive: true, force: true }));

test("the window forgets what is older than it, the start does not", () => {
  const path = join(directory, "statistics");
  createStatisticsBlock(path, { engines: [], channels: ["a"] });
  const file = new CellFile(path);
  const reader = new StatisticsReader(path);
  const window = new StageWindow(3);
  const total = 4;
  const look = () => {
    window.sample(reader, 0);
    return { window: window.window.total, sinceStart: window.sinceStart.total };
  };
  file.addDurations(0, total, 1_000_000, 100);
  const first = look();
  assert.equal(first.window.count, 100);
  assert.ok(Math.abs((first.window.p50 ?? 0) - 1e-3) < 5e-5);
  file.addDurations(0, total, 64_000_000, 100);
  look();
  look();
  const later = look();
  assert.equal(later.window.count, 100, "the first hundred frames are older than three samples");
  assert.ok(Math.abs((later.window.p50 ?? 0) - 64e-3) < 3.2e-3);
  assert.equal(later.sinceStart.count, 200);
  const last = look();
  assert.deepEqual(last.window, { count: 0, p50: null, p95: null, p99: null, p999: null });
  reader.close();
});
