/** The real native engine inside a test's process, with a statistics block of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { InProcessEngine } from "../../src/engine/in-process-engine.ts";
import { createStatisticsBlock } from "../../src/engine/statistics-block.ts";
import { loadAddon } from "../../src/native/binding.ts";

/** Runs from before the file's first test until after its last. */
export function realEngine(): InProcessEngine {
  const directory = mkdtempSync(join(tmpdir(), "framelane-engine-"));
  const statisticsPath = join(directory, "statistics");
  createStatisticsBlock(statisticsPath, { engines: ["cpu"], channels: [] });
  const engine = new InProcessEngine({ device: "cpu", statisticsPath, engineCell: 0, compileThreads: 2 }, loadAddon());
  // Native events alone keep no process alive.
  const awake = setInterval(() => {}, 60_000);
  before(() => engine.start());
  after(async () => {
    clearInterval(awake);
    await engine.stop();
    rmSync(directory, { recursive: true });
  });
  return engine;
}
