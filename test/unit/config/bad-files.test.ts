import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, parseConfig } from "../../../src/config/load.ts";

const machine = { cores: 4, memoryBytes: 8 * 2 ** 30, environment: { SIDE: "0", SECRET: "hunter2" } };
const source = "{ type: pattern, width: 64, height: 48, fps: 30fps }";
const channel = (rest: string): string => `channels:\n  a:\n    source: ${source}\n${rest}`;
const listed = (count: number): string =>
  `channels:\n${Array.from({ length: count }, (_, index) => `  c${index}: { source: ${source} }`).join("\n")}`;

/** What the files say, and the exact lines that people then see (without the file's name). */
const cases: readonly (readonly [name: string, text: string, lines: readonly string[]])[] = [
  ["an empty file", "", ['1:1: the file says nothing, expected a map with at least "channels"']],
  ["only a comment", "# soon\n", ['1:1: the file says nothing, expected a map with at least "channels"']],
  ["a list", "- a\n", ["1:1: expected a map, found a list"]],
  ["a word", "hello\n", ['1:1: expected a map, found "hello"']],
  ["no channels", "log: { level: info }\n", ["1:1: channels: missing, expected a map from channel names to channels"]],
  [
    "an empty channels section",
    "channels:\n",
    ["1:10: channels: expected a map from channel names to channels, found nothing"],
  ],
  ["a tab", "channels:\n\ta: 1\n", ["2:1: not YAML: Tabs are not allowed as indentation"]],
  ["bad indentation", "a:\n  b: 1\n c: 2\n", ["3:1: not YAML: All mapping items must start at the same column"]],
  ["two documents", `${listed(1)}\n---\nserver: {}\n`, ["3:1: expected one YAML document, found another after it"]],
  ["a tag", "channels: !cameras {}\n", ["1:11: not YAML: Unresolved tag: !cameras"]],
  ["an unknown section", `deaults: {}\n${listed(1)}`, ['1:1: deaults: unknown field, did you mean "defaults"?']],
  [
    "a key like nothing else",
    `x: {}\n${listed(1)}`,
    ["1:1: x: unknown field, expected server, engine, devices, log, defaults or channels"],
  ],
  ["a key that is a list", `? [a]\n: 1\n${listed(1)}`, ['1:3: expected a name before ":", found a list']],
  [
    "a prototype's name",
    `__proto__: 1\n${listed(1)}`,
    ["1:1: __proto__: unknown field, expected server, engine, devices, log, defaults or channels"],
  ],
  [
    "a duplicate channel",
    `${listed(1)}\n  c0: { source: ${source} }\n`,
    ["3:3: channels.c0: duplicate name, the first is in line 2"],
  ],
  [
    "a duplicate field",
    channel("    threads: 1\n    threads: 2\n"),
    ["5:5: channels.a.threads: duplicate name, the first is in line 4"],
  ],
  [
    "a channel's name in capitals",
    `channels: { Left: { source: ${source} } }`,
    [
      '1:13: channels.Left: not a channel\'s name, expected lower-case letters, digits, "_", "." or "-", at most 63, the first a letter or digit',
    ],
  ],
  ["a channel that is a list", "channels: { a: [] }", ["1:16: channels.a: expected a map, found an empty list"]],
  [
    "a channel without a source",
    "channels:\n  a:\n    threads: 1\n",
    ['3:5: channels.a.source: missing, expected a map with "type"'],
  ],
  [
    "a source in the defaults",
    `defaults: { source: 1 }\n${listed(1)}`,
    [
      "1:13: defaults.source: unknown field, expected device, ring, pipeline, sinks, deadline, on_overload, wait, stagger, in_flight, threads, max_memory, memory, pinned, stall, schedule, retry or start",
    ],
  ],
  [
    "a stagger that there is not",
    channel("    stagger: on\n"),
    ['4:14: channels.a.stagger: expected auto or off, found "on"'],
  ],
  [
    "an unknown source",
    "channels: { a: { source: { type: patern, widht: 1 } } }",
    ['1:34: channels.a.source.type: unknown type "patern", did you mean "pattern"?'],
  ],
  [
    "a source without a type",
    "channels: { a: { source: { path: x } } }",
    ["1:26: channels.a.source.type: missing, expected pattern, raw, y4m, shm or ffmpeg"],
  ],
  [
    "a test picture without a rate",
    "channels: { a: { source: { type: pattern, width: 5, height: 5 } } }",
    ["1:26: channels.a.source.fps: missing, expected a rate such as 30fps; only with `pace: max` there is none"],
  ],
  [
    "a field of another source",
    "channels: { a: { source: { type: y4m, path: x, width: 5 } } }",
    ["1:48: channels.a.source.width: unknown field, expected type, path, fps, loop, pace or format"],
  ],
  [
    "wrong types, all at once",
    channel(
      "    start: yes\n    ring: 5\n    threads: all\n    deadline: 16 parsecs\n    in_flight: 2.5\n    sinks: none\n",
    ),
    [
      '4:12: channels.a.start: expected true or false, found "yes"',
      "5:11: channels.a.ring: expected a map, found 5",
      '6:14: channels.a.threads: expected auto or a whole number from 1 to 64, found "all"',
      '7:15: channels.a.deadline: expected a duration from 10us to 1h, found "16 parsecs"; the units are ns, us, ms, s, min, h',
      "8:16: channels.a.in_flight: expected a whole number from 1 to 8, found 2.5",
      '9:12: channels.a.sinks: expected a list, found "none"',
    ],
  ],
  [
    "numbers that are none",
    "channels: { a: { source: { type: pattern, width: .nan, height: .inf, fps: -1 } } }",
    [
      "1:50: channels.a.source.width: expected a whole number from 1 to 65535, found .nan",
      "1:64: channels.a.source.height: expected a whole number from 1 to 65535, found .inf",
      "1:75: channels.a.source.fps: expected a rate from 0.001fps to 100000fps, found -1",
    ],
  ],
  [
    "a misspelt operation and a misspelt argument",
    channel("    pipeline:\n      - gian: 1\n      - local_contrast: { gian: 1, levels: 9 }\n"),
    [
      '5:9: channels.a.pipeline[0].gian: unknown operation, did you mean "gain"?',
      '6:27: channels.a.pipeline[1].local_contrast.gian: unknown argument, did you mean "gain"?',
      "6:44: channels.a.pipeline[1].local_contrast.levels: expected a whole number from 1 to 8, found 9",
    ],
  ],
  [
    "arguments that are lists, shares and steps",
    channel(
      "    pipeline:\n      - color_matrix: { matrix: [1, 0, 0] }\n      - rotate: 45\n      - black_level: 120%\n",
    ),
    [
      "5:33: channels.a.pipeline[0].color_matrix.matrix: expected a list of 9 numbers from -100 to 100, found 3",
      "6:17: channels.a.pipeline[1].rotate: expected 90, 180 or 270, found 45",
      '7:22: channels.a.pipeline[2].black_level: expected a number from 0 to 65535 or a share from "0%" to "100%", found "120%"',
    ],
  ],
  [
    "operations without their arguments",
    channel("    pipeline: [gamma, gain:, { resize: { width: 5 } }, {}, 3]\n"),
    [
      "4:16: channels.a.pipeline[0]: gamma needs value; write `- gamma: { value: ... }`",
      "4:28: channels.a.pipeline[1].gain.value: missing, expected a number from 0 to 1000",
      "4:40: channels.a.pipeline[2].resize.height: missing, expected a whole number from 1 to 65535",
      "4:56: channels.a.pipeline[3]: expected a map with the name of one operation, found an empty map",
      "4:60: channels.a.pipeline[4]: expected a map with the name of one operation, found 3",
    ],
  ],
  [
    "two operations in one item",
    channel("    pipeline:\n      - gain: 1\n        gamma: 2\n"),
    ['6:9: channels.a.pipeline[0].gamma: expected one operation per list item; begin another item with "- "'],
  ],
  [
    "an operation that is unknown",
    channel("    pipeline: [{ hologram: 1 }]\n"),
    [
      "4:18: channels.a.pipeline[0].hologram: unknown operation, expected gain, gamma, black_level, white_balance, color_matrix, threshold, unsharp, gaussian, median, local_contrast, resize, crop, flip, rotate or convert",
    ],
  ],
  [
    "an unknown sink",
    channel("    sinks: [nonne]\n"),
    ['4:13: channels.a.sinks[0]: unknown sink "nonne", did you mean "none"?'],
  ],
  [
    "more sinks than a channel has",
    channel(`    sinks: [${Array(9).fill("memory").join(", ")}]\n`),
    ["4:12: channels.a.sinks: expected at most 8 items, found 9"],
  ],
  ["10,000 channels", listed(10_000), ["2:3: channels: expected at most 1024 channels, found 10000"]],
  [
    "an output larger than the memory",
    channel(
      "    in_flight: 5\n    ring: { slots: 8 }\n    pipeline: [{ resize: { width: 22000, height: 22000 } }, { convert: { type: float32 } }]\n",
    ),
    [
      "6:26: channels.a.pipeline[0].resize: needs at least 9.015GiB of memory (8 slots of 3KiB and 5 results of 1.803GiB), this machine has 8GiB",
    ],
  ],
  [
    "frames larger than a pipeline can address",
    `channels:
  a: { source: { type: pattern, width: 30000, height: 30000, fps: 1 } }
  b:
    source: { type: pattern, width: 8, height: 8, fps: 1, format: rgb8 }
    pipeline: [{ resize: { width: 60000, height: 60000 } }, { crop: { x: 0, y: 0, width: 9, height: 9 } }]
`,
    [
      "2:16: channels.a.source: a frame of 30000x30000 has 900000000 samples there, expected at most 536870911",
      "5:26: channels.b.pipeline[0].resize: a frame of 60000x60000 has 10800000000 samples there, expected at most 536870911",
    ],
  ],
  [
    "a ring larger than max_memory",
    channel("    max_memory: 64KiB\n    ring: { slots: 200 }\n"),
    [
      "3:13: channels.a.source: needs at least 603KiB of memory (200 slots of 3KiB and 1 result of 3KiB), max_memory is 64KiB",
    ],
  ],
  [
    "channels that fit alone but not together",
    `defaults: { ring: { slots: 256 } }\nchannels:\n  a: { source: &large { type: pattern, width: 5000, height: 4000, fps: 1 } }\n  b: { source: *large }\n`,
    ["3:3: channels: need at least 9.574GiB of memory together, this machine has 8GiB"],
  ],
  [
    "a crop outside of the frame, after a resize",
    channel("    pipeline: [{ resize: { width: 32, height: 32 } }, { crop: { x: 30, y: 0, width: 4, height: 33 } }]\n"),
    [
      "4:85: channels.a.pipeline[1].crop.width: x + width is 34, expected at most 32, the width of the frame there",
      "4:96: channels.a.pipeline[1].crop.height: y + height is 33, expected at most 32, the height of the frame there",
    ],
  ],
  [
    "a ring too small to overwrite",
    channel("    ring: { slots: 2, handling: newest-only }\n"),
    ["4:20: channels.a.ring.slots: expected 3 or more for newest-only, found 2"],
  ],
  [
    "a ring too small for a live source",
    channel("    ring: { slots: 2 }\n"),
    ["4:20: channels.a.ring.slots: expected 3 or more for oldest-first-overwrite, the default of this source, found 2"],
  ],
  [
    "a ring too small for its lanes",
    channel("    in_flight: 8\n"),
    [
      "3:5: channels.a.ring.slots: expected 10 or more for oldest-first-overwrite, the default of this source and in_flight 8, found 6",
    ],
  ],
  [
    "a path that the system would cut",
    'channels:\n  a: { source: { type: raw, path: "a\\0b", width: 1, height: 1 } }\n',
    ['2:35: channels.a.source.path: expected a path, found "a\\u0000b"'],
  ],
  [
    "an address that is none",
    `server: { listen: "127.999.0.1:80" }\n${channel("")}`,
    [
      '1:19: server.listen: expected an address of this machine itself (127.x.y.z, [::1] or localhost), for there is no authentication, found "127.999.0.1"',
    ],
  ],
  [
    "a file where another one is being written",
    channel("    sinks: [{ file: { path: y.part } }, { file: { path: y } }]\n"),
    [
      "4:57: channels.a.sinks[1].file.path: channels.a.sinks[0].file.path is in its way: a file is NAME.part until it is complete",
    ],
  ],
  [
    "dropping late frames without a deadline",
    channel("    on_overload: drop-late\n"),
    ["4:18: channels.a.on_overload: drop-late needs a deadline, and the channel has none"],
  ],
  [
    "waits in the wrong order",
    channel("    retry: { first: 20s }\n"),
    ["4:12: channels.a.retry.most: expected at least retry.first, 20s, found 10s"],
  ],
  [
    "one file for two sinks",
    channel('    sinks: [{ file: { path: "x/../y" } }, { file: { path: y } }]\n'),
    ["4:59: channels.a.sinks[1].file.path: channels.a.sinks[0].file.path has the same path"],
  ],
  [
    "one socket for two sources",
    'channels:\n  a: { source: { type: shm, path: "@x" } }\n  b: { source: { type: shm, path: "@x" } }\n',
    ["3:35: channels.b.source.path: channels.a.source.path has the same path"],
  ],
  [
    "a socket's path that the kernel refuses",
    `channels:\n  a: { source: { type: shm, path: "@${"x".repeat(107)}" } }\n`,
    ["2:35: channels.a.source.path: expected a socket's path of at most 107 bytes, found 108"],
  ],
  [
    "a path that is a directory's",
    channel("    sinks: [{ file: { path: out/ } }]\n"),
    ['4:29: channels.a.sinks[0].file.path: expected a file\'s path, found "out/"'],
  ],
  [
    "16 bits for a y4m file",
    "channels: { a: { source: { type: raw, path: x, width: 4, height: 4, format: mono16 }, sinks: [{ file: { path: x.y4m } }] } }",
    [
      '1:103: channels.a.sinks[0].file: a y4m file takes mono8 and rgb8, the results have 16 bits: end the pipeline with "- convert: { type: uint8 }"',
    ],
  ],
  [
    "planes for a y4m file",
    "channels: { a: { source: { type: raw, path: x, width: 4, height: 4, format: rgb8_planar }, sinks: [{ file: { path: x.y4m } }] } }",
    ["1:108: channels.a.sinks[0].file: a y4m file takes mono8 and rgb8, the channel's frames are planar"],
  ],
  [
    "a path with two numbers",
    channel('    sinks: [{ file: { path: "%d/%06d" } }, { file: { path: "100%" } }, { file: { path: "100%%/%d" } }]\n'),
    [
      '4:29: channels.a.sinks[0].file.path: expected at most one number such as %d or %06d in a path; a percent sign itself is "%%"',
      '4:60: channels.a.sinks[1].file.path: expected at most one number such as %d or %06d in a path; a percent sign itself is "%%"',
    ],
  ],
  [
    "an address for everybody",
    `server: { listen: "0.0.0.0:8600" }\n${listed(1)}`,
    [
      '1:19: server.listen: expected an address of this machine itself (127.x.y.z, [::1] or localhost), for there is no authentication, found "0.0.0.0"',
    ],
  ],
  [
    "a port that is none",
    `server: { listen: "localhost:65536" }\n${listed(1)}`,
    ["1:19: server.listen: expected a port from 0 to 65535, found 65536"],
  ],
  [
    "an address without a port",
    `server: { listen: 8600 }\n${listed(1)}`,
    ["1:19: server.listen: expected HOST:PORT such as 127.0.0.1:8600 or [::1]:8600, found 8600"],
  ],
  [
    "an alias without an anchor",
    "channels: *cameras\n",
    ['1:11: channels: there is no anchor "&cameras" before this alias'],
  ],
  [
    "an alias to what holds it",
    "channels: &all { a: *all }\n",
    [
      '1:16: channels.a.source: missing, expected a map with "type"',
      "1:18: channels.a.a: unknown field, expected source, device, ring, pipeline, sinks, deadline, on_overload, wait, stagger, in_flight, threads, max_memory, memory, pinned, stall, schedule, retry or start",
    ],
  ],
  [
    "a merge key",
    `channels: { a: { <<: {}, source: ${source} } }`,
    ["1:18: channels.a.<<: merge keys are not supported; use the defaults section or an alias"],
  ],
  ["deep nesting", `channels: ${"[".repeat(50_000)}`, ["nested too deeply for any configuration"]],
];

