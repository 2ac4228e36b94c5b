import assert from "node:assert/strict";
import { test } from "node:test";
import type { Request } from "../../../src/engine/engine-protocol.ts";
import { PendingCalls } from "../../../src/engine/pending-calls.ts";
import { FramelaneError } from "../../../src/errors.ts";

test("only so many calls are on the wire, the rest follow in order", async () => {
  const sent: Request[] = [];
  const calls = new PendingCalls((request) => sent.push(request), 2);
  const results = [1, 2, 3].map((value) => calls.call("setParameter", [value]));
  assert.deepEqual(
    sent.map((request) => request.arguments),
    [[1], [2]],
  );
  calls.settle({ kind: "reply", id: sent[1]?.id ?? 0, value: "second" });
  assert.deepEqual(
    sent.map((request) => request.arguments),
    [[1], [2], [3]],
  );
  calls.settle({ kind: "reply", id: sent[0]?.id ?? 0, value: "first" });
  calls.settle({ kind: "failure", id: sent[2]?.id ?? 0, code: "not_found", detail: "third" });
  assert.deepEqual(await Promise.all(results.slice(0, 2)), ["first", "second"]);
  await assert.rejects(results[2] as Promise<unknown>, { code: "not_found", message: "third" });
});

test("a reply to nobody is passed over", () => {
  new PendingCalls(() => {}).settle({ kind: "reply", id: 99 });
});

test("when the other side is gone, every call fails, also those to come", async () => {
  const calls = new PendingCalls(() => {}, 1);
  const both = [calls.call("ping", []), calls.call("ping", [])];
  calls.fail(new FramelaneError("engine_gone", "gone"));
  for (const call of [...both, calls.call("ping", [])]) await assert.rejects(call, { code: "engine_gone" });
});
