import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "../../../src/config/load.ts";
import { makeRedact } from "../../../src/config/secrets.ts";

const redact = makeRedact([
  { value: "hunter22", reference: "${env:PASSWORD}" },
  { value: "hunter22-long", reference: "${env:LONGER}" },
  { value: "ab", reference: "${env:SHORT}" },
]);

test("a secret is told as its reference, the longest first", () => {
  assert.equal(redact("x=hunter22&y=hunter22-long."), "x=${env:PASSWORD}&y=${env:LONGER}.");
});

test("what is too short to be a secret stays", () => {
  assert.equal(redact("a table"), "a table");
});

test("the log-in of an address is hidden wherever the address stands", () => {
  const text = "cannot open rtsp://me:p@ss@10.0.0.7:554/1?a=b@c: refused (tcp://x:y@h failed)";
  assert.equal(redact(text), "cannot open rtsp://***@10.0.0.7:554/1?a=b@c: refused (tcp://***@h failed)");
});

test("an address without a log-in stays as it is", () => {
  for (const text of ["rtsp://camera/stream@1", "http://[::1]:80/?to=a@b", "file:a@b", "mail@example"]) {
    assert.equal(redact(text), text);
  }
});

test("a dollar sign in a reference means nothing else", () => {
  assert.equal(makeRedact([{ value: "secret", reference: "$&${env:A}" }])("secret"), "$&${env:A}");
});

test("problems and configurations know what their references stand for", () => {
  const machine = { environment: { KIND: "hunter22", URL: "rtsp://me:pw@h/1" } };
  const bad = parseConfig('channels: { a: { source: { type: "${env:KIND}" } } }', "f.yaml", machine);
  assert.match(bad.problems[0]?.message ?? "", /unknown type "\$\{env:KIND\}"/);
  const good = parseConfig('channels: { a: { source: { type: ffmpeg, url: "${env:URL}" } } }', "f.yaml", machine);
  assert.deepEqual(good.configuration?.secrets, [{ value: "rtsp://me:pw@h/1", reference: "${env:URL}" }]);
});

test("numbers behind references are no secrets", () => {
  const text = 'channels: { a: { source: { type: pattern, width: "${env:W}", height: 9000, fps: 1 } } }';
  assert.deepEqual(parseConfig(text, "f.yaml", { environment: { W: "9000" } }).configuration?.secrets, []);
});
