import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameRate } from "../../../src/telemetry/frame-rate.ts";

/** A channel at `fps` from `from` to `until` seconds, looked at once a second. */
function rateAfter(seconds: number, fps: number, from = 0, until = Number.POSITIVE_INFINITY): number {
  const rate = new FrameRate(3);
  for (let now = 0; now <= seconds; now++) {
    const frames = Math.max(0, Math.floor((Math.min(now + 0.3, until) - from) * fps));
    const last = frames === 0 ? 0 : from + frames / fps;
    rate.sample(frames, Math.round(last * 1e9), (now + 0.3) * 1e9);
  }
  return rate.perSecond;
}

test("a steady channel's rate is exact, not off by the frame that fell between two looks", () => {
  for (const fps of [23.976, 29.97, 30, 240.5]) assert.ok(Math.abs(rateAfter(7, fps) - fps) < 0.01, `${fps}`);
});

test("there is no rate before there are two looks", () => {
  assert.equal(rateAfter(0, 30), 0);
});

test("the time before the first frame does not lower the rate", () => {
  assert.ok(Math.abs(rateAfter(4, 30, 2) - 30) < 0.01);
});

test("the rate of a channel that has stopped falls to nothing", () => {
  assert.ok(rateAfter(8, 30, 0, 7) < 25);
  assert.equal(rateAfter(12, 30, 0, 7), 0);
});
