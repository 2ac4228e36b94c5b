import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const directory = mkdtempSync(join(tmpdir(), "framelane-check-"));
after(() => rmSync(directory, { recursive: true }));
writeFileSync(
  join(directory, "good.yaml"),
  "channels: { a: { source: { type: pattern, width: 64, height: 48, fps: 30fps } } }\n",
);
writeFileSync(join(directory, "bad.yaml"), "channels: 5\nlgo: {}\n");

const main = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** The real command line, in a process of its own. */
function framelane(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", import.meta.resolve("tsx"), main, ...words],
    {
      cwd: directory,
      encoding: "utf8",
      timeout: 60_000,
    },
  );
  return { status, stdout, stderr };
}

test("check accepts a good file", () => {
  assert.deepEqual(framelane("check", "good.yaml"), { status: 0, stdout: "good.yaml: good, 1 channel\n", stderr: "" });
});

test("check ends with 78 on a bad file and says everything that is wrong", () => {
  assert.deepEqual(framelane("check", "bad.yaml"), {
    status: 78,
    stdout: "",
    stderr: [
      "bad.yaml:1:11: channels: expected a map from channel names to channels, found 5\n",
      'bad.yaml:2:1: lgo: unknown field, did you mean "log"?\n',
    ].join(""),
  });
});

test("check --json is for programs", () => {
  const { status, stdout, stderr } = framelane("check", "--json", "bad.yaml");
  assert.equal(status, 78);
  assert.equal(stderr, "");
  assert.deepEqual(JSON.parse(stdout), {
    file: "bad.yaml",
    valid: false,
    problems: [
      {
        file: "bad.yaml",
        line: 1,
        column: 11,
        path: "channels",
        message: "expected a map from channel names to channels, found 5",
      },
      {
        file: "bad.yaml",
        line: 2,
        column: 1,
        path: "lgo",
        message: 'unknown field, did you mean "log"?',
        suggestion: "log",
      },
    ],
    warnings: [],
    channels: [],
  });
  const good = framelane("check", "--json", "good.yaml");
  assert.deepEqual(JSON.parse(good.stdout), {
    file: "good.yaml",
    valid: true,
    problems: [],
    warnings: [],
    channels: ["a"],
  });
});

test("check ends with 66 where there is no file", () => {
  assert.deepEqual(framelane("check", "none.yaml"), {
    status: 66,
    stdout: "",
    stderr: `framelane: ${join(realpathSync(directory), "none.yaml")}: there is no such file\n`,
  });
});

test("check warns of a source's file that does not exist, where it is named", () => {
  const sources = [
    "{ type: raw, path: none.raw, width: 4, height: 4 }",
    "{ type: y4m, path: good.yaml }",
    "{ type: ffmpeg, url: /none/film.mp4 }",
    '{ type: ffmpeg, url: "rtsp://127.0.0.1/none" }',
    "{ type: ffmpeg, url: none-%03d.png }",
    "{ type: shm, path: none.sock }",
  ];
  const lines = sources.map((source, index) => `  c${index}: { source: ${source} }\n`);
  writeFileSync(join(directory, "files.yaml"), `channels:\n${lines.join("")}`);
  const none = join(realpathSync(directory), "none.raw");
  assert.deepEqual(framelane("check", "files.yaml"), {
    status: 0,
    stdout: "files.yaml: good, 6 channels\n",
    stderr: [
      `files.yaml:2:36: channels.c0.source.path: warning: there is no file ${none}\n`,
      "files.yaml:4:38: channels.c2.source.url: warning: there is no file /none/film.mp4\n",
    ].join(""),
  });
});

test("schema prints a JSON Schema", () => {
  const { status, stdout } = framelane("schema");
  assert.equal(status, 0);
  assert.equal((JSON.parse(stdout) as { title: string }).title, "Framelane configuration");
});
