/** Each check that runs another program is shown a small project with one fault and must see it. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("../../../", import.meta.url));
const settings = ["biome.json", "knip.jsonc", "tsconfig.json", "tsconfig.test.json", ".clang-format", "package.json"];

type Files = Readonly<Record<string, string>>;
const base: Files = {
  "src/cli/main.ts": 'import { answer } from "./answer.ts";\n\nprocess.exitCode = answer;\n',
  "src/cli/answer.ts": "export const answer = 42;\n",
  "addon/core/a.h": "int answer();\n",
  "scripts/generate-nothing": "#!/bin/sh\nexit 0\n",
};

function check(context: TestContext, name: string, files: Files) {
  const root = mkdtempSync(join(tmpdir(), "framelane-check-"));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  for (const setting of settings) copyFileSync(join(project, setting), join(root, setting));
  for (const [path, text] of Object.entries({ ...base, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o755 });
  }
  writeFileSync(join(root, ".gitignore"), "node_modules\n");
  symlinkSync(join(project, "node_modules"), join(root, "node_modules"));
  execFileSync("git", ["init", "-q"], { cwd: root });
  const script = join(project, "scripts/check.mjs");
  const result = spawnSync(process.execPath, [script, "--root", root, name], { encoding: "utf8" });
  return { status: result.status, output: result.stdout + result.stderr };
}

const faults: readonly (readonly [string, Files, RegExp])[] = [
  ["biome", { "src/cli/answer.ts": "export const answer   = 42\n" }, /answer\.ts format/],
  ["biome", { "src/cli/answer.ts": "export default 42;\n" }, /noDefaultExport/],
  ["biome", { "src/cli/BadName.ts": "export const a = 1;\n" }, /useFilenamingConvention/],
  ["types", { "src/cli/answer.ts": 'export const answer: number = "42";\n' }, /TS2322/],
  ["types", { "test/unit/a.test.ts": 'const a: number = "42";\n' }, /TS2322/],
  ["clang-format", { "addon/core/a.h": "int   answer( );\n" }, /a\.h:1\nclang-format -i/],
  ["layers", { "src/config/a.ts": 'import "../cli/main.ts";\n' }, /src\/config\/a\.ts:1: config must not import cli/],
  ["lengths", { "src/cli/answer.ts": `export const answer = 42;\n${"\n".repeat(400)}` }, /has 401 lines/],
  ["thread-safety", { "addon/core/a.h": "class A {\n};\n" }, /class A has no/],
  ["words", { "src/cli/answer.ts": `// ${"FIX"}ME\nexport const answer = 42;\n` }, /is unfinished/],
  ["links", { "docs/a.md": "# A\n\n[b](b.md)\n" }, /docs\/a\.md:3: 'b\.md' leads nowhere/],
  ["dead-exports", { "src/cli/answer.ts": "export const answer = 42;\nexport const dead = 1;\n" }, /dead/],
  ["dead-exports", { "src/cli/alone.ts": "export const alone = 1;\n" }, /alone\.ts/],
  ["generated", { "scripts/generate-nothing": "#!/bin/sh\necho table is old\nexit 1\n" }, /table is old/],
];

for (const [name, files, message] of faults) {
  test(`${name} sees a fault in ${Object.keys(files)[0]}: ${message.source}`, (context) => {
    const { status, output } = check(context, name, files);
    assert.match(output, message);
    assert.equal(status, 1);
  });
}

for (const name of new Set(faults.map(([check]) => check))) {
  // knip also wants every dependency used, which the small project does not.
  if (name === "dead-exports") continue;
  test(`${name} passes a project without a fault`, (context) => {
    const { status, output } = check(context, name, {});
    assert.equal(status, 0, output);
  });
}
