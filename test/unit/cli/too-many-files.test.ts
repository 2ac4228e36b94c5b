import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../../../src/cli/command.ts";

test("too few files to open are one line that says what to raise", async () => {
  let said = "";
  const streams = {
    stdout: { write: () => true },
    stderr: {
      write: (text: string) => {
        said += text;
      },
    },
  };
  const refused = Object.assign(new Error("EMFILE: too many open files, open 'x'"), { code: "EMFILE" });
  assert.equal(await runCommand(["check"], { check: () => Promise.reject(refused) }, "1.0.0", streams), 71);
  assert.equal(
    said,
    "framelane: this process may open no more files: raise its limit (ulimit -n, or LimitNOFILE= of the unit)\n",
  );
});
