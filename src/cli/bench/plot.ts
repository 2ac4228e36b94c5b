/** Frames per second by number of channels, as a picture: one line for each way of running them. */
import type { ChannelsResult, ChannelsRow } from "./rows.ts";
import { document, grouped, letterWidth, text, ticksUpTo, titleLines } from "./svg.ts";

const height = 540;
const area = { left: 78, right: 700, top: 84, bottom: 470 };
const colours: Readonly<Record<ChannelsRow["mode"], string>> = {
  stock: "#a63603",
  "stock-streams": "#e6550d",
  "stock-reuse": "#fd8d3c",
  cpu: "#636363",
  "framelane-direct": "#6baed6",
  "framelane-replay": "#08519c",
};

interface Series {
  readonly name: string;
  readonly colour: string;
  readonly dashed: boolean;
  /** `runs`: the same of all runs, of which `value` is the median. */
  readonly points: readonly { readonly channels: number; readonly value: number; readonly runs: readonly number[] }[];
}

/** One for each mode, and for each way of waiting and number of frames in flight where there are several. */
function seriesOf(rows: readonly ChannelsRow[]): Series[] {
  const own = rows.filter(({ mode }) => mode.startsWith("framelane"));
  const several = (name: "in_flight" | "wait"): boolean => new Set(own.map((row) => row[name])).size > 1;
  const nameOf = ({ mode, in_flight, wait }: ChannelsRow): string =>
    [
      mode,
      ...(mode.startsWith("framelane") && several("in_flight") ? [`${in_flight} in flight`] : []),
      ...(mode.startsWith("framelane") && several("wait") ? [wait] : []),
    ].join(", ");
  return [...new Set(rows.map(nameOf))].map((name) => {
    const of = rows.filter((row) => nameOf(row) === name);
    const points = of
      .map(({ channels, fps, fps_runs: runs }) => ({ channels, value: fps, runs }))
      .sort((a, b) => a.channels - b.channels);
    return {
      name,
      colour: colours[of[0]?.mode ?? "cpu"],
      dashed: of[0]?.wait === "spin" && several("wait"),
      points,
    };
  });
}

/** Labels one below the other: each at its line's end or, where that is taken, right below the one above. */
function labelRows(wanted: readonly number[]): number[] {
  const spacing = 17;
  const order = wanted.map((_, index) => index).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const rows: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    last = Math.max(last + spacing, wanted[index] ?? 0);
    rows[index] = last;
  }
  // What has been pushed out below moves up again, with what is in its way.
  let limit = area.bottom + 4;
  for (const index of order.reverse()) {
    rows[index] = Math.min(rows[index] ?? 0, limit);
    limit = (rows[index] ?? 0) - spacing;
  }
  return rows;
}

function head(result: ChannelsResult): string[] {
  const { pcie_both_gbps: bus, rows } = result;
  const [first] = rows;
  const paces = [...new Set(rows.map(({ pace_fps: pace }) => (pace === null ? "free-running" : `${pace} fps each`)))];
  const about = [
    `${first?.workload} ${first?.size}`,
    paces.join(" and "),
    ...(bus === null ? [] : [`bus ${bus.toFixed(1)} GB/s each way`]),
  ];
  return titleLines(area.left, "Frames per second by number of channels", about, result);
}

/** At the line's end, where the plot has stock Halide there, too. */
function timesStock(rows: readonly ChannelsRow[], last: Series["points"][number] | undefined): string {
  const stock = rows.find(({ mode, channels }) => mode === "stock" && channels === last?.channels);
  if (stock === undefined || last === undefined || stock.fps === 0 || stock.fps === last.value) return "";
  return ` (${(last.value / stock.fps).toFixed(1)} x stock)`;
}

/** What the bus carries, as frames per second; undefined: not measured. */
function busLimit({ pcie_both_gbps: bus, rows }: ChannelsResult): number | undefined {
  const [columns = 0, lines = 0] = (rows[0]?.size ?? "").split("x").map(Number);
  return bus === null || columns * lines === 0 ? undefined : (bus * 1e9) / (columns * lines);
}

interface Scales {
  x(channels: number): number;
  y(value: number): number;
}

function axes(channels: readonly number[], ticks: readonly number[], { x, y }: Scales): string[] {
  return [
    ...ticks.map((tick) => `<path class="grid" d="M${area.left} ${y(tick).toFixed(1)}H${area.right}"/>`),
    ...ticks.map((tick) => text(area.left - 10, y(tick) + 4, grouped(tick), 'text-anchor="end"')),
    ...channels.map((count) => text(x(count), area.bottom + 22, String(count), 'text-anchor="middle"')),
    text((area.left + area.right) / 2, area.bottom + 46, "channels", 'text-anchor="middle"'),
  ];
}

function drawn({ colour, dashed, points }: Series, { x, y }: Scales): string[] {
  const places = points.map(({ channels, value }) => `${x(channels).toFixed(1)} ${y(value).toFixed(1)}`);
  const dash = dashed ? ' stroke-dasharray="7 4"' : "";
  return [
    `<path d="M${places.join("L")}" fill="none" stroke="${colour}" stroke-width="2.2"${dash}/>`,
    ...points.map(({ channels, runs }) => {
      const [low, high] = [y(Math.min(...runs)), y(Math.max(...runs))];
      return `<path d="M${x(channels).toFixed(1)} ${low.toFixed(1)}V${high.toFixed(1)}" stroke="${colour}"/>`;
    }),
    ...places.map((place) => {
      const [cx, cy] = place.split(" ");
      return `<circle cx="${cx}" cy="${cy}" r="3.4" fill="${colour}"/>`;
    }),
  ];
}

export function channelsPlot(result: ChannelsResult): string {
  const series = seriesOf(result.rows);
  const limit = busLimit(result);
  const channels = [...new Set(result.rows.map((row) => row.channels))].sort((a, b) => a - b);
  const ticks = ticksUpTo(Math.max(limit ?? 0, ...result.rows.flatMap(({ fps_runs: runs }) => runs)));
  const most = ticks.at(-1) ?? 1;
  const scales: Scales = {
    x: (count) => area.left + ((channels.indexOf(count) + 0.5) * (area.right - area.left)) / channels.length,
    y: (value) => area.bottom - (value / most) * (area.bottom - area.top),
  };
  const ends = series.map(({ name, colour, points }) => {
    const last = points.at(-1);
    return { name: `${name}${timesStock(result.rows, last)}`, colour, y: scales.y(last?.value ?? 0) };
  });
  if (limit !== undefined) ends.push({ name: "the bus's limit", colour: "#333", y: scales.y(limit) });
  const width = area.right + 20 + letterWidth * Math.max(30, ...ends.map(({ name }) => name.length));
  const rows = labelRows(ends.map(({ y }) => y + 4));
  const limitLine = limit === undefined ? [] : [scales.y(limit).toFixed(1)];
  return document(width, height, [
    ...head(result),
    ...axes(channels, ticks, scales),
    ...limitLine.map((y) => `<path d="M${area.left} ${y}H${area.right}" stroke="#333" stroke-dasharray="2 4"/>`),
    ...series.flatMap((one) => drawn(one, scales)),
    ...ends.map(({ name, colour }, index) =>
      text(area.right + 8, rows[index] ?? 0, name, `style="fill:${colour};font-weight:600"`),
    ),
  ]);
}
