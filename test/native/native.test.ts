/** The GoogleTest binaries that scripts/test.mjs has built, each of their tests as one test here. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

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
const binaries = folder ? readdirSync(folder).filter((name) => name.startsWith("test_")) : [];

/** Runs a binary; its output goes to the end of a failure's message, for a crash or a sanitizer's report. */
function runBinary(name: string, report: string): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const args = [`--gtest_output=json:${report}`, "--gtest_brief=1"];
    const child = spawn(join(folder, name), args, { stdio: ["ignore", "pipe", "pipe"] });
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

for (const binary of binaries) {
  test(binary, async (context) => {
    const temporary = mkdtempSync(join(tmpdir(), "framelane-native-"));
    context.after(() => rmSync(temporary, { recursive: true, force: true }));
    const file = join(temporary, "report.json");
    const { code, output } = await runBinary(binary, file);
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
  });
}
