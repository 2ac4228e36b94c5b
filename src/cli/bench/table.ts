/** Rows for people. */
import { bestTorch, type ChannelsRow } from "./rows.ts";
import { isTorch } from "./workloads.ts";

type Cell = (row: ChannelsRow, before: readonly ChannelsRow[]) => string | number | null;

const shown = (name: keyof ChannelsRow): Cell => {
  return (row) => row[name] as string | number | null;
};

/** How many of them the first users have. */
const manyImages = 100_000;

/** By the frames per second of what the row is measured against. */
const times = ({ fps }: ChannelsRow, other: ChannelsRow | undefined): string | null =>
  other === undefined || other.fps === 0 ? null : (fps / other.fps).toFixed(2);

/** Title, least width, value. */
type Column = readonly [string, number, Cell];
export type Columns = readonly Column[];

const timesStock: Column = [
  "x STOCK",
  7,
  (row, before) =>
    times(
      row,
      [...before, row].find(({ mode, channels }) => mode === "stock" && channels === row.channels),
    ),
];

const timesTorch: Column = [
  "x TORCH",
  7,
  (row, before) => (isTorch(row.mode) ? null : times(row, bestTorch(before, row.channels))),
];

const minutes: Column = ["MIN/100,000", 11, ({ fps }) => (fps === 0 ? null : (manyImages / fps / 60).toFixed(1))];

/** `rate`: what frames per second are called. */
const columnsWith = (rate: string, modeWidth: number, more: Column): Columns => [
  ["WORKLOAD", 9, shown("workload")],
  ["SIZE", 9, shown("size")],
  ["MODE", modeWidth, shown("mode")],
  ["DEVICE", 6, shown("device")],
  ["CHANNELS", 8, shown("channels")],
  ["THREADS", 7, shown("threads")],
  ["IN FLIGHT", 9, shown("in_flight")],
  ["WAIT", 8, shown("wait")],
  ["PACE", 6, (row) => row.pace_fps ?? "max"],
  ["STAGGER", 7, shown("stagger")],
  [rate, 9, shown("fps")],
  ["SPREAD", 6, ({ fps_runs: runs }) => (runs.length < 2 ? null : (Math.max(...runs) / Math.min(...runs)).toFixed(2))],
  more,
  ["BUS %", 6, ({ pcie_fraction: fraction }) => (fraction === null ? null : (fraction * 100).toFixed(1))],
  ["P50 us", 9, shown("p50_us")],
  ["P99 us", 9, shown("p99_us")],
  ["P99.9 us", 9, shown("p999_us")],
  ["MAX us", 9, shown("max_us")],
  ["LOST", 6, shown("lost")],
  ["CORES", 6, shown("engine_cores")],
];

export const channelsColumns = columnsWith("FPS", 16, timesStock);
export const peersColumns = columnsWith("FPS", 24, timesTorch);
export const imagesColumns = columnsWith("IMAGES/S", 16, minutes);

/** Each value below its title: rows appear one by one, long before the last is known. */
const line = (columns: Columns, cells: readonly string[]): string =>
  `${cells.map((cell, index) => cell.padStart(columns[index]?.[1] ?? 0)).join(" ")}\n`;

export const tableHead = (columns: Columns): string =>
  line(
    columns,
    columns.map(([title]) => title),
  );

/** `before`: the rows of the same run that came earlier; those of others come before the service's own. */
export const tableRow = (columns: Columns, row: ChannelsRow, before: readonly ChannelsRow[]): string =>
  line(
    columns,
    columns.map(([, , cell]) => String(cell(row, before) ?? "-")),
  );
