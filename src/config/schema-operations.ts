/** The operations that a pipeline can list. The native side checks the same ranges again. */
import { type TObject, Type } from "typebox";
import { type FieldSchema, integer, level, number, numbers, oneOf } from "./fields.ts";
import { largestSide } from "./schema-sources.ts";

const strict = (description: string) => ({ additionalProperties: false, "x-keys": "argument", description });

const balance = (channel: string) =>
  Type.Optional(number(0, 100, { default: 1, description: `Factor of ${channel}.` }));

export const operationSchemas = {
  gain: Type.Object({ value: number(0, 1000, { description: "Factor." }) }, strict("Multiplies every sample.")),
  gamma: Type.Object(
    { value: number(0.05, 20, { description: "out = in^(1/value) in the nominal range." }) },
    strict("Brightens (above 1) or darkens (below 1) the middle tones."),
  ),
  black_level: Type.Object(
    { value: level({ description: "What is taken off: counts of the source's type, or a share of its range." }) },
    strict("Takes the same off every sample, as the level that a sensor gives in the dark."),
  ),
  white_balance: Type.Object(
    { red: balance("red"), green: balance("green"), blue: balance("blue") },
    strict("Multiplies each channel of a colour image by its factor."),
  ),
  color_matrix: Type.Object(
    {
      matrix: numbers(9, -100, 100, {
        description: "Row by row: red, green and blue of the result, each from red, green and blue.",
      }),
    },
    strict("Multiplies each pixel of a colour image by a matrix of three rows and columns."),
  ),
  threshold: Type.Object(
    { value: level({ description: "What is above it: counts of the source's type, or a share of its range." }) },
    strict("The whole range where a sample is above the value, 0 where it is not."),
  ),
  unsharp: Type.Object(
    {
      amount: number(0, 100, { description: "How much of the difference to the blurred picture is added." }),
      radius: Type.Optional(
        number(0.1, 20, { default: 1, description: "Standard deviation of the Gaussian blur, in pixels." }),
      ),
    },
    strict("Sharpens: adds the difference to a blurred copy. Borders are mirrored."),
  ),
  gaussian: Type.Object(
    { radius: number(0.1, 20, { description: "Standard deviation of the blur, in pixels." }) },
    strict("Blurs. Borders are mirrored."),
  ),
  median: Type.Object(
    {
      size: Type.Unsafe<number>({
        anyOf: [3, 5].map((size) => ({ type: "integer", minimum: size, maximum: size })),
        "x-expected": "3 or 5",
        description: "Columns and rows around a pixel, itself among them.",
      }),
    },
    strict("The median of the pixels around: single wrong ones go, edges stay. Borders are mirrored."),
  ),
  local_contrast: Type.Object(
    {
      gain: number(-1, 100, {
        description:
          "How much of the difference to the surroundings is added; 0 changes nothing, -1 leaves the surroundings alone.",
      }),
      levels: Type.Optional(
        integer(1, 8, { default: 3, description: "Levels of the pyramid: how far the surroundings reach." }),
      ),
      schedule: Type.Optional(
        oneOf(["fused", "stages"], {
          default: "fused",
          description: "`stages` keeps every stage in memory: slower, to measure with (R14 of the benchmarks).",
        }),
      ),
    },
    strict("Raises or lowers detail against its surroundings, a pyramid of halved pictures (Burt and Adelson, 1983)."),
  ),
  resize: Type.Object(
    {
      width: integer(1, largestSide, { description: "Pixels in a row of the result." }),
      height: integer(1, largestSide, { description: "Rows of the result." }),
      method: Type.Optional(
        oneOf(["nearest", "bilinear", "bicubic", "area"], {
          default: "bilinear",
          description: "Interpolation; `area` is the one to make pictures smaller.",
        }),
      ),
    },
    strict("Changes the size. A frame that is smaller than the largest gives a result that is smaller in proportion."),
  ),
  crop: Type.Object(
    {
      x: integer(0, largestSide - 1, { description: "First column taken." }),
      y: integer(0, largestSide - 1, { description: "First row taken." }),
      width: integer(1, largestSide, { description: "Columns taken." }),
      height: integer(1, largestSide, { description: "Rows taken." }),
    },
    strict("Takes a rectangle; the type stays as it is."),
  ),
  flip: Type.Object(
    {
      value: oneOf(["horizontal", "vertical"], {
        description: "`horizontal` exchanges left and right, `vertical` top and bottom.",
      }),
    },
    strict("Mirrors the image; the type stays as it is."),
  ),
  rotate: Type.Object(
    {
      value: Type.Unsafe<number>({
        type: "integer",
        minimum: 90,
        maximum: 270,
        multipleOf: 90,
        "x-expected": "90, 180 or 270",
        description: "Degrees, clockwise.",
      }),
    },
    strict("Turns the image; the type stays as it is."),
  ),
  convert: Type.Object(
    {
      type: oneOf(["uint8", "uint16", "float32"], {
        description: "Type of the samples; the nominal range is carried over, rounded and clipped.",
      }),
    },
    strict("Changes the type of the samples."),
  ),
} as const satisfies Record<string, TObject>;

/** Argument maps whose one argument is `value` may be written as that value alone. */
function argumentsOrValue(schema: TObject): FieldSchema {
  const names = Object.keys(schema.properties);
  if (names.length !== 1 || names[0] !== "value") return schema as FieldSchema;
  const { value } = schema.properties as Record<string, FieldSchema>;
  return { anyOf: [schema as FieldSchema, value as FieldSchema], "x-shorthand": true };
}

/** An operation after reading. */
export interface OperationEntry {
  readonly name: keyof typeof operationSchemas;
  readonly fields: Readonly<Record<string, number | string | readonly number[]>>;
}

export const Pipeline = Type.Unsafe<readonly OperationEntry[]>({
  type: "array",
  maxItems: 64,
  items: {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(operationSchemas).map(([name, schema]) => [name, argumentsOrValue(schema)]),
    ),
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    "x-entry": "operation",
  },
  default: [],
  description: "Operations in order; empty: frames go to the sinks as they came.",
});
