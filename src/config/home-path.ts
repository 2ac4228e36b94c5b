/** Paths such as `~/film.mp4`: a shell puts the home directory there, a configuration file is read by none. */
import { homedir } from "node:os";
import type { FieldSchema } from "./fields.ts";
import type { Environment } from "./substitute.ts";

/** What to write instead, where a path begins with somebody's home directory; a file's own name may begin with "~". */
export function homePathProblem(text: string, schema: FieldSchema, environment: Environment): string | undefined {
  const [, home, rest = ""] = /^(~$|~[^/]*(?=\/))(.*)$/s.exec(text) ?? [];
  if (schema["x-path"] === undefined || home === undefined) return undefined;
  const own = environment["HOME"] ?? homedir();
  const absolute = (schema["x-path"] === "numbered" ? own.replaceAll("%", "%%") : own) + rest;
  const instead = home === "~" ? `write ${absolute}` : "write that home directory in full";
  return `"${home}" is not expanded; ${instead}, or ./${text} where the directory has this very name`;
}
