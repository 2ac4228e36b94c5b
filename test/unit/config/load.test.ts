import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, parseConfig } from "../../../src/config/load.ts";

const machine = { cores: 4, memoryBytes: 8 * 2 ** 30, environment: {} };
const source = "{ type: pattern, width: 64, height: 48, fps: 30fps }";

test("a channel gets every default", () => {
  const { configuration, problems } = parseConfig(`channels: { a: { source: ${source} } }`, "/etc/f.yaml", machine);
  assert.deepEqual(problems, []);
  assert.deepEqual(configuration, {
    file: "/etc/f.yaml",
    server: { host: "127.0.0.1", port: 8600 },
    engine: { compileThreads: 2 },
    log: { level: "info", format: "auto" },
    channels: [
      {
        name: "a",
        source: {
          type: "pattern",
          width: 64,
          height: 48,
          fps: 30,
          format: "mono8",
          pattern: "gradient",
          moving: true,
          pace: "realtime",
        },
        ring: { slots: 6 },
        pipeline: [],
        sinks: [{ type: "none", every: 1, queue: 4, onFull: "drop-newest" }],
        onOverload: "never",
        inFlight: 1,
        threads: 4,
        stall: 5,
        schedule: { cpus: [], fifo: 0, nice: 0 },
        retry: { first: 0.2, most: 10 },
        start: true,
      },
    ],
  });
});

test("defaults are merged field by field, the channel wins", () => {
  const text = `
defaults: { ring: { slots: 8, handling: newest-only }, deadline: 16ms, threads: 2 }
channels:
  a: { source: ${source}, ring: { slots: 4 }, deadline: 1s }
  b: { source: ${source} }
`;
  const [a, b] = parseConfig(text, "f.yaml", machine).configuration?.channels ?? [];
  assert.deepEqual(a?.ring, { slots: 4, handling: "newest-only" });
  assert.equal(a?.deadline, 1);
  assert.deepEqual(b?.ring, { slots: 8, handling: "newest-only" });
  assert.equal(b?.deadline, 0.016);
  assert.equal(b?.threads, 2);
});

test("a misspelt argument is named with its place and the nearest name", () => {
  const text = `channels:\n  press-left:\n    source: ${source}\n    pipeline:\n      - gain: 1.2\n      - local_contrast: { gian: 1 }\n`;
  assert.deepEqual(parseConfig(text, "config/f.yaml", machine).problems.map(formatProblem), [
    'config/f.yaml:6:27: channels.press-left.pipeline[1].local_contrast.gian: unknown argument, did you mean "gain"?',
  ]);
});
