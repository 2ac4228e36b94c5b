import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ConfigError, loadConfig } from "../../../src/config/load.ts";
import { FramelaneError } from "../../../src/errors.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-config-"));
after(() => rmSync(directory, { recursive: true }));
const source = "{ type: pattern, width: 64, height: 48, fps: 30fps }";

const file = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(directory, name), content);
  return join(directory, name);
};

async function refusal(path: string): Promise<FramelaneError> {
  const error = await loadConfig(path).then(
    () => assert.fail(`${path} was loaded`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FramelaneError);
  return error;
}

test("relative paths start at the file's directory, addresses and abstract sockets stay", async () => {
  const text = `
server: { runtime_dir: run }
channels:
  a: { source: { type: ffmpeg, url: film.mp4 }, sinks: [{ file: { path: out/a.y4m } }, { shm: { path: "@a" } }] }
  b: { source: { type: ffmpeg, url: "rtsp://camera/1" }, sinks: [{ file: { path: /tmp/b.raw } }, { shm: { path: s } }] }
`;
  const { channels, server } = await loadConfig(file("paths.yaml", text));
  assert.equal(server.runtimeDir, join(directory, "run"));
  const [a, b] = channels;
  assert.equal(a?.source["url"], join(directory, "film.mp4"));
  assert.equal(b?.source["url"], "rtsp://camera/1");
  assert.deepEqual(
    a?.sinks.map(({ path }) => path),
    [join(directory, "out/a.y4m"), "@a"],
  );
  assert.deepEqual(
    b?.sinks.map(({ path }) => path),
    ["/tmp/b.raw", join(directory, "s")],
  );
  assert.deepEqual([a?.sinks[0]?.["format"], b?.sinks[0]?.["format"]], ["y4m", "raw"]);
});

test("a bad file is a ConfigError with its problems", async () => {
  const error = await refusal(file("bad.yaml", "channels: 5\n"));
  assert.ok(error instanceof ConfigError);
  assert.equal(error.exitCode, 78);
  assert.equal(error.problems.length, 1);
  assert.equal(
    error.message,
    `${join(directory, "bad.yaml")}:1:11: channels: expected a map from channel names to channels, found 5`,
  );
});

test("what cannot be read says why", async () => {
  mkdirSync(join(directory, "folder.yaml"));
  const large = file("large.yaml", "#");
  truncateSync(large, 9 * 2 ** 20);
  const [pipe, socket] = [join(directory, "pipe"), join(directory, "socket")];
  execFileSync("mkfifo", [pipe]);
  const server = createServer().listen(socket);
  await once(server, "listening");
  const cases: readonly (readonly [string, RegExp])[] = [
    [join(directory, "none.yaml"), /none\.yaml: there is no such file$/],
    [join(directory, "folder.yaml"), /folder\.yaml: it is a directory$/],
    [join(file("plain.yaml", "x"), "below.yaml"), /below\.yaml: a part of the path is not a directory$/],
    [large, /large\.yaml: larger than 8388608 bytes$/],
    ["/dev/zero", /\/dev\/zero: it is a device, expected a file$/],
    [pipe, /pipe: it is a pipe, expected a file$/],
    [socket, /socket: it is a socket, expected a file$/],
    [file("binary.yaml", new Uint8Array([1, 0, 2])), /binary\.yaml: not a text file in UTF-8$/],
    [file("latin1.yaml", new Uint8Array([0x61, 0xe9, 0x0a])), /latin1\.yaml: not a text file in UTF-8$/],
  ];
  for (const [path, message] of cases) {
    const error = await refusal(path);
    assert.equal(error.code, "config_unreadable");
    assert.equal(error.exitCode, 66);
    assert.match(error.message, message);
  }
  server.close();
});

test("a byte order mark and Windows line ends are no problem", async () => {
  const { channels } = await loadConfig(file("windows.yaml", `\ufeffchannels:\r\n  a:\r\n    source: ${source}\r\n`));
  assert.equal(channels.length, 1);
});
