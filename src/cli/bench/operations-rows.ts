/** What `framelane bench operations` writes: one row for each operation and pixel format. */
import { type Static, Type } from "typebox";
import { pixelFormatNames } from "../../config/pixel-format.ts";
import { amount, checked, count, deviceId, headFields, orNull, text } from "./fields.ts";

const measuredFields = {
  operation: Type.String({ minLength: 1, description: "With what of its arguments the time depends on." }),
  format: Type.Enum([...pixelFormatNames], { description: "Of the frames." }),
  width: count,
  height: count,
  kernels: orNull(Type.Integer({ minimum: 1, description: "Of a frame; null: on the CPU." })),
  frame_us: orNull(Type.Number({ minimum: 0, description: "Null: shorter than the clock tells." })),
  traffic_bytes: orNull(
    Type.Integer({
      minimum: 0,
      description: "What is read of the frame, and the result, once each; null: on the CPU.",
    }),
  ),
  stored_bytes: orNull(
    Type.Integer({
      minimum: 0,
      description: "What its kernels keep for each other in device memory; null: on the CPU.",
    }),
  ),
  bandwidth_fraction: orNull(
    Type.Number({ minimum: 0, description: "traffic_bytes by frame_us, of device_gbps; null: not known." }),
  ),
  traffic_fraction: orNull(
    Type.Number({ minimum: 0, description: "The same with stored_bytes written once and read once." }),
  ),
  compile_ms: Type.Number({ minimum: 0, description: "Beside as many others as compile_threads says." }),
};

const measuredRow = Type.Object(measuredFields, { additionalProperties: false });

const operationsRow = Type.Object(
  {
    ...measuredFields,
    reason: orNull(
      Type.String({
        minLength: 1,
        description: "Why bandwidth_fraction is below the goal; null: above it, or unknown.",
      }),
    ),
  },
  { additionalProperties: false },
);

const deviceFields = {
  device_gbps: orNull(
    Type.Number({ minimum: 0, description: "Copies within the device's memory, read and written; null: on the CPU." }),
  ),
  kernel_us: orNull(
    Type.Number({ minimum: 0, description: "What a kernel takes on next to no pixels; null: on the CPU." }),
  ),
  compile_threads: count,
};

const deviceLine = Type.Object(
  { mode: Type.Literal("device"), gpu: orNull(text), driver: orNull(text), ...deviceFields },
  { additionalProperties: false },
);

const operationsResult = Type.Object(
  {
    ...headFields,
    device: deviceId,
    threads: orNull(Type.Integer({ minimum: 1, description: "Of the CPU on one frame; null: on a GPU." })),
    seconds: amount,
    ...deviceFields,
    rows: Type.Array(operationsRow),
  },
  { additionalProperties: false },
);

export type MeasuredRow = Static<typeof measuredRow>;
export type OperationsRow = Static<typeof operationsRow>;
export type OperationsResult = Static<typeof operationsResult>;
export type DeviceLine = Static<typeof deviceLine>;
export const checkMeasuredRow = (value: unknown): MeasuredRow => checked(measuredRow, value, "A measured row");
export const checkDeviceLine = (value: unknown): DeviceLine => checked(deviceLine, value, "The device's measurement");
export const checkOperationsResult = (value: unknown): OperationsResult =>
  checked(operationsResult, value, "The result");
