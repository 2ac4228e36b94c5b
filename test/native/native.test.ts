/** The GoogleTest binaries that scripts/test.mjs has built, each of their tests as one test here. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

interface GoogleReport {
  readonly testsuites: readonly {
    readonly name: string;
    readonly testsuite: readonly {
      readonly name: string;
      readonly failures?: readonly { readonly failure: string }[];
    }[];
  }[];
}

const folder = process.env.FRAMELANE_NATIVE_TESTS ?? "";
const built = folder ? readdirSync(folder).filter((name) => name.startsWith("test_")) : [];
/** It needs a GPU. */
const gpuBinary = "test_gpu";
const binaries = built.filter((name) => name !== gpuBinary);

/** These take longest and compile most of their time on one core: in so many processes side by side. */
const shards: Readonly<Record<string, number>> = { test_halide: 2 };

/** Runs a binary; its output goes to the end of a failure's message, for a crash or a sanitizer's report. */
function runBinary(name: string, report: string, shard: number): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const args = [`--gtest_output=json:${report}`, "--gtest_brief=1"];
    const env = { ...process.env, GTEST_TOTAL_SHARDS: String(shards[name] ?? 1), GTEST_SHARD_INDEX: String(shard) };
    const child = spawn(join(folder, name), args, { stdio: ["ignore", "pipe", "pipe"], env });
    let output = "";
    const take = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-20_000);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

test("native tests were built", () => {
  assert.notEqual(binaries.length, 0, `no test binary in '${folder}': npm test -- native`);
});

async function runShard(context: TestContext, binary: string, file: string, shard: number): Promise<void> {
  const { code, output } = await runBinary(binary, file, shard);
  const report: GoogleReport = code === 0 || code === 1 ? JSON.parse(readFileSync(file, "utf8")) : { testsuites: [] };
  for (const suite of report.testsuites) {
    for (const one of suite.testsuite) {
      await context.test(`${suite.name}.${one.name}`, () => {
        assert.deepEqual(one.failures?.map((failure) => failure.failure) ?? [], []);
      });
    }
  }
  assert.equal(code, 0, `${binary} ended with ${code}\n${output}`);
  assert.notEqual(report.testsuites.length, 0, `${binary} ran no test`);
}

for (const binary of binaries) {
  test(binary, async (context) => {
    const temporary = mkdtempSync(join(tmpdir(), "framelane-native-"));
    context.after(() => rmSync(temporary, { recursive: true, force: true }));
    const all = Array.from({ length: shards[binary] ?? 1 }, (_, shard) =>
      runShard(context, binary, join(temporary, `report-${shard}.json`), shard),
    );
    await Promise.all(all);
  });
}

/** The sanitizers' builds have none. */
if (built.includes(gpuBinary)) {
  test("the GPU's tests link and start", () => {
    const listed = spawnSync(join(folder, gpuBinary), ["--list"], { encoding: "utf8" });
    assert.equal(listed.status, 0, listed.stderr);
    assert.match(listed.stdout, /GpuAgreementTest/);
  });
}
