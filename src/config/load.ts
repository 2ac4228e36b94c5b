/** Reads configuration files. */
import type { Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { dirname, resolve as resolvePath } from "node:path";
import { isScalar } from "yaml";
import { FramelaneError } from "../errors.ts";
import type { CudaConfiguration, ResolvedChannel } from "./channel-spec.ts";
import { checkChannels } from "./checks.ts";
import { type FieldSchema, withDefaults } from "./fields.ts";
import { checkPaths, type LookAt } from "./path-warnings.ts";
import { ConfigError, type ConfigProblem, inFileOrder } from "./problem.ts";
import { formatQuantity } from "./quantity.ts";
import { invalid, joinPath, Reader, unreadEntry } from "./reader.ts";
import { mergeDefaults, resolveChannel, resolveCuda, type Surroundings } from "./resolve.ts";
import { type ChannelFields, ConfigFile, Log, Server } from "./schema.ts";
import type { OperationEntry } from "./schema-operations.ts";
import type { Secret } from "./secrets.ts";
import { type IsSound, soundness } from "./soundness.ts";
import type { Environment } from "./substitute.ts";
import { parseYaml } from "./yaml-text.ts";

export { ConfigError, type ConfigProblem, formatProblem, inFileOrder } from "./problem.ts";

/** A configuration with every default filled in, quantities in base units, paths absolute. */
export interface Configuration {
  /** The file it came from. */
  readonly file: string;
  readonly server: {
    readonly host: string;
    /** 0: any free one. */
    readonly port: number;
    /** undefined: the service's own choice. */
    readonly runtimeDir?: string;
  };
  readonly engine: { readonly compileThreads: number };
  readonly devices: { readonly cuda: CudaConfiguration };
  readonly log: {
    readonly level: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
    readonly format: "auto" | "json" | "pretty";
  };
  readonly channels: readonly ResolvedChannel[];
  /** What references in its texts stand for, and what nothing may tell. */
  readonly secrets: readonly Secret[];
}

export interface ParseResult {
  /** Only where there is no problem. */
  readonly configuration?: Configuration;
  readonly problems: readonly ConfigProblem[];
  /** What may well be meant so, and yet hinders a channel now. */
  readonly warnings?: readonly ConfigProblem[];
}

/** The machine that a configuration is checked against; the running one by default. */
export interface Machine {
  readonly environment?: Environment;
  readonly cores?: number;
  readonly memoryBytes?: number;
  /** Files and directories that sources and sinks name are looked for only where this is given. */
  readonly lookAt?: LookAt;
}

/** Larger files are none that a person wrote for this program. */
const mostBytes = 8 * 2 ** 20;

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || (host.startsWith("127.") && isIPv4(host));

function readListen(listen: string, reader: Reader): { host: string; port: number } {
  const colon = listen.lastIndexOf(":");
  const [host, port] = [listen.slice(0, colon), Number(listen.slice(colon + 1))];
  if (!isLoopback(host)) {
    reader.problemAt(
      "server.listen",
      `expected an address of this machine itself (127.x.y.z, [::1] or localhost), for there is no authentication, found "${host}"`,
    );
  }
  if (port > 65_535) reader.problemAt("server.listen", `expected a port from 0 to 65535, found ${port}`);
  return { host: host.replace(/^\[|\]$/g, ""), port };
}

/** Lists that are wrong as a whole are unknown, not the defaults'. */
function withoutUnread(merged: ChannelFields, isSound: IsSound): ChannelFields {
  return {
    ...merged,
    ...(isSound("pipeline[]") ? {} : { pipeline: [unreadEntry as unknown as OperationEntry] }),
    ...(isSound("sinks[]") ? {} : { sinks: [] }),
  };
}

function resolveChannels(read: ConfigFile, reader: Reader, memory: number, surroundings: Surroundings) {
  const note = (path: string, message: string): void => reader.problemAt(path, message);
  const soundnessOf = soundness(reader.problems.filter(({ path }) => !reader.misnamed.has(path)));
  const entries = Object.entries(read.channels ?? {});
  const checked = entries.map(([name, channel]) => {
    const isSound = soundnessOf(name, channel);
    const merged = withoutUnread(mergeDefaults(read.defaults ?? {}, channel), isSound);
    return { channel: resolveChannel(name, merged, entries.length, surroundings), isSound };
  });
  checkChannels(checked, memory, note);
  return checked.map(({ channel }) => channel);
}

function resolveDevices(read: ConfigFile, reader: Reader, directory: string, environment: Environment) {
  const cuda = resolveCuda(read.devices, directory, environment["FRAMELANE_CUDA_LIBRARY"] || undefined);
  const { reserve, maxBytes = Infinity } = cuda.memory;
  if (reserve > maxBytes) {
    const [most, found] = [maxBytes, reserve].map((bytes) => formatQuantity("size", bytes));
    reader.problemAt("devices.cuda.memory.reserve", `expected at most max_bytes, ${most}, found ${found}`);
  }
  checkUse(read, cuda.use, reader);
  return cuda;
}

/** A channel on a GPU that is not to be used would never run. A number and a UUID may name the same GPU. */
function checkUse(read: ConfigFile, use: "auto" | "none" | readonly string[], reader: Reader): void {
  if (use === "auto" || reader.problems.some(({ path }) => path.startsWith("devices.cuda.use"))) return;
  const isNumber = (id: string): boolean => /^cuda:\d+$/.test(id);
  const may = `devices.cuda.use is ${use === "none" ? use : use.join(", ") || "empty"}`;
  const check = (path: string, device: string | undefined): void => {
    if (device === undefined || !device.startsWith("cuda:")) return;
    if (use !== "none" && use.some((id) => id === device || isNumber(id) !== isNumber(device))) return;
    reader.problemAt(`${path}.device`, `${may}, found ${device}`);
  };
  check("defaults", read.defaults?.device);
  for (const [name, { device }] of Object.entries(read.channels ?? {})) check(joinPath("channels", name), device);
}

/** A container may have less than the machine. */
const availableMemory = (): number => Math.min(totalmem(), process.constrainedMemory() || Infinity);

function resolveServer(read: ConfigFile, directory: string, reader: Reader): Configuration["server"] {
  const server = withDefaults(Server as FieldSchema, read.server ?? {});
  const runtimeDir = server["runtime_dir"];
  return {
    ...readListen(String(server["listen"]), reader),
    ...(typeof runtimeDir === "string" ? { runtimeDir: resolvePath(directory, runtimeDir) } : {}),
  };
}

/** What the reader gave, checked as a whole. Means something only where the reader then has no problem. */
function resolveFile(read: ConfigFile, file: string, reader: Reader, machine: Machine): Configuration {
  const cores = machine.cores ?? availableParallelism();
  const surroundings = { directory: dirname(resolvePath(file)), cores };
  return {
    file,
    server: resolveServer(read, surroundings.directory, reader),
    engine: { compileThreads: read.engine?.compile_threads ?? Math.min(4, Math.max(1, Math.floor(cores / 2))) },
    devices: { cuda: resolveDevices(read, reader, surroundings.directory, machine.environment ?? process.env) },
    log: withDefaults(Log as FieldSchema, read.log ?? {}) as unknown as Configuration["log"],
    channels: resolveChannels(read, reader, machine.memoryBytes ?? availableMemory(), surroundings),
    secrets: reader.secrets,
  };
}

type ReadText =
  | { readonly read: ConfigFile; readonly reader: Reader; readonly problems: readonly ConfigProblem[] }
  | { readonly read?: never; readonly reader?: never; readonly problems: readonly ConfigProblem[] };

/** Nothing is read where the text as a whole is none. */
function readText(text: string, file: string, { environment = process.env }: Machine): ReadText {
  const parsed = parseYaml(text, file);
  if ("problems" in parsed) return parsed;
  const reader = new Reader(parsed, environment);
  const { problems } = reader;
  const { root } = parsed;
  if (root === null || (isScalar(root) && root.value === null)) {
    reader.problemAt("", 'the file says nothing, expected a map with at least "channels"');
    return { problems };
  }
  const read = reader.read(root, ConfigFile as unknown as FieldSchema, "");
  return read === invalid || reader.gaveUp ? { problems } : { read: read as ConfigFile, reader, problems };
}

/** Never throws: whatever the text is, what is wrong with it comes back as problems. */
export function parseConfig(text: string, file: string, machine: Machine = {}): ParseResult {
  const { read, reader, problems } = readText(text, file, machine);
  if (read === undefined) return { problems };
  const configuration = resolveFile(read, file, reader, machine);
  const warnings = findWarnings(configuration, reader, machine);
  if (reader.problems.length > 0) return { problems: reader.problems.toSorted(inFileOrder), warnings };
  return { configuration, problems: [], warnings };
}

function findWarnings({ channels, server }: Configuration, reader: Reader, { lookAt }: Machine): ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  const warn = (path: string, message: string): void => {
    warnings.push(reader.describeAt(path, `warning: ${message}`));
  };
  if (lookAt !== undefined) checkPaths(channels, { lookAt, runtimeDir: server.runtimeDir, warn });
  return warnings.toSorted(inFileOrder);
}

