/** The directory on tmpfs that holds the statistics block and the lock. */
import { lstatSync, mkdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FramelaneError } from "../errors.ts";

/** systemd's own, else the user's, else one in shared memory under the user's number. */
export function chooseRuntimeDirectory(
  configured: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  if (configured !== undefined) return configured;
  // systemd lists several, separated by colons, where the unit names several.
  const given = environment["RUNTIME_DIRECTORY"]?.split(":", 1)[0];
  if (given) return given;
  const users = environment["XDG_RUNTIME_DIR"];
  if (users) return join(users, "framelane");
  return join(isDirectory("/dev/shm") ? "/dev/shm" : tmpdir(), `framelane-${uid}`);
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** With its parents. mkdir's own `recursive` never ends where a file system refuses new names with ENOENT, as /proc does. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || isDirectory(dirname(path))) throw thrown;
    makeDirectory(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** Makes it where it is missing. One that somebody else put there is not used: /dev/shm is open to all. */
export function prepareRuntimeDirectory(path: string, uid: number): void {
  const refuse = (why: string, cause?: unknown): never => {
    throw new FramelaneError("runtime_directory_unusable", `The runtime directory ${path} ${why}.`, { cause });
  };
  try {
    makeDirectory(path);
  } catch (thrown) {
    refuse(`cannot be made: ${(thrown as NodeJS.ErrnoException).code}`, thrown);
  }
  const found = lstatSync(path);
  if (!found.isDirectory()) refuse("is no directory");
  if (found.uid !== uid && uid !== 0) refuse("belongs to another user");
}
