/** `${env:NAME}` and `${credential:name}` in strings; `$${` stands for `${`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Secret } from "./secrets.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type Substitution = { readonly text: string } | { readonly problem: string };

const reference = /\$\$\{|\$\{([^}]*)\}?/g;

/** Whether the text refers to something outside of the file: it may hold a secret then. */
export const hasReference = (text: string): boolean => text.includes("${");

function lookUp(inside: string, environment: Environment): Substitution {
  const [, kind, name] = /^(env|credential):(.+)$/.exec(inside) ?? [];
  if (kind === undefined || name === undefined) {
    return { problem: `"\${${inside}}" is not understood, expected \${env:NAME} or \${credential:name}` };
  }
  if (kind === "env") {
    const value = environment[name];
    return value === undefined ? { problem: `the environment has no variable ${name}` } : { text: value };
  }
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return { problem: `"${name}" cannot be the name of a credential` };
  const directory = environment["CREDENTIALS_DIRECTORY"];
  if (directory === undefined || directory === "") {
    return { problem: `credential ${name}: CREDENTIALS_DIRECTORY is not set (systemd sets it for LoadCredential=)` };
  }
  try {
    return { text: readFileSync(join(directory, name), "utf8").replace(/\r?\n$/, "") };
  } catch {
    return { problem: `credential ${name} cannot be read from ${directory}` };
  }
}

/** `found` takes what each reference stands for. */
export function substitute(text: string, environment: Environment, found: Secret[] = []): Substitution {
  let problem: string | undefined;
  const result = text.replaceAll(reference, (match: string, inside: string | undefined) => {
    if (match === "$${") return "${";
    if (!match.endsWith("}")) {
      problem ??= `"${match}" lacks its closing brace`;
      return "";
    }
    const meant = lookUp(inside ?? "", environment);
    if ("problem" in meant) {
      problem ??= meant.problem;
      return "";
    }
    found.push({ value: meant.text, reference: match });
    return meant.text;
  });
  return problem === undefined ? { text: result } : { problem };
}
