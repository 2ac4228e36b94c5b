/** Which channel runs on which device: decided by the configuration and the GPUs alone, so that it is the same after every start. */
import type { ResolvedChannel } from "../config/channel-spec.ts";
import type { DeviceInfo } from "../engine/engine.ts";
import { FramelaneError } from "../errors.ts";
import type { FoundDevices } from "./device-discovery.ts";

/** What a channel asks of a device. */
export type Wish = Pick<ResolvedChannel, "name" | "device" | "source">;

/** Of a source that does not say its size or rate: a camera of two megapixels. */
const usual = { width: 1920, height: 1080, fps: 30 };

/** Pixels per second. */
export function loadOf({ source }: Pick<Wish, "source">): number {
  const value = (name: keyof typeof usual): number => {
    const given = source[name];
    return typeof given === "number" && given > 0 ? given : usual[name];
  };
  return value("width") * value("height") * value("fps");
}

export type Use = "auto" | "none" | readonly string[];

/** The GPUs that channels may use; entries of `use` that are not there are left out. */
export function usableGpus(use: Use, gpus: readonly DeviceInfo[]): readonly DeviceInfo[] {
  if (use === "none") return [];
  if (use === "auto") return gpus;
  return gpus.filter((gpu) => use.some((name) => isNamed(gpu, name)));
}

const isNamed = ({ id, uuid }: DeviceInfo, name: string): boolean => id === name || `cuda:${uuid}` === name;

/** Entries of `use` that are not there. */
export const absentGpus = (use: Use, gpus: readonly DeviceInfo[]): readonly string[] =>
  typeof use === "string" ? [] : use.filter((name) => !gpus.some((gpu) => isNamed(gpu, name)));

const idsOf = (gpus: readonly DeviceInfo[]): string => gpus.map(({ id }) => id).join(", ");

/** Why there is no GPU for channels; undefined: there is one, none is to be used, or none was looked for. */
export function problemOf(use: Use, { devices, problem }: FoundDevices): string | undefined {
  if (use === "none" || usableGpus(use, devices).length > 0) return undefined;
  if (devices.length === 0) return problem;
  return `devices.cuda.use names ${absentGpus(use, devices).join(", ")}, but there are ${idsOf(devices)}`;
}

/** A channel's device, or why it gets none. */
export type Place = string | FramelaneError;

function explicitPlace({ device }: Wish, gpus: readonly DeviceInfo[], problem: string | undefined): Place {
  if (device === "cpu") return "cpu";
  const found = gpus.find((gpu) => isNamed(gpu, device));
  if (found !== undefined) return found.id;
  const others = gpus.length === 0 ? (problem ?? "no GPU may be used") : `channels may use ${idsOf(gpus)}`;
  return new FramelaneError("unsupported", `There is no ${device}: ${others}.`);
}

/** The GPU with the least load; the first of several. undefined where there is none. */
export function leastLoaded(
  gpus: readonly { readonly id: string }[],
  loads: ReadonlyMap<string, number>,
): string | undefined {
  let best: string | undefined;
  for (const { id } of gpus) {
    if (best === undefined || (loads.get(id) ?? 0) < (loads.get(best) ?? 0)) best = id;
  }
  return best;
}

/** Channels that name their device come first; the others follow in the file's order, each to the least loaded GPU. */
export function placeChannels(
  wishes: readonly Wish[],
  gpus: readonly DeviceInfo[],
  problem?: string,
): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  const loads = new Map<string, number>();
  const place = (wish: Wish, where: Place): void => {
    places.set(wish.name, where);
    if (typeof where === "string") loads.set(where, (loads.get(where) ?? 0) + loadOf(wish));
  };
  for (const wish of wishes) {
    if (wish.device !== "auto") place(wish, explicitPlace(wish, gpus, problem));
  }
  for (const wish of wishes) {
    if (wish.device === "auto") place(wish, leastLoaded(gpus, loads) ?? "cpu");
  }
  return places;
}
