/** The operations that a pipeline can list. The native side checks the same ranges again. */
import { type TObject, Type } from "typebox";
import { type FieldSchema, integer, number, oneOf } from "./fields.ts";
import { largestSide } from "./schema-sources.ts";

const strict = (description: string) => ({ additionalProperties: false, "x-keys": "argument", description });

export const operationSchemas = {
  gain: Type.Object({ value: number(0, 1000, { description: "Factor." }) }, strict("Multiplies every sample.")),
  gamma: Type.Object(
    { value: number(0.05, 20, { description: "out = in^(1/value) in the nominal range." }) },
    strict("Brightens (above 1) or darkens (below 1) the middle tones."),
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
  readonly fields: Readonly<Record<string, number | string>>;
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
