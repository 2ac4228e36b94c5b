import assert from "node:assert/strict";
import { test } from "node:test";
import { ChannelRecord } from "../../../src/supervisor/channel-record.ts";
import { patternChannel } from "../../fakes/channel-spec.ts";

const told = ({ state, leftFirstStart, isFailing }: ChannelRecord) => [state, leftFirstStart, isFailing];

test("a channel with start: false is idle, whatever its engine does, and nobody waits for it", () => {
  const record = new ChannelRecord(patternChannel("a", 0, { start: false }), "cpu");
  assert.deepEqual(told(record), ["idle", true, false]);
  record.handOver();
  record.handedOver();
  assert.deepEqual(told(record), ["idle", true, false]);
  record.engineLost("crashed");
  assert.deepEqual(told(record), ["idle", true, false]);
  assert.deepEqual([record.report().state, record.report().reason], ["idle", null]);
});

test("any other channel is starting until its engine speaks for it", () => {
  const record = new ChannelRecord(patternChannel("a", 0), "cpu");
  assert.deepEqual(told(record), ["starting", false, false]);
  record.handOver();
  record.handedOver();
  assert.deepEqual(told(record), ["starting", false, false]);
  record.engineLost("crashed");
  assert.deepEqual(told(record), ["backoff", false, true]);
});
