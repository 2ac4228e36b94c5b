import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { LivenessWatch } from "../../../src/engine/liveness-watch.ts";
import { monotonicNs } from "../../../src/engine/monotonic.ts";
import { createStatisticsBlock } from "../../../src/engine/statistics-block.ts";
import { CellFile } from "../../fakes/cell-file.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-liveness-"));
const statisticsPath = join(directory, "statistics");
createStatisticsBlock(statisticsPath, { engines: ["cpu"], channels: [] });
const file = new CellFile(statisticsPath);
after(() => rmSync(directory, { recursive: true, force: true }));

const limits = { heartbeat: 200, silence: 400, period: 20 };

/** What the watch says, with a heart that beats or not; `end` resolves where nothing is said until then. */
async function verdict(beat: boolean, ping: () => Promise<void>, end?: Promise<string>): Promise<string> {
  const heart = setInterval(() => beat && file.writeEngineCell(0, "heartbeatNs", monotonicNs()), 10);
  const watch = new LivenessWatch({ statisticsPath, engineCell: 0, ping, limits });
  const said = new Promise<string>((resolve) => watch.start(resolve));
  const first = await (end === undefined ? said : Promise.race([said, end]));
  clearInterval(heart);
  watch.stop();
  return first;
}

describe("an engine", { timeout: 30_000 }, () => {
  test("whose heart stands still is hung", async () => {
    assert.match(await verdict(false, async () => {}), /^no heartbeat for 0\.\d s$/);
  });

  test("whose heart beats but which does not answer is hung", async () => {
    assert.match(await verdict(true, () => new Promise(() => {})), /^no answer for 0\.4 s$/);
  });

  test("whose heart beats and which answers is left alone", async () => {
    let pings = 0;
    let enough: (text: string) => void = () => {};
    const end = new Promise<string>((resolve) => {
      enough = resolve;
    });
    const ping = async () => {
      if (++pings === 50) enough("alive");
    };
    assert.equal(await verdict(true, ping, end), "alive");
  });
});
