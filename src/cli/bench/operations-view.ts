/** The rows of `framelane bench operations` for people, as a table and as a picture. */
import { type Bar, type BarGroup, barsPlot } from "./bars-plot.ts";
import type { OperationsResult, OperationsRow } from "./operations-rows.ts";
import { textTable } from "./text-table.ts";

const percent = (fraction: number | null): string | null => (fraction === null ? null : (fraction * 100).toFixed(1));
const megabytes = (bytes: number | null): string | null => (bytes === null ? null : (bytes / 1e6).toFixed(1));

export const operationsTable = textTable<[OperationsRow]>([
  ["OPERATION", 30, ({ operation }) => operation],
  ["FORMAT", 13, ({ format }) => format],
  ["SIZE", 9, ({ width, height }) => `${width}x${height}`],
  ["KERNELS", 7, ({ kernels }) => kernels],
  ["FRAME us", 10, ({ frame_us: frame }) => frame],
  ["MOVED MB", 8, ({ traffic_bytes: bytes }) => megabytes(bytes)],
  ["STORED MB", 9, ({ stored_bytes: bytes }) => megabytes(bytes)],
  ["MEMORY %", 8, ({ bandwidth_fraction: fraction }) => percent(fraction)],
  ["+ STORED", 8, ({ traffic_fraction: fraction }) => percent(fraction)],
  ["COMPILE ms", 10, ({ compile_ms: compile }) => compile],
  ["REASON", 0, ({ reason }) => reason],
]);

const colours = { moved: "#08519c", stored: "#9ecae1" };

/** In percent of the device's bandwidth: what has to move, and behind it what is stored on the way. */
function shareBar({ format, frame_us, bandwidth_fraction, traffic_fraction }: OperationsRow): Bar {
  const moved = (bandwidth_fraction ?? 0) * 100;
  return {
    label: `${format}, ${frame_us ?? "-"} us`,
    parts: [
      { value: moved, colour: colours.moved },
      { value: (traffic_fraction ?? 0) * 100 - moved, colour: colours.stored },
    ],
  };
}

const timeBar = ({ format, frame_us: frame }: OperationsRow): Bar => ({
  label: format,
  parts: [{ value: (frame ?? 0) / 1000, colour: colours.moved }],
});

function groupsOf(rows: readonly OperationsRow[], bar: (row: OperationsRow) => Bar): BarGroup[] {
  const names = [...new Set(rows.map(({ operation }) => operation))];
  return names.map((title) => ({ title, bars: rows.filter(({ operation }) => operation === title).map(bar) }));
}

export function operationsPlot(result: OperationsResult): string {
  const { device_gbps: gbps, threads, rows } = result;
  const [first] = rows;
  const size = `${first?.width}x${first?.height}`;
  if (gbps === null) {
    return barsPlot({
      head: result,
      title: "A frame of each operation",
      about: [size, `${threads} ${threads === 1 ? "thread" : "threads"}`],
      unit: "ms",
      groups: groupsOf(rows, timeBar),
    });
  }
  return barsPlot({
    head: result,
    title: "Each operation's kernels",
    about: [size, `the device's memory: ${Math.round(gbps)} GB/s, read and written`],
    unit: "% of that; dark: the frame and the result, light: what kernels store for each other",
    groups: groupsOf(rows, shareBar),
  });
}
