/** What no single field can tell: fields that do not fit each other, channels that are in each other's way. */
import type { ResolvedChannel, SourceSpec } from "./channel-spec.ts";
import { defaultHandling } from "./handling.ts";
import { type PixelFormatName, pixelFormats } from "./pixel-format.ts";
import { formatQuantity } from "./quantity.ts";
import { joinPath } from "./reader.ts";
import type { IsSound } from "./soundness.ts";

export type NoteProblem = (path: string, message: string) => void;

export interface CheckedChannel {
  readonly channel: ResolvedChannel;
  /** What is not sound, or was not read, is neither looked at nor followed from. */
  readonly isSound: IsSound;
}

/** What is known of frames before anything runs. */
interface Picture {
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** At least 1 where unknown. */
  readonly samples: number;
  readonly bytesPerSample: number;
  /** Where the source says it. */
  readonly format?: string;
  /** Something on the way here is wrong: the picture may as well be larger. */
  readonly isDoubtful?: boolean;
}

const sampleBytes: Readonly<Record<string, number>> = { uint8: 1, uint16: 2, float32: 4 };

function sourcePicture(source: SourceSpec, isSound: IsSound): Picture {
  const named = isSound("source.type", "source.format") ? source["format"] : undefined;
  const format = typeof named === "string" ? pixelFormats[named as PixelFormatName] : undefined;
  const { width, height } = source;
  const parts = ["type", "width", "height", "format"].map((field) => `source.${field}`);
  return {
    ...(typeof width === "number" && typeof height === "number" ? { width, height } : {}),
    samples: format?.samples ?? 1,
    bytesPerSample: format?.bytesPerSample ?? 1,
    ...(format === undefined ? {} : { format: String(named) }),
    isDoubtful: !isSound(...parts),
  };
}

const pictureBytes = ({ width = 0, height = 0, samples, bytesPerSample }: Picture): number =>
  width * height * samples * bytesPerSample;

type Arguments = Readonly<Record<string, unknown>>;

function checkCrop(picture: Picture, area: Arguments, path: string, note: NoteProblem): void {
  const sides = [
    ["x", "width", picture.width],
    ["y", "height", picture.height],
  ] as const;
  for (const [start, extent, available] of sides) {
    const end = Number(area[start]) + Number(area[extent]);
    // An argument that is wrong is missing here.
    if (available === undefined || !(end > available)) continue;
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

const numberOr = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** What an operation makes of a picture; without a name it is one that was not understood. */
function pictureAfter(picture: Picture, name: string, given: Arguments, isSound: boolean): Picture {
  const isDoubtful = picture.isDoubtful === true || !isSound;
  if (name === "") return { samples: 1, bytesPerSample: 1, isDoubtful };
  if (name === "crop" || name === "resize") {
    return { ...picture, width: numberOr(given["width"]), height: numberOr(given["height"]), isDoubtful };
  }
  if (name !== "convert") return picture;
  const bytesPerSample = isSound ? (sampleBytes[String(given["type"])] ?? picture.bytesPerSample) : 1;
  return { ...picture, bytesPerSample, isDoubtful };
}

/** Follows the picture through the operations; gives the result's picture. */
function followPipeline({ channel, isSound }: CheckedChannel, path: string, note: NoteProblem): Picture {
  let picture = checkSize(sourcePicture(channel.source, isSound), `${path}.source`, note);
  for (const [index, { name, arguments: given }] of channel.pipeline.entries()) {
    const place = `pipeline[${index}].${name}`;
    if (name === "crop") checkCrop(picture, given, `${path}.${place}`, note);
    picture = pictureAfter(picture, name, given, isSound(place));
    if (name === "crop" || name === "resize") picture = checkSize(picture, `${path}.${place}`, note);
  }
  return picture;
}

/** The least that the channel needs, in bytes: its ring, and an output frame per lane. 0 where that is too much, which is said then, or not known. */
function checkMemory(
  { channel, isSound }: CheckedChannel,
  output: Picture,
  path: string,
  machine: number,
  note: NoteProblem,
): number {
  const { inFlight, maxMemory = Infinity, pipeline } = channel;
  const { slots } = channel.ring;
  if (output.isDoubtful || !isSound("ring.slots", "in_flight", "max_memory")) return 0;
  const [frame, result] = [pictureBytes(sourcePicture(channel.source, isSound)), pictureBytes(output)];
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

function checkRing({ channel, isSound }: CheckedChannel, path: string, note: NoteProblem): void {
  const { inFlight } = channel;
  const { slots, handling } = channel.ring;
  if (!isSound("ring.slots", "ring.handling", "in_flight")) return;
  if (handling === undefined && !isSound("source.type", "source.pace")) return;
  const effective = handling ?? defaultHandling(channel.source) ?? "oldest-first";
  // While every lane reads a slot, the source needs one to fill and, to overwrite, one more.
  const least = inFlight + (effective === "oldest-first" ? 1 : 2);
  if (slots >= least) return;
  const why = handling === undefined ? `${effective}, the default of this source` : effective;
  const lanes = inFlight === 1 ? "" : ` and in_flight ${inFlight}`;
  note(`${path}.ring.slots`, `expected ${least} or more for ${why}${lanes}, found ${slots}`);
}

function checkRetry({ channel, isSound }: CheckedChannel, path: string, note: NoteProblem): void {
  const { first, most } = channel.retry;
  if (most >= first || !isSound("retry.first", "retry.most")) return;
  const [expected, found] = [first, most].map((value) => formatQuantity("duration", value));
  note(`${path}.retry.most`, `expected at least retry.first, ${expected}, found ${found}`);
}

/** One channel by itself. `machine` is this machine's memory in bytes; returns what of it the channel takes. */
function checkChannel(checked: CheckedChannel, machine: number, note: NoteProblem): number {
  const { channel, isSound } = checked;
  const path = joinPath("channels", channel.name);
  checkRing(checked, path, note);
  const { type, fps, pace } = channel.source;
  if (type === "pattern" && pace !== "max" && fps === undefined && isSound("source.fps", "source.pace")) {
    note(`${path}.source.fps`, "missing, expected a rate such as 30fps; only with `pace: max` there is none");
  }
  const output = followPipeline(checked, path, note);
  const memory = checkMemory(checked, output, path, machine, note);
  if (channel.onOverload === "drop-late" && channel.deadline === undefined && isSound("on_overload", "deadline")) {
    note(`${path}.on_overload`, "drop-late needs a deadline, and the channel has none");
  }
  checkRetry(checked, path, note);
  for (const [index, sink] of channel.sinks.entries()) {
    if (sink.type !== "file") continue;
    const place = `sinks[${index}].file`;
    if (isSound(`${place}.path`)) checkNumbering(String(sink["path"]), `${path}.${place}.path`, note);
    const isFilm = sink["format"] === "y4m" && isSound(`${place}.path`, `${place}.format`);
    if (isFilm) checkFilm(output, `${path}.${place}`, note);
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
export function checkChannels(checked: readonly CheckedChannel[], machine: number, note: NoteProblem): void {
  let together = 0;
  for (const one of checked) together += checkChannel(one, machine, note);
  if (together > machine) {
    const [needed, available] = [together, machine].map((bytes) => formatQuantity("size", bytes));
    note("channels", `need at least ${needed} of memory together, this machine has ${available}`);
  }
  const channels = checked.map(({ channel }) => channel);
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
      if (type === "file" && typeof path === "string") ownUnfinished(path, place);
    }
  }
}
