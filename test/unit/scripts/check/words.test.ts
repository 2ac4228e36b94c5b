import assert from "node:assert/strict";
import { test } from "node:test";
import { words } from "../../../../scripts/check/words.mjs";

const check = (text: string, name = "src/a.ts") => words([{ name, text }]).map(({ message }) => message);

test("plain text passes", () => {
  assert.deepEqual(check("// Takes a slot; see /var/lib/framelane and /proc/self.\ntest('x');\n"), []);
});

test("unfinished work, silent tests and vague names are found", () => {
  for (const text of ["// TODO later", "test.skip('x')", "it.only('x')", "GTEST_SKIP();", "class RingHelper {"]) {
    assert.equal(check(text).length, 1, text);
  }
  assert.deepEqual(check("", "src/config/string-utils.ts"), ["has a vague name"]);
});

test("paths of one machine and registries are found", () => {
  assert.equal(check("see /home/someone/x").length, 1);
  assert.equal(check(`"resolved": "https://registry.example/a.tgz"`, "package-lock.json").length, 1);
});
