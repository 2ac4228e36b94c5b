import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { pino } from "pino";
import { chooseFormat } from "../../../src/telemetry/log.ts";
import { pinoPretty } from "../../../src/telemetry/pretty.ts";

const auto = { level: "info", format: "auto" } as const;

test("people at a terminal get plain lines, programs and the journal get JSON", () => {
  assert.equal(chooseFormat(auto, {}, true), "pretty");
  assert.equal(chooseFormat(auto, {}, false), "json");
  assert.equal(chooseFormat(auto, { INVOCATION_ID: "1" }, true), "json");
  assert.equal(chooseFormat(auto, { JOURNAL_STREAM: "8:1" }, true), "json");
  assert.equal(chooseFormat({ ...auto, format: "pretty" }, { INVOCATION_ID: "1" }, false), "pretty");
});

test("at a terminal a channel's name stands in front of its line", () => {
  const lines: string[] = [];
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) });
  const log = pino({ base: null }, pinoPretty(stream));
  log.warn({ channel: "left", state: "backoff", code: "source_lost", repeats: 2 }, "backoff: gone");
  log.info({ device: "cpu" }, "engine runs");
  assert.match(lines.join(""), /WARN: left: backoff: gone \{"repeats":2\}\n.*INFO: engine runs \{"device":"cpu"\}\n$/);
});
