import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { copyModules, isWanted, licenceOf, runtimeModules } from "../../../../scripts/bundle/modules.mjs";

const root = mkdtempSync(join(tmpdir(), "framelane-modules-"));
after(() => rmSync(root, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}
function module(folder: string, description: object): void {
  write(
    `${folder}/package.json`,
    JSON.stringify({ name: folder.split("node_modules/").at(-1), version: "1.0.0", ...description }),
  );
}

module(".", { dependencies: { "cmake-js": "1", web: "1" }, devDependencies: { tester: "1" } });
module("node_modules/cmake-js", { dependencies: { builder: "1" } });
module("node_modules/builder", {});
module("node_modules/tester", {});
module("node_modules/web", { dependencies: { "@scope/part": "1" }, optionalDependencies: { absent: "1" } });
module("node_modules/web/node_modules/@scope/part", { dependencies: { web: "1" }, license: "MIT", author: "A. N." });
module("node_modules/@scope/part", { version: "2.0.0" });
for (const name of ["index.js", "index.d.ts", "index.js.map", "README.md", "LICENSE", "test/a.js", "dist/doc/b.js"]) {
  write(`node_modules/web/${name}`, `text of ${name}`);
}

describe("modules", () => {
  test("what runs is taken, at the place where Node finds it; what only builds or tests is not", () => {
    const found = runtimeModules(root).map((path) => path.slice(root.length + 1));
    assert.deepEqual(found, ["node_modules/web", "node_modules/web/node_modules/@scope/part"]);
  });

  test("a module that is not installed is an error", () => {
    module("elsewhere", { dependencies: { gone: "1" } });
    assert.throws(() => runtimeModules(join(root, "elsewhere")), /gone is not installed/);
  });

  test("a copy holds the code alone", () => {
    copyModules(root, runtimeModules(root), join(root, "copy"));
    const copied = (name: string): boolean => existsSync(join(root, "copy/node_modules/web", name));
    for (const name of ["package.json", "index.js", "dist/doc/b.js", "node_modules/@scope/part/package.json"]) {
      assert.ok(copied(name), name);
    }
    for (const name of ["index.d.ts", "index.js.map", "README.md", "LICENSE", "test"]) assert.ok(!copied(name), name);
  });

  test("names decide what is wanted", () => {
    for (const path of ["lib/test.js", "licence.js/a.js", "build/index.mjs"]) assert.ok(isWanted(path), path);
    for (const path of ["docs/a.js", "lib/a.test.js", ".github/a.yml", "licence.txt"]) assert.ok(!isWanted(path), path);
  });

  test("a licence is the file, or what package.json says", () => {
    assert.deepEqual(licenceOf(join(root, "node_modules/web")), { name: "web@1.0.0", text: "text of LICENSE" });
    const stated = licenceOf(join(root, "node_modules/web/node_modules/@scope/part"));
    assert.equal(stated.name, "@scope+part@1.0.0");
    assert.match(stated.text, /by A\. N\.: MIT\./);
    assert.throws(() => licenceOf(join(root, "node_modules/builder")), /states no licence/);
  });
});
