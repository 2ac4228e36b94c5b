import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
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

test("check warns of paths that cannot be written as things are, and says what helps", () => {
  const sinks = [
    "file: { path: . }",
    "file: { path: out dir/%06d.y4m }",
    "file: { path: good.yaml/x.raw }",
    "shm: { path: none/a.sock }",
    "shm: { path: good.yaml }",
    "shm: { path: made/by/b.sock }",
    'shm: { path: "@abstract" }',
    "file: { path: 100%%/x.raw }",
  ];
  const lines = [
    "server: { runtime_dir: made/by/itself }",
    "channels:",
    "  a:",
    "    source: { type: shm, path: folder }",
    "    sinks:",
    ...sinks.map((sink) => `      - ${sink}`),
    "  b: { source: { type: shm, path: /none/c.sock } }",
    "  c: { source: { type: raw, path: ., width: 4, height: 4 } }",
  ];
  mkdirSync(join(directory, "folder"));
  writeFileSync(join(directory, "outputs.yaml"), `${lines.join("\n")}\n`);
  const at = (name: string): string => resolve(realpathSync(directory), name);
  assert.deepEqual(framelane("check", "outputs.yaml"), {
    status: 0,
    stdout: "outputs.yaml: good, 3 channels\n",
    stderr: [
      `4:32: channels.a.source.path: warning: ${at("folder")} is a directory; name a socket in it, such as ${at("folder/framelane.sock")}`,
      `6:23: channels.a.sinks[0].file.path: warning: ${at(".")} is a directory; name a file in it, such as ${at("frames.raw")}`,
      `7:23: channels.a.sinks[1].file.path: warning: there is no directory ${at("out dir")}; make it: mkdir -p '${at("out dir")}'`,
      `8:23: channels.a.sinks[2].file.path: warning: ${at("good.yaml")} is no directory; choose a path elsewhere`,
      `9:22: channels.a.sinks[3].shm.path: warning: there is no directory ${at("none")}; make it: mkdir -p ${at("none")}`,
      `10:22: channels.a.sinks[4].shm.path: warning: ${at("good.yaml")} is no socket; remove it, or choose another path`,
      `13:23: channels.a.sinks[7].file.path: warning: there is no directory ${at("100%")}; make it: mkdir -p ${at("100%")}`,
      "14:35: channels.b.source.path: warning: there is no directory /none; make it: mkdir -p /none",
      `15:35: channels.c.source.path: warning: ${at(".")} is a directory; name a file`,
    ]
      .map((line) => `outputs.yaml:${line}\n`)
      .join(""),
  });
});

test("a mistake hides no warning", () => {
  const text = "channels:\n  a: { source: { type: raw, path: none.raw, width: 4, height: x } }\n";
  writeFileSync(join(directory, "both.yaml"), text);
  const { status, stdout, stderr } = framelane("check", "both.yaml");
  assert.deepEqual([status, stdout], [78, ""]);
  assert.deepEqual(stderr.split("\n"), [
    `both.yaml:2:35: channels.a.source.path: warning: there is no file ${join(realpathSync(directory), "none.raw")}`,
    'both.yaml:2:63: channels.a.source.height: expected a whole number from 1 to 65535, found "x"',
    "",
  ]);
  const { warnings } = JSON.parse(framelane("check", "--json", "both.yaml").stdout) as { warnings: unknown[] };
  assert.equal(warnings.length, 1);
});

test("schema prints a JSON Schema", () => {
  const { status, stdout } = framelane("schema");
  assert.equal(status, 0);
  assert.equal((JSON.parse(stdout) as { title: string }).title, "Framelane configuration");
});
