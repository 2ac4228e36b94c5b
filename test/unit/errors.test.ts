import assert from "node:assert/strict";
import { test } from "node:test";
import { errorCatalogue, FramelaneError } from "../../src/errors.ts";

test("a bad configuration exits with EX_CONFIG", () => {
  assert.equal(new FramelaneError("config_invalid", "x").exitCode, 78);
});

test("every code is lower snake case and has a text that ends a sentence", () => {
  for (const [code, kind] of Object.entries(errorCatalogue)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
    assert.match(kind.text, /\.$/);
  }
});
