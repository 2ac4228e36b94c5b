/** What a full ring does where the configuration does not say it: the source's traits in addon/io/sources decide. */
import type { HandlingMode, SourceSpec } from "./channel-spec.ts";
import { localFile } from "./resolve.ts";

const live = "oldest-first-overwrite";
const played = "oldest-first";

/** Undefined: the engine learns it when FFmpeg opens the stream. A named pipe is taken for a file. */
export function defaultHandling(source: SourceSpec): HandlingMode | undefined {
  if (source["pace"] === "max") return played;
  if (source.type === "pattern" || source.type === "shm") return live;
  if (source.type !== "ffmpeg") return played;
  const file = localFile(source);
  // FFmpeg's numbered images have no end that it knows.
  if (file !== undefined) return /[*?{]/.test(file.path) ? undefined : played;
  return /^rtsps?:/i.test(String(source["url"])) ? live : undefined;
}
