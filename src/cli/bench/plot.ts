/** Frames per second by number of channels or of frames in flight, as a picture: one line for each way of running them. */
import { type Line, type LinePoint, linesPlot } from "./lines-plot.ts";
import { bestTorch, type ChannelsResult, type ChannelsRow } from "./rows.ts";
import { frameBytes, isTorch, type WorkloadName } from "./workloads.ts";

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

interface Point extends LinePoint {
  readonly row: ChannelsRow;
}

interface Series extends Line {
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

const titleOf = { channels: "channels", in_flight: "frames in flight" } as const;

function aboutOf({ pcie_both_gbps: bus, peer, rows }: ChannelsResult): string[] {
  const [first] = rows;
  const paces = [...new Set(rows.map(({ pace_fps: pace }) => (pace === null ? "free-running" : `${pace} fps each`)))];
  return [
    `${first?.workload} ${first?.size}`,
    paces.join(" and "),
    ...(bus === null ? [] : [`bus ${bus.toFixed(1)} GB/s each way`]),
    ...(peer === undefined ? [] : [peer]),
  ];
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

export function channelsPlot(result: ChannelsResult, of: PlotOf = { by: "channels", counted: "Frames" }): string {
  const limit = busLimit(result);
  const series = seriesOf(result.rows, of.by);
  return linesPlot({
    head: result,
    title: `${of.counted} per second by number of ${titleOf[of.by]}`,
    about: aboutOf(result),
    places: titleOf[of.by],
    lines: series.map((one) => ({ ...one, name: `${one.name}${timesOther(result.rows, one.points.at(-1))}` })),
    limit: limit === undefined ? undefined : { name: "the bus's limit", value: limit },
  });
}
