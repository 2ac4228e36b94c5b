import assert from "node:assert/strict";
import { test } from "node:test";
import { threadSafety } from "../../../../scripts/check/thread-safety.mjs";

const check = (text: string, name = "addon/core/a.h") => threadSafety([{ name, text }]).map(({ message }) => message);

test("a class says who may use it", () => {
  assert.deepEqual(check("// A queue.\n// Thread-safety: one producer, one consumer.\nclass A {\n};\n"), []);
  assert.deepEqual(check("// A queue.\nclass A {\n};\n"), ["class A has no 'Thread-safety:' in the comment above it"]);
});

test("the line of an earlier class does not count", () => {
  const text = "// Thread-safety: a value.\nclass A {\n};\n\n// B.\nclass B {\n};\n";
  assert.deepEqual(check(text), ["class B has no 'Thread-safety:' in the comment above it"]);
});

test("templates are seen through, declarations and other folders are left alone", () => {
  assert.deepEqual(check("// Thread-safety: a value.\ntemplate <class T>\nclass A {\n};\n"), []);
  assert.deepEqual(check("class A;\n"), []);
  assert.deepEqual(check("class A {\n};\n", "addon/io/a.h"), []);
});
