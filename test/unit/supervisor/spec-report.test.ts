import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "../../../src/config/load.ts";
import { toSpecReport } from "../../../src/supervisor/spec-report.ts";

/** The specification that the API shows of a channel. */
function report(source: string, more = "") {
  const text = `channels: { a: { source: { ${source} }${more} } }`;
  const machine = { cores: 2, memoryBytes: 2 ** 40, environment: {} };
  const { configuration, problems } = parseConfig(text, "/etc/f.yaml", machine);
  assert.deepEqual(problems, []);
  const [channel] = configuration?.channels ?? [];
  assert.ok(channel !== undefined);
  return toSpecReport({ ...channel, cell: 0 }, (shown) => shown);
}

test("the handling of a full ring is the one that takes effect", () => {
  const size = "width: 4, height: 4";
  for (const [source, handling] of [
    [`type: pattern, ${size}, fps: 30`, "oldest-first-overwrite"],
    [`type: pattern, ${size}, pace: max`, "oldest-first"],
    [`type: raw, path: x, ${size}`, "oldest-first"],
    ["type: y4m, path: x", "oldest-first"],
    ['type: shm, path: "@x"', "oldest-first-overwrite"],
    ["type: ffmpeg, url: film.mp4", "oldest-first"],
    ['type: ffmpeg, url: "rtsp://192.0.2.7/1"', "oldest-first-overwrite"],
    ['type: ffmpeg, url: "rtsp://192.0.2.7/1", pace: max', "oldest-first"],
    ['type: ffmpeg, url: "https://192.0.2.7/film"', null],
    ['type: ffmpeg, url: "%03d.png"', null],
  ] as const) {
    assert.equal(report(source).ring.handling, handling, source);
    assert.equal(report(source, ", ring: { handling: newest-only }").ring.handling, "newest-only");
  }
});

test("the phase of frames is shown as it was asked for", () => {
  const source = "type: pattern, width: 4, height: 4, fps: 30";
  assert.equal(report(source).stagger, "auto");
  assert.equal(report(source, ", stagger: off").stagger, "off");
});

test("a file sink shows the rate that it writes, also where the source's is not known", () => {
  const { sinks } = report("type: y4m, path: x", ", sinks: [{ file: { path: o.y4m } }]");
  assert.deepEqual(sinks, [
    {
      type: "file",
      path: "/etc/o.y4m",
      format: "y4m",
      fps: 25,
      sync: false,
      every: 1,
      queue: 4,
      on_full: "drop-newest",
    },
  ]);
});
