/** The rows of `framelane bench latency` for people, as a table and as a picture. */
import { type Bar, barsPlot } from "./bars-plot.ts";
import type { LatencyResult, LatencyRow } from "./latency-rows.ts";
import { textTable } from "./text-table.ts";

type StageName = keyof LatencyRow["stages"];
const stage =
  (name: StageName, quantile: "p50_us" | "p99_us") =>
  ({ stages }: LatencyRow): number | null =>
    stages[name]?.[quantile] ?? null;

export const latencyTable = textTable<[LatencyRow]>([
  ["WAIT", 8, ({ wait }) => wait],
  ["FPS", 5, ({ fps }) => fps],
  ["FRAMES", 7, ({ frames }) => frames],
  ["LOST", 5, ({ lost }) => lost],
  ["P50 us", 8, ({ p50_us }) => p50_us],
  ["P99 us", 8, ({ p99_us }) => p99_us],
  ["P99.9 us", 8, ({ p999_us }) => p999_us],
  ["MAX us", 8, ({ max_us }) => max_us],
  ["WAIT P50", 8, stage("wait", "p50_us")],
  ["P99", 7, stage("wait", "p99_us")],
  ["UP P50", 7, stage("upload", "p50_us")],
  ["P99", 7, stage("upload", "p99_us")],
  ["KERNELS", 7, stage("compute", "p50_us")],
  ["P99", 7, stage("compute", "p99_us")],
  ["DOWN P50", 8, stage("download", "p50_us")],
  ["P99", 7, stage("download", "p99_us")],
  ["ALONE UP", 8, ({ alone_us: alone }) => alone?.upload ?? null],
  ["KERNELS", 7, ({ alone_us: alone }) => alone?.kernels ?? null],
  ["LAUNCHED", 8, ({ alone_us: alone }) => alone?.kernels_launched ?? null],
  ["DOWN", 7, ({ alone_us: alone }) => alone?.download ?? null],
  ["RATIO", 6, ({ ratio }) => ratio],
]);

const colours = { wait: "#bdbdbd", upload: "#9ecae1", compute: "#08519c", download: "#4292c6", whole: "#d94801" };

const aloneBar = ({ upload, kernels, kernels_launched, download }: NonNullable<LatencyRow["alone_us"]>): Bar => ({
  label: "medians",
  parts: [
    { value: upload, colour: colours.upload },
    { value: kernels ?? kernels_launched, colour: colours.compute },
    { value: download, colour: colours.download },
  ],
});

function barsOf(row: LatencyRow): Bar[] {
  const names: readonly StageName[] = ["wait", "upload", "compute", "download"];
  const whole = (label: string, value: number | null): Bar => ({
    label,
    parts: [{ value: value ?? 0, colour: colours.whole }],
  });
  return [
    {
      label: "stages, p50",
      parts: names.map((name) => ({ value: stage(name, "p50_us")(row) ?? 0, colour: colours[name] })),
    },
    whole("frame, p50", row.p50_us),
    whole("p99", row.p99_us),
    whole("p99.9", row.p999_us),
    whole("worst", row.max_us),
  ];
}

export function latencyPlot(result: LatencyResult): string {
  const [first] = result.rows;
  const alone = first?.alone_us ?? null;
  return barsPlot({
    head: result,
    title: "One frame's latency",
    about: [`${first?.workload} ${first?.size}`, `one channel at ${first?.fps} fps`, "one frame in flight"],
    unit: "us; a frame's stages: wait, upload, kernels, download",
    groups: [
      ...(alone === null ? [] : [{ title: "upload, kernels and download alone", bars: [aloneBar(alone)] }]),
      ...result.rows.map((row) => ({
        title: row.ratio === null ? `wait: ${row.wait}` : `wait: ${row.wait}, p99 is ${row.ratio} x alone`,
        bars: barsOf(row),
      })),
    ],
  });
}
