/** The words that show the table of a service, for whoever stands where this process was started. */
import { basename, relative } from "node:path";
import { defaultUrl } from "./service-client.ts";

/** npm names the program's own folder in what it starts; a checkout's own command is then found by npx. */
function program(script: string, environment: NodeJS.ProcessEnv, directory: string): string {
  if (environment["npm_execpath"] !== undefined) return "npx framelane";
  if (basename(script) === "framelane") return "framelane";
  return `node ${relative(directory, script)}`;
}

export function statusCommand(url: string, script: string, environment: NodeJS.ProcessEnv, directory: string): string {
  const words = `${program(script, environment, directory)} status`;
  return url === (environment["FRAMELANE_URL"] ?? defaultUrl) ? words : `${words} --url ${url}`;
}
