import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelState, EngineEvent } from "../../../src/engine/engine.ts";
import { EventOutbox } from "../../../src/engine/event-outbox.ts";

const event = (channel: string, state: ChannelState, time: number): EngineEvent => ({ channel, state, time });

test("one batch is on its way at a time", () => {
  const batches: (readonly EngineEvent[])[] = [];
  let done: () => void = () => {};
  const outbox = new EventOutbox((events, sent) => {
    batches.push(events);
    done = sent;
  });
  outbox.push(event("a", "compiling", 1));
  outbox.push(event("a", "starting", 2));
  outbox.push(event("a", "running", 3));
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [1],
  );
  done();
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [1, 2],
  );
  done();
  assert.equal(batches.length, 2);
});

test("when it is full, the newest state of each channel stays", () => {
  let last: readonly EngineEvent[] = [];
  let done: () => void = () => {};
  const outbox = new EventOutbox((events, sent) => {
    last = events;
    done = sent;
  }, 2);
  outbox.push(event("x", "idle", 0));
  outbox.push(event("a", "running", 1));
  outbox.push(event("b", "running", 2));
  outbox.push(event("b", "stalled", 3));
  done();
  assert.deepEqual(last, [event("a", "running", 1), event("b", "stalled", 3)]);
});
