import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { parseConfig } from "../../src/config/load.ts";
import { startLocalEngine } from "../../src/engine/local-engine.ts";
import { emptyChannelCells } from "../../src/engine/statistics-reader.ts";

const periodNs = 100_000_000;
const looks = 20;
/** The golden ratio's multiples, as addon/io/phase.h has it. */
const staggered = (cell: number): number => (cell * (Math.sqrt(5) - 1)) / 2;

test("frames are due where the configuration says, by the channel's cell or all at one time", async () => {
  const source = "source: { type: pattern, width: 8, height: 8, fps: 10fps }";
  const text = `
defaults: { stagger: off }
channels:
  a: { ${source} }
  b: { ${source} }
  c: { ${source}, stagger: auto }
  d: { ${source}, stagger: auto }
  e: { source: { type: pattern, width: 8, height: 8, fps: 10fps, phase: 0.5 } }
`;
  const { configuration, problems } = parseConfig(text, "/f.yaml");
  assert.deepEqual(problems, []);
  const channels = configuration?.channels ?? [];
  const { engine, statistics, close } = await startLocalEngine(
    channels.map(({ name }) => name),
    { device: "cpu", compileThreads: 1 },
  );
  try {
    for (const [cell, channel] of channels.entries()) await engine.createChannel({ ...channel, cell });
    const cells = emptyChannelCells();
    for (const [cell, phase] of [0, 0, staggered(2), staggered(3), 0.5].entries()) {
      let leastLate = 1;
      for (let seen = 0, last = 0; seen < looks && leastLate > 1 / 16; await delay(5)) {
        statistics.readChannel(cell, cells);
        const { lastProcessedNs } = cells.worker;
        if (lastProcessedNs === last) continue;
        last = lastProcessedNs;
        seen++;
        leastLate = Math.min(leastLate, (last / periodNs - phase + 2) % 1);
      }
      assert.ok(leastLate < 1 / 8, `channel ${cell} is ${leastLate} of the period behind ${phase}`);
    }
  } finally {
    await close();
  }
});
