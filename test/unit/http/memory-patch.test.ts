import assert from "node:assert/strict";
import { test } from "node:test";
import { FramelaneError } from "../../../src/errors.ts";
import { parseMemoryPatch } from "../../../src/http/memory-patch.ts";

test("sizes come as bytes or with a unit, null takes a bound away", () => {
  assert.deepEqual(parseMemoryPatch({ memory: { max_bytes: "8GiB" } }), { maxBytes: 2 ** 33 });
  assert.deepEqual(parseMemoryPatch({ memory: { max_bytes: 65536, max_buffers: null } }), {
    maxBytes: 65536,
    maxBuffers: 0,
  });
});

test("everything else is refused with the name of what is wrong", () => {
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /^The body: expected an object/],
    [[], /^The body/],
    [{ memroy: {} }, /^The body: memroy is not known/],
    [{ memory: null }, /^memory: expected an object/],
    [{ memory: {} }, /expected max_bytes or max_buffers/],
    [{ memory: { reserve: 1 } }, /^memory: reserve is not known here, only max_bytes and max_buffers\./],
    [{ memory: { max_bytes: 1 } }, /^memory\.max_bytes: expected a size from 64KiB to 256TiB,/],
    [{ memory: { max_bytes: "8 apples" } }, /^memory\.max_bytes/],
    [{ memory: { max_bytes: 2 ** 60 } }, /^memory\.max_bytes/],
    [{ memory: { max_buffers: 0 } }, /^memory\.max_buffers/],
    [{ memory: { max_buffers: 1.5 } }, /^memory\.max_buffers/],
    [{ memory: { max_buffers: "1" } }, /^memory\.max_buffers/],
  ];
  for (const [body, message] of refused) {
    assert.throws(
      () => parseMemoryPatch(body),
      (thrown) => thrown instanceof FramelaneError && thrown.code === "bad_request" && message.test(thrown.message),
      JSON.stringify(body),
    );
  }
});
