import { FramelaneError } from "../errors.ts";

/** One thing that is wrong in a configuration file. */
export interface ConfigProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units as editors count. */
  readonly column: number;
  /** `channels.press-left.pipeline[1].gain`; empty for the file as a whole. */
  readonly path: string;
  /** What is wrong, what was expected, what was found. */
  readonly message: string;
  /** The name that was probably meant. */
  readonly suggestion?: string;
}

/** What a file holds must not move a terminal's cursor, nor break one line into two. */
const withoutControls = (text: string): string =>
  text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (found) => `\\u${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);

/** `file:line:column: path: message`, the form that editors jump to; always one line. */
export function formatProblem(problem: ConfigProblem): string {
  const path = problem.path === "" ? "" : `${problem.path}: `;
  return withoutControls(`${problem.file}:${problem.line}:${problem.column}: ${path}${problem.message}`);
}

export const inFileOrder = (a: ConfigProblem, b: ConfigProblem): number => a.line - b.line || a.column - b.column;

/** A configuration that cannot run, with every reason at once. */
export class ConfigError extends FramelaneError {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super("config_invalid", problems.map(formatProblem).join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}
