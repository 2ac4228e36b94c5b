/** Which parts of a channel are as the file means them: what is wrong somewhere hides no check of anything else. */
import type { ConfigProblem } from "./problem.ts";
import { joinPath } from "./reader.ts";
import type { ChannelFields } from "./schema.ts";

/**
 * Whether no problem is in, at or around any of these parts of a channel: `ring.slots`. `sinks[]` is the list as
 * such, whatever is wrong with its items.
 */
export type IsSound = (...parts: readonly string[]) => boolean;

const isIn = (place: string, part: string): boolean =>
  place.startsWith(part) && (place.length === part.length || /[.[]/.test(place.charAt(part.length)));

/** What a problem may have spoilt: the field, the one that was meant, or all where fields were to be merged in. */
function spoilt({ path, suggestion }: ConfigProblem): string[] {
  const around = path.slice(0, Math.max(0, path.lastIndexOf(".")));
  if (path.endsWith(".<<")) return [around];
  return suggestion === undefined ? [path] : [path, `${around}.${suggestion}`];
}

/** Maps that a channel's fields and the defaults' are merged in. */
const merged: ReadonlySet<string> = new Set(["ring", "schedule", "retry"]);

function isOwn(channel: Partial<ChannelFields>, place: string): boolean {
  const [field = "", inner = ""] = place.split(/[.[]/);
  const own = (channel as Readonly<Record<string, unknown>>)[field];
  if (!merged.has(field)) return own !== undefined;
  return (own as Readonly<Record<string, unknown>> | undefined)?.[inner] !== undefined;
}

/** `problems`: what the reader found; each channel has its own and those of the defaults that it takes over. */
export function soundness(problems: readonly ConfigProblem[]): (name: string, read: Partial<ChannelFields>) => IsSound {
  const places = problems.flatMap(spoilt);
  const below = (root: string): string[] =>
    places.filter((place) => isIn(place, root)).map((place) => place.slice(root.length + 1));
  const defaults = below("defaults");
  return (name, read) => {
    const own = [...below(joinPath("channels", name)), ...defaults.filter((place) => !isOwn(read, place))];
    const touches = (part: string): boolean =>
      own.some((place) => place === "" || isIn(place, part) || isIn(part, place));
    return (...parts) => !parts.some(touches);
  };
}
