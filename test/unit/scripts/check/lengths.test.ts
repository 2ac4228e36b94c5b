import assert from "node:assert/strict";
import { test } from "node:test";
import { lengths } from "../../../../scripts/check/lengths.mjs";

const messages = (name: string, text: string) => lengths([{ name, text }]).map(({ message }) => message);
const lines = (count: number, line: string) => `${line}\n`.repeat(count);

test("a file may have 400 lines", () => {
  assert.deepEqual(messages("a.py", lines(400, "x")), []);
  assert.deepEqual(messages("a.py", lines(401, "x")), ["has 401 lines, 400 at most"]);
});

test("a TypeScript function may have 60 lines", () => {
  const text = (inside: number) => `export function long() {\n${lines(inside, "  call();")}}\n`;
  assert.deepEqual(messages("a.ts", text(58)), []);
  assert.deepEqual(messages("a.ts", text(59)), ["long has 61 lines, 60 at most"]);
});

test("a method and an arrow function are measured, a group of tests is not", () => {
  const inside = lines(60, "  call();");
  assert.equal(messages("a.ts", `class A {\n  go() {\n${inside}  }\n}\n`).length, 1);
  assert.equal(messages("a.ts", `const go = () => {\n${inside}};\n`).length, 1);
  assert.equal(messages("a.ts", `describe("x", () => {\n${inside}});\n`).length, 0);
  assert.equal(messages("a.ts", `function contract() {\n  test("x", () => go());\n${inside}}\n`).length, 0);
});

test("a C++ function may have 60 lines, also in a namespace and a class", () => {
  const text = (inside: number) =>
    `namespace a {\nclass B : public C {\n public:\n  int go(int x) const noexcept override {\n${lines(inside, "    call();")}  }\n};\n}\n`;
  assert.deepEqual(messages("a.h", text(58)), []);
  assert.deepEqual(messages("a.h", text(59)), ["go has 61 lines, 60 at most"]);
});

test("a constructor with initialisers, a result type and a test macro are functions", () => {
  const inside = lines(60, "  if (x) { call(); }");
  assert.equal(messages("a.cpp", `A::A(int x) : x_(x), y_(x) {\n${inside}}\n`).length, 1);
  assert.equal(messages("a.cpp", `auto A::go() -> Result<int> {\n${inside}}\n`).length, 1);
  assert.equal(messages("a.cpp", `TEST(A, Goes) {\n${inside}}\n`).length, 1);
});

test("a table, an enum and braces in comments or strings are no functions", () => {
  assert.deepEqual(messages("a.cpp", `const int table[] = {\n${lines(70, "  1,")}};\n`), []);
  assert.deepEqual(messages("a.h", `enum class E : int {\n${lines(70, "  a,")}};\n`), []);
  assert.deepEqual(
    messages("a.cpp", `int f() { return g("{"); }  // {\n${lines(70, "int h();")}int i() { return '{'; }\n`),
    [],
  );
});
