import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { serviceAddress } from "../../../src/cli/service-address.ts";
import { writeInstance } from "../../../src/supervisor/instance-file.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-address-"));
after(() => rmSync(directory, { recursive: true }));
const environment = { XDG_RUNTIME_DIR: directory };
const running = "http://127.0.0.1:9000";

const config = (name: string, server: string): string => {
  const file = join(directory, name);
  // What is wrong with the channels changes nothing about the address.
  writeFileSync(file, `server: ${server}\nchannels: { a: 5 }\n`);
  return file;
};

/** A runtime directory whose service is this process, or one that is gone. */
function runtime(name: string, pid = process.pid): void {
  mkdirSync(join(directory, name), { recursive: true });
  writeInstance(join(directory, name), { pid, url: running });
}

test("the address is given, or the configuration's, or the environment's, or the usual one", async () => {
  const urlOf = async (...words: Parameters<typeof serviceAddress>): Promise<string> =>
    (await serviceAddress(...words)).url;
  const named = { FRAMELANE_URL: "http://localhost:7" };
  assert.equal(await urlOf({}, {}), "http://127.0.0.1:8600");
  assert.equal(await urlOf({}, named), "http://localhost:7");
  assert.equal(await urlOf({ url: "http://localhost:8" }, named), "http://localhost:8");
  assert.equal(await urlOf({ config: config("v6.yaml", '{ listen: "[::1]:8601" }') }, named), "http://[::1]:8601");
});

test("a configuration with any free port leads to the service in its runtime directory", async () => {
  const free = config("free.yaml", '{ listen: "127.0.0.1:0", runtime_dir: free }');
  await assert.rejects(serviceAddress({ config: free }, {}), { code: "unreachable" });
  runtime("free");
  assert.equal((await serviceAddress({ config: free }, {})).url, running);
});

test("where nobody answers, the one that runs is named; one that is gone is not", async () => {
  const help = async (url?: string): Promise<string> => (await serviceAddress({ url }, environment)).help();
  assert.match(await help(), /--url.*framelane status CONFIG/);
  assert.equal(await help("http://127.0.0.1:8601"), "");
  runtime("framelane");
  const named = `One runs at ${running} (pid ${process.pid}): --url ${running}`;
  assert.deepEqual([await help(), await help("http://127.0.0.1:8601"), await help(running)], [named, named, ""]);
  runtime("framelane", 2 ** 22 + 1);
  assert.match(await help(), /--url.*framelane status CONFIG/);
});

test("what is no address, or two, is refused", async () => {
  for (const wanted of [
    { config: "x.yaml", url: "http://localhost" },
    { config: "http://localhost" },
    { url: "8600" },
  ]) {
    await assert.rejects(serviceAddress(wanted, {}), { code: "usage" });
  }
  await assert.rejects(serviceAddress({ config: config("bad.yaml", "{ listen: 5 }") }, {}), {
    code: "config_invalid",
    message: /server\.listen: expected HOST:PORT [^\n]*$/,
  });
  await assert.rejects(serviceAddress({ config: config("empty.yaml", "{}]") }, {}), { code: "config_invalid" });
});
