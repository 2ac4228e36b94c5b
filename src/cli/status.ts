/** `framelane status`: the channels of a running service as a table or as JSON. */
import type { ChannelReport } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import { Command, paint, type Streams } from "./command.ts";

export const defaultUrl = "http://127.0.0.1:8600";
const answerWithinMs = 5000;

async function fetchChannels(url: string): Promise<readonly ChannelReport[]> {
  const target = new URL("/api/v1/channels", url);
  let response: Response;
  try {
    response = await fetch(target, { signal: AbortSignal.timeout(answerWithinMs) });
  } catch (thrown) {
    const cause = (thrown as { cause?: { code?: string } }).cause?.code ?? (thrown as Error).message;
    throw new FramelaneError("unreachable", `No Framelane answers at ${url}: ${cause}.`, { cause: thrown });
  }
  const body = (await response.json().catch(() => undefined)) as { channels?: readonly ChannelReport[] } | undefined;
  if (response.ok && Array.isArray(body?.channels)) return body.channels;
  throw new FramelaneError("unreachable", `${target} answers ${response.status}, and not as Framelane does.`);
}

const milliseconds = (seconds: number | null): string => (seconds === null ? "-" : (seconds * 1000).toFixed(2));

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/** "overwritten 3, ring_full 1"; "-" where nothing was lost. */
function losses({ frames: { dropped, lost } }: ChannelReport): string {
  const named = [...Object.entries(dropped), ...Object.entries(lost)].filter(([, count]) => count > 0);
  return named.length === 0 ? "-" : named.map(([reason, count]) => `${reason} ${count}`).join(", ");
}

function stateText({ state, reason, error }: ChannelReport): string {
  const why = error?.code ?? reason;
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

const colourOf = (channel: ChannelReport): "red" | "yellow" | "green" => {
  if (channel.state === "faulted" || channel.state === "backoff") return "red";
  return channel.state === "running" && sum(channel.frames.dropped) + sum(channel.frames.lost) === 0
    ? "green"
    : "yellow";
};

async function status(url: string, json: boolean, { stdout }: Streams): Promise<void> {
  if (!URL.canParse(url)) throw new FramelaneError("usage", `--url: "${url}" is no URL.`);
  const channels = await fetchChannels(url);
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
}

export const makeCommand = (streams: Streams): Command =>
  new Command("status")
    .description("shows the channels of a running service")
    .option("--url <url>", "where it answers", process.env["FRAMELANE_URL"] ?? defaultUrl)
    .option("--json", "prints what /api/v1/channels answers")
    .action(({ url, json = false }: { url: string; json?: boolean }) => status(url, json, streams));
