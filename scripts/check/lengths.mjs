/** A file has 400 lines at most, a function 60: it fits a screen. */
import ts from "typescript";
import { codeOnly, lineAt } from "./sources.mjs";

const mostFileLines = 400;
const mostFunctionLines = 60;

const countLines = (text) => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

const tooLong = (file, line, name, lines) =>
  lines > mostFunctionLines
    ? [{ file, line, message: `${name} has ${lines} lines, ${mostFunctionLines} at most` }]
    : [];

const callsTests = (node) => ts.isCallExpression(node) && /^(describe|test|it)$/.test(node.expression.getText());

/** A function that lays out tests holds them as a file does. */
const groupsTests = (node) =>
  (callsTests(node.parent) && node.parent.expression.getText() === "describe") ||
  (ts.isBlock(node.body) &&
    node.body.statements.some((statement) => ts.isExpressionStatement(statement) && callsTests(statement.expression)));

function scriptFunctions({ name, text }) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const problems = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body && !groupsTests(node)) {
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      const last = file.getLineAndCharacterOfPosition(node.getEnd()).line + 1;
      problems.push(...tooLong(name, line, node.name?.getText() ?? "a function", last - line + 1));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return problems;
}

/** What opens a block: a namespace or type is looked into, a function is measured, all else belongs to a function. */
function blockKind(head) {
  if (/\b(namespace|class|struct|union|enum)\b[^()=]*$/.test(head) || /extern\s+"?\s*"?$/.test(head)) return "scope";
  return /\)\s*(const|noexcept|override|final|mutable|->|:|&|try|requires|\w|\s|<|>|,|\(|\))*$/.test(head)
    ? "function"
    : "other";
}

function nativeFunctions({ name, text }) {
  const code = codeOnly(text).replace(/^[ \t]*#.*(\\\n.*)*$/gm, (line) => line.replace(/[^\n]/g, " "));
  const problems = [];
  const open = [];
  let headStart = 0;
  for (const { 0: brace, index } of code.matchAll(/[{};]/g)) {
    const inFunction = open.some((block) => block.kind !== "scope");
    if (brace === "{") {
      const head = code.slice(headStart, index);
      const start = headStart + /^\s*((public|protected|private):\s*)*/.exec(head)[0].length;
      open.push({ kind: inFunction ? "inner" : blockKind(head), start, title: head.trim().split(/\s*\(/)[0] });
    } else if (brace === "}") {
      const block = open.pop();
      if (block?.kind === "function") {
        const lines = countLines(code.slice(block.start, index + 1));
        problems.push(...tooLong(name, lineAt(code, block.start), block.title.split(/\s+/).at(-1), lines));
      }
    }
    if (!inFunction || brace !== ";") headStart = index + 1;
  }
  return problems;
}

/**
 * @param {{ name: string, text: string }[]} sources
 * @returns {{ file: string, line: number, message: string }[]}
 */
export function lengths(sources) {
  return sources
    .filter(({ name }) => !/\.gen\.ts$/.test(name))
    .flatMap((source) => {
      const lines = countLines(source.text);
      const functions = /\.(ts|mjs)$/.test(source.name)
        ? scriptFunctions(source)
        : /\.(h|cpp)$/.test(source.name)
          ? nativeFunctions(source)
          : [];
      if (lines <= mostFileLines) return functions;
      return [
        { file: source.name, line: lines, message: `has ${lines} lines, ${mostFileLines} at most` },
        ...functions,
      ];
    });
}
