/** Links between the documents lead to files of the project, and to headings that are there. */
import { posix } from "node:path";
import { lineAt } from "./sources.mjs";

/** As GitHub makes them; a heading that comes twice has one only here. */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

const headings = (text) => [...text.matchAll(/^#+ +(.*)$/gm)].map(([, heading]) => anchorOf(heading.trim()));

/** Code stays out, in place, so that lines keep their numbers. */
const prose = (text) => text.replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, " "));

/**
 * @param {{ name: string, text: string }[]} documents
 * @param {string[]} files every file of the project
 * @returns {{ file: string, line: number, message: string }[]}
 */
export function links(documents, files) {
  const texts = new Map(documents.map(({ name, text }) => [name, text]));
  const exists = (path) => files.includes(path) || files.some((file) => file.startsWith(`${path.replace(/\/$/, "")}/`));
  return documents.flatMap(({ name, text }) =>
    [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(({ 1: target, index }) => {
      if (/^[a-z]+:/.test(target)) return [];
      const problem = (message) => [{ file: name, line: lineAt(text, index), message: `'${target}' ${message}` }];
      const [path, anchor] = target.split("#");
      const file = path === "" ? name : posix.join(posix.dirname(name), path);
      if (!exists(file)) return problem("leads nowhere");
      const there = texts.get(file);
      if (anchor === undefined || there === undefined || headings(there).includes(anchor)) return [];
      return problem("leads to no heading");
    }),
  );
}
