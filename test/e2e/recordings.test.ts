import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { realEntry, ServiceProcess } from "../fakes/service-process.ts";

const width = 64;
const height = 48;
const frames = 20;

const channelYaml = (name: string, source: string, path: string): string => `
  ${name}:
    source: { type: pattern, width: ${width}, height: ${height}, fps: 100${source} }
    sinks: [{ file: { path: "${path}" } }]
`;

describe("recordings and a crash of the engine", { timeout: 120_000 }, () => {
  test("no file is replaced, what was unfinished is kept, and what had ended is not played again", async () => {
    const out = mkdtempSync(join(tmpdir(), "framelane-recordings-"));
    const service = await ServiceProcess.start({
      entry: realEntry,
      channels:
        channelYaml("take", `, frames: ${frames}`, join(out, "take.raw")) +
        channelYaml("stills", `, frames: ${frames}`, join(out, "still-%03d.raw")) +
        channelYaml("live", "", join(out, "live.raw")),
    });
    try {
      const isFinished = ({ name, state }: { name: string; state: string }) => name === "live" || state === "finished";
      await service.until("two have ended", (channels) => channels.every(isFinished));
      await service.until("ten live frames", (channels) =>
        channels.some(({ name, frames }) => name === "live" && frames.processed >= 10),
      );
      const recorded = readFileSync(join(out, "take.raw"));
      assert.equal(recorded.length, frames * width * height);
      process.kill(await service.enginePid(), "SIGKILL");
      await service.until("the next engine has them", (channels) =>
        channels.every(({ state, restarts }) => restarts.engine === 1 && /^(running|finished)$/.test(state)),
      );
      const back = (await service.channels()).filter(({ name }) => name !== "live");
      for (const { name, state, frames: counted } of back)
        assert.deepEqual([state, counted.processed], ["finished", frames], name);
      assert.equal(await service.stop(), 0);
      assert.deepEqual(readFileSync(join(out, "take.raw")), recorded);
      const names = readdirSync(out).filter((name) => !name.startsWith("still-"));
      assert.deepEqual(names.toSorted(), ["live.raw", "live.recovered-1.raw", "take.raw"]);
      assert.ok(statSync(join(out, "live.recovered-1.raw")).size >= 10 * width * height);
      assert.equal(readdirSync(out).filter((name) => name.startsWith("still-")).length, frames);
    } finally {
      await service.stop();
      rmSync(out, { recursive: true, force: true });
    }
  });
});
