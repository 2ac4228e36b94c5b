/** Rows for people. */
import { bestTorch, type ChannelsRow } from "./rows.ts";
import { type Column, textTable } from "./text-table.ts";
import { isTorch } from "./workloads.ts";

type Row = readonly [row: ChannelsRow, before: readonly ChannelsRow[]];
type RowColumn = Column<Row>;

const shown = (name: keyof ChannelsRow) => (row: ChannelsRow) => row[name] as string | number | null;

/** How many of them the first users have. */
const manyImages = 100_000;

/** By the frames per second of what the row is measured against. */
const times = ({ fps }: ChannelsRow, other: ChannelsRow | undefined): string | null =>
  other === undefined || other.fps === 0 ? null : (fps / other.fps).toFixed(2);

const timesStock: RowColumn = [
  "x STOCK",
  7,
  (row, before) =>
    times(
      row,
      [...before, row].find(({ mode, channels }) => mode === "stock" && channels === row.channels),
    ),
];

const timesTorch: RowColumn = [
  "x TORCH",
  7,
  (row, before) => (isTorch(row.mode) ? null : times(row, bestTorch(before, row.channels))),
];

const minutes: RowColumn = ["MIN/100,000", 11, ({ fps }) => (fps === 0 ? null : (manyImages / fps / 60).toFixed(1))];

/** `rate`: what frames per second are called. Cells see the rows before theirs: those of others come first. */
const tableWith = (rate: string, modeWidth: number, more: RowColumn) =>
  textTable<Row>([
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
    [
      "SPREAD",
      6,
      ({ fps_runs: runs }) => (runs.length < 2 ? null : (Math.max(...runs) / Math.min(...runs)).toFixed(2)),
    ],
    more,
    ["BUS %", 6, ({ pcie_fraction: fraction }) => (fraction === null ? null : (fraction * 100).toFixed(1))],
    ["P50 us", 9, shown("p50_us")],
    ["P99 us", 9, shown("p99_us")],
    ["P99.9 us", 9, shown("p999_us")],
    ["MAX us", 9, shown("max_us")],
    ["LOST", 6, shown("lost")],
    ["CORES", 6, shown("engine_cores")],
  ]);
export const channelsTable = tableWith("FPS", 16, timesStock);
export const peersTable = tableWith("FPS", 24, timesTorch);
export const imagesTable = tableWith("IMAGES/S", 16, minutes);
export type RowsTable = typeof channelsTable;
