/** What `framelane bench latency` writes: one row for each way to wait. */
import { type Static, Type } from "typebox";
import { amount, checked, deviceId, frameSize, headFields, orNull, percentiles, wholeAmount } from "./fields.ts";
import { waits, workloads } from "./workloads.ts";

const stage = orNull(Type.Object({ p50_us: amount, p99_us: amount }, { additionalProperties: false }));

const latencyRow = Type.Object(
  {
    workload: Type.Enum(Object.keys(workloads)),
    size: frameSize,
    device: deviceId,
    wait: Type.Enum([...waits]),
    fps: Type.Number({ minimum: 0, description: "The pace of the one channel, one frame in flight." }),
    seconds: amount,
    frames: wholeAmount,
    lost: wholeAmount,
    ...percentiles,
    stages: Type.Object(
      { wait: stage, upload: stage, compute: stage, download: stage },
      { additionalProperties: false, description: "Null: none was measured." },
    ),
    alone_us: orNull(
      Type.Object(
        {
          upload: amount,
          kernels: orNull(Type.Number({ minimum: 0, description: "As one graph; null: the driver captured none." })),
          kernels_launched: Type.Number({ minimum: 0, description: "One by one, by stock Halide." }),
          download: amount,
        },
        { additionalProperties: false, description: "Medians by the GPU's clock, with nothing else on the GPU." },
      ),
    ),
    ratio: orNull(Type.Number({ minimum: 0, description: "p99_us by the sum of upload, kernels and download alone." })),
  },
  { additionalProperties: false },
);

const latencyResult = Type.Object(
  { ...headFields, rows: Type.Array(latencyRow, { minItems: 1 }) },
  { additionalProperties: false },
);

export type LatencyRow = Static<typeof latencyRow>;
export type LatencyResult = Static<typeof latencyResult>;
export const checkLatencyResult = (value: unknown): LatencyResult => checked(latencyResult, value, "The result");

const aloneLine = Type.Object(
  {
    mode: Type.Literal("alone"),
    upload_us: amount,
    kernels_us: orNull(amount),
    kernels_launched_us: amount,
    download_us: amount,
  },
  { additionalProperties: false },
);
export type AloneLine = Static<typeof aloneLine>;
export const checkAloneLine = (value: unknown): AloneLine => checked(aloneLine, value, "The steps' measurement");
