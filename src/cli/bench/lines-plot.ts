/** Lines over a few places, as a picture; a line's name stands at its end. */
import type { BenchHead } from "./head.ts";
import { document, grouped, letterWidth, text, ticksUpTo, titleLines } from "./svg.ts";

const height = 540;
const area = { left: 78, right: 700, top: 84, bottom: 470 };

export interface LinePoint {
  readonly at: number;
  readonly value: number;
  /** The same of all runs, of which `value` is the median. */
  readonly runs: readonly number[];
}

export interface Line {
  readonly name: string;
  readonly colour: string;
  readonly dashed: boolean;
  readonly points: readonly LinePoint[];
}

export interface LinesPlot {
  readonly head: BenchHead;
  readonly title: string;
  readonly about: readonly string[];
  /** What `at` counts. */
  readonly places: string;
  readonly lines: readonly Line[];
  /** What no line can pass. */
  readonly limit?: { readonly name: string; readonly value: number } | undefined;
  /** By powers of ten; values are above 0. */
  readonly logarithmic?: boolean;
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

/** Lines of a scale by powers of ten, around these values. */
function powersAround(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

interface Scales {
  x(at: number): number;
  y(value: number): number;
}

function scalesOf(places: readonly number[], ticks: readonly number[], logarithmic: boolean): Scales {
  const on = logarithmic ? Math.log10 : (value: number): number => value;
  const [least, most] = [on(ticks[0] ?? 0), on(ticks.at(-1) ?? 1)];
  return {
    x: (count) => area.left + ((places.indexOf(count) + 0.5) * (area.right - area.left)) / places.length,
    y: (value) => area.bottom - ((on(value) - least) / (most - least)) * (area.bottom - area.top),
  };
}

function axes(title: string, places: readonly number[], ticks: readonly number[], { x, y }: Scales): string[] {
  return [
    ...ticks.map((tick) => `<path class="grid" d="M${area.left} ${y(tick).toFixed(1)}H${area.right}"/>`),
    ...ticks.map((tick) => text(area.left - 10, y(tick) + 4, grouped(tick), 'text-anchor="end"')),
    ...places.map((count) => text(x(count), area.bottom + 22, String(count), 'text-anchor="middle"')),
    text((area.left + area.right) / 2, area.bottom + 46, title, 'text-anchor="middle"'),
  ];
}

function drawn({ colour, dashed, points }: Line, { x, y }: Scales): string[] {
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

export function linesPlot({ head, title, about, places: counted, lines, limit, logarithmic = false }: LinesPlot) {
  const points = lines.flatMap((line) => line.points);
  const values = points.flatMap(({ runs }) => runs);
  const places = [...new Set(points.map(({ at }) => at))].sort((a, b) => a - b);
  const ticks = logarithmic ? powersAround(values) : ticksUpTo(Math.max(limit?.value ?? 0, ...values));
  const scales = scalesOf(places, ticks, logarithmic);
  const ends = lines.map(({ name, colour, points: own }) => ({ name, colour, y: scales.y(own.at(-1)?.value ?? 0) }));
  if (limit !== undefined) ends.push({ name: limit.name, colour: "#333", y: scales.y(limit.value) });
  const width = area.right + 20 + letterWidth * Math.max(30, ...ends.map(({ name }) => name.length));
  const rows = labelRows(ends.map(({ y }) => y + 4));
  const limitLine = limit === undefined ? [] : [scales.y(limit.value).toFixed(1)];
  return document(width, height, [
    ...titleLines(area.left, title, about, head),
    ...axes(counted, places, ticks, scales),
    ...limitLine.map((y) => `<path d="M${area.left} ${y}H${area.right}" stroke="#333" stroke-dasharray="2 4"/>`),
    ...lines.flatMap((one) => drawn(one, scales)),
    ...ends.map(({ name, colour }, index) =>
      text(area.right + 8, rows[index] ?? 0, name, `style="fill:${colour};font-weight:600"`),
    ),
  ]);
}
