/** Paths that mean something and yet cannot be read or written as the machine is now. */
import { dirname } from "node:path";
import type { ResolvedChannel } from "./channel-spec.ts";
import type { NoteProblem } from "./checks.ts";
import { joinPath } from "./reader.ts";
import { localFile } from "./resolve.ts";

/** What is at a path; undefined: nothing, or nothing that can be seen. */
export type FileKind = "directory" | "socket" | "other";
export type LookAt = (path: string) => FileKind | undefined;

interface Look {
  readonly lookAt: LookAt;
  /** A directory that the service makes itself. */
  readonly runtimeDir: string | undefined;
  readonly warn: NoteProblem;
}

/** For a shell. */
const quoted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function checkDirectory(path: string, place: string, { lookAt, runtimeDir, warn }: Look): void {
  const directory = dirname(path);
  const kind = lookAt(directory);
  const isMade = runtimeDir !== undefined && `${runtimeDir}/`.startsWith(`${directory}/`);
  if (kind === "directory" || isMade) return;
  if (kind === undefined) warn(place, `there is no directory ${directory}; make it: mkdir -p ${quoted(directory)}`);
  else warn(place, `${directory} is no directory; choose a path elsewhere`);
}

/** `given`: as the configuration writes it, where a percent sign is two. */
function checkOutput(given: string, format: unknown, place: string, look: Look): void {
  const path = given.replaceAll(/%(%|\d*[du])/g, (_, what) => (what === "%" ? "%" : "0"));
  if (look.lookAt(path) === "directory") {
    look.warn(place, `${path} is a directory; name a file in it, such as ${given}/frames.${format}`);
  } else checkDirectory(path, place, look);
}

function checkSocket(path: unknown, place: string, look: Look): void {
  if (typeof path !== "string" || path.startsWith("@")) return;
  const kind = look.lookAt(path);
  if (kind === "directory") {
    look.warn(place, `${path} is a directory; name a socket in it, such as ${path}/framelane.sock`);
  } else if (kind === "other") look.warn(place, `${path} is no socket; remove it, or choose another path`);
  else checkDirectory(path, place, look);
}

/** Whatever else is wrong: a path that was not read is not looked at. */
export function checkPaths(channels: readonly ResolvedChannel[], look: Look): void {
  for (const { name, source, sinks } of channels) {
    const place = joinPath("channels", name);
    const file = localFile(source);
    const kind = file === undefined ? "other" : look.lookAt(file.path);
    if (kind === undefined) look.warn(`${place}.source.${file?.field}`, `there is no file ${file?.path}`);
    if (kind === "directory") look.warn(`${place}.source.${file?.field}`, `${file?.path} is a directory; name a file`);
    if (source.type === "shm") checkSocket(source["path"], `${place}.source.path`, look);
    for (const [index, { type, path, format }] of sinks.entries()) {
      const at = `${place}.sinks[${index}].${type}.path`;
      if (type === "shm") checkSocket(path, at, look);
      if (type === "file" && typeof path === "string") checkOutput(path, format, at, look);
    }
  }
}
