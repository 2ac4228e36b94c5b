/** Quantities with units: `16ms`, `8GiB`, `30fps`. A bare number is in the base unit. */

export type QuantityKind = "duration" | "size" | "rate";

interface QuantityTraits {
  /** As in "a duration". */
  readonly noun: string;
  readonly baseUnit: string;
  /** Factor to the base unit, smallest first. */
  readonly units: Readonly<Record<string, number>>;
  /** Units in which a value is shown; the others are only understood. */
  readonly shown: readonly string[];
}

const kinds: Readonly<Record<QuantityKind, QuantityTraits>> = {
  duration: {
    noun: "a duration",
    baseUnit: "s",
    units: { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 },
    shown: ["us", "ms", "s", "min", "h"],
  },
  size: {
    noun: "a size",
    baseUnit: "B",
    units: {
      B: 1,
      kB: 1e3,
      KiB: 2 ** 10,
      MB: 1e6,
      MiB: 2 ** 20,
      GB: 1e9,
      GiB: 2 ** 30,
      TB: 1e12,
      TiB: 2 ** 40,
    },
    shown: ["B", "KiB", "MiB", "GiB", "TiB"],
  },
  rate: {
    noun: "a rate",
    baseUnit: "fps",
    units: { fps: 1, Hz: 1, kHz: 1e3 },
    shown: ["fps"],
  },
};

export const quantityTraits = (kind: QuantityKind): QuantityTraits => kinds[kind];

/** A regular expression for JSON Schema: number, optional divisor ("30000/1001fps"), optional unit. */
export const quantityPattern = (kind: QuantityKind): string =>
  `^\\d+(\\.\\d+)?${kind === "rate" ? "(/\\d+)?" : ""} ?(${Object.keys(kinds[kind].units).join("|")})?$`;

const patterns: Readonly<Record<QuantityKind, RegExp>> = {
  duration: new RegExp(quantityPattern("duration")),
  size: new RegExp(quantityPattern("size")),
  rate: new RegExp(quantityPattern("rate")),
};

/** The quantity in base units; undefined when the text is not one. */
export function parseQuantity(kind: QuantityKind, text: string): number | undefined {
  if (text.length > 64 || !patterns[kind].test(text)) return undefined;
  const [, number = "", divisor = "1", unit = kinds[kind].baseUnit] =
    /^([\d.]+)(?:\/(\d+))? ?([A-Za-z]+)?$/.exec(text) ?? [];
  const factor = kinds[kind].units[unit];
  if (factor === undefined) return undefined;
  // Dividing by 1000 is exact where multiplying by 0.001 is not: 16ms is 0.016.
  const value = factor < 1 ? Number(number) / Math.round(1 / factor) : Number(number) * factor;
  const result = value / Number(divisor);
  return Number.isFinite(result) ? result : undefined;
}

/** The shortest exact form, for messages: 0.016 s is "16ms". */
export function formatQuantity(kind: QuantityKind, value: number): string {
  const { units, shown } = kinds[kind];
  if (value === 0) return `0${kinds[kind].baseUnit}`;
  for (const unit of [...shown].reverse()) {
    const scaled = value / (units[unit] ?? 1);
    if (scaled >= 1) return `${Number(scaled.toPrecision(4))}${unit}`;
  }
  return `${value}${kinds[kind].baseUnit}`;
}
