/** The rows of `framelane bench channels` for people. */
import type { ChannelsRow } from "./rows.ts";
import { textTable } from "./text-table.ts";

type Cell = (row: ChannelsRow, stock: ChannelsRow | undefined) => string | number | null;

const shown = (name: keyof ChannelsRow): Cell => {
  return (row) => row[name] as string | number | null;
};

const table = textTable<Parameters<Cell>>([
  ["WORKLOAD", 9, shown("workload")],
  ["SIZE", 9, shown("size")],
  ["MODE", 16, shown("mode")],
  ["DEVICE", 6, shown("device")],
  ["CHANNELS", 8, shown("channels")],
  ["THREADS", 7, shown("threads")],
  ["IN FLIGHT", 9, shown("in_flight")],
  ["WAIT", 8, shown("wait")],
  ["PACE", 6, (row) => row.pace_fps ?? "max"],
  ["STAGGER", 7, shown("stagger")],
  ["FPS", 9, shown("fps")],
  ["SPREAD", 6, ({ fps_runs: runs }) => (runs.length < 2 ? null : (Math.max(...runs) / Math.min(...runs)).toFixed(2))],
  ["x STOCK", 7, (row, stock) => (stock === undefined || stock.fps === 0 ? null : (row.fps / stock.fps).toFixed(2))],
  ["BUS %", 6, ({ pcie_fraction: fraction }) => (fraction === null ? null : (fraction * 100).toFixed(1))],
  ["P50 us", 9, shown("p50_us")],
  ["P99 us", 9, shown("p99_us")],
  ["P99.9 us", 9, shown("p999_us")],
  ["MAX us", 9, shown("max_us")],
  ["LOST", 6, shown("lost")],
  ["CORES", 6, shown("engine_cores")],
]);

export const tableHead = table.head;

/** `before`: the rows of the same run that came earlier; stock Halide's come first. */
export function tableRow(row: ChannelsRow, before: readonly ChannelsRow[]): string {
  const stock = [...before, row].find(({ mode, channels }) => mode === "stock" && channels === row.channels);
  return table.row(row, stock);
}
