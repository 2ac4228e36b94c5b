/** What docs/shm-ring.md prints works as it is printed; only the sockets' paths are this test's own. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseConfig } from "../../src/config/load.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const peer = join(process.env.FRAMELANE_NATIVE_TESTS ?? "", "shm_peer");
const python = ["python3", "/usr/bin/python3"].find((one) => spawnSync(one, ["-c", "import numpy"]).status === 0);
const page = readFileSync(join(root, "docs/shm-ring.md"), "utf8");
const [inPath, outPath] = ["/tmp/framelane-script.sock", "/tmp/framelane-script-out.sock"];
const limit = { timeout: 120_000 };

function printed(language: string, having: string): string {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, text = ""]) => text);
  return blocks.find((text) => text.includes(having)) ?? assert.fail(`no ${language} with ${having}`);
}

/** A folder of its own, and the printed program in it with sockets of that folder. */
function prepare(context: TestContext, name: string, text: string) {
  const folder = mkdtempSync(join(tmpdir(), "framelane-docs-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [file, socket] = [join(folder, name), join(folder, "ring.sock")];
  writeFileSync(file, text.replace(outPath, socket).replace(inPath, socket));
  return { file, socket, program: join(folder, "program") };
}

function start(context: TestContext, program: string, ...words: string[]): ChildProcess & { lines: Lines } {
  const env = { ...process.env, PYTHONPATH: join(root, "clients/python"), PYTHONDONTWRITEBYTECODE: "1" };
  const child = spawn(program, words, { env, stdio: ["pipe", "pipe", "inherit"] });
  context.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return Object.assign(child, { lines });
}

type Lines = AsyncIterator<string>;

/** The peer takes frames, then is killed as an engine may be. */
async function takeThreeFrames(context: TestContext, socket: string): Promise<void> {
  const engine = start(context, peer, "source", socket, "3");
  for (const id of [1, 2, 3]) {
    const { value } = await engine.lines.next();
    const { width, height, ...frame } = JSON.parse(String(value)) as Record<string, number>;
    assert.deepEqual([frame["id"], width, height, frame["sum"]], [id, 640, 480, id * 640 * 480]);
  }
  engine.kill("SIGKILL");
  await once(engine, "exit");
}

test("the configuration is good", () => {
  const { problems, configuration } = parseConfig(printed("yaml", "channels:"), "page.yaml");
  assert.deepEqual(problems, []);
  assert.equal(configuration?.channels[0]?.source["path"], inPath);
  assert.equal(configuration?.channels[0]?.sinks[0]?.["path"], outPath);
});

test("the producer in C compiles without a warning, delivers, and ends with the engine", limit, async (context) => {
  const { file, socket, program } = prepare(context, "example.c", printed("c", "framelane_shm_open"));
  const words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", join(root, "include"), file, "-o", program];
  const compiled = spawnSync(process.env.CC ?? "cc", words, { encoding: "utf8" });
  assert.equal(compiled.status, 0, compiled.stderr);
  const producer = start(context, program);
  const ended = once(producer, "exit");
  await takeThreeFrames(context, socket);
  assert.deepEqual(await ended, [0, null]);
});

test("the producer in Python waits for the engine and comes again", limit, async (context) => {
  assert.ok(python, "no Python with numpy: scripts/setup-dev installs python3-numpy");
  const { file, socket } = prepare(context, "example.py", printed("python", "Producer"));
  const producer = start(context, python, "-u", file);
  await takeThreeFrames(context, socket);
  assert.equal((await producer.lines.next()).value, "the engine closed the connection");
  await takeThreeFrames(context, socket);
});

test("the reader in Python takes a result and ends with the engine", limit, async (context) => {
  assert.ok(python, "no Python with numpy: scripts/setup-dev installs python3-numpy");
  const { file, socket } = prepare(context, "example.py", printed("python", "Reader"));
  const engine = start(context, peer, "sink", socket, "1");
  const reader = start(context, python, "-u", file);
  const ended = once(reader, "exit");
  engine.stdin?.write("\n");
  assert.equal((await reader.lines.next()).value, "1 0 1.0");
  engine.stdin?.end();
  assert.deepEqual(await ended, [0, null]);
});
