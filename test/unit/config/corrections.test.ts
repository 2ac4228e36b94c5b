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
    "one mistake beside others that only the whole channel shows",
    channel(`    stal: 1s
    in_flight: 5
    retry: { first: 20s }
    on_overload: drop-late
    pipeline: [{ gian: 1 }, { gain: many }, { crop: { x: 60, y: 0, width: 8, height: 8 } }]
    sinks: [{ fil: {} }, { file: { path: "%d-%d" } }, { file: { path: x.part, evry: 2 } }, { file: { path: x } }]
`),
    [
      "3:5: channels.a.ring.slots: expected 7 or more for oldest-first-overwrite, the default of this source and in_flight 5, found 6",
      '4:5: channels.a.stal: unknown field, did you mean "stall"?',
      "6:12: channels.a.retry.most: expected at least retry.first, 20s, found 10s",
      "7:18: channels.a.on_overload: drop-late needs a deadline, and the channel has none",
      '8:18: channels.a.pipeline[0].gian: unknown operation, did you mean "gain"?',
      '8:37: channels.a.pipeline[1].gain: expected a number from 0 to 1000, found "many"',
      '9:15: channels.a.sinks[0].fil: unknown sink, did you mean "file"?',
      '9:42: channels.a.sinks[1].file.path: expected at most one number such as %d or %06d in a path; a percent sign itself is "%%"',
      '9:79: channels.a.sinks[2].file.evry: unknown field, did you mean "every"?',
      "9:108: channels.a.sinks[3].file.path: channels.a.sinks[2].file.path is in its way: a file is NAME.part until it is complete",
    ],
  ],
  [
    "arguments that are wrong, and those of them that are not",
    channel(
      "    pipeline: [{ crop: { x: 60, y: no, width: 8, height: 50 } }, { crop: { x: 8, y: 0, width: 8, height: 8 } }]\n",
    ),
    [
      '4:36: channels.a.pipeline[0].crop.y: expected a whole number from 0 to 65534, found "no"',
      "4:47: channels.a.pipeline[0].crop.width: x + width is 68, expected at most 64, the width of the frame there",
      "4:95: channels.a.pipeline[1].crop.width: x + width is 16, expected at most 8, the width of the frame there",
    ],
  ],
  [
    "a source that is none",
    "channels:\n  a: { source: { type: patern }, ring: { slots: 2, handling: newest-only }, sinks: [{ file: { path: x } }] }\n  b: { sinks: [{ file: { path: x } }] }\n",
    [
      '2:24: channels.a.source.type: unknown type "patern", did you mean "pattern"?',
      "2:49: channels.a.ring.slots: expected 3 or more for newest-only, found 2",
      '3:6: channels.b.source: missing, expected a map with "type"',
      "3:32: channels.b.sinks[0].file.path: channels.a.sinks[0].file.path has the same path",
    ],
  ],
  [
    "what follows from nothing but another mistake is left out",
    `defaults: { deadline: soon, retry: { first: 20s, most: 1m }, pipeline: [{ convert: { type: uint16 } }], sinks: [{ file: { path: "%d/%d" } }] }
channels:
  a: { source: { type: pattern, width: 64, height: 48, fps: fast }, sinks: [], ring: { slots: many }, in_flight: 8, on_overload: drop-late }
  b: { source: { type: pattern, width: 64, height: 48, fsp: 30 }, ring: 9, in_flight: 8, pipeline: 1, sinks: [{ file: { path: b.y4m } }] }
  c: { source: { type: raw, path: x, width: 10000, height: 10000, format: mono }, ring: { slots: 256 }, sinks: [] }
  d: { source: { type: raw, path: x, width: 4, height: 4, format: mono16 }, pipeline: [{ convrt: { type: uint8 } }], sinks: [{ file: { path: d.y4m } }] }
  e: { source: { type: raw, path: x, width: 4, height: 4 }, pipeline: [], sinks: 1, retry: { most: 2s } }
  f: { <<: *g, source: { type: raw, path: x, width: 4, height: 4 }, ring: { slots: 2 }, in_flight: 8, sinks: [] }
`,
    [
      '1:23: defaults.deadline: expected a duration from 10us to 1h, found "soon"; the units are ns, us, ms, s, min, h',
      '1:56: defaults.retry.most: expected a duration from 1ms to 24h, found "1m"; the units are ns, us, ms, s, min, h',
      '3:61: channels.a.source.fps: expected a rate from 0.001fps to 100000fps, found "fast"; the units are fps, Hz, kHz',
      '3:95: channels.a.ring.slots: expected a whole number from 2 to 256, found "many"',
      '4:56: channels.b.source.fsp: unknown field, did you mean "fps"?',
      "4:73: channels.b.ring: expected a map, found 9",
      "4:100: channels.b.pipeline: expected a list, found 1",
      '5:75: channels.c.source.format: expected mono8, mono16, mono32f, rgb8, rgb16, rgb32f, rgb8_planar, rgb16_planar or rgb32f_planar, found "mono"',
      '6:90: channels.d.pipeline[0].convrt: unknown operation, did you mean "convert"?',
      "7:82: channels.e.sinks: expected a list, found 1",
      "7:100: channels.e.retry.most: expected at least retry.first, 20s, found 2s",
      "8:8: channels.f.<<: merge keys are not supported; use the defaults section or an alias",
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
