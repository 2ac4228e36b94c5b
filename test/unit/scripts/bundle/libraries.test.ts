import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLater, parseNeeds, problemsOf } from "../../../../scripts/bundle/libraries.mjs";

const described = `
/x/framelane.node:     file format elf64-x86-64

Dynamic Section:
  NEEDED               libHalide.so
  NEEDED               libc.so.6
  RUNPATH              $ORIGIN/../../lib

Version definitions:
1 0x01 0x0d696914 OWN_9.9

Version References:
  required from libstdc++.so.6:
    0x0297f879 0x00 02 GLIBCXX_3.4.29
  required from libc.so.6:
    0x09691a75 0x00 09 GLIBC_2.2.5

`;

describe("libraries", () => {
  test("what objdump says is read", () => {
    assert.deepEqual(parseNeeds(described), {
      libraries: ["libHalide.so", "libc.so.6"],
      versions: ["GLIBCXX_3.4.29", "GLIBC_2.2.5"],
    });
  });

  test("a version is compared by its numbers", () => {
    assert.ok(isLater("2.36", "2.35"));
    assert.ok(isLater("3.4.30", "3.4.9"));
    assert.ok(isLater("3.4.1", "3.4"));
    assert.ok(!isLater("2.35", "2.35"));
    assert.ok(!isLater("2.4", "2.35"));
    assert.ok(!isLater("3.4", "3.4.30"));
  });

  test("what a minimal system lacks is a problem, unless the bundle brings it", () => {
    const needs = {
      libraries: ["libc.so.6", "libHalide.so", "libnode.so.108"],
      versions: ["GLIBC_2.38", "GLIBCXX_3.4.30"],
    };
    assert.deepEqual(problemsOf(needs, new Set(["libHalide.so"])), ["libnode.so.108", "GLIBC_2.38"]);
    assert.deepEqual(problemsOf(parseNeeds(described), new Set()), ["libHalide.so"]);
  });
});
