import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { substitute } from "../../../src/config/substitute.ts";

const directory = mkdtempSync(join(tmpdir(), "framelane-credentials-"));
after(() => rmSync(directory, { recursive: true }));
writeFileSync(join(directory, "camera"), "user:pa$$word\n");
const environment = { HOST: "10.0.0.7", EMPTY: "", NESTED: "${env:HOST}", CREDENTIALS_DIRECTORY: directory };

test("references are replaced where they stand", () => {
  assert.deepEqual(substitute("rtsp://${credential:camera}@${env:HOST}/${env:EMPTY}1", environment), {
    text: "rtsp://user:pa$$word@10.0.0.7/1",
  });
});

test("what a reference stands for is not looked at again", () => {
  assert.deepEqual(substitute("${env:NESTED}", environment), { text: "${env:HOST}" });
});

test("two dollar signs before a brace are a plain one", () => {
  assert.deepEqual(substitute("$${env:HOST} $5 {x}", environment), { text: "${env:HOST} $5 {x}" });
});

test("references that lead nowhere say why", () => {
  const problem = (text: string, from = environment as Record<string, string>): string => {
    const result = substitute(text, from);
    return "problem" in result ? result.problem : assert.fail(`${text} was understood`);
  };
  assert.equal(problem("${env:NOPE}"), "the environment has no variable NOPE");
  assert.equal(problem("${HOST}"), '"${HOST}" is not understood, expected ${env:NAME} or ${credential:name}');
  assert.equal(problem("${}"), '"${}" is not understood, expected ${env:NAME} or ${credential:name}');
  assert.equal(problem("x ${env:HOST"), '"${env:HOST" lacks its closing brace');
  assert.equal(problem("${credential:none}"), `credential none cannot be read from ${directory}`);
  assert.equal(problem("${credential:../camera}"), '"../camera" cannot be the name of a credential');
  assert.match(problem("${credential:camera}", {}), /CREDENTIALS_DIRECTORY is not set/);
});
