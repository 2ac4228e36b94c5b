/** Every class in a header of the native core says who may use it from where. */
import { lineAt } from "./sources.mjs";

/**
 * @param {{ name: string, text: string }[]} sources
 * @returns {{ file: string, line: number, message: string }[]}
 */
export function threadSafety(sources) {
  const problems = [];
  for (const { name, text } of sources) {
    if (!/^addon\/core\/.*\.h$/.test(name)) continue;
    for (const match of text.matchAll(/^class\s+(?:alignas\([^)]*\)\s+)?(\w+)[^;{]*\{/gm)) {
      const above = text.slice(0, match.index).trimEnd().split("\n");
      let first = above.length;
      while (first > 0 && /^(\/\/|template\b|\s*requires\b)/.test(above[first - 1])) first -= 1;
      if (!above.slice(first).some((line) => line.includes("Thread-safety:"))) {
        const line = lineAt(text, match.index);
        problems.push({
          file: name,
          line,
          message: `class ${match[1]} has no 'Thread-safety:' in the comment above it`,
        });
      }
    }
  }
  return problems;
}
