import assert from "node:assert/strict";
import { test } from "node:test";
import { links } from "../../../../scripts/check/links.mjs";

const files = ["README.md", "docs/a.md", "config/examples/x.yaml", "src/a.ts"];
const check = (name: string, text: string) =>
  links(
    [
      { name, text },
      { name: "docs/a.md", text: "# A page\n\n## How `values` are written\n" },
    ],
    files,
  ).map(({ line, message }) => `${line}: ${message}`);

test("links to files, folders, headings and elsewhere pass", () => {
  const text =
    "[a](docs/a.md) ![x](src/a.ts)\n[b](docs/a.md#how-values-are-written) [c](config/examples/) [d](#here)\n";
  assert.deepEqual(check("README.md", `# Here\n${text}[e](https://example.org/x)\n`), []);
  assert.deepEqual(check("docs/b.md", "[a](a.md) [b](../src/a.ts)\n"), []);
});

test("links that lead nowhere are found, each with its line", () => {
  assert.deepEqual(check("README.md", "# A\n\n[a](docs/b.md), [b](docs/a.md#none)\n[c](#gone)\n"), [
    "3: 'docs/b.md' leads nowhere",
    "3: 'docs/a.md#none' leads to no heading",
    "4: '#gone' leads to no heading",
  ]);
  assert.deepEqual(check("docs/b.md", "[a](docs/a.md) [b](../config/exam)\n").length, 2);
});

test("code is not read as links", () => {
  assert.deepEqual(check("README.md", "`[a](none)`\n```sh\n[b](none)\n```\n[c](none)\n"), ["5: 'none' leads nowhere"]);
});