async function readAtMost(handle: FileHandle, file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > mostBytes) throw new FramelaneError("config_unreadable", `${file}: larger than ${mostBytes} bytes`);
  }
  return Buffer.concat(chunks);
}

/** A pipe might never end, and to open a device may do something. */
function refuseSpecial(found: Stats, file: string): void {
  if (found.isFile() || found.isDirectory()) return;
  const what = found.isFIFO() ? "a pipe" : found.isSocket() ? "a socket" : "a device";
  throw new FramelaneError("config_unreadable", `${file}: it is ${what}, expected a file`);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "no permission to read it",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of the path is not a directory",
};

/** The text of a configuration file; a FramelaneError `config_unreadable` says why there is none. */
export async function readConfigText(file: string): Promise<string> {
  const absolute = resolvePath(file);
  let bytes: Buffer;
  let handle: FileHandle | undefined;
  try {
    refuseSpecial(await stat(file), absolute);
    handle = await open(file, "r");
    bytes = await readAtMost(handle, absolute);
  } catch (error) {
    const known = FramelaneError.from(error);
    if (known.code !== "internal") throw known;
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw new FramelaneError("config_unreadable", `${absolute}: ${reasons[code] ?? message}`, { cause: error });
  } finally {
    await handle?.close();
  }
  try {
    if (!bytes.includes(0)) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Falls through: not UTF-8.
  }
  throw new FramelaneError("config_unreadable", `${absolute}: not a text file in UTF-8`);
}

/** Throws a ConfigError with every problem, or a FramelaneError `config_unreadable`. */
export async function loadConfig(file: string, machine: Machine = {}): Promise<Configuration> {
  const { configuration, problems } = parseConfig(await readConfigText(file), file, machine);
  if (configuration === undefined) throw new ConfigError(problems);
  return configuration;
}

/** The server's part alone, for whoever looks for a service: what is wrong with the rest is no concern of theirs. */
export async function loadServer(file: string): Promise<Configuration["server"]> {
  const { read, reader, problems } = readText(await readConfigText(file), file, {});
  if (read === undefined) throw new ConfigError(problems);
  const server = resolveServer(read, dirname(resolvePath(file)), reader);
  const own = problems.filter(({ path }) => /^server\b/.test(path));
  if (own.length > 0) throw new ConfigError(own);
  return server;
}
