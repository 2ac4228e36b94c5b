import assert from "node:assert/strict";
import { test } from "node:test";
import { formatQuantity, parseQuantity, type QuantityKind } from "../../../src/config/quantity.ts";

test("units are exact", () => {
  const cases: readonly (readonly [QuantityKind, string, number])[] = [
    ["duration", "16ms", 0.016],
    ["duration", "16 ms", 0.016],
    ["duration", "250us", 0.00025],
    ["duration", "1.5s", 1.5],
    ["duration", "2min", 120],
    ["duration", "1h", 3600],
    ["duration", "7", 7],
    ["size", "8GiB", 8 * 2 ** 30],
    ["size", "1.5kB", 1500],
    ["size", "64KiB", 65_536],
    ["size", "0", 0],
    ["rate", "30fps", 30],
    ["rate", "30000/1001fps", 30_000 / 1001],
    ["rate", "2kHz", 2000],
  ];
  for (const [kind, text, value] of cases) assert.equal(parseQuantity(kind, text), value, text);
});

test("what is no quantity is refused", () => {
  const cases: readonly (readonly [QuantityKind, string])[] = [
    ["duration", ""],
    ["duration", "ms"],
    ["duration", "-1s"],
    ["duration", "1 s s"],
    ["duration", "1e3s"],
    ["duration", "16MS"],
    ["duration", "30fps"],
    ["duration", "1/2s"],
    ["size", "8Gib"],
    ["size", "1.s"],
    ["rate", "30/0"],
    ["rate", `${"9".repeat(400)}fps`],
  ];
  for (const [kind, text] of cases) assert.equal(parseQuantity(kind, text), undefined, text);
});

test("messages show the largest unit that leaves a whole part", () => {
  assert.equal(formatQuantity("duration", 0.016), "16ms");
  assert.equal(formatQuantity("duration", 5400), "1.5h");
  assert.equal(formatQuantity("duration", 0), "0s");
  assert.equal(formatQuantity("size", 8 * 2 ** 30), "8GiB");
  assert.equal(formatQuantity("size", 1000), "1000B");
  assert.equal(formatQuantity("rate", 0.5), "0.5fps");
});
