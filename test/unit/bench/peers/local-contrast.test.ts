/** What PyTorch's frames are compared with is what independent libraries made of the same frames. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const fixture = join(root, "test/fixtures/local_contrast");
const grey =
  /^in mono8 (\d+) (\d+) (\d+) out mono8 \d+ \d+ (\d+) tolerance 1 \| local_contrast gain=(\S+) levels=(\d)$/;

/** Reads the frame from standard input. */
const program = `
import sys
from local_contrast import local_contrast
width, height, levels = (int(word) for word in sys.argv[1:4])
frame = sys.stdin.buffer.read()
sys.stdout.buffer.write(local_contrast(frame, width, height, float(sys.argv[4]), levels))
`;

test("the peers' reference makes of a frame what the fixtures say", () => {
  const samples = readFileSync(join(fixture, "samples.bin"));
  const cases = readFileSync(join(fixture, "cases.txt"), "utf8")
    .split("\n")
    .flatMap((line) => grey.exec(line) ?? []);
  const width = 7;
  assert.ok(cases.length >= 3 * width, "mono8 frames of several depths");
  for (let at = 0; at < cases.length; at += width) {
    const [line = "", ...words] = cases.slice(at, at + width);
    const [columns = 0, rows = 0, from = 0, to = 0, , levels = 0] = words.map(Number);
    const size = columns * rows;
    const args = ["-B", "-c", program, ...[columns, rows, levels].map(String), words[4] ?? ""];
    const { status, stdout, stderr } = spawnSync("python3", args, {
      cwd: join(root, "bench/peers"),
      input: samples.subarray(from, from + size),
    });
    assert.equal(status, 0, stderr.toString());
    assert.equal(stdout.length, size, line);
    const worst = Math.max(...stdout.map((value, index) => Math.abs(value - (samples[to + index] ?? 0))));
    assert.ok(worst <= 1, `${worst} grey levels: ${line}`);
  }
});
