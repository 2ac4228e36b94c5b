/** `framelane status`: the channels of a running service as a table or as JSON. */
import { once } from "node:events";
import { type IncomingMessage, get as plainGet } from "node:http";
import { get as secureGet } from "node:https";
import type { ChannelReport, ErrorReport } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import { Command, paint, type Streams } from "./command.ts";
import type { Address, Wanted } from "./service-address.ts";
import { defaultUrl } from "./status-command.ts";

const answerWithinMs = 5000;

/** What a person calls the ways not to get an answer. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to it",
  ENETUNREACH: "no route to it",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "no such host",
  ABORT_ERR: `no answer within ${answerWithinMs / 1000} s`,
};

/** Not fetch(): it refuses ports that a browser must not touch. */
async function ask(target: URL): Promise<{ status: number; text: string }> {
  const get = target.protocol === "https:" ? secureGet : plainGet;
  const request = get(target, { signal: AbortSignal.timeout(answerWithinMs) });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  return { status: response.statusCode ?? 0, text };
}

function parsed(text: string): { channels?: readonly ChannelReport[] } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function fetchChannels({ url, help }: Address): Promise<readonly ChannelReport[]> {
  const nobody = (why: string, cause?: unknown): FramelaneError =>
    new FramelaneError("unreachable", `${why} ${help()}`.trimEnd(), { cause });
  const target = new URL("/api/v1/channels", url);
  const answer = await ask(target).catch((thrown: NodeJS.ErrnoException) => {
    const reason = reasons[thrown.code ?? ""] ?? thrown.code ?? thrown.message;
    throw nobody(`No Framelane answers at ${url} (${reason}).`, thrown);
  });
  const body = answer.status === 200 ? parsed(answer.text) : undefined;
  if (Array.isArray(body?.channels)) return body.channels;
  throw nobody(`${target} answers ${answer.status}, and not as Framelane does.`);
}

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
    stateText(channel),
    `${measured.toFixed(1)}/${expected === null ? "-" : expected.toFixed(1)}`,
    milliseconds(p50),
    milliseconds(p99),
    String(channel.frames.processed),
    losses(channel),
  ];
}

const titles = ["CHANNEL", "STATE", "FPS", "P50 ms", "P99 ms", "FRAMES", "LOSSES"];
const numbers: ReadonlySet<number> = new Set([2, 3, 4, 5]);

/** Columns as wide as their widest cell; numbers to the right. */
export function table(channels: readonly ChannelReport[]): string[] {
  const rows = [titles, ...channels.map(cells)];
  const widths = titles.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        numbers.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}

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
  const channels = await fetchChannels(await serviceAddress(wanted, process.env));
  if (json) {
    stdout.write(`${JSON.stringify({ channels }, null, 2)}\n`);
    return;
  }
  const [head, ...lines] = table(channels);
  stdout.write(`${paint(stdout, "dim", head ?? "")}\n`);
  for (const [index, line] of lines.entries()) {
    const channel = channels[index];
    stdout.write(`${channel === undefined ? line : paint(stdout, colourOf(channel), line)}\n`);
  }
  const told = troubles(channels);
  if (told.length > 0) stdout.write(`\n${told.join("\n")}\n`);
}

export const makeCommand = (streams: Streams): Command =>
  new Command("status")
    .description("shows the channels of a running service")
    .argument("[config]", "the configuration it runs with, YAML: says where it answers")
    .option("--url <url>", `where it answers, without a configuration (default: $FRAMELANE_URL, else ${defaultUrl})`)
    .option("--json", "prints what /api/v1/channels answers")
    .action((config: string | undefined, { url, json = false }: { url?: string; json?: boolean }) =>
      status({ config, url }, json, streams),
    );
