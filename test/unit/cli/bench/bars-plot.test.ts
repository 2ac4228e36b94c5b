import assert from "node:assert/strict";
import { test } from "node:test";
import { barsPlot } from "../../../../src/cli/bench/bars-plot.ts";

const head = {
  machine: "2 cores",
  cpu: "a CPU",
  gpu: null,
  driver: null,
  commit: "0",
  date: "2026-12-03T00:00:00.000Z",
};
const plotOf = (...bars: { label: string; parts: { value: number; colour: string }[] }[]): string =>
  barsPlot({ head, title: "Time", about: ["a load"], unit: "us", groups: [{ title: "a group", bars }] });

const widths = (svg: string): number[] =>
  [...svg.matchAll(/<rect x="[\d.]+" y="\d+" width="([\d.]+)"/g)].map(([, width]) => Number(width));

test("bars are as long as their values", () => {
  const svg = plotOf(
    { label: "one", parts: [{ value: 100, colour: "#111" }] },
    { label: "two", parts: [{ value: 2500.4, colour: "#222" }] },
  );
  const [one = 0, two = 0] = widths(svg);
  assert.ok(Math.abs(two / one - 25.004) < 0.1, `${two} / ${one}`);
  for (const words of ["one", "two", "100", "2,500", "a group", "Time: a CPU", "a load"])
    assert.match(svg, new RegExp(`>${words}[< ]`));
});

test("a bar's parts follow one another, and their sum is said", () => {
  const svg = plotOf({
    label: "both",
    parts: [
      { value: 30.26, colour: "#111" },
      { value: 10, colour: "#222" },
    ],
  });
  const [first, second] = [...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)"/g)];
  assert.ok(Math.abs(Number(first?.[1]) + Number(first?.[2]) - Number(second?.[1])) < 0.2);
  assert.match(svg, />40\.3</);
});

test("a plot without a duration has bars of no length", () => {
  assert.deepEqual(widths(plotOf({ label: "none", parts: [{ value: 0, colour: "#111" }] })), [0]);
});
