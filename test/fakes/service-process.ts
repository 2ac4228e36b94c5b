/** A whole service in processes of its own, for end-to-end tests. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ChannelReport, DeviceReport, HealthReport } from "../../src/engine/report.ts";

const entry = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** The command line over the fake native engine, and the one that was built, over the addon. */
export const fakeEntry = entry("./framelane.ts");
export const realEntry = entry("../../dist/cli/main.js");

export interface ServiceSettings {
  readonly entry: string;
  /** The channels in YAML, indented by two. */
  readonly channels?: string;
  /** What stands before the channels. */
  readonly settings?: string;
  /** Instead of `channels`: a configuration file; its `server` is replaced. */
  readonly configuration?: URL;
  /** What somebody changed in it. */
  readonly edit?: (text: string) => string;
  readonly listen?: string;
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export const patternYaml = (...names: readonly string[]): string =>
  names.map((name) => `  ${name}: { source: { type: pattern, width: 64, height: 48, fps: 100 } }\n`).join("");

function configurationText({
  channels = "",
  settings = "",
  configuration,
  edit = (text) => text,
}: ServiceSettings): string {
  if (configuration === undefined) return `${settings}channels:\n${channels}`;
  return edit(readFileSync(configuration, "utf8")).replace(/^server:.*$/m, "");
}

export class ServiceProcess {
  readonly directory: string;
  /** Its configuration. */
  readonly file: string;
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  url = "";
  stdout = "";
  stderr = "";

  /** Resolves when the service has said where it answers. */
  static async start(settings: ServiceSettings): Promise<ServiceProcess> {
    const service = new ServiceProcess(settings);
    while (service.url === "") {
      const ended = await Promise.race([once(service.child.stdout as NodeJS.ReadableStream, "data"), service.exited]);
      service.url = /http:\/\/\S+?(?=\/)/.exec(service.stdout)?.[0] ?? "";
      if (service.url === "" && !Array.isArray(ended))
        assert.fail(`the service ended with ${ended}:\n${service.stderr}`);
    }
    return service;
  }

  /** Does not wait: for a service that is expected to end by itself. */
  constructor(settings: ServiceSettings) {
    const { entry: program, listen = "127.0.0.1:0", directory, environment = {} } = settings;
    this.directory = directory ?? mkdtempSync(join(tmpdir(), "framelane-e2e-"));
    this.file = join(this.directory, `framelane-${process.hrtime.bigint()}.yaml`);
    const runtime = join(this.directory, "runtime");
    writeFileSync(
      this.file,
      `server: { listen: "${listen}", runtime_dir: ${runtime} }\n${configurationText(settings)}`,
    );
    const loader = program.endsWith(".ts") ? ["--import", "tsx"] : [];
    this.child = spawn(process.execPath, [...loader, program, "run", this.file], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout?.on("data", (data) => {
      this.stdout += data;
    });
    this.child.stderr?.on("data", (data) => {
      this.stderr += data;
    });
    this.exited = once(this.child, "exit").then(([code]) => code);
  }

  async json<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path);
    return (await response.json()) as T;
  }

  async channels(): Promise<readonly ChannelReport[]> {
    return (await this.json<{ channels: ChannelReport[] }>("/api/v1/channels")).channels;
  }

  async device(id: string): Promise<DeviceReport> {
    const { devices } = await this.json<{ devices: DeviceReport[] }>("/api/v1/devices");
    const device = devices.find((one) => one.id === id);
    assert.ok(device, `no device ${id}`);
    return device;
  }

  health(): Promise<HealthReport> {
    return this.json<HealthReport>("/health");
  }

  async enginePid(): Promise<number> {
    const pid = (await this.health()).engines[0]?.pid;
    assert.ok(typeof pid === "number", "no engine runs");
    return pid;
  }

  /** Asks again and again until `met` says so; the answers in between are seen by it as well. */
  async until(what: string, met: (channels: readonly ChannelReport[]) => boolean, withinMs = 30_000): Promise<number> {
    const start = performance.now();
    while (!met(await this.channels())) {
      if (performance.now() - start > withinMs) assert.fail(`${what}: not within ${withinMs} ms\n${this.stderr}`);
      await delay(20);
    }
    return performance.now() - start;
  }

  allRunning(): Promise<number> {
    return this.until("all channels run", (channels) => channels.every(({ state }) => state === "running"));
  }

  async stop(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGINT");
    const code = await this.exited;
    rmSync(this.directory, { recursive: true, force: true });
    return code;
  }
}

export const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Every counter of a report, flat, by name. */
function countersOf({ frames, restarts, compilations }: ChannelReport): Record<string, number> {
  const { in_flight: _gauge, dropped, lost, ...plain } = frames;
  const named = (prefix: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]) => [`${prefix}.${name}`, count]);
  return Object.fromEntries([
    ...Object.entries(plain),
    ...named("dropped", dropped),
    ...named("lost", lost),
    ...named("restarts", restarts),
    ["compilations", compilations],
  ]);
}

/** Checks each report against the one before: exact sums, nothing backwards. */
export class CounterGuard {
  readonly #before = new Map<string, Record<string, number>>();
  reports = 0;

  check(channels: readonly ChannelReport[]): void {
    this.reports++;
    for (const channel of channels) {
      const { received, processed, dropped, in_flight } = channel.frames;
      assert.equal(received, processed + sumOf(dropped) + in_flight);
      assert.ok(in_flight >= 0, `${channel.name}: ${in_flight} frames in flight`);
      const now = countersOf(channel);
      for (const [name, count] of Object.entries(this.#before.get(channel.name) ?? {})) {
        assert.ok((now[name] ?? 0) >= count, `${channel.name}: ${name} went from ${count} to ${now[name]}`);
      }
      this.#before.set(channel.name, now);
    }
  }
}

/** Whether a process is there and has not ended: one that nobody has waited for yet has. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
