import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { chooseDictionary, pack, parseSize, sha256, split } from "../../../../scripts/bundle/archive.mjs";

const folder = mkdtempSync(join(tmpdir(), "framelane-archive-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const options = { fast: true, say: () => undefined };

/** The same files, in the order, at the time and with the mode given. */
function tree(place: string, names: readonly string[], seconds: number, mode: number): string {
  const top = join(folder, place, "top");
  mkdirSync(join(top, "inner"), { recursive: true });
  for (const name of names) {
    writeFileSync(join(top, name), `${name}\n`, { mode });
    utimesSync(join(top, name), seconds, seconds);
  }
  return top;
}

describe("archive", () => {
  test("the same contents give the same bytes, another time gives others", async () => {
    const first = tree("first", ["b", "a", "inner/c"], 1_000_000, 0o644);
    const second = tree("second", ["inner/c", "a", "b"], 2_000_000, 0o600);
    const digests = [];
    for (const [top, epoch] of [
      [first, 1000],
      [second, 1000],
      [second, 1001],
    ] as const) {
      const archive = join(folder, "archive");
      await pack(top, archive, String(epoch), options);
      digests.push(await sha256(archive));
    }
    assert.equal(digests[0], digests[1]);
    assert.notEqual(digests[1], digests[2]);
  });

  test("a folder that is not there is an error", async () => {
    await assert.rejects(pack(join(folder, "nothing"), join(folder, "failed"), "0", options), /tar failed/);
  });

  test("parts have the size that was asked for, and the note names the digest", () => {
    const archive = join(folder, "whole.tar.xz");
    writeFileSync(archive, Buffer.alloc(2500, "x"));
    assert.equal(split(archive, 1000, "d1935"), 3);
    const names = readdirSync(`${archive}.parts`).sort();
    assert.deepEqual(names, ["JOIN.txt", ...[1, 2, 3].map((part) => `whole.tar.xz.part-0${part}`)]);
    assert.equal(readFileSync(join(`${archive}.parts`, "whole.tar.xz.part-03")).length, 500);
    assert.match(readFileSync(join(`${archive}.parts`, "JOIN.txt"), "utf8"), /d1935 {2}whole\.tar\.xz/);
  });

  test("sizes are read as people write them", () => {
    assert.equal(parseSize("60MiB"), 60 * 2 ** 20);
    assert.equal(parseSize("1 GB"), 1e9);
    assert.equal(parseSize("5kB"), 5000);
    assert.throws(() => parseSize("sixty"), /size like 60MiB/);
    assert.throws(() => parseSize("0MiB"), /size like 60MiB/);
  });

  test("the dictionary is as large as the memory allows", () => {
    assert.equal(chooseDictionary(8e9), 192);
    assert.equal(chooseDictionary(2e9), 96);
    assert.equal(chooseDictionary(1e6), 32);
  });
});
