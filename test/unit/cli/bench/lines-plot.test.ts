import assert from "node:assert/strict";
import { test } from "node:test";
import { type Line, linesPlot } from "../../../../src/cli/bench/lines-plot.ts";

const head = {
  ...{ machine: "2 cores", cpu: "a CPU", gpu: "a GPU", driver: "13.0", commit: "0123456789abcdef" },
  date: "2026-12-03T00:00:00.000Z",
};

const plotOf = (lines: readonly Line[], logarithmic: boolean): string =>
  linesPlot({ head, title: "a title", about: [], places: "threads", lines, logarithmic });

const lineOf = (name: string, ...values: number[]): Line => ({
  name,
  colour: "#000",
  dashed: false,
  points: values.map((value, index) => ({ at: index + 1, value, runs: [value] })),
});

const heights = (svg: string): number[] => [...svg.matchAll(/cy="([\d.]+)"/g)].map(([, y]) => Number(y));

test("a logarithmic plot has equal steps for equal ratios", () => {
  const [one = 0, ten = 0, hundred = 0] = heights(plotOf([lineOf("a", 20, 200, 2000)], true));
  assert.ok(one > ten && ten > hundred);
  assert.ok(Math.abs(one - ten - (ten - hundred)) < 0.2, `${one}, ${ten}, ${hundred}`);
});

test("a logarithmic plot has a scale around all values", () => {
  const svg = plotOf([lineOf("a", 20), lineOf("b", 3000)], true);
  for (const tick of ["10", "100", "1,000", "10,000"]) assert.match(svg, new RegExp(`text-anchor="end">${tick}<`));
  // One decade at least.
  assert.match(plotOf([lineOf("a", 100)], true), /text-anchor="end">1,000</);
});

test("a linear plot begins at 0", () => {
  const [low = 0, high = 0] = heights(plotOf([lineOf("a", 0, 100)], false));
  assert.deepEqual([low, high], [470, 84]);
});
