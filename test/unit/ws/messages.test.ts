import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FramelaneError } from "../../../src/errors.ts";
import { leastRateHz, mostRateHz, parseSubscribe } from "../../../src/ws/messages.ts";

const before = { channels: undefined, rateHz: 3 };
const known = (name: string): boolean => name === "a" || name === "b";
const parse = (message: unknown) => parseSubscribe(JSON.stringify(message), before, known);

test("what is not said stays: the rate; all channels where none are named", () => {
  assert.deepEqual(parse({ type: "subscribe" }), before);
  assert.deepEqual(parse({ type: "subscribe", channels: null, rate_hz: 0.1 }), { channels: undefined, rateHz: 0.1 });
  assert.deepEqual(parse({ type: "subscribe", channels: ["a"] }), { channels: new Set(["a"]), rateHz: 3 });
  assert.deepEqual(parse({ type: "subscribe", channels: [] }), { channels: new Set(), rateHz: 3 });
});

test("whatever the text is, there is a subscription within bounds or an error with a code", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.object().map((value) => JSON.stringify(value)),
      ),
      (text) => {
        try {
          const { rateHz } = parseSubscribe(text, before, known);
          assert.ok(rateHz >= leastRateHz && rateHz <= mostRateHz);
        } catch (thrown) {
          assert.ok(thrown instanceof FramelaneError, String(thrown));
        }
      },
    ),
  );
});
