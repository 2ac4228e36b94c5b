/** The directory on tmpfs that holds the statistics block and the lock, and the one of what outlives a boot. */
import { lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FramelaneError } from "../errors.ts";

/** The lock comes last: as long as it is there, its owner has the directory. */
const runtimeFiles = ["statistics", "lock"];

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

/** Where engines keep compiled code: systemd's own place, else the user's; undefined where there is neither. */
export function chooseCacheDirectory(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const given = environment["CACHE_DIRECTORY"]?.split(":", 1)[0];
  if (given) return given;
  const users = environment["XDG_CACHE_HOME"];
  if (users) return join(users, "framelane");
  const home = environment["HOME"];
  return home ? join(home, ".cache", "framelane") : undefined;
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * With its parents; gives those that were missing, the outermost first. mkdir's own `recursive` never ends where a file
 * system refuses new names with ENOENT, as /proc does.
 */
function makeDirectory(path: string): string[] {
  try {
    mkdirSync(path, { mode: 0o700 });
    return [path];
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "EEXIST") return [];
    if (code !== "ENOENT" || isDirectory(dirname(path))) throw thrown;
    const parents = makeDirectory(dirname(path));
    mkdirSync(path, { mode: 0o700 });
    return [...parents, path];
  }
}

/** The runtime directory of this process, and what of it was there before. */
export interface RuntimeDirectory {
  readonly path: string;
  /** Directories that were missing, the outermost first. */
  readonly made: readonly string[];
  readonly before: ReadonlySet<string>;
}

/** Makes it where it is missing. One that somebody else put there is not used: /dev/shm is open to all. */
export function prepareRuntimeDirectory(path: string, uid: number): RuntimeDirectory {
  const refuse = (why: string, cause?: unknown): never => {
    throw new FramelaneError("runtime_directory_unusable", `The runtime directory ${path} ${why}.`, { cause });
  };
  let made: readonly string[] = [];
  try {
    made = makeDirectory(path);
  } catch (thrown) {
    refuse(`cannot be made: ${(thrown as NodeJS.ErrnoException).code}`, thrown);
  }
  const found = lstatSync(path);
  if (!found.isDirectory()) refuse("is no directory");
  if (found.uid !== uid && uid !== 0) refuse("belongs to another user");
  return { path, made, before: new Set(readdirSync(path)) };
}

/** After a start that came to nothing, by whoever has the lock: what was not there before it goes. */
export function leaveRuntimeDirectory({ path, made, before }: RuntimeDirectory): void {
  try {
    for (const name of runtimeFiles) if (!before.has(name)) rmSync(join(path, name), { force: true });
    // Not `recursive`: what somebody else has put there meanwhile stays.
    for (const directory of made.toReversed()) rmdirSync(directory);
  } catch {
    // It is no more than untidy.
  }
}
