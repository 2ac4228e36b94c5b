/** From what the file says to what the engine is told: defaults filled in, paths absolute. */
import { resolve as resolvePath } from "node:path";
import type { CudaConfiguration, DeviceLimits, ResolvedChannel, SinkSpec, SourceSpec } from "./channel-spec.ts";
import { defaultValue, type FieldSchema, withDefaults } from "./fields.ts";
import type { ChannelFields, ConfigFile, DefaultFields } from "./schema.ts";
import { Channel, Cuda, DeviceMemory, Pinned, Retry, Ring, Schedule } from "./schema.ts";
import { type OperationEntry, operationSchemas } from "./schema-operations.ts";
import { type SinkEntry, sinkSchemas } from "./schema-sinks.ts";
import { sourceSchemas } from "./schema-sources.ts";

/** What the configuration depends on besides its text. */
export interface Surroundings {
  /** The configuration file's directory: relative paths start there. */
  readonly directory: string;
  readonly cores: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** `rtsp://...`, `file:...`; everything else in a `url` is a path. */
const isAddress = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text);

/** The one file of this machine that a source reads, of one that is resolved; FFmpeg numbers files with "%". */
export function localFile(source: SourceSpec): { readonly field: string; readonly path: string } | undefined {
  const field = source.type === "ffmpeg" ? "url" : "path";
  const path = source[field];
  if (source.type === "shm" || typeof path !== "string") return undefined;
  if (field === "url" && (isAddress(path) || path.includes("%"))) return undefined;
  return { field, path };
}

function absolutePaths(schema: FieldSchema, fields: Fields, directory: string): Fields {
  const result: Record<string, unknown> = { ...fields };
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const value = result[name];
    if (field["x-path"] === undefined || typeof value !== "string") continue;
    const kept = field["x-path"] === "url" ? isAddress(value) : field["x-path"] === "socket" && value.startsWith("@");
    if (kept) continue;
    const start = field["x-path"] === "numbered" ? directory.replaceAll("%", "%%") : directory;
    result[name] = resolvePath(start, value);
  }
  return result;
}

/** A channel's fields over the defaults: maps field by field, everything else as a whole. */
export function mergeDefaults(defaults: DefaultFields, channel: ChannelFields): ChannelFields {
  return {
    ...defaults,
    ...channel,
    ring: { ...defaults.ring, ...channel.ring },
    schedule: { ...defaults.schedule, ...channel.schedule },
    retry: { ...defaults.retry, ...channel.retry },
    memory: { ...defaults.memory, ...channel.memory },
  };
}

function resolveSource(source: Partial<ChannelFields["source"]>, directory: string): SourceSpec {
  const schema = (sourceSchemas as readonly unknown[] as readonly FieldSchema[]).find(
    (one) => one.properties?.["type"]?.const === source.type,
  );
  return absolutePaths(schema ?? {}, withDefaults(schema ?? {}, source), directory) as unknown as SourceSpec;
}

/** As addon/io/sinks/file.cpp has it. */
const unknownFps = 25;

function resolveSink(sink: SinkEntry, source: SourceSpec, directory: string): SinkSpec {
  const schema = (sinkSchemas[sink.name] ?? {}) as unknown as FieldSchema;
  const { every, queue, on_full, ...own } = withDefaults(schema, sink.fields);
  if (sink.name === "file") {
    own["format"] ??= String(own["path"]).endsWith(".y4m") ? "y4m" : "raw";
    own["fps"] ??= typeof source["fps"] === "number" ? Math.max(0.001, source["fps"] / Number(every)) : unknownFps;
  }
  return {
    ...(absolutePaths(schema, own, directory) as Readonly<Record<string, string | number | boolean>>),
    type: sink.name,
    every: typeof every === "number" ? every : 1,
    queue: typeof queue === "number" ? queue : 4,
    onFull: (on_full ?? (source["pace"] === "max" ? "wait" : "drop-newest")) as SinkSpec["onFull"],
  };
}

const resolveOperation = ({ name, fields }: OperationEntry) => ({
  name,
  arguments: withDefaults((operationSchemas[name] ?? {}) as unknown as FieldSchema, fields) as OperationEntry["fields"],
});

const toLimits = ({ max_bytes, max_buffers }: { max_bytes?: number; max_buffers?: number }): DeviceLimits => ({
  ...(max_bytes === undefined ? {} : { maxBytes: max_bytes }),
  ...(max_buffers === undefined ? {} : { maxBuffers: max_buffers }),
});

export function resolveCuda(read: ConfigFile["devices"], directory: string, library?: string): CudaConfiguration {
  const { memory = {}, pinned = {}, ...given } = read?.cuda ?? {};
  const fields = absolutePaths(
    Cuda as unknown as FieldSchema,
    withDefaults(Cuda as unknown as FieldSchema, given),
    directory,
  );
  const path = fields["library"] ?? library;
  return {
    use: fields["use"] as CudaConfiguration["use"],
    ...(typeof path === "string" ? { library: path } : {}),
    memory: {
      reserve: Number(withDefaults(DeviceMemory as FieldSchema, memory)["reserve"]),
      ...toLimits(memory),
    },
    pinned: { reserve: Number(withDefaults(Pinned as FieldSchema, pinned)["reserve"]) },
    gpuTimeout: Number(fields["gpu_timeout"]),
  };
}

/** Every core gets work, and no channel more threads than help. */
const autoThreads = (cores: number, channels: number): number =>
  Math.min(8, Math.max(1, Math.floor(cores / Math.max(1, channels))));

export function resolveChannel(
  name: string,
  merged: ChannelFields,
  channels: number,
  { directory, cores }: Surroundings,
): ResolvedChannel {
  // Parts that are wrong may be missing; the result then is for checks of the others only.
  const source = resolveSource(merged.source ?? {}, directory);
  const sinks = merged.sinks?.length ? merged.sinks : [{ name: "none", fields: {} } as const];
  const builtIn = Channel.properties as unknown as Readonly<Record<string, FieldSchema>>;
  const fields = {
    ...Object.fromEntries(Object.keys(builtIn).map((key) => [key, defaultValue(builtIn[key] ?? {})])),
    ...merged,
  };
  return {
    name,
    device: fields.device as string,
    source,
    ring: withDefaults(Ring as FieldSchema, fields.ring ?? {}) as unknown as ResolvedChannel["ring"],
    pipeline: (merged.pipeline ?? []).map(resolveOperation),
    sinks: sinks.map((sink) => resolveSink(sink, source, directory)),
    ...(fields.deadline === undefined ? {} : { deadline: fields.deadline }),
    onOverload: fields.on_overload as ResolvedChannel["onOverload"],
    wait: fields.wait as ResolvedChannel["wait"],
    stagger: fields.stagger as ResolvedChannel["stagger"],
    inFlight: fields.in_flight as number,
    threads: typeof fields.threads === "number" ? fields.threads : autoThreads(cores, channels),
    ...(fields.max_memory === undefined ? {} : { maxMemory: fields.max_memory }),
    memory: toLimits(merged.memory ?? {}),
    pinned: fields.pinned as ResolvedChannel["pinned"],
    stall: fields.stall as number,
    schedule: withDefaults(Schedule as FieldSchema, fields.schedule ?? {}) as unknown as ResolvedChannel["schedule"],
    retry: withDefaults(Retry as FieldSchema, fields.retry ?? {}) as unknown as ResolvedChannel["retry"],
    start: fields.start as boolean,
  };
}
