/** Where the service answers that somebody asks about. */
import { loadServer } from "../config/load.ts";
import { FramelaneError } from "../errors.ts";
import { httpUrl, type Instance, readInstance } from "../supervisor/instance-file.ts";
import { chooseRuntimeDirectory } from "../supervisor/runtime-directory.ts";
import { defaultUrl } from "./service-client.ts";

/** Each may be left out. */
export interface Wanted {
  /** A configuration that a service runs with. */
  readonly config?: string | undefined;
  readonly url?: string | undefined;
}

export interface Address {
  readonly url: string;
  /** What helps where nobody answers there, as a sentence; may be empty. */
  readonly help: () => string;
}

type Environment = Readonly<Record<string, string | undefined>>;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "EPERM";
  }
}

function findRunning(directory: string): Instance | undefined {
  const found = readInstance(directory);
  return found !== undefined && isAlive(found.pid) ? found : undefined;
}

function helpFor(url: string, directory: string, { config, url: given }: Wanted): string {
  const other = findRunning(directory);
  if (other !== undefined && other.url !== url)
    return `One runs at ${other.url} (pid ${other.pid}): --url ${other.url}`;
  if (config !== undefined || given !== undefined) return "";
  return "Where it answers elsewhere, say so with --url, or name its configuration: framelane status CONFIG";
}

/** A service that takes any free port tells which only in its runtime directory. */
function anyPort(config: string, directory: string): string {
  const found = findRunning(directory);
  if (found !== undefined) return found.url;
  throw new FramelaneError(
    "unreachable",
    `${config} takes any free port, and in ${directory} no service names its own.`,
  );
}

export async function serviceAddress(wanted: Wanted, environment: Environment): Promise<Address> {
  const { config, url: given } = wanted;
  const uid = process.getuid?.() ?? 0;
  if (given !== undefined && config !== undefined) {
    throw new FramelaneError("usage", "A service is found by --url or by its configuration, not by both.");
  }
  if (config !== undefined && /^https?:\/\//.test(config)) {
    throw new FramelaneError("usage", `An address goes with --url: --url ${config}`);
  }
  const server = config === undefined ? undefined : await loadServer(config);
  const directory = chooseRuntimeDirectory(server?.runtimeDir, environment, uid);
  let url = given ?? environment["FRAMELANE_URL"] ?? defaultUrl;
  if (config !== undefined && server !== undefined) {
    url = server.port === 0 ? anyPort(config, directory) : httpUrl(server.host, server.port);
  }
  if (!URL.canParse(url)) throw new FramelaneError("usage", `--url: "${url}" is no URL.`);
  return { url, help: () => helpFor(url, directory, wanted) };
}
