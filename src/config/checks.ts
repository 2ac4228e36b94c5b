/** What no single field can tell: fields that do not fit each other, channels that are in each other's way. */
import type { ResolvedChannel, SourceSpec } from "./channel-spec.ts";
import { type PixelFormatName, pixelFormats } from "./pixel-format.ts";
import { formatQuantity } from "./quantity.ts";
import { joinPath } from "./reader.ts";

export type NoteProblem = (path: string, message: string) => void;

/** What is known of frames before anything runs. */
interface Picture {
  readonly width?: number;
  readonly height?: number;
  /** At least 1 where unknown. */
  readonly samples: number;
  readonly bytesPerSample: number;
  /** Where the source says it. */
  readonly format?: string;
}

const sampleBytes: Readonly<Record<string, number>> = { uint8: 1, uint16: 2, float32: 4 };

function sourcePicture(source: SourceSpec): Picture {
  const format = typeof source["format"] === "string" ? pixelFormats[source["format"] as PixelFormatName] : undefined;
  const { width, height } = source;
  return {
    ...(typeof width === "number" && typeof height === "number" ? { width, height } : {}),
    samples: format?.samples ?? 1,
    bytesPerSample: format?.bytesPerSample ?? 1,
    ...(format === undefined ? {} : { format: String(source["format"]) }),
  };
}

const pictureBytes = ({ width = 0, height = 0, samples, bytesPerSample }: Picture): number =>
  width * height * samples * bytesPerSample;

function checkCrop(picture: Picture, area: Readonly<Record<string, unknown>>, path: string, note: NoteProblem): void {
  const sides = [
    ["x", "width", picture.width],
    ["y", "height", picture.height],
  ] as const;
  for (const [start, extent, available] of sides) {
    const end = Number(area[start]) + Number(area[extent]);
    if (available === undefined || end <= available) continue;
    note(
      `${path}.${extent}`,
      `${start} + ${extent} is ${end}, expected at most ${available}, the ${extent} of the frame there`,
    );
  }
}

/** Halide addresses a buffer with 32 bits, and what lies between operations is float32 (addon/halide/plan.cpp). */
const mostSamples = 536_870_911;

/** The picture, without its extent where that is too large: one problem says it. */
function checkSize(picture: Picture, path: string, note: NoteProblem): Picture {
  const { width = 0, height = 0, ...rest } = picture;
  const found = width * height * picture.samples;
  if (found <= mostSamples) return picture;
  note(path, `a frame of ${width}x${height} has ${found} samples there, expected at most ${mostSamples}`);
  return rest;
}

/** Follows the picture through the operations; gives the result's picture. */
function followPipeline(channel: ResolvedChannel, path: string, note: NoteProblem): Picture {
  let picture = checkSize(sourcePicture(channel.source), `${path}.source`, note);
  for (const [index, operation] of channel.pipeline.entries()) {
    const given = operation.arguments;
    if (operation.name === "crop") checkCrop(picture, given, `${path}.pipeline[${index}].crop`, note);
    if (operation.name === "crop" || operation.name === "resize") {
      const extent = { width: Number(given["width"]), height: Number(given["height"]) };
      picture = checkSize({ ...picture, ...extent }, `${path}.pipeline[${index}].${operation.name}`, note);
    }
    if (operation.name === "convert") {
      picture = { ...picture, bytesPerSample: sampleBytes[String(given["type"])] ?? picture.bytesPerSample };
    }
  }
  return picture;
}

/** The least that the channel needs, in bytes: its ring, and an output frame per lane. 0 where that is too much: it is said already. */
function checkMemory(
  channel: ResolvedChannel,
  output: Picture,
  path: string,
  machine: number,
  note: NoteProblem,
): number {
  const { inFlight, maxMemory = Infinity, pipeline } = channel;
  const { slots } = channel.ring;
  const [frame, result] = [pictureBytes(sourcePicture(channel.source)), pictureBytes(output)];
  const needed = frame * slots + result * inFlight;
  const bound = Math.min(maxMemory, machine);
  if (needed <= bound) return needed;
  const size = (bytes: number): string => formatQuantity("size", bytes);
  const owner = bound === maxMemory ? "max_memory is" : "this machine has";
  const resize = pipeline.findLastIndex(({ name }) => name === "resize");
  const atResize = resize >= 0 && result * inFlight > frame * slots;
  const what = `${slots} slots of ${size(frame)} and ${inFlight} result${inFlight === 1 ? "" : "s"} of ${size(result)}`;
  note(
    atResize ? `${path}.pipeline[${resize}].resize` : `${path}.source`,
    `needs at least ${size(needed)} of memory (${what}), ${owner} ${size(bound)}`,
  );
  return 0;
}

