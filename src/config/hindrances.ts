/** What may well be meant so, and yet hinders a channel now: files and directories that are not there. */
import { dirname } from "node:path";
import type { ResolvedChannel, SinkSpec, SourceSpec } from "./channel-spec.ts";
import { joinPath } from "./reader.ts";
import { localFile } from "./resolve.ts";

/** What a path leads to; undefined: nothing. */
export type Found = "file" | "directory" | "other" | undefined;
export type LookUp = (path: string) => Found;

export interface Hindrance {
  /** Of the field, as in "channels.a.source.path". */
  readonly path: string;
  readonly message: string;
}

const home = (text: string): string => (text.includes("/~/") ? '; "~" is not expanded, write the whole path' : "");

function missingDirectory(path: string, lookUp: LookUp): string | undefined {
  const directory = dirname(path);
  const found = lookUp(directory);
  if (found === "directory") return undefined;
  return `${found === undefined ? "there is no" : "it is no"} directory ${directory}${home(path)}`;
}

function ofSource(source: SourceSpec, lookUp: LookUp): { field: string; message: string } | undefined {
  const file = localFile(source);
  if (file !== undefined) {
    const found = lookUp(file.path);
    if (found === undefined) return { field: file.field, message: `there is no file ${file.path}${home(file.path)}` };
    return found === "directory" ? { field: file.field, message: `${file.path} is a directory` } : undefined;
  }
  const message = source.type === "shm" ? ofSocket(source["path"], lookUp) : undefined;
  return message === undefined ? undefined : { field: "path", message };
}

const ofSocket = (path: unknown, lookUp: LookUp): string | undefined =>
  typeof path !== "string" || path.startsWith("@") ? undefined : missingDirectory(path, lookUp);

function ofSink({ type, path }: SinkSpec, lookUp: LookUp): string | undefined {
  if (type === "shm") return ofSocket(path, lookUp);
  if (type !== "file" || typeof path !== "string") return undefined;
  const plain = path.replaceAll("%%", "%");
  const isNumbered = path.replaceAll("%%", "").includes("%");
  const found = isNumbered ? undefined : lookUp(plain);
  if (found === "directory") return `${plain} is a directory, expected a file's path`;
  if (found === "other") return `${plain} is there and no regular file`;
  return missingDirectory(plain, lookUp);
}

export function findHindrances(channels: readonly ResolvedChannel[], lookUp: LookUp): Hindrance[] {
  return channels.flatMap(({ name, source, sinks }) => {
    const channel = joinPath("channels", name);
    const own = ofSource(source, lookUp);
    const found = own === undefined ? [] : [{ path: `${channel}.source.${own.field}`, message: own.message }];
    const ofSinks = sinks.flatMap((sink, index) => {
      const message = ofSink(sink, lookUp);
      return message === undefined ? [] : [{ path: `${channel}.sinks[${index}].${sink.type}.path`, message }];
    });
    return [...found, ...ofSinks];
  });
}
