import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pixelFormats } from "../../../src/config/pixel-format.ts";

test("the pixel formats are those of the native side", () => {
  const text = readFileSync(new URL("../../../addon/core/format.cpp", import.meta.url), "utf8");
  const bytes: Readonly<Record<string, number>> = { uint8: 1, uint16: 2, float32: 4 };
  const rows = text.matchAll(/\{"(\w+)", SampleType::(\w+), (\d), Arrangement::\w+\}/g);
  const native = [...rows].map(([, name, type = "", samples]) => [
    name,
    { samples: Number(samples), bytesPerSample: bytes[type] },
  ]);
  assert.deepEqual(Object.entries(pixelFormats), native);
});
