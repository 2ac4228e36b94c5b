/** The whole YAML file, as one TypeBox definition: types, JSON Schema and documents come from here. */
import { type Static, Type } from "typebox";
import { duration, integer, oneOf, quantity, wordOrInteger } from "./fields.ts";
import { Pipeline } from "./schema-operations.ts";
import { Sinks } from "./schema-sinks.ts";
import { Source } from "./schema-sources.ts";

const section = (description: string) => ({ additionalProperties: false, "x-keys": "field", description });

export const mostChannels = 1024;

export const Server = Type.Object(
  {
    listen: Type.Optional(
      Type.String({
        pattern: "^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+):[0-9]{1,5}$",
        "x-expected": "HOST:PORT such as 127.0.0.1:8600 or [::1]:8600",
        default: "127.0.0.1:8600",
        description:
          "Where HTTP and WebSocket are served. Only addresses of this machine itself (127.x.y.z, [::1], localhost), for there is no authentication. Port 0 takes any free one.",
      }),
    ),
    runtime_dir: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4000,
        "x-path": "file",
        "x-default": "systemd's RUNTIME_DIRECTORY, else a directory of the user",
        description: "Directory for the statistics block and the lock; best on a tmpfs.",
      }),
    ),
  },
  section("The side that people and programs talk to."),
);

export const Engine = Type.Object(
  {
    compile_threads: Type.Optional(
      integer(1, 16, {
        "x-default": "half the cores, 1 to 4",
        description: "Threads that compile pipelines, at low priority.",
      }),
    ),
  },
  section("The process that runs the channels."),
);

export const Log = Type.Object(
  {
    level: Type.Optional(
      oneOf(["trace", "debug", "info", "warn", "error", "fatal"], {
        default: "info",
        description: "The least important messages that are written.",
      }),
    ),
    format: Type.Optional(
      oneOf(["auto", "json", "pretty"], {
        default: "auto",
        description: "`auto`: pretty on a terminal, JSON elsewhere.",
      }),
    ),
  },
  section("Messages on standard error."),
);

export const Ring = Type.Object(
  {
    slots: Type.Optional(
      integer(2, 256, {
        default: 6,
        description: "Frames that the ring holds: at least `in_flight` + 1, in the overwriting modes `in_flight` + 2.",
      }),
    ),
    handling: Type.Optional(
      oneOf(["oldest-first", "oldest-first-overwrite", "newest-only"], {
        "x-default": "oldest-first-overwrite for live sources, oldest-first for files",
        description:
          "What a full ring does. `oldest-first`: every frame in order, new ones are lost. `oldest-first-overwrite`: the oldest waiting frame is dropped. `newest-only`: only the newest frame waits.",
      }),
    ),
  },
  section("The channel's fixed set of frame slots."),
);

export const Schedule = Type.Object(
  {
    cpus: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0, maximum: 4095 }), {
        maxItems: 256,
        default: [],
        "x-default": "any",
        description: "Cores that the channel's threads may use, from 0.",
      }),
    ),
    fifo: Type.Optional(
      integer(0, 99, {
        default: 0,
        description:
          "Real-time priority (SCHED_FIFO); 0: none. Needs the rtprio limit; without it the channel runs on and says so.",
      }),
    ),
    nice: Type.Optional(integer(-20, 19, { default: 0, description: "Nice value of the channel's threads." })),
  },
  section("How the system schedules the channel's threads."),
);

export const Retry = Type.Object(
  {
    first: Type.Optional(
      duration(0.001, 3600, { default: "200ms", description: "Wait before the first new attempt." }),
    ),
    most: Type.Optional(duration(0.001, 86_400, { default: "10s", description: "The longest wait." })),
  },
  section("Waits between attempts after a failure, doubling, jittered, for ever."),
);

const mostBytes = 2 ** 48;
const mostBuffers = 2 ** 24;
const gpuName = "(cuda:(0|[1-9][0-9]{0,2}|GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}))";

export const ChannelMemory = Type.Object(
  {
    max_bytes: Type.Optional(
      quantity("size", 2 ** 16, mostBytes, {
        "x-default": "the device's bound",
        description: "Most device memory, in use or kept for reuse.",
      }),
    ),
    max_buffers: Type.Optional(
      integer(1, mostBuffers, { "x-default": "the device's bound", description: "Most blocks of device memory." }),
    ),
  },
  section("What the channel may take of a GPU's memory."),
);

export const DeviceMemory = Type.Object(
  {
    reserve: Type.Optional(
      quantity("size", 0, mostBytes, {
        default: 0,
        description:
          "Taken when the engine starts, so that running channels need nothing from the driver, which would hold up every channel of the GPU. At most `max_bytes`.",
      }),
    ),
    max_bytes: Type.Optional(
      quantity("size", 2 ** 20, mostBytes, {
        "x-default": "no bound",
        description: "Most memory of each GPU, in use or kept for reuse. Can be changed while running.",
      }),
    ),
    max_buffers: Type.Optional(
      integer(1, mostBuffers, {
        "x-default": "no bound",
        description: "Most blocks of memory of each GPU. Can be changed while running.",
      }),
    ),
  },
  section("Memory of each GPU."),
);

export const Pinned = Type.Object(
  {
    reserve: Type.Optional(
      quantity("size", 0, mostBytes, {
        default: 0,
        description:
          "Page-locked host memory for each GPU, taken when the engine starts and lent to rings and outputs. What does not fit is page-locked when its channel starts.",
      }),
    ),
  },
  section("Host memory that a GPU copies from and to without a detour."),
);

