/** The sinks that a channel can list. */
import { type TObject, Type } from "typebox";
import { type FieldSchema, flag, integer, oneOf, quantity, socketPath } from "./fields.ts";

const strict = (description: string) => ({ additionalProperties: false, "x-keys": "field", description });

const every = Type.Optional(integer(1, 1_000_000_000, { default: 1, description: "Takes every n-th frame." }));
const queue = Type.Optional(integer(1, 1024, { default: 4, description: "Frames that may wait for the sink." }));
const onFull = Type.Optional(
  oneOf(["drop-newest", "drop-oldest", "wait"], {
    "x-default": "wait where the source has `pace: max`, else drop-newest",
    description: "What happens to a frame that finds the queue full. `wait` slows the channel down.",
  }),
);

export const sinkSchemas = {
  none: Type.Object({}, strict("Discards results without downloading them from the device.")),
  memory: Type.Object({}, strict("Downloads results and discards them: for measuring.")),
  file: Type.Object(
    {
      path: Type.String({
        pattern: "[^/]$",
        maxLength: 4000,
        "x-path": "numbered",
        description:
          "The file; it has this name once it is complete. With `%d` or `%06d` in it, one file per frame, numbered; a percent sign itself is `%%`.",
      }),
      every,
      format: Type.Optional(
        oneOf(["raw", "y4m"], {
          "x-default": "by the path's end: y4m, else raw",
          description: "`raw`: nothing but pixels. `y4m`: YUV4MPEG2, for results of mono8 and rgb8.",
        }),
      ),
      fps: Type.Optional(
        quantity("rate", 0.001, 100_000, {
          "x-default": "the source's over `every`, else 25fps",
          description: "The frame rate that a y4m file says it has.",
        }),
      ),
      sync: Type.Optional(
        flag({ default: false, description: "With numbered files: each is on the disk before it gets its name." }),
      ),
      queue,
      on_full: onFull,
    },
    strict("Writes results to a file."),
  ),
  shm: Type.Object(
    {
      path: socketPath({
        description: "The socket at which readers are met; `@name` is one without a file (abstract namespace).",
      }),
      every,
      slots: Type.Optional(integer(2, 256, { default: 6, description: "Frames that the shared ring holds." })),
      queue,
      on_full: onFull,
    },
    strict("Hands results to another process through shared memory; docs/shm-ring.md has the layout."),
  ),
} as const satisfies Record<string, TObject>;

/** A sink after reading. */
export interface SinkEntry {
  readonly name: keyof typeof sinkSchemas;
  readonly fields: Readonly<Record<string, number | string | boolean>>;
}

export const Sinks = Type.Unsafe<readonly SinkEntry[]>({
  type: "array",
  maxItems: 8,
  items: {
    anyOf: [
      {
        type: "object",
        properties: sinkSchemas as unknown as Record<string, FieldSchema>,
        additionalProperties: false,
        minProperties: 1,
        maxProperties: 1,
      },
      { type: "string", enum: ["none", "memory"] },
    ],
    "x-entry": "sink",
  },
  default: ["none"],
  description: "Who takes the results.",
});
