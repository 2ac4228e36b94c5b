import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseFormat } from "../../../src/telemetry/log.ts";

const auto = { level: "info", format: "auto" } as const;

test("people at a terminal get plain lines, programs and the journal get JSON", () => {
  assert.equal(chooseFormat(auto, {}, true), "pretty");
  assert.equal(chooseFormat(auto, {}, false), "json");
  assert.equal(chooseFormat(auto, { INVOCATION_ID: "1" }, true), "json");
  assert.equal(chooseFormat(auto, { JOURNAL_STREAM: "8:1" }, true), "json");
  assert.equal(chooseFormat({ ...auto, format: "pretty" }, { INVOCATION_ID: "1" }, false), "pretty");
});
