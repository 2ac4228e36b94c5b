import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuSeconds, residentBytes } from "../../../src/telemetry/engine-metrics.ts";

test("a process's name may hold brackets and spaces", () => {
  const fields = "S 1 2 2 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 11 0 5000";
  assert.equal(cpuSeconds(`42 (node) a) (b) ${fields}`), 3);
});

test("resident memory comes in kB", () => {
  assert.equal(residentBytes("Name:\tnode\nVmRSS:\t   2048 kB\nThreads:\t11\n"), 2 ** 21);
  assert.equal(residentBytes("Name:\tzombie\n"), 0);
});
