import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../../src/", import.meta.url);

/** What is loaded before the first line of a module runs. Types are gone by then. */
function loadedFirst(file: URL, found = new Set<string>()): Set<string> {
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*?(?:from )?"([^"]+)";/gm);
  for (const [, name = ""] of imports) {
    const next = name.startsWith(".") ? new URL(name, file) : undefined;
    const shown = next?.href.slice(root.href.length) ?? name;
    if (found.has(shown)) continue;
    found.add(shown);
    if (next !== undefined) loadedFirst(next, found);
  }
  return found;
}

test("next to nothing is loaded before the service listens to signals", () => {
  assert.deepEqual([...loadedFirst(new URL("cli/main.ts", root))], ["errors.ts", "cli/end-wish.ts"]);
});
