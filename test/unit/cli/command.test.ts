import assert from "node:assert/strict";
import { test } from "node:test";
import { Command, Exit, type LoadCommand, paint, runCommand } from "../../../src/cli/command.ts";
import { FramelaneError } from "../../../src/errors.ts";

/** Keeps what was written. */
class Sink {
  text = "";

  write(text: string): void {
    this.text += text;
  }
}

const withAction = (name: string, action: (word: string) => Promise<void>): LoadCommand => {
  const makeCommand = (): Command =>
    new Command(name).description(`${name}s a word`).argument("<word>").option("--loud").action(action);
  return () => Promise.resolve({ makeCommand });
};

async function run(words: readonly string[], action: (word: string) => Promise<void> = async () => {}) {
  const streams = { stdout: new Sink(), stderr: new Sink() };
  let others = 0;
  const unused: LoadCommand = () => {
    others += 1;
    return withAction("other", async () => {})();
  };
  const code = await runCommand(words, { say: withAction("say", action), other: unused }, "1.2.3", streams);
  return { code, out: streams.stdout.text, err: streams.stderr.text, others };
}

test("a command that ends well gives 0, and no other command is loaded", async () => {
  const said: string[] = [];
  const { code, out, err, others } = await run(["say", "hello"], async (word) => void said.push(word));
  assert.deepEqual([code, out, err, others, said], [0, "", "", 0, ["hello"]]);
});

test("an error gives its exit code and one line", async () => {
  const { code, out, err } = await run(["say", "x"], async () => {
    throw new FramelaneError("not_found", "There is no channel x.");
  });
  assert.deepEqual([code, out, err], [69, "", "framelane: There is no channel x.\n"]);
});

test("a defect shows where it is", async () => {
  const { code, err } = await run(["say", "x"], async () => {
    throw new TypeError("x is not a function");
  });
  assert.equal(code, 70);
  assert.match(err, /^framelane: x is not a function\nTypeError: x is not a function\n {4}at /);
});

test("a command that has said everything only ends", async () => {
  const { code, err } = await run(["say", "x"], async () => {
    throw new Exit(78);
  });
  assert.deepEqual([code, err], [78, ""]);
});

test("a command line that is not understood gives 64 and says what", async () => {
  for (const [words, message] of [
    [["sya", "x"], /^framelane: unknown command 'sya'\n\(Did you mean say\?\)/],
    [["say"], /^framelane: missing required argument 'word'\n/],
    [["say", "x", "--laud"], /^framelane: unknown option '--laud'\n\(Did you mean --loud\?\)/],
    [["say", "x", "y"], /^framelane: too many arguments.*\n\(framelane say \[options\] <word>; framelane say --help/],
    [["--nope"], /^framelane: unknown option '--nope'/],
    [[], /Usage: framelane/],
  ] as const) {
    const { code, out, err } = await run(words);
    assert.equal(code, 64, words.join(" "));
    assert.equal(out, "");
    assert.match(err, message);
  }
});

test("help and version are answers, not failures", async () => {
  const help = await run(["--help"]);
  assert.equal(help.code, 0);
  assert.match(help.out, /say \[options\] <word> +says a word\n/);
  const own = await run(["say", "--help"]);
  assert.equal(own.code, 0);
  assert.match(own.out, /^Usage: framelane say \[options\] <word>\n/);
  assert.deepEqual(await run(["--version"]), { code: 0, out: "1.2.3\n", err: "", others: 1 });
});

test("colour is for terminals, unless NO_COLOR is set", () => {
  const terminal = { write: () => {}, isTTY: true };
  const before = process.env["NO_COLOR"];
  try {
    delete process.env["NO_COLOR"];
    assert.equal(paint(terminal, "red", "x"), "\u001b[31mx\u001b[0m");
    assert.equal(paint({ write: () => {} }, "red", "x"), "x");
    process.env["NO_COLOR"] = "1";
    assert.equal(paint(terminal, "red", "x"), "x");
  } finally {
    if (before === undefined) delete process.env["NO_COLOR"];
    else process.env["NO_COLOR"] = before;
  }
});
