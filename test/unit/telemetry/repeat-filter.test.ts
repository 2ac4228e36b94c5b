import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { RepeatFilter } from "../../../src/telemetry/repeat-filter.ts";

test("the first line at once, then one a second with its count, then nothing", () => {
  mock.timers.enable({ apis: ["setInterval"] });
  const filter = new RepeatFilter();
  const lines: string[] = [];
  const say = (key: string) => filter.pass(key, (repeats) => lines.push(`${key} ${repeats}`));
  for (let count = 0; count < 5; count++) say("full");
  say("other");
  assert.deepEqual(lines.splice(0), ["full 1", "other 1"]);
  mock.timers.tick(1000);
  assert.deepEqual(lines.splice(0), ["full 4"]);
  say("full");
  mock.timers.tick(1000);
  assert.deepEqual(lines.splice(0), ["full 1"]);
  mock.timers.tick(5000);
  say("full");
  assert.deepEqual(lines.splice(0), ["full 1"]);
  say("full");
  filter.close();
  assert.deepEqual(lines, ["full 1"], "what was held back is written at the end");
  mock.timers.reset();
});
