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
  record.engineLost({ reason: "crashed", detail: "" });
  assert.deepEqual(told(record), ["idle", true, false]);
  assert.deepEqual([record.report().state, record.report().reason], ["idle", null]);
});

test("any other channel is starting until its engine speaks for it", () => {
  const record = new ChannelRecord(patternChannel("a", 0), "cpu");
  assert.deepEqual(told(record), ["starting", false, false]);
  record.handOver();
  record.handedOver();
  assert.deepEqual(told(record), ["starting", false, false]);
  record.engineLost({ reason: "crashed", detail: "" });
  assert.deepEqual(told(record), ["backoff", false, true]);
});

test("while its engine does not start, or has lost its GPU, a channel says why", () => {
  const record = new ChannelRecord(patternChannel("a", 0), "cuda:0");
  record.engineLost({ reason: "start_failed", detail: "no memory" });
  const why = { code: "engine_gone", message: "The engine does not start: no memory" };
  assert.deepEqual([record.state, record.error], ["backoff", why]);
  record.handOver();
  record.handedOver();
  assert.deepEqual([record.state, record.error], ["starting", null]);
  const told = record.engineLost({ reason: "device_lost", detail: "cuda:0 is lost: a fault" });
  assert.deepEqual(told, { reason: "device_lost", error: { code: "device_lost", message: "cuda:0 is lost: a fault" } });
  assert.deepEqual(record.error, told.error);
  record.engineLost({ reason: "crashed", detail: "killed by SIGKILL" });
  assert.equal(record.error, null);
});
