import assert from "node:assert/strict";
import { test } from "node:test";
import { RestartPace } from "../../../src/supervisor/restart-pace.ts";

test("the first restart is immediate, the next ones wait longer and longer, up to ten seconds", () => {
  const pace = new RestartPace(
    () => 0,
    () => 1,
  );
  assert.deepEqual(
    Array.from({ length: 8 }, () => pace.next()),
    [0, 500, 1000, 2000, 4000, 8000, 10_000, 10_000],
  );
});

test("the jitter takes away half at most", () => {
  const pace = new RestartPace(
    () => 0,
    () => 0,
  );
  assert.deepEqual([pace.next(), pace.next(), pace.next()], [0, 250, 500]);
});

test("an engine that ran well starts the count again, one that fell at once does not", () => {
  let now = 0;
  const pace = new RestartPace(
    () => now,
    () => 1,
  );
  pace.next();
  pace.started();
  now += 29e9;
  assert.equal(pace.next(), 500);
  pace.started();
  now += 30e9;
  assert.equal(pace.next(), 0);
});
