import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { defaultHandling } from "../../src/config/handling.ts";
import { parseConfig } from "../../src/config/load.ts";
import type { EngineEvent } from "../../src/engine/engine.ts";
import { realEngine } from "../fakes/real-engine.ts";

const engine = realEngine();
const directory = mkdtempSync(join(tmpdir(), "framelane-handling-"));
after(() => rmSync(directory, { recursive: true }));
writeFileSync(join(directory, "x.raw"), new Uint8Array(16));
writeFileSync(join(directory, "x.y4m"), `YUV4MPEG2 W4 H4 F25:1 Ip Cmono\nFRAME\n${"x".repeat(16)}`);

/** Two slots are enough for `oldest-first` alone. */
async function takesTwoSlots(name: string): Promise<boolean> {
  for (;;) {
    const [event] = (await once(engine, "event")) as [EngineEvent];
    if (event.channel !== name) continue;
    if (event.state === "running" || event.state === "finished") return true;
    if (event.code === undefined) continue;
    assert.match(event.message ?? "", /slots/);
    return false;
  }
}

for (const [name, source] of [
  ["a live pattern", "type: pattern, width: 4, height: 4, fps: 1000"],
  ["a pattern without a pace", "type: pattern, width: 4, height: 4, pace: max, frames: 9"],
  ["a raw file", "type: raw, path: x.raw, width: 4, height: 4"],
  ["a y4m file", "type: y4m, path: x.y4m"],
  ["a film of FFmpeg's", "type: ffmpeg, url: x.y4m, format: mono8"],
] as const) {
  test(`the engine's own default for ${name} is the one that the service shows`, async () => {
    const text = `channels: { ${name.replaceAll(/\W/g, "_").toLowerCase()}: { source: { ${source} } } }`;
    const [channel] = parseConfig(text, join(directory, "f.yaml")).configuration?.channels ?? [];
    assert.ok(channel !== undefined);
    const taken = takesTwoSlots(channel.name);
    await engine.createChannel({ ...channel, ring: { slots: 2 }, cell: 0 });
    assert.equal(await taken, defaultHandling(channel.source) === "oldest-first");
    await engine.deleteChannel(channel.name);
  });
}
