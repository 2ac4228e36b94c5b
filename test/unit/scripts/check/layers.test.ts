import assert from "node:assert/strict";
import { test } from "node:test";
import { nativeLayers, typeScriptLayers } from "../../../../scripts/check/layers.mjs";

const typeScript = (name: string, text: string) => typeScriptLayers([{ name, text }]).map(({ message }) => message);
const native = (name: string, text: string) => nativeLayers([{ name, text }]).map(({ message }) => message);

test("a layer may import those below it", () => {
  assert.deepEqual(typeScript("src/cli/run.ts", `import { a } from "../supervisor/a.ts";`), []);
  assert.deepEqual(typeScript("src/http/a.ts", `import { a } from "../errors.ts";\nimport "./b.ts";`), []);
});

test("a layer must not import one above it or beside it", () => {
  assert.deepEqual(typeScript("src/config/a.ts", `import type { A } from "../engine/a.ts";`), [
    "config must not import engine",
  ]);
  assert.deepEqual(typeScript("src/http/a.ts", `import { a } from "../ws/a.ts";`), ["http must not import ws"]);
  assert.deepEqual(typeScript("src/errors.ts", `export { a } from "./config/a.ts";`), [
    "errors must not import config",
  ]);
});

test("imports over several lines and dynamic ones are seen, with their line", () => {
  const text = `\nimport {\n  a,\n  b,\n} from "../cli/a.ts";\nawait import("../supervisor/b.ts");\n`;
  const problems = typeScriptLayers([{ name: "src/engine/a.ts", text }]);
  assert.deepEqual(
    problems.map(({ line, message }) => [line, message]),
    [
      [2, "engine must not import cli"],
      [6, "engine must not import supervisor"],
    ],
  );
});

test("the binding takes no more than types from the engine", () => {
  assert.deepEqual(typeScript("src/native/a.ts", `import type { A } from "../engine/a.ts";`), []);
  assert.deepEqual(typeScript("src/native/a.ts", `import { a } from "../engine/a.ts";`), [
    "native must not import engine",
  ]);
});

test("only the binding loads native code, only the engine takes the addon", () => {
  assert.equal(typeScript("src/engine/a.ts", `const require = createRequire(import.meta.url);`).length, 1);
  assert.deepEqual(typeScript("src/native/binding.ts", `createRequire(import.meta.url)`), []);
  assert.deepEqual(typeScript("src/supervisor/a.ts", `loadAddon();`), ["only the engine takes the addon"]);
  assert.deepEqual(typeScript("src/engine/a.ts", `loadAddon();`), []);
});

test("a file outside the known layers is refused", () => {
  assert.equal(typeScript("src/things/a.ts", "").length, 1);
  assert.equal(typeScript("src/things.ts", "").length, 1);
  assert.equal(native("addon/things/a.cpp", "").length, 1);
});

test("native code sees its own layer and those below it", () => {
  assert.deepEqual(native("addon/io/a.cpp", `#include "core/ring.h"\n#include "io/a.h"\n#include <vector>\n`), []);
  assert.deepEqual(native("addon/core/a.h", `#include "io/make.h"`), ["core must not include io/make.h"]);
  assert.deepEqual(native("addon/io/a.cpp", `#include "halide/cpu_device.h"`), [
    "io must not include halide/cpu_device.h",
  ]);
});

test("headers of libraries are seen in their layer only", () => {
  assert.deepEqual(native("addon/halide/a.cpp", "#include <Halide.h>"), []);
  assert.deepEqual(native("addon/node/a.cpp", "#include <Halide.h>"), ["node must not see Halide.h"]);
  assert.deepEqual(native("addon/core/a.cpp", "#include <napi.h>"), ["core must not see napi.h"]);
});
