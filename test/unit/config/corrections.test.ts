/** Mistakes whose message says what to write instead, and mistakes that must not hide others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, parseConfig } from "../../../src/config/load.ts";
import { parseQuantity, quantityPattern } from "../../../src/config/quantity.ts";

const machine = { cores: 4, memoryBytes: 8 * 2 ** 30, environment: { HOME: "/home%/me", FILM: "~/film.raw" } };
const source = "{ type: pattern, width: 64, height: 48, fps: 30fps }";
const channel = (rest: string): string => `channels:\n  a:\n    source: ${source}\n${rest}`;

const cases: readonly (readonly [name: string, text: string, lines: readonly string[]])[] = [
  [
    "arguments without their names",
    channel(
      "    pipeline: [{ unsharp: 0.8 }, { unsharp: 800 }, { resize: 640 }, { crop: [1, 2] }, { convert: uint8 }]\n    sinks: [{ file: out.y4m }, { memory: 3 }]\n",
    ),
    [
      "4:27: channels.a.pipeline[0].unsharp: expected a map, found 0.8; write `- unsharp: { amount: 0.8 }`",
      "4:45: channels.a.pipeline[1].unsharp: expected a map, found 800; write `- unsharp: { amount: ... }`",
      "4:62: channels.a.pipeline[2].resize: expected a map, found 640; write `- resize: { width: ..., height: ... }`",
      "4:77: channels.a.pipeline[3].crop: expected a map, found a list; write `- crop: { x: ..., y: ..., width: ..., height: ... }`",
      '4:98: channels.a.pipeline[4].convert: expected a map, found "uint8"; write `- convert: { type: "uint8" }`',
      '5:21: channels.a.sinks[0].file: expected a map, found "out.y4m"; write `- file: { path: "out.y4m" }`',
      "5:42: channels.a.sinks[1].memory: expected a map, found 3; write `- memory`",
    ],
  ],
  [
    "units that there are not",
    channel("    stall: 5m\n    deadline: 0s\n    max_memory: 4gb\n"),
    [
      '4:12: channels.a.stall: expected a duration from 10ms to 24h, found "5m"; the units are ns, us, ms, s, min, h',
      '5:15: channels.a.deadline: expected a duration from 10us to 1h, found "0s"',
      '6:17: channels.a.max_memory: expected a size from 64KiB to 256TiB, found "4gb"; the units are B, kB, KiB, MB, MiB, GB, GiB, TB, TiB',
    ],
  ],
  [
    "home directories that a shell would know",
    `server: { runtime_dir: ~/run }
channels:
  a: { source: { type: ffmpeg, url: ~/film.mp4 }, sinks: [{ file: { path: ~/%d.raw } }, { shm: { path: ~you/s } }] }
  b: { source: { type: y4m, path: "${"${env:FILM}"}" }, sinks: [{ file: { path: ~old.raw } }, { file: { path: ./~/x } }] }
`,
    [
      '1:24: server.runtime_dir: "~" is not expanded; write /home%/me/run, or ./~/run where the directory has this very name',
      '3:37: channels.a.source.url: "~" is not expanded; write /home%/me/film.mp4, or ./~/film.mp4 where the directory has this very name',
      '3:75: channels.a.sinks[0].file.path: "~" is not expanded; write /home%%/me/%d.raw, or ./~/%d.raw where the directory has this very name',
      '3:104: channels.a.sinks[1].shm.path: "~you" is not expanded; write that home directory in full, or ./~you/s where the directory has this very name',
      '4:35: channels.b.source.path: "~" is not expanded; write /home%/me/film.raw, or ./${env:FILM} where the directory has this very name',
    ],
  ],
  [
    "a bad name, and what is wrong in that channel",
    `channels:\n  Left.Cam: { source: ${source}, stal: 1s }\n  Right Cam: { source: ${source}, pipeline: [{ crop: { x: 60, y: 0, width: 8, height: 8 } }] }\n`,
    [
      '2:3: channels.Left.Cam: not a channel\'s name, expected lower-case letters, digits, "_", "." or "-", at most 63, the first a letter or digit',
      '2:77: channels.Left.Cam.stal: unknown field, did you mean "stall"?',
      '3:3: channels."Right Cam": not a channel\'s name, expected lower-case letters, digits, "_", "." or "-", at most 63, the first a letter or digit',
      '3:119: channels."Right Cam".pipeline[0].crop.width: x + width is 68, expected at most 64, the width of the frame there',
    ],
  ],
];

test("the units that a message lists are the units that are taken", () => {
  const text = channel('    deadline: "1x"\n    max_memory: "1x"\n    sinks: [{ file: { path: x, fps: "1x" } }]\n');
  const lists = parseConfig(text, "f", machine).problems.map(({ message }) => message.split("; the units are ")[1]);
  for (const [index, kind] of (["duration", "size", "rate"] as const).entries()) {
    const units = lists[index]?.split(", ") ?? [];
    for (const unit of units) assert.notEqual(parseQuantity(kind, `1${unit}`), undefined, unit);
    assert.equal(quantityPattern(kind).split(" ?")[1], `(${units.join("|")})?$`);
  }
});

for (const [name, text, lines] of cases) {
  test(`${name} is answered clearly`, () => {
    const { configuration, problems } = parseConfig(text, "f", machine);
    assert.equal(configuration, undefined);
    assert.deepEqual(
      problems.map(formatProblem),
      lines.map((line) => `f:${line}`),
    );
  });
}
