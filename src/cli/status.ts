/** `framelane status`: the channels and devices of a running service as tables or as JSON. */
import { formatQuantity } from "../config/quantity.ts";
import type { ChannelReport, DeviceReport, ErrorReport } from "../engine/report.ts";
import { Command, paint, type Streams } from "./command.ts";
import type { Wanted } from "./service-address.ts";
import { defaultUrl, fetchList } from "./service-client.ts";

const milliseconds = (seconds: number | null): string => (seconds === null ? "-" : (seconds * 1000).toFixed(2));

/** "overwritten 3, ring_full 1, sink_failed 2"; "-" where nothing was lost. */
function losses({ frames: { dropped, lost }, sinks }: ChannelReport): string {
  const bySinks = {
    sink_dropped: sinks.reduce((total, sink) => total + sink.dropped, 0),
    sink_failed: sinks.reduce((total, sink) => total + sink.failed, 0),
  };
  const named = Object.entries({ ...dropped, ...lost, ...bySinks }).filter(([, count]) => count > 0);
  return named.length === 0 ? "-" : named.map(([reason, count]) => `${reason} ${count}`).join(", ");
}

/** What failed while a channel runs is no part of its state. */
function stateText({ state, reason, error }: ChannelReport): string {
  const why = state === "running" ? null : (error?.code ?? reason);
  return why === null || why === undefined ? state : `${state} (${why})`;
}

function cells(channel: ChannelReport): string[] {
  const { measured, expected } = channel.fps;
  const { p50, p99 } = channel.latency.window.total;
  return [
    channel.name,
    channel.replay.mode === "direct" ? `${channel.device} (direct)` : channel.device,
    stateText(channel),
    `${measured.toFixed(1)}/${expected === null ? "-" : expected.toFixed(1)}`,
    milliseconds(p50),
    milliseconds(p99),
    String(channel.frames.processed),
    losses(channel),
  ];
}

const titles = ["CHANNEL", "DEVICE", "STATE", "FPS", "P50 ms", "P99 ms", "FRAMES", "LOSSES"];
const numbers: ReadonlySet<number> = new Set([3, 4, 5, 6]);

/** Columns as wide as their widest cell; those of numbers to the right. */
function aligned(rows: readonly (readonly string[])[], right: ReadonlySet<number>): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        right.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}

export const table = (channels: readonly ChannelReport[]): string[] =>
  aligned([titles, ...channels.map(cells)], numbers);

const deviceTitles = ["DEVICE", "ENGINE", "CHANNELS", "IN USE", "CACHED", "BOUND", "NAME"];

const bytes = (value: number | null): string => (value === null ? "-" : formatQuantity("size", value));

function deviceCells({ id, name, engine, channels, gpu }: DeviceReport): string[] {
  const memory =
    gpu === null ? ["-", "-", "-"] : [gpu.memory.in_use, gpu.memory.cached, gpu.limits.max_bytes].map(bytes);
  return [id, engine?.state ?? "not used", String(channels.length), ...memory, name ?? "-"];
}

export const deviceTable = (devices: readonly DeviceReport[]): string[] =>
  aligned([deviceTitles, ...devices.map(deviceCells)], new Set([2, 3, 4, 5]));

const explained = ({ code, message }: ErrorReport): string => (message === "" ? code : `${message} (${code})`);

/** One line for each channel that is down and for each sink that fails, with what is known of the reason. */
export function troubles(channels: readonly ChannelReport[]): string[] {
  return channels.flatMap(({ name, state, reason, error, sinks }) => {
    const down = state === "backoff" || state === "faulted";
    const why = error === null ? reason : explained(error);
    const own = down ? [`${name}: ${why === null ? state : `${state}: ${why}`}`] : [];
    const failing = sinks.flatMap((sink, index) =>
      sink.error === null ? [] : [`${name}: sink ${index} (${sink.type}) fails: ${explained(sink.error)}`],
    );
    return [...own, ...failing];
  });
}

const colourOf = (channel: ChannelReport): "red" | "yellow" | "green" => {
  if (channel.state === "faulted" || channel.state === "backoff") return "red";
  return channel.state === "running" && losses(channel) === "-" ? "green" : "yellow";
};

async function status(wanted: Wanted, json: boolean, { stdout }: Streams): Promise<void> {
  const { serviceAddress } = await import("./service-address.ts");
  const address = await serviceAddress(wanted, process.env);
  const channels = await fetchList<ChannelReport>(address, "/api/v1/channels", "channels");
  const devices = await fetchList<DeviceReport>(address, "/api/v1/devices", "devices");
  if (json) {
    stdout.write(`${JSON.stringify({ channels, devices }, null, 2)}\n`);
    return;
  }
  const [head, ...lines] = table(channels);
  stdout.write(`${paint(stdout, "dim", head ?? "")}\n`);
  for (const [index, line] of lines.entries()) {
    const channel = channels[index];
    stdout.write(`${channel === undefined ? line : paint(stdout, colourOf(channel), line)}\n`);
  }
  const [deviceHead, ...deviceLines] = deviceTable(devices);
  stdout.write(`\n${paint(stdout, "dim", deviceHead ?? "")}\n${deviceLines.join("\n")}\n`);
  const told = troubles(channels);
  if (told.length > 0) stdout.write(`\n${told.join("\n")}\n`);
}

export const makeCommand = (streams: Streams): Command =>
  new Command("status")
    .description("shows the channels and devices of a running service")
    .argument("[config]", "the configuration it runs with, YAML: says where it answers")
    .option("--url <url>", `where it answers, without a configuration (default: $FRAMELANE_URL, else ${defaultUrl})`)
    .option("--json", "prints what /api/v1/channels and /api/v1/devices answer")
    .action((config: string | undefined, { url, json = false }: { url?: string; json?: boolean }) =>
      status({ config, url }, json, streams),
    );
