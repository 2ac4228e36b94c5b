/** The sources that a channel can name. */
import { Type } from "typebox";
import { duration, filePath, flag, integer, number, oneOf, quantity, socketPath } from "./fields.ts";
import { pixelFormatNames } from "./pixel-format.ts";

const strict = (description: string) => ({ additionalProperties: false, "x-keys": "field", description });

/** Frames of a source; also the bounds of every picture's width and height. */
export const largestSide = 65_535;

const width = integer(1, largestSide, { description: "Pixels in a row." });
const height = integer(1, largestSide, {
  description: "Rows of a frame; the most that a frame has where its height varies.",
});
const fps = (text: { description: string; default?: string; "x-default"?: string }) =>
  quantity("rate", 0.001, 100_000, text);
const format = (text: { description: string; default?: string; "x-default"?: string }) => oneOf(pixelFormatNames, text);
const loop = flag({ default: false, description: "Starts again at the end, for ever." });
const pace = oneOf(["realtime", "max"], {
  default: "realtime",
  description: "`realtime`: at its frame rate. `max`: as fast as slots come free; nothing is lost then.",
});

const patternSource = Type.Object(
  {
    type: Type.Literal("pattern", { description: "Frames drawn by the program itself." }),
    width,
    height,
    fps: Type.Optional(fps({ "x-default": "required, but for `pace: max`", description: "Frames per second." })),
    format: Type.Optional(format({ default: "mono8", description: "Pixel format." })),
    pattern: Type.Optional(
      oneOf(["gradient", "checker", "noise", "bars"], { default: "gradient", description: "What is drawn." }),
    ),
    frames: Type.Optional(
      integer(1, Number.MAX_SAFE_INTEGER, {
        "x-default": "without end",
        description: "Ends after so many frames; the channel is `finished` then.",
      }),
    ),
    moving: Type.Optional(
      flag({ default: true, description: "The ring's slots show the picture shifted, so that it seems to move." }),
    ),
    phase: Type.Optional(
      number(0, 1, {
        "x-default": "as `stagger` says",
        description:
          "When frames are due, as a part of the period, in place of the channel's `stagger`: channels with one phase deliver at one time.",
      }),
    ),
    pace: Type.Optional(pace),
  },
  strict("A test picture, drawn once and then only stamped, so that it costs nothing."),
);

const rawSource = Type.Object(
  {
    type: Type.Literal("raw", { description: "A file of frames without headers." }),
    path: filePath({ description: "The file." }),
    width,
    height,
    format: Type.Optional(format({ default: "mono8", description: "Pixel format." })),
    fps: Type.Optional(fps({ default: "25fps", description: "Frames per second." })),
    loop: Type.Optional(loop),
    pace: Type.Optional(pace),
    header_bytes: Type.Optional(
      quantity("size", 0, 2 ** 40, { default: "0B", description: "Skipped once, at the start of the file." }),
    ),
  },
  strict("Frames from a file of nothing but pixels, little-endian, one frame after the other."),
);

const y4mSource = Type.Object(
  {
    type: Type.Literal("y4m", { description: "A YUV4MPEG2 file." }),
    path: filePath({ description: "The file." }),
    fps: Type.Optional(fps({ "x-default": "as the file says", description: "Frames per second." })),
    loop: Type.Optional(loop),
    pace: Type.Optional(pace),
    format: Type.Optional(
      oneOf(["mono8", "mono16", "rgb8"], {
        "x-default": "as the file is",
        description: "What frames are delivered as: what the file is, or `mono8` for the brightness of a colour file.",
      }),
    ),
  },
  strict("Frames from a YUV4MPEG2 file, as `ffmpeg` and film scanners write it."),
);

const shmSource = Type.Object(
  {
    type: Type.Literal("shm", { description: "Another process fills the ring." }),
    path: socketPath({
      description: "The socket at which producers are met; `@name` is one without a file (abstract namespace).",
    }),
    timeout: Type.Optional(
      duration(0.01, 3600, { default: "5s", description: "How long to wait for the producer before trying again." }),
    ),
  },
  strict("Frames that another process writes into shared memory; docs/shm-ring.md has the layout."),
);

/** FFmpeg's converter has no interleaved float32. */
const ffmpegFormats = pixelFormatNames.filter((name) => name !== "rgb32f");

const ffmpegSource = Type.Object(
  {
    type: Type.Literal("ffmpeg", { description: "Anything that FFmpeg opens." }),
    url: Type.String({
      minLength: 1,
      maxLength: 4000,
      "x-path": "url",
      description: "A film's path, or an address such as rtsp://camera/stream.",
    }),
    loop: Type.Optional(loop),
    pace: Type.Optional(pace),
    format: Type.Optional(
      oneOf(ffmpegFormats, {
        "x-default": "mono8 for grey video, else rgb8",
        description: "What frames are converted to.",
      }),
    ),
    threads: Type.Optional(integer(1, 16, { default: 2, description: "Threads that decode." })),
    timeout: Type.Optional(
      duration(0.01, 3600, { default: "10s", description: "How long opening or one read may take." }),
    ),
  },
  strict("Frames of any film, camera or stream that FFmpeg reads. Needs the FFmpeg libraries; see `framelane doctor`."),
);

export const sourceSchemas = [patternSource, rawSource, y4mSource, shmSource, ffmpegSource] as const;

export const Source = Type.Union([...sourceSchemas], {
  "x-tag": "type",
  description: "Where frames come from; `type` says which other fields there are.",
});
