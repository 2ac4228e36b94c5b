/** The words that show the table of a service, for whoever stands where this process was started. */
import { existsSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { defaultUrl } from "./service-client.ts";

/** One word of a shell. */
const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function pathFrom(directory: string, path: string): string {
  const short = relative(directory, path);
  return quote(short.startsWith("..") ? path : short);
}

/** A bundle has a launcher, and there is no other Node for it. npm names the program's own folder in what it starts; a checkout's own command is then found by npx. */
function program(script: string, environment: NodeJS.ProcessEnv, directory: string): string {
  const launcher = join(script, "../../../bin/framelane");
  if (existsSync(launcher)) return pathFrom(directory, launcher);
  if (environment["npm_execpath"] !== undefined) return "npx framelane";
  if (basename(script) === "framelane") return "framelane";
  return `node ${pathFrom(directory, script)}`;
}

export function statusCommand(url: string, script: string, environment: NodeJS.ProcessEnv, directory: string): string {
  const words = `${program(script, environment, directory)} status`;
  return url === (environment["FRAMELANE_URL"] ?? defaultUrl) ? words : `${words} --url ${url}`;
}
