/** The rows of `framelane bench neighbour` for people, as a table and as a picture. */
import { barsPlot } from "./bars-plot.ts";
import type { NeighbourResult, NeighbourRow } from "./neighbour-rows.ts";
import { textTable } from "./text-table.ts";

export const neighbourTable = textTable<[NeighbourRow]>([
  ["OPERATION", 11, ({ operation }) => operation],
  ["TIMES", 5, ({ times }) => times],
  ["CHANNELS", 8, ({ channels }) => channels],
  ["FPS", 5, ({ fps }) => fps],
  ["SECONDS", 8, ({ seconds }) => seconds.toFixed(1)],
  ["FRAMES", 8, ({ frames }) => frames],
  ["P50 us", 9, ({ p50_us }) => p50_us],
  ["P99 us", 9, ({ p99_us }) => p99_us],
  ["P99.9 us", 9, ({ p999_us }) => p999_us],
  ["MAX us", 9, ({ max_us }) => max_us],
  ["P99 x", 6, ({ p99_ratio }) => p99_ratio],
  ["GROWTH us", 9, ({ growth_us }) => growth_us],
  ["LOST", 6, ({ lost }) => lost],
  ["OTHER FPS", 9, ({ other_fps }) => other_fps],
  ["TOOK ms", 9, ({ operation_ms: took }) => took?.median ?? null],
  ["AT MOST", 9, ({ operation_ms: took }) => took?.max ?? null],
  ["ALLOCS", 6, ({ driver_calls: calls }) => calls?.alloc ?? null],
  ["FREES", 6, ({ driver_calls: calls }) => calls?.free ?? null],
  ["LOADS", 6, ({ driver_calls: calls }) => calls?.module_load ?? null],
]);

const shown = [
  ["p50", "p50_us", "#9ecae1"],
  ["p99", "p99_us", "#4292c6"],
  ["p99.9", "p999_us", "#08519c"],
  ["worst", "max_us", "#d94801"],
] as const;

const titleOf = ({ operation, times, lost }: NeighbourRow): string =>
  [times === 0 ? operation : `${operation}, ${times} times`, ...(lost === 0 ? [] : [`${lost} frames lost`])].join(", ");

export function neighbourPlot(result: NeighbourResult): string {
  const [first] = result.rows;
  return barsPlot({
    head: result,
    title: "Latency of the other channels during an operation",
    about: [`${first?.workload} ${first?.size}`, `${first?.channels} channels at ${first?.fps} fps`],
    unit: "from a frame's arrival to its result, in us",
    groups: result.rows.map((row) => ({
      title: titleOf(row),
      bars: shown.map(([label, field, colour]) => ({ label, parts: [{ value: row[field] ?? 0, colour }] })),
    })),
  });
}
