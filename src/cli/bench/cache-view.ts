/** The rows of `framelane bench cache` for people, as a table and as a picture. */
import type { CacheResult, CacheRow } from "./cache-rows.ts";
import { type Line, linesPlot } from "./lines-plot.ts";
import { textTable } from "./text-table.ts";
import { type MemoryModeName, traces } from "./workloads.ts";

/** By the service's own row, which comes first. */
function timesOwn(row: CacheRow, before: readonly CacheRow[]): string | null {
  const { trace, threads } = row;
  const own = before.find((one) => one.mode === "framelane" && one.trace === trace && one.threads === threads);
  return own === undefined ? null : (row.pair_ns / own.pair_ns).toFixed(1);
}

const percent = (value: number | null, digits: number): string | null =>
  value === null ? null : (value * 100).toFixed(digits);

export const cacheTable = textTable<[row: CacheRow, before: readonly CacheRow[]]>([
  ["TRACE", 5, ({ trace }) => trace],
  ["THREADS", 7, ({ threads }) => threads],
  ["MODE", 11, ({ mode }) => mode],
  ["PAIR ns", 9, ({ pair_ns }) => pair_ns],
  ["x FRAMELANE", 11, timesOwn],
  ["SLOWEST ns", 10, ({ slowest_thread_ns }) => slowest_thread_ns],
  ["WALL ns", 10, ({ pair_wall_ns }) => pair_wall_ns],
  ["PAIRS", 10, ({ pairs }) => pairs],
  ["MISSES", 6, ({ misses }) => misses],
  ["HIT %", 9, ({ hit_rate }) => percent(hit_rate, 5)],
  ["WASTE %", 7, ({ waste }) => percent(waste, 1)],
  ["HOST ALLOCS", 11, ({ allocations }) => allocations],
]);

const colours: Readonly<Record<MemoryModeName, string>> = {
  framelane: "#08519c",
  "driver-pool": "#fd8d3c",
  driver: "#a63603",
};

/** A line for each kind of memory and trace; all but the first trace's are dashed. */
function linesOf(rows: readonly CacheRow[]): Line[] {
  const nameOf = ({ mode, trace }: CacheRow): string => `${mode}, ${trace}`;
  return [...new Set(rows.map(nameOf))].map((name) => {
    const own = rows.filter((row) => nameOf(row) === name);
    const [first] = own;
    return {
      name,
      colour: colours[first?.mode ?? "framelane"],
      dashed: first?.trace !== traces[0],
      points: own
        .map(({ threads, pair_ns }) => ({ at: threads, value: pair_ns, runs: [pair_ns] }))
        .sort((a, b) => a.at - b.at),
    };
  });
}

export const cachePlot = (result: CacheResult): string =>
  linesPlot({
    head: result,
    title: "Nanoseconds for a block of device memory",
    about: ["asked for and given back", "CPU time of a thread", "each on a stream of its own"],
    places: "threads",
    lines: linesOf(result.rows),
    logarithmic: true,
  });
