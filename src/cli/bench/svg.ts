/** What all plots are drawn with. */
import type { BenchHead } from "./head.ts";

/** Of a label, about. */
export const letterWidth = 8;

const escaped = (words: string): string => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
export const grouped = (value: number): string => value.toString().replace(/\B(?=(\d{3})+$)/g, ",");

export const text = (x: number, y: number, words: string, more = ""): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;

/** Lines of a scale from 0: at most eight, at 1, 2 or 5 times a power of ten. */
export function ticksUpTo(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1) / 8));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => most / size <= 8) ?? most;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}

/** What was measured on what, and below it how and when. */
export function titleLines(x: number, title: string, about: readonly string[], head: BenchHead): string[] {
  const { gpu, cpu, driver, commit, date } = head;
  const where = gpu === null ? cpu : `${gpu}, CUDA ${driver}`;
  const when = [date.slice(0, 10), `commit ${commit.slice(0, 12)}`];
  return [text(x, 34, `${title}: ${where}`, 'class="title"'), text(x, 58, [...about, ...when].join(" · "))];
}

export const document = (width: number, height: number, drawn: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    "<style>text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:18px;font-weight:600}",
    ".grid{stroke:#ddd;fill:none}</style>",
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
