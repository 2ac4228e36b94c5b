import assert from "node:assert/strict";
import { test } from "node:test";
import { editDistance, nearestName } from "../../../src/config/nearest.ts";

test("the distance counts insertions, deletions, replacements and swaps", () => {
  assert.equal(editDistance("gain", "gain"), 0);
  assert.equal(editDistance("gian", "gain"), 1);
  assert.equal(editDistance("gai", "gain"), 1);
  assert.equal(editDistance("gaain", "gain"), 1);
  assert.equal(editDistance("goin", "gain"), 1);
  assert.equal(editDistance("", "gain"), 4);
  assert.equal(editDistance("kitten", "sitting"), 3);
});

test("the nearest name is found in any case and with any separator", () => {
  const names = ["gain", "gamma", "local_contrast", "on_overload"];
  assert.equal(nearestName("gamme", names), "gamma");
  assert.equal(nearestName("localContrast", names), "local_contrast");
  assert.equal(nearestName("on-overload", names), "on_overload");
  assert.equal(nearestName("Gain", names), "gain");
});

test("a name far from all has no nearest one", () => {
  assert.equal(nearestName("hologram", ["gain", "gamma"]), undefined);
  assert.equal(nearestName("", ["gain"]), undefined);
  assert.equal(nearestName("x".repeat(100_000), ["gain"]), undefined);
  assert.equal(nearestName("gain", []), undefined);
});