function checkRing(channel: ResolvedChannel, path: string, note: NoteProblem): void {
  const { inFlight } = channel;
  const { slots, handling } = channel.ring;
  const live = channel.source.type === "shm" || (channel.source.type === "pattern" && channel.source["pace"] !== "max");
  const effective = handling ?? (live ? "oldest-first-overwrite" : "oldest-first");
  // While every lane reads a slot, the source needs one to fill and, to overwrite, one more.
  const least = inFlight + (effective === "oldest-first" ? 1 : 2);
  if (slots >= least) return;
  const why = handling === undefined ? `${effective}, the default of this source` : effective;
  const lanes = inFlight === 1 ? "" : ` and in_flight ${inFlight}`;
  note(`${path}.ring.slots`, `expected ${least} or more for ${why}${lanes}, found ${slots}`);
}

/** One channel by itself. `machine` is this machine's memory in bytes; returns what of it the channel takes. */
function checkChannel(channel: ResolvedChannel, machine: number, note: NoteProblem): number {
  const path = joinPath("channels", channel.name);
  checkRing(channel, path, note);
  const { type, fps, pace } = channel.source;
  if (type === "pattern" && pace !== "max" && fps === undefined) {
    note(`${path}.source.fps`, "missing, expected a rate such as 30fps; only with `pace: max` there is none");
  }
  const output = followPipeline(channel, path, note);
  const memory = checkMemory(channel, output, path, machine, note);
  if (channel.onOverload === "drop-late" && channel.deadline === undefined) {
    note(`${path}.on_overload`, "drop-late needs a deadline, and the channel has none");
  }
  if (channel.retry.most < channel.retry.first) {
    const [first, most] = [channel.retry.first, channel.retry.most].map((value) => formatQuantity("duration", value));
    note(`${path}.retry.most`, `expected at least retry.first, ${first}, found ${most}`);
  }
  for (const [index, sink] of channel.sinks.entries()) {
    if (sink.type !== "file") continue;
    checkNumbering(String(sink["path"]), `${path}.sinks[${index}].file.path`, note);
    if (sink["format"] === "y4m") checkFilm(output, `${path}.sinks[${index}].file`, note);
  }
  return memory;
}

/** A y4m file holds 8 bits, grey or interleaved colour. */
function checkFilm({ format, bytesPerSample }: Picture, path: string, note: NoteProblem): void {
  if (format?.endsWith("_planar")) note(path, "a y4m file takes mono8 and rgb8, the channel's frames are planar");
  else if (bytesPerSample !== 1) {
    const bits = `the results have ${bytesPerSample * 8} bits`;
    note(path, `a y4m file takes mono8 and rgb8, ${bits}: end the pipeline with "- convert: { type: uint8 }"`);
  }
}

/** A file sink's path may number its files, once. */
function checkNumbering(text: string, path: string, note: NoteProblem): void {
  const numbers = text.replaceAll("%%", "").match(/%(\d|1\d|20|0\d|01\d|020)?[du]|%/g) ?? [];
  if (numbers.length > 1 || numbers[0] === "%") {
    note(path, 'expected at most one number such as %d or %06d in a path; a percent sign itself is "%%"');
  }
}

/** The kernel's bound for a socket's address, without the final NUL. */
const mostSocketBytes = 107;

/** Every channel by itself, and all among each other. `machine` is this machine's memory in bytes. */
export function checkChannels(channels: readonly ResolvedChannel[], machine: number, note: NoteProblem): void {
  let together = 0;
  for (const channel of channels) together += checkChannel(channel, machine, note);
  if (together > machine) {
    const [needed, available] = [together, machine].map((bytes) => formatQuantity("size", bytes));
    note("channels", `need at least ${needed} of memory together, this machine has ${available}`);
  }
  checkOwners(channels, note);
}

/** Every file that is written and every socket has one owner. */
function checkOwners(channels: readonly ResolvedChannel[], note: NoteProblem): void {
  const owners = new Map<string, string>();
  const unfinished = new Map<string, string>();
  const own = (type: string, value: unknown, path: string): void => {
    if (typeof value !== "string") return;
    const bytes = Buffer.byteLength(value);
    if (type === "shm" && bytes > mostSocketBytes) {
      note(path, `expected a socket's path of at most ${mostSocketBytes} bytes, found ${bytes}`);
    }
    const other = owners.get(value);
    if (other === undefined) owners.set(value, path);
    else note(path, `${other} has the same path`);
  };
  const ownUnfinished = (value: string, path: string): void => {
    const other = unfinished.get(value) ?? owners.get(`${value}.part`);
    if (other !== undefined) note(path, `${other} is in its way: a file is NAME.part until it is complete`);
    unfinished.set(`${value}.part`, path);
  };
  for (const { name, source, sinks } of channels) {
    if (source.type === "shm") own("shm", source["path"], `${joinPath("channels", name)}.source.path`);
    for (const [index, { type, path }] of sinks.entries()) {
      const place = `${joinPath("channels", name)}.sinks[${index}].${type}.path`;
      own(type, path, place);
      if (type === "file") ownUnfinished(String(path), place);
    }
  }
}
