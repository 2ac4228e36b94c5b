/** `framelane run [CONFIG]`: the service itself. */
import type { Configuration } from "../config/load.ts";
import { FramelaneError } from "../errors.ts";
import type { SystemAddon } from "../native/binding.ts";
import { projectBuild } from "./build.ts";
import { Command, type Streams } from "./command.ts";
import { type EndWish, endWish } from "./end-wish.ts";
import { statusCommand } from "./status-command.ts";

export interface RunOptions {
  /** The engine's host process, where it is not the usual one. */
  readonly host?: URL;
}

/** An orderly stop takes less than two seconds, or it is none. */
const stopWithinMs = 1950;
/** Of these; the rest is for HTTP and WebSocket. */
const engineStopWithinMs = 1700;

function loadSystem(load: () => SystemAddon): SystemAddon {
  try {
    return load();
  } catch (thrown) {
    const [reason] = (thrown as Error).message.split("\n");
    throw new FramelaneError("addon_missing", `The system addon cannot be loaded: ${reason}`, { cause: thrown });
  }
}

async function makeService(configuration: Configuration, end: EndWish, { host }: RunOptions) {
  const { Service } = await import("../supervisor/service.ts");
  const { ForkedEngine } = await import("../engine/forked-engine.ts");
  const { loadSystemAddon } = await import("../native/binding.ts");
  const { makeLog } = await import("../telemetry/log.ts");
  const { discoverDevices } = await import("../supervisor/device-discovery.ts");
  const log = makeLog(configuration.log);
  const { use, library } = configuration.devices.cuda;
  const asked = new AbortController();
  void end.came.then(() => asked.abort());
  const wanted = use !== "none" && configuration.channels.some(({ device }) => device !== "cpu");
  return new Service({
    configuration,
    build: projectBuild(),
    system: loadSystem(loadSystemAddon),
    log,
    gpus: wanted ? await discoverDevices(library, asked.signal) : { devices: [] },
    makeEngine: (options) =>
      new ForkedEngine(options, { stopWithin: engineStopWithinMs, ...(host === undefined ? {} : { host }) }),
  });
}

async function run(file: string, { stdout }: Streams, options: RunOptions): Promise<void> {
  const end = endWish();
  const { loadConfig } = await import("../config/load.ts");
  const configuration = await loadConfig(file);
  const service = await makeService(configuration, end, options);
  try {
    // Who is asked to end before anything runs starts nothing.
    if (end.isThere()) return;
    await service.start();
    if (!end.isThere()) stdout.write(whereToLook(service.url, configuration.channels.length));
    await end.came;
  } finally {
    // Whatever hangs by then is not waited for; an engine that is left alone ends itself.
    setTimeout(() => process.exit(1), stopWithinMs).unref();
    await service.stop();
  }
}

const whereToLook = (
  url: string,
  channels: number,
): string => `Framelane runs ${channels} ${channels === 1 ? "channel" : "channels"}
  channels  ${url}/api/v1/channels
  metrics   ${url}/metrics
  live      ${url.replace("http", "ws")}/api/v1/live
  table     ${statusCommand(url, process.argv[1] ?? "", process.env, process.cwd())}
Ctrl-C stops it.
`;

export const makeRunCommand =
  (options: RunOptions) =>
  (streams: Streams): Command =>
    new Command("run")
      .description("runs the channels of a configuration until SIGINT or SIGTERM")
      .argument("[config]", "the configuration, YAML", "config/framelane.yaml")
      .action((file: string) => run(file, streams, options));

export const makeCommand = makeRunCommand({});
