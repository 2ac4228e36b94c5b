/** Tells a second instance in the same runtime directory, and `framelane status`, whom they met. Only a courtesy: the lock decides. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Instance {
  readonly pid: number;
  readonly url: string;
}

/** An IPv6 address needs its brackets. */
export const httpUrl = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

const pathIn = (directory: string): string => join(directory, "instance.json");

/** A disk that is full is no reason not to run. */
export function writeInstance(directory: string, instance: Instance): void {
  try {
    writeFileSync(pathIn(directory), `${JSON.stringify(instance)}\n`, { mode: 0o600 });
  } catch {
    // The second instance's message then names nobody.
  }
}

export function removeInstance(directory: string): void {
  try {
    rmSync(pathIn(directory), { force: true });
  } catch {
    // Whoever reads it looks at the lock first.
  }
}

/** Undefined where it is missing or is not what was written above. */
export function readInstance(directory: string): Instance | undefined {
  try {
    const { pid, url } = JSON.parse(readFileSync(pathIn(directory), "utf8")) as Partial<Instance>;
    return typeof pid === "number" && typeof url === "string" ? { pid, url } : undefined;
  } catch {
    return undefined;
  }
}
