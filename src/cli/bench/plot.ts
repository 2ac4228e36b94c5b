/** Frames per second by number of channels or of frames in flight, as a picture: one line for each way of running them. */
import { bestTorch, type ChannelsResult, type ChannelsRow } from "./rows.ts";
import { document, grouped, letterWidth, text, ticksUpTo, titleLines } from "./svg.ts";
import { frameBytes, isTorch, type WorkloadName } from "./workloads.ts";

const height = 540;
const area = { left: 78, right: 700, top: 84, bottom: 470 };
const colours: Readonly<Record<ChannelsRow["mode"], string>> = {
  stock: "#a63603",
  "stock-streams": "#e6550d",
  "stock-reuse": "#fd8d3c",
  cpu: "#636363",
  "framelane-direct": "#6baed6",
  "framelane-replay": "#08519c",
  "torch-graph": "#fd8d3c",
  "torch-graph-loop": "#e6550d",
  "torch-compile-graph": "#a63603",
  "torch-compile-graph-loop": "#7f2704",
};

/** What a plot is of, by number of channels or of frames in flight; its title begins with what it counts. */
export interface PlotOf {
  readonly by: "channels" | "in_flight";
  readonly counted: string;
}

interface Point {
  readonly at: number;
  readonly value: number;
  readonly runs: readonly number[];
  readonly row: ChannelsRow;
}

interface Series {
  readonly name: string;
  readonly colour: string;
  readonly dashed: boolean;
  /** `runs`: the same of all runs, of which `value` is the median. */
  readonly points: readonly Point[];
}

/** One for each mode, and for each way of waiting and number of frames in flight where there are several. */
function seriesOf(rows: readonly ChannelsRow[], by: PlotOf["by"]): Series[] {
  const own = rows.filter(({ mode }) => !mode.startsWith("stock"));
  const several = (name: "in_flight" | "wait"): boolean => name !== by && new Set(own.map((row) => row[name])).size > 1;
  const nameOf = ({ mode, in_flight, wait }: ChannelsRow): string =>
    [
      mode,
      ...(!mode.startsWith("stock") && several("in_flight") ? [`${in_flight} in flight`] : []),
      ...(!mode.startsWith("stock") && several("wait") ? [wait] : []),
    ].join(", ");
  return [...new Set(rows.map(nameOf))].map((name) => {
    const of = rows.filter((row) => nameOf(row) === name);
    const points = of
      .map((row) => ({ at: row[by], value: row.fps, runs: row.fps_runs, row }))
      .sort((a, b) => a.at - b.at);
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

const titleOf = { channels: "channels", in_flight: "frames in flight" } as const;

function head(result: ChannelsResult, { by, counted }: PlotOf): string[] {
  const { pcie_both_gbps: bus, peer, rows } = result;
  const [first] = rows;
  const paces = [...new Set(rows.map(({ pace_fps: pace }) => (pace === null ? "free-running" : `${pace} fps each`)))];
  const about = [
    `${first?.workload} ${first?.size}`,
    paces.join(" and "),
    ...(bus === null ? [] : [`bus ${bus.toFixed(1)} GB/s each way`]),
    ...(peer === undefined ? [] : [peer]),
  ];
  return titleLines(area.left, `${counted} per second by number of ${titleOf[by]}`, about, result);
}

/** At the line's end, where the plot has there what it is measured against, too. */
function timesOther(rows: readonly ChannelsRow[], last: Point | undefined): string {
  if (last === undefined || isTorch(last.row.mode)) return "";
  const stock = rows.find(({ mode, channels }) => mode === "stock" && channels === last.row.channels);
  const other = stock ?? bestTorch(rows, last.row.channels);
  if (other === undefined || other.fps === 0 || other.fps === last.value) return "";
  const ratio = last.value / other.fps;
  return stock === undefined ? ` (${ratio.toFixed(2)} x torch)` : ` (${ratio.toFixed(1)} x stock)`;
}

/** What the bus carries, as frames per second; undefined: not measured. */
function busLimit({ pcie_both_gbps: bus, rows }: ChannelsResult): number | undefined {
  const [first] = rows;
  const [width = 0, height = 0] = (first?.size ?? "").split("x").map(Number);
  if (bus === null || first === undefined || width * height === 0) return undefined;
  return (bus * 1e9) / frameBytes(first.workload as WorkloadName, { width, height });
}

interface Scales {
  x(at: number): number;
  y(value: number): number;
}

function axes(by: PlotOf["by"], places: readonly number[], ticks: readonly number[], { x, y }: Scales): string[] {
  return [
    ...ticks.map((tick) => `<path class="grid" d="M${area.left} ${y(tick).toFixed(1)}H${area.right}"/>`),
    ...ticks.map((tick) => text(area.left - 10, y(tick) + 4, grouped(tick), 'text-anchor="end"')),
    ...places.map((count) => text(x(count), area.bottom + 22, String(count), 'text-anchor="middle"')),
    text((area.left + area.right) / 2, area.bottom + 46, titleOf[by], 'text-anchor="middle"'),
  ];
}

function drawn({ colour, dashed, points }: Series, { x, y }: Scales): string[] {
  const places = points.map(({ at, value }) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
  const dash = dashed ? ' stroke-dasharray="7 4"' : "";
  return [
    `<path d="M${places.join("L")}" fill="none" stroke="${colour}" stroke-width="2.2"${dash}/>`,
    ...points.map(({ at, runs }) => {
      const [low, high] = [y(Math.min(...runs)), y(Math.max(...runs))];
      return `<path d="M${x(at).toFixed(1)} ${low.toFixed(1)}V${high.toFixed(1)}" stroke="${colour}"/>`;
    }),
    ...places.map((place) => {
      const [cx, cy] = place.split(" ");
      return `<circle cx="${cx}" cy="${cy}" r="3.4" fill="${colour}"/>`;
    }),
  ];
}

export function channelsPlot(result: ChannelsResult, of: PlotOf = { by: "channels", counted: "Frames" }): string {
  const series = seriesOf(result.rows, of.by);
  const limit = busLimit(result);
  const places = [...new Set(result.rows.map((row) => row[of.by]))].sort((a, b) => a - b);
  const ticks = ticksUpTo(Math.max(limit ?? 0, ...result.rows.flatMap(({ fps_runs: runs }) => runs)));
  const most = ticks.at(-1) ?? 1;
  const scales: Scales = {
    x: (count) => area.left + ((places.indexOf(count) + 0.5) * (area.right - area.left)) / places.length,
    y: (value) => area.bottom - (value / most) * (area.bottom - area.top),
  };
  const ends = series.map(({ name, colour, points }) => {
    const last = points.at(-1);
    return { name: `${name}${timesOther(result.rows, last)}`, colour, y: scales.y(last?.value ?? 0) };
  });
  if (limit !== undefined) ends.push({ name: "the bus's limit", colour: "#333", y: scales.y(limit) });
  const width = area.right + 20 + letterWidth * Math.max(30, ...ends.map(({ name }) => name.length));
  const rows = labelRows(ends.map(({ y }) => y + 4));
  const limitLine = limit === undefined ? [] : [scales.y(limit).toFixed(1)];
  return document(width, height, [
    ...head(result, of),
    ...axes(of.by, places, ticks, scales),
    ...limitLine.map((y) => `<path d="M${area.left} ${y}H${area.right}" stroke="#333" stroke-dasharray="2 4"/>`),
    ...series.flatMap((one) => drawn(one, scales)),
    ...ends.map(({ name, colour }, index) =>
      text(area.right + 8, rows[index] ?? 0, name, `style="fill:${colour};font-weight:600"`),
    ),
  ]);
}
