/** The whole service: supervisor, HTTP, WebSocket, metrics, log, systemd. */
import { join } from "node:path";
import type { Configuration } from "../config/load.ts";
import { makeRedact } from "../config/secrets.ts";
import type { Engine, EngineOptions } from "../engine/engine.ts";
import type { Build } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import { checkHost, checkOrigin } from "../http/host-check.ts";
import { problemResponse } from "../http/problem.ts";
import { HttpServer } from "../http/server.ts";
import type { SystemAddon } from "../native/binding.ts";
import { Notifier } from "../systemd/notify.ts";
import type { Log } from "../telemetry/log.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { LiveServer } from "../ws/live-server.ts";
import type { FoundDevices } from "./device-discovery.ts";
import { EdgeLog } from "./edge-log.ts";
import { httpUrl, readInstance, removeInstance, writeInstance } from "./instance-file.ts";
import { absentGpus } from "./placement.ts";
import {
  chooseCacheDirectory,
  chooseRuntimeDirectory,
  leaveRuntimeDirectory,
  prepareRuntimeDirectory,
  type RuntimeDirectory,
} from "./runtime-directory.ts";
import { Supervisor } from "./supervisor.ts";

export interface ServiceOptions {
  readonly configuration: Configuration;
  readonly build: Build;
  readonly system: SystemAddon;
  readonly log: Log;
  readonly gpus: FoundDevices;
  readonly makeEngine: (options: EngineOptions) => Engine;
  readonly environment?: NodeJS.ProcessEnv;
}

const statusPeriodMs = 1000;

/** A directory of its own, which no other service of this machine uses. */
function takeRuntimeDirectory({ configuration, system, environment = process.env }: ServiceOptions): RuntimeDirectory {
  const uid = process.getuid?.() ?? 0;
  const path = chooseRuntimeDirectory(configuration.server.runtimeDir, environment, uid);
  const directory = prepareRuntimeDirectory(path, uid);
  if (!system.lockFile(join(path, "lock"))) {
    const found = readInstance(path);
    const who = found === undefined ? "" : ` (pid ${found.pid}, ${found.url})`;
    const help = "stop it, or give this one its own server.listen and server.runtime_dir";
    throw new FramelaneError("already_running", `Framelane already runs here${who}: ${help}.`);
  }
  // What an instance left that did not come to its end.
  removeInstance(path);
  return directory;
}

export class Service {
  /** Where HTTP answers. */
  url = "";
  readonly #configuration: Configuration;
  readonly #gpus: FoundDevices["devices"];
  readonly #directory: RuntimeDirectory;
  readonly #supervisor: Supervisor;
  readonly #edges: EdgeLog;
  readonly #http: HttpServer;
  readonly #live: LiveServer;
  readonly #notifier: Notifier;
  #statusTimer: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: ServiceOptions) {
    const { configuration, build, makeEngine, log, environment = process.env } = options;
    const directory = takeRuntimeDirectory(options);
    this.#configuration = configuration;
    this.#gpus = options.gpus.devices;
    const cacheDirectory = chooseCacheDirectory(environment);
    this.#directory = directory;
    const supervisor = new Supervisor({
      build,
      statisticsPath: join(directory.path, "statistics"),
      compileThreads: configuration.engine.compileThreads,
      channels: configuration.channels,
      cuda: configuration.devices.cuda,
      ...(cacheDirectory === undefined ? {} : { cacheDirectory }),
      gpus: options.gpus,
      redact: makeRedact(configuration.secrets),
      makeEngine,
    });
    this.#supervisor = supervisor;
    this.#edges = new EdgeLog(log, supervisor);
    const metrics = new Metrics(supervisor, { ...build, node: process.version });
    const onDefect = (error: FramelaneError) => log.error({ err: error.cause ?? error }, "request failed");
    this.#http = new HttpServer({ view: supervisor, control: supervisor, metrics: () => metrics.text(), onDefect });
    const check = (host: string | undefined, origin: string | undefined): void => {
      checkHost(host);
      checkOrigin(origin, host);
    };
    this.#live = new LiveServer({ view: supervisor, check, refusal: problemResponse });
    this.#live.attach(this.#http.server);
    const makesProgress = () => supervisor.makesProgress;
    this.#notifier = new Notifier({ environment, send: options.system.sendDatagram, makesProgress });
  }

  /** Listens before any engine starts, so that a taken port costs nothing. */
  async start(): Promise<void> {
    const { host, port } = this.#configuration.server;
    const bound = await this.#http.listen(host, port);
    this.url = httpUrl(host, bound);
    writeInstance(this.#directory.path, { pid: process.pid, url: this.url });
    const { channels, devices } = this.#configuration;
    const absent = this.#gpus.length > 0 ? absentGpus(devices.cuda.use, this.#gpus) : [];
    this.#edges.gpus(
      this.#supervisor.gpuProblem,
      absent,
      channels.some(({ device }) => device === "auto"),
    );
    this.#supervisor.start();
    this.#notifier.ready(this.#status());
    this.#statusTimer = setInterval(() => this.#notifier.status(this.#status()), statusPeriodMs);
  }

  /** HTTP answers until the engines are gone, so that whoever asks learns what is happening. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopOnce();
    return this.#stopped;
  }

  async #stopOnce(): Promise<void> {
    this.#notifier.stopping();
    clearInterval(this.#statusTimer);
    await this.#supervisor.stop();
    await this.#live.close();
    await this.#http.close();
    this.#edges.close();
    removeInstance(this.#directory.path);
    this.#supervisor.close();
    if (this.url === "") leaveRuntimeDirectory(this.#directory);
  }

  #status(): string {
    const states = new Map<string, number>();
    for (const { state } of this.#supervisor.channels()) states.set(state, (states.get(state) ?? 0) + 1);
    const parts = Array.from(states, ([state, count]) => `${count} ${state}`);
    return parts.length === 0 ? "no channels" : parts.join(", ");
  }
}
