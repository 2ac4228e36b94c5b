/** A program that prints a JSON object on each line while it measures. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Of bench/native, as `npm run build -- --bench` and the bundle put it beside the addon. */
export const builtProgram = (name: string): string =>
  fileURLToPath(new URL(`../../../build/Release/${name}`, import.meta.url));

export interface ProgramEnd {
  readonly code: number | null;
  /** What it wrote to standard error. */
  readonly said: string;
}

/** Rejects when the program cannot be started, or when `take` throws: then it is ended. */
export async function runProgram(
  program: string,
  words: readonly string[],
  take: (line: unknown, index: number) => void,
): Promise<ProgramEnd> {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  // It may fail while lines are read; then nobody waits for it yet.
  ended.catch(() => {});
  let index = 0;
  try {
    for await (const line of createInterface({ input: child.stdout })) take(JSON.parse(line), index++);
  } catch (error) {
    child.kill();
    throw error;
  }
  return { code: await ended, said: said.trim() };
}
