/** Durations as lying bars, in groups one below the other. */
import type { BenchHead } from "./head.ts";
import { document, grouped, letterWidth, text, ticksUpTo, titleLines } from "./svg.ts";

export interface Bar {
  readonly label: string;
  /** One after the other. */
  readonly parts: readonly { readonly value: number; readonly colour: string }[];
}

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

export interface BarsPlot {
  readonly head: BenchHead;
  readonly title: string;
  readonly about: readonly string[];
  readonly unit: string;
  readonly groups: readonly BarGroup[];
}

const [top, barHeight, gap, right] = [92, 18, 22, 760];

const lengthOf = ({ parts }: Bar): number => parts.reduce((sum, { value }) => sum + value, 0);

function drawnBar(bar: Bar, y: number, x: (value: number) => number): string[] {
  let sum = 0;
  const parts = bar.parts.map(({ value, colour }) => {
    const [from, to] = [x(sum), x(sum + value)];
    sum += value;
    return `<rect x="${from.toFixed(1)}" y="${y}" width="${(to - from).toFixed(1)}" height="${barHeight - 3}" fill="${colour}"/>`;
  });
  const value = sum < 1000 ? (Math.round(sum * 10) / 10).toString() : grouped(Math.round(sum));
  return [
    text(x(0) - 8, y + barHeight - 6, bar.label, 'text-anchor="end"'),
    ...parts,
    text(x(sum) + 6, y + barHeight - 6, value),
  ];
}

export function barsPlot({ head, title, about, unit, groups }: BarsPlot): string {
  const bars = groups.flatMap((group) => group.bars);
  const left = 24 + letterWidth * Math.max(0, ...bars.map(({ label }) => label.length));
  const ticks = ticksUpTo(Math.max(0, ...bars.map(lengthOf)));
  // Without a duration there is one line only, at 0.
  const most = Math.max(1, ...ticks);
  const x = (value: number): number => left + (value / most) * (right - left);
  const drawn: string[] = [];
  let y = top;
  for (const group of groups) {
    drawn.push(text(left, y + 14, group.title, 'style="font-weight:600"'));
    y += gap;
    for (const bar of group.bars) {
      drawn.push(...drawnBar(bar, y, x));
      y += barHeight;
    }
    y += gap / 2;
  }
  return document(right + 90, y + 48, [
    ...titleLines(24, title, about, head),
    ...ticks.map((tick) => `<path class="grid" d="M${x(tick).toFixed(1)} ${top}V${y}"/>`),
    ...ticks.map((tick) => text(x(tick), y + 18, grouped(tick), 'text-anchor="middle"')),
    text((left + right) / 2, y + 38, unit, 'text-anchor="middle"'),
    ...drawn,
  ]);
}
