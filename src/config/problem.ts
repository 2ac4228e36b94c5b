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

/** `file:line:column: path: message`, the form that editors jump to. */
export function formatProblem(problem: ConfigProblem): string {
  const path = problem.path === "" ? "" : `${problem.path}: `;
  return `${problem.file}:${problem.line}:${problem.column}: ${path}${problem.message}`;
}

/** A configuration that cannot run, with every reason at once. */
export class ConfigError extends FramelaneError {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super("config_invalid", problems.map(formatProblem).join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}
