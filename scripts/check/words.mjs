/** Words that stand for unfinished work, vague names, tests that do not run, or one person's machine. */
import { lineAt } from "./sources.mjs";

const rules = [
  { pattern: /\b(TODO|FIXME|XXX|HACK)\b/g, message: "is unfinished work: do it, or file it" },
  { pattern: /\b(?:test|it|describe|suite|context|t)\.(?:skip|only|todo)\b/g, message: "is a test that does not run" },
  { pattern: /\b(?:GTEST_SKIP|DISABLED_\w+)/g, message: "is a test that does not run" },
  { pattern: /\b(?:class|struct|interface|namespace)\s+\w*(?:Util|Helper|Manager)s?\b/gi, message: "is a vague name" },
  { pattern: /(?<![\w.])\/(?:home|work|Users)\/\w+/g, message: "is a path of one machine" },
  { pattern: /"resolved": "[^"]*"/g, message: "names a registry; install with omit-lockfile-registry-resolved" },
];
const vagueFile = /(^|\/)[^/]*(util|helper|manager)s?[^/]*$/i;

/**
 * @param {{ name: string, text: string }[]} sources
 * @returns {{ file: string, line: number, message: string }[]}
 */
export function words(sources) {
  return sources
    .filter(({ name }) => name !== "scripts/check/words.mjs" && name !== "test/unit/scripts/check/words.test.ts")
    .flatMap(({ name, text }) => {
      const found = rules.flatMap(({ pattern, message }) =>
        [...text.matchAll(pattern)].map((match) => ({
          file: name,
          line: lineAt(text, match.index),
          message: `'${match[0]}' ${message}`,
        })),
      );
      return vagueFile.test(name) ? [{ file: name, line: 1, message: "has a vague name" }, ...found] : found;
    });
}
