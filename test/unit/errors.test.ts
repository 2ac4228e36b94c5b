import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type ErrorCode, errorCatalogue, FramelaneError, isErrorCode } from "../../src/errors.ts";

test("a bad configuration exits with EX_CONFIG", () => {
  assert.equal(new FramelaneError("config_invalid", "x").exitCode, 78);
});

test("every code is lower snake case and has a text that ends a sentence", () => {
  for (const [code, kind] of Object.entries(errorCatalogue)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
    assert.match(kind.text, /\.$/);
  }
});

test("every code has an HTTP status of an error and an exit code of sysexits.h", () => {
  for (const [code, { http, exit }] of Object.entries(errorCatalogue)) {
    assert.ok(http >= 400 && http < 600, code);
    assert.ok(exit >= 64 && exit <= 78, code);
  }
});

test("every code that native code reports is in the catalogue", () => {
  const definitions = readFileSync(new URL("../../addon/core/error_codes.def", import.meta.url), "utf8");
  const native = [...definitions.matchAll(/^FRAMELANE_ERROR\((\w+)\)/gm)].map(([, code = ""]) => code);
  assert.ok(native.length > 10);
  assert.equal(native[0], "ok");
  assert.deepEqual(
    native.slice(1).filter((code) => !isErrorCode(code)),
    [],
  );
});

test("what was thrown keeps a code of the catalogue, and all else is internal", () => {
  const known = new FramelaneError("not_found", "gone");
  assert.equal(FramelaneError.from(known), known);
  const native = Object.assign(new Error("no memory"), { code: "out_of_memory" satisfies ErrorCode });
  assert.equal(FramelaneError.from(native).code, "out_of_memory");
  assert.equal(FramelaneError.from(native).message, "no memory");
  assert.equal(FramelaneError.from(native).cause, native);
  const files = Object.assign(new Error("EMFILE: too many open files, open 'x'"), { code: "EMFILE" });
  assert.equal(FramelaneError.from(files).code, "too_many_files");
  assert.match(FramelaneError.from(files).message, /raise its limit \(ulimit -n/);
  for (const thrown of [Object.assign(new Error("x"), { code: "ENOENT" }), new Error("x"), "x", null, undefined, 5]) {
    assert.equal(FramelaneError.from(thrown).code, "internal");
  }
  assert.equal(FramelaneError.from(Object.assign(new Error("x"), { code: "toString" })).code, "internal");
});
