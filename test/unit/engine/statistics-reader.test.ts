import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";
import { createStatisticsBlock } from "../../../src/engine/statistics-block.ts";
import { emptyChannelCells, emptyHistogramCells, StatisticsReader } from "../../../src/engine/statistics-reader.ts";
import { FramelaneError } from "../../../src/errors.ts";
import { CellFile } from "../../fakes/cell-file.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-statistics-"));
after(() => rmSync(directory, { recursive: true, force: true }));

function prepare(name: string): { path: string; file: CellFile; reader: StatisticsReader } {
  const path = join(directory, name);
  createStatisticsBlock(path, { engines: ["cpu"], channels: ["a", "b"] });
  return { path, file: new CellFile(path), reader: new StatisticsReader(path) };
}

test("cells come back as they were written, beyond 32 bits too", () => {
  const { file, reader } = prepare("cells");
  const written = emptyChannelCells();
  written.worker.processed = 2 ** 40 + 7;
  written.worker.outputPixel = 8;
  written.source.received = 2 ** 40 + 9;
  written.source.lastArrivalNs = 2 ** 52 + 1;
  file.writeWorker(1, written.worker);
  file.writeSource(1, written.source);
  const read = emptyChannelCells();
  assert.ok(reader.readChannel(1, read));
  assert.deepEqual(read, written);
  assert.ok(reader.readChannel(0, read));
  assert.deepEqual(read, emptyChannelCells());
  reader.close();
});

test("a group whose writer died inside it keeps its last good values", () => {
  const { file, reader } = prepare("odd");
  const cells = emptyChannelCells();
  cells.worker.processed = 5;
  file.writeWorker(0, cells.worker);
  assert.ok(reader.readChannel(0, cells));
  file.leaveWorkerOdd(0);
  cells.worker.processed = 4;
  assert.ok(!reader.readChannel(0, cells));
  assert.equal(cells.worker.processed, 4);
  assert.equal(reader.unstableReads, 1);
  // The next engine takes the channel over and goes on from there.
  const taken = file.readChannel(0);
  assert.equal(taken.worker.processed, 5);
  reader.close();
});

test("histograms come back as they were written", () => {
  const { file, reader } = prepare("histogram");
  file.addDurations(1, 4, 1_000_000, 3);
  const histogram = emptyHistogramCells();
  reader.readStage(1, 4, histogram);
  assert.deepEqual([histogram.count, histogram.sumNs, histogram.bins.reduce((a, b) => a + b)], [3, 3e6, 3]);
  reader.close();
});

test("another program's file is refused", () => {
  const path = join(directory, "other");
  writeFileSync(path, Buffer.alloc(4096));
  assert.throws(() => new StatisticsReader(path), FramelaneError);
});

/** Writes a group without end, every cell with the same number, its sequence odd meanwhile. */
const writer = `
const { workerData } = require("node:worker_threads");
const { openSync, writeSync } = require("node:fs");
const file = openSync(workerData.path, "r+");
const put = (cells) => cells.forEach(({ at, value }) => writeSync(file, new BigUint64Array([BigInt(value)]), 0, 8, at));
for (let round = 1; ; round++) {
  put([{ at: workerData.sequence, value: 2 * round - 1 }]);
  put(workerData.cells.map((at) => ({ at, value: round })));
  put([{ at: workerData.sequence, value: 2 * round }]);
}`;

test("a read never mixes two states of a group", async () => {
  const { path, file, reader } = prepare("torn");
  const { worker } = file.positions(0);
  const cells = [
    worker.cells.processed,
    worker.cells.droppedLate,
    worker.cells.restartsEngine,
    worker.cells.outputPixel,
  ];
  const thread = new Worker(writer, { eval: true, workerData: { path, sequence: worker.sequence, cells } });
  try {
    const read = emptyChannelCells();
    const seen = new Set<number>();
    while (seen.size < 500) {
      if (!reader.readChannel(0, read)) continue;
      const { processed, droppedLate, restartsEngine, outputPixel } = read.worker;
      assert.deepEqual([droppedLate, restartsEngine, outputPixel], [processed, processed, processed]);
      seen.add(processed);
    }
  } finally {
    await thread.terminate();
    reader.close();
  }
});