for (const [name, text, lines] of cases) {
  test(`${name} is answered clearly`, () => {
    const { configuration, problems } = parseConfig(text, "f", machine);
    assert.equal(configuration, undefined);
    const shown = problems.map(formatProblem);
    // Where the parser's stack ends is the machine's affair.
    if (name === "deep nesting") assert.match(shown.join("\n"), /^f:1:\d+: nested too deeply for any configuration$/);
    else
      assert.deepEqual(
        shown,
        lines.map((line) => `f:${line}`),
      );
  });
}

test("a nested bomb of aliases is neither expanded nor loud", () => {
  const levels = Array.from({ length: 20 }, (_, level) => {
    const below =
      level === 0
        ? "gain"
        : Array(10)
            .fill(`*l${level - 1}`)
            .join(", ");
    return `l${level}: &l${level} [${below}]`;
  });
  const text = `${levels.join("\n")}\n${channel("    pipeline: *l19\n    sinks: *l19\n")}`;
  const begin = performance.now();
  const { problems } = parseConfig(text, "f", machine);
  assert.ok(performance.now() - begin < 2000);
  assert.ok(problems.length >= 20 && problems.length < 100, String(problems.length));
});

test("more aliases than any file needs end the reading with one problem", () => {
  const operations = `[${Array(60).fill("*g").join(", ")}]`;
  const first = `  c0: { source: &s ${source}, pipeline: &p [&g { gain: 1 }, ${Array(60).fill("*g").join(", ")}] }`;
  const others = Array.from({ length: 1000 }, (_, index) => `  d${index}: { source: *s, pipeline: ${operations} }`);
  const few = parseConfig(`channels:\n${[first, ...others].join("\n")}`, "f", machine);
  assert.deepEqual(few.problems, []);
  const again = Array.from(
    { length: 1000 },
    (_, index) => `  d${index}: { source: *s, pipeline: *p, sinks: *k, schedule: *q }`,
  );
  const bomb = `channels:\n${[`  c0: { source: &s ${source}, sinks: &k [&m memory, ${Array(7).fill("*m").join(", ")}], schedule: &q { cpus: [&c 0, ${Array(200).fill("*c").join(", ")}] }, pipeline: &p [&g { gain: 1 }] }`, ...again].join("\n")}`;
  const { problems } = parseConfig(bomb, "f", machine);
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.message ?? "", /^the file uses aliases more than 100000 times$/);
});

test("what a reference stands for is in no message", () => {
  const text = channel(
    "    deadline: ${env:SECRET}\n    threads: ${env:SIDE}\n    stall: ${env:NONE}\n    start: ${SECRET}\n",
  );
  assert.deepEqual(parseConfig(text, "f", machine).problems.map(formatProblem), [
    'f:4:15: channels.a.deadline: expected a duration from 10us to 1h, found another value behind "${env:SECRET}"',
    'f:5:14: channels.a.threads: expected auto or a whole number from 1 to 64, found another value behind "${env:SIDE}"',
    "f:6:12: channels.a.stall: the environment has no variable NONE",
    'f:7:12: channels.a.start: "${SECRET}" is not understood, expected ${env:NAME} or ${credential:name}',
  ]);
});

test("a message is one line whatever the file holds", () => {
  const { problems } = parseConfig('"a\\nb\\e[2J\\u2028": 1\nchannels: { a: { source: "x\\ry" } }', "f", machine);
  for (const problem of problems) assert.doesNotMatch(formatProblem(problem), /[\p{Cc}\p{Zl}\p{Zp}]/u);
});
