import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createStatisticsBlock } from "../../../src/engine/statistics-block.ts";
import { statsLayout } from "../../../src/engine/stats-layout.gen.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-statistics-"));
after(() => rmSync(directory, { recursive: true }));

test("what engines will write has its place in the file system from the start", () => {
  const path = join(directory, "statistics");
  createStatisticsBlock(path, { engines: ["cpu"], channels: Array.from({ length: 100 }, (_, index) => `c${index}`) });
  const { blocks, size } = statSync(path);
  assert.ok(blocks * 512 >= 100 * statsLayout.channel.size, `${blocks * 512} bytes`);
  assert.ok(blocks * 512 < size, "what nobody uses has none");
});

test("where there is no room, that is said and nothing is left", () => {
  const below = mkdtempSync(join(directory, "small-"));
  const module = new URL("../../../src/engine/statistics-block.ts", import.meta.url).href;
  const script = `import { createStatisticsBlock } from ${JSON.stringify(module)};
    try { createStatisticsBlock(${JSON.stringify(join(below, "statistics"))}, { engines: ["cpu"], channels: ["a"] }); }
    catch (error) { console.log(error.code + " " + error.message); }`;
  const node = [process.execPath, "--import", "tsx", "--input-type=module", "-e", script];
  // A limit of file sizes stands in for a full file system.
  const { stdout, stderr } = spawnSync("bash", ["-c", 'ulimit -f 64; exec "$@"', "bash", ...node], {
    encoding: "utf8",
  });
  assert.match(stdout, /^runtime_directory_unusable No room for the statistics block .*statistics: EFBIG\.\n$/, stderr);
  assert.deepEqual(readdirSync(below), []);
});
