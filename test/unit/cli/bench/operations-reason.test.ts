import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonOf } from "../../../../src/cli/bench/operations-reason.ts";
import type { MeasuredRow } from "../../../../src/cli/bench/operations-rows.ts";

const slow: MeasuredRow = {
  operation: "gain",
  format: "mono8",
  width: 4096,
  height: 3112,
  kernels: 1,
  frame_us: 100,
  traffic_bytes: 25_000_000,
  stored_bytes: 0,
  bandwidth_fraction: 0.3,
  traffic_fraction: 0.3,
  compile_ms: 1,
};

test("what reaches the goal, or has no share, needs no reason", () => {
  const stores = { ...slow, stored_bytes: 50_000_000 };
  assert.equal(reasonOf({ ...stores, bandwidth_fraction: 0.7 }, [], 2), null);
  assert.equal(reasonOf({ ...stores, bandwidth_fraction: null }, [], 2), null);
  assert.notEqual(reasonOf(stores, [], 2), null);
});

test("without a figure that tells there is no reason", () => {
  assert.equal(reasonOf(slow, [], 2), null);
  assert.equal(reasonOf(slow, [], null), null);
});

test("what kernels store counts from a tenth of what has to move", () => {
  assert.equal(reasonOf({ ...slow, stored_bytes: 50_400_000 }, [], 2), "stores 50 MB between its kernels");
  assert.equal(reasonOf({ ...slow, stored_bytes: 1_250_000 }, [], 2), "stores 1 MB between its kernels");
  assert.equal(reasonOf({ ...slow, stored_bytes: 1_249_999 }, [], 2), null);
  assert.equal(
    reasonOf({ ...slow, traffic_bytes: 100_000, stored_bytes: 123_456 }, [], 2),
    "stores 0.12 MB between its kernels",
  );
});

test("kernels count that take much of the time without pixels", () => {
  assert.equal(reasonOf({ ...slow, frame_us: 10 }, [], 2), "small frame: a kernel takes 2.0 us without pixels");
  assert.equal(reasonOf({ ...slow, kernels: 9 }, [], 2.5), "small frame: 9 kernels take 22.5 us without pixels");
  assert.equal(reasonOf({ ...slow, kernels: 5 }, [], 2.5), null);
});

test("as long for other bytes of as many samples means that it is not bytes", () => {
  const floats = { ...slow, format: "mono32f", traffic_bytes: 100_000_000, frame_us: 110 } as const;
  assert.equal(reasonOf(slow, [floats], 2), "not its bytes: mono32f moves 4.0 x as many and takes 1.10 x as long");
  assert.equal(reasonOf(floats, [slow], 2), "not its bytes: mono8 moves 0.25 x as many and takes 0.91 x as long");
  assert.equal(reasonOf(slow, [{ ...floats, frame_us: 126 }], 2), null);
  assert.equal(reasonOf(slow, [{ ...floats, traffic_bytes: 49_000_000 }], 2), null);
  assert.equal(reasonOf(slow, [{ ...floats, format: "rgb32f" }], 2), null);
  assert.equal(reasonOf(slow, [{ ...floats, frame_us: null }], 2), null);
});

test("bytes that are stored are told beside the other reasons, of which a small frame is the first", () => {
  const row = { ...slow, stored_bytes: 50_000_000, kernels: 10 };
  const floats = { ...row, format: "mono32f", traffic_bytes: 400_000_000 } as const;
  assert.equal(
    reasonOf(row, [floats], 2),
    "stores 50 MB between its kernels, small frame: 10 kernels take 20.0 us without pixels",
  );
  assert.equal(
    reasonOf(row, [floats], 1),
    "stores 50 MB between its kernels, not its bytes: mono32f moves 4.0 x as many and takes 1.00 x as long",
  );
});
