import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHost, checkOrigin } from "../../../src/http/host-check.ts";

test("names of this machine itself are answered", () => {
  for (const host of ["localhost", "localhost:8600", "LOCALHOST", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8600"]) {
    checkHost(host);
  }
});

test("all others are refused", () => {
  for (const host of [
    undefined,
    "",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.example",
    "::1",
    "[::2]",
    "10.0.0.1",
    "localhost:80:80",
  ]) {
    assert.throws(() => checkHost(host), { code: "host_refused" }, String(host));
  }
});

test("a page must come from the very service that it calls", () => {
  checkOrigin(undefined, "localhost:8600");
  checkOrigin("http://localhost:8600", "LOCALHOST:8600");
  for (const origin of [
    "http://localhost:8601",
    "http://evil.example",
    "null",
    "",
    "file://",
    "http://localhost:8600.evil.example",
  ]) {
    assert.throws(() => checkOrigin(origin, "localhost:8600"), { code: "origin_refused" }, origin);
  }
});