export const Cuda = Type.Object(
  {
    use: Type.Optional(
      Type.Unsafe<"auto" | "none" | string[]>({
        anyOf: [
          { type: "string", enum: ["auto", "none"] },
          {
            type: "array",
            maxItems: 16,
            items: {
              type: "string",
              pattern: `^${gpuName}$`,
              "x-expected": "a GPU such as cuda:0 or cuda:GPU-0a1b2c3d-0000-0000-0000-000000000000",
            },
          },
        ],
        "x-expected": "auto, none or a list of GPUs such as [cuda:0, cuda:1]",
        default: "auto",
        description:
          "The GPUs that channels may run on. `auto`: all there are. `none`: no one, and the driver is not looked for. Of a list, those that there are.",
      }),
    ),
    memory: Type.Optional(DeviceMemory),
    pinned: Type.Optional(Pinned),
    gpu_timeout: Type.Optional(
      duration(0.01, 3600, {
        default: "5s",
        description: "A frame that the GPU has had for longer means that the GPU is lost: its engine is replaced.",
      }),
    ),
    library: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4000,
        "x-path": "file",
        "x-default": "FRAMELANE_CUDA_LIBRARY, else the system's libcuda.so.1",
        description: "The driver's library.",
      }),
    ),
  },
  section("GPUs of NVIDIA."),
);

export const Devices = Type.Object(
  { cuda: Type.Optional(Cuda) },
  section("What pipelines may run on besides the CPU."),
);

const channelFields = {
  device: Type.Optional(
    Type.String({
      pattern: `^(auto|cpu|${gpuName})$`,
      "x-expected": "auto, cpu or a GPU such as cuda:0",
      default: "auto",
      description:
        "Where the pipeline runs: `auto`, `cpu`, `cuda:N` or `cuda:UUID`. `auto`: on the least loaded GPU, on the CPU where there is none.",
    }),
  ),
  ring: Type.Optional(Ring),
  pipeline: Type.Optional(Pipeline),
  sinks: Type.Optional(Sinks),
  deadline: Type.Optional(
    duration(0.000_01, 3600, {
      "x-default": "none",
      description: "From a frame's arrival to its completion; misses are counted.",
    }),
  ),
  on_overload: Type.Optional(
    oneOf(["never", "drop-late", "degrade-others"], {
      default: "never",
      description:
        "When there is more to do than can be done. `drop-late`: a frame that has missed its deadline before it is begun is dropped. `degrade-others`: none is dropped, and on a GPU its copies go before those of other channels.",
    }),
  ),
  wait: Type.Optional(
    oneOf(["blocking", "spin"], {
      default: "blocking",
      description:
        "How the worker waits for the next frame, and on a GPU for its results. `spin`: awake while the GPU works, and around the time at which a frame is expected: 100 us at least, and as much more, up to half of the frame period, as late timers and the source's jitter need; where frames come irregularly, or no longer, as `blocking`.",
    }),
  ),
  stagger: Type.Optional(
    oneOf(["auto", "off"], {
      default: "auto",
      description:
        "When frames are due, for sources with a clock of their own (`pattern` and files, with `pace: realtime`). `auto`: channels of one rate are spread over the period, so that they do not ask for the device at one time. `off`: at whole multiples of the period on the monotonic clock, so at one time in all channels of one rate.",
    }),
  ),
  in_flight: Type.Optional(integer(1, 8, { default: 1, description: "Frames worked on at the same time (lanes)." })),
  threads: Type.Optional(
    wordOrInteger("auto", 1, 64, {
      default: "auto",
      description: "CPU threads that work on one frame. `auto`: cores / channels, 1 to 8.",
    }),
  ),
  max_memory: Type.Optional(
    quantity("size", 2 ** 16, 2 ** 48, {
      "x-default": "no bound",
      description: "Most memory for the channel's ring and output slots.",
    }),
  ),
  memory: Type.Optional(ChannelMemory),
  pinned: Type.Optional(
    oneOf(["preferred", "required"], {
      default: "preferred",
      description:
        "On a GPU: `preferred` copies frames through a page-locked buffer where their own memory cannot be page-locked; `required` makes that an error.",
    }),
  ),
  stall: Type.Optional(
    duration(0.01, 86_400, { default: "5s", description: "A live channel without a frame for so long is `stalled`." }),
  ),
  schedule: Type.Optional(Schedule),
  retry: Type.Optional(Retry),
  start: Type.Optional(
    Type.Boolean({ default: true, description: "`false`: the channel stays `idle` until it is started." }),
  ),
};

export const Defaults = Type.Object(
  channelFields,
  section("What every channel has unless it says otherwise. Maps are merged field by field, lists replaced."),
);

export const Channel = Type.Object(
  { source: Source, ...channelFields },
  section("One source, one ring, one pipeline, its sinks."),
);

const channelNamePattern = "^[a-z0-9][a-z0-9_.-]{0,62}$";

export const ConfigFile = Type.Object(
  {
    server: Type.Optional(Server),
    engine: Type.Optional(Engine),
    devices: Type.Optional(Devices),
    log: Type.Optional(Log),
    defaults: Type.Optional(Defaults),
    channels: Type.Unsafe<Record<string, Static<typeof Channel>>>({
      type: "object",
      patternProperties: { [channelNamePattern]: Channel },
      additionalProperties: false,
      minProperties: 1,
      maxProperties: mostChannels,
      "x-keys": "channel",
      "x-expected": "a map from channel names to channels",
      description:
        "The channels by name: lower-case letters, digits, `_`, `.` and `-`, at most 63 characters, the first a letter or digit.",
    }),
  },
  section("A Framelane configuration."),
);

export type ConfigFile = Static<typeof ConfigFile>;
export type ChannelFields = Static<typeof Channel>;
export type DefaultFields = Static<typeof Defaults>;
