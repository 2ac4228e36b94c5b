import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { discoverDevices } from "../../../src/supervisor/device-discovery.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-discovery-"));
after(() => rmSync(directory, { recursive: true }));

test("without the library there is no GPU, and no process is needed to say so", async () => {
  const path = join(directory, "absent.so");
  const { devices, problem } = await discoverDevices(path);
  assert.deepEqual(devices, []);
  assert.equal(problem, `no NVIDIA driver here: there is no ${path}`);
});

test("a library that is none is a reason, not a crash", async () => {
  const path = join(directory, "libcuda.so.1");
  writeFileSync(path, "this is no library");
  const { devices, problem } = await discoverDevices(path);
  assert.deepEqual(devices, []);
  assert.match(problem ?? "", /no NVIDIA driver here: .*libcuda\.so\.1/);
});

// Opening a pipe that nobody writes to is a driver that hangs.
test("who wants to end does not wait for a driver that does not answer", { timeout: 30_000 }, async () => {
  const path = join(directory, "hangs.so");
  execFileSync("mkfifo", [path]);
  const asked = new AbortController();
  const found = discoverDevices(path, asked.signal);
  asked.abort();
  assert.deepEqual(await found, { devices: [], problem: "the NVIDIA driver was not waited for" });
});
