import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { RepeatFilter } from "../../../src/telemetry/repeat-filter.ts";

let filter: RepeatFilter;
let lines: string[];
const line = (text: string) => (repeats: number) => void lines.push(`${text} ${repeats}`);
const fail = (text: string, times = 1) => filter.error("a", text, times, line(text));
const enter = (text: string) => filter.state("a", text, line(text));

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  filter = new RepeatFilter();
  lines = [];
});
afterEach(() => mock.timers.reset());

test("an error at once, then once a minute with its count, then nothing", () => {
  for (let count = 0; count < 5; count++) fail("full");
  fail("other");
  filter.error("b", "full", 1, line("b's"));
  assert.deepEqual(lines.splice(0), ["full 1", "other 1", "b's 1"]);
  fail("full", 30);
  mock.timers.tick(59_999);
  assert.deepEqual(lines.splice(0), []);
  mock.timers.tick(1);
  assert.deepEqual(lines.splice(0), ["full 34"]);
  mock.timers.tick(180_000);
  assert.deepEqual(lines.splice(0), []);
  fail("full");
  assert.deepEqual(lines.splice(0), ["full 1"], "after a quiet minute it is new");
  fail("full");
  filter.close();
  assert.deepEqual(lines, ["full 1"], "what is held back and true is written at the end");
});

test("an error that has passed is not written late, and its count comes with the next one", () => {
  for (let count = 0; count < 4; count++) fail("gone");
  enter("running");
  mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), ["gone 1", "running 1"]);
  fail("gone");
  assert.deepEqual(lines.splice(0), ["gone 4"]);
  fail("gone");
  filter.note("a", "starting");
  filter.close();
  assert.deepEqual(lines, []);
});

test("who goes on and off has two lines a minute, and the last one is true", () => {
  for (let second = 0; second < 150; second++) {
    fail("gone");
    filter.note("a", "starting");
    enter("running");
    mock.timers.tick(1000);
  }
  assert.deepEqual(lines.splice(0), ["gone 1", "running 1", "gone 60", "running 1", "gone 60", "running 1"]);
  fail("gone");
  mock.timers.tick(60_000);
  assert.equal(lines.at(-1), "gone 30");
});

test("a state within the second again is written only where it lasts", () => {
  for (const state of ["stopped", "running", "stopped", "running"]) enter(state);
  assert.deepEqual(lines.splice(0), ["stopped 1", "running 1"]);
  enter("stopped");
  mock.timers.tick(1000);
  assert.deepEqual(lines.splice(0), ["stopped 2"]);
  mock.timers.tick(5000);
  enter("stopped");
  assert.deepEqual(lines, ["stopped 1"]);
});
