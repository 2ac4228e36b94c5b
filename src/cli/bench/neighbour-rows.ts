/** What `framelane bench neighbour` writes: one row for each operation, and `idle` to compare them with. */
import { type Static, Type } from "typebox";
import { amount, checked, deviceId, frameSize, headFields, orNull, percentiles, wholeAmount } from "./fields.ts";
import { waits, workloads } from "./workloads.ts";

export const operationNames = ["add", "remove", "reconfigure", "replace", "limits"] as const;
export type OperationName = (typeof operationNames)[number];

/** Nothing is done meanwhile: nobody else runs; or one that wants more than there is. */
const stateNames = ["idle", "overload"] as const;

/** Calls of the driver that other channels may have to wait for; a compiled pipeline loads one module. */
export const heavyCalls = ["alloc", "free", "module_load", "device_sync"] as const;

const neighbourRow = Type.Object(
  {
    operation: Type.Enum([...stateNames, ...operationNames]),
    times: Type.Integer({ minimum: 0, description: "How often it was done; 0: nothing was done meanwhile." }),
    workload: Type.Enum(Object.keys(workloads)),
    size: frameSize,
    device: deviceId,
    channels: Type.Integer({ minimum: 1, description: "Watched; the one that the operation is done to is another." }),
    wait: Type.Enum([...waits]),
    fps: Type.Number({ minimum: 0, description: "Of each channel." }),
    seconds: Type.Number({ minimum: 0, description: "Length of the stretch that was watched." }),
    frames: Type.Integer({ minimum: 0, description: "Of the watched channels, as all that follows." }),
    ...percentiles,
    p99_ratio: orNull(Type.Number({ minimum: 0, description: "p99_us by that of idle." })),
    growth_us: orNull(Type.Number({ description: "max_us less that of idle." })),
    lost: wholeAmount,
    other_fps: orNull(Type.Number({ minimum: 0, description: "Of the channel that overloads the device." })),
    operation_ms: orNull(
      Type.Object({ median: amount, max: amount }, { additionalProperties: false, description: "It took so long." }),
    ),
    driver_calls: orNull(
      Type.Object(
        { alloc: wholeAmount, free: wholeAmount, module_load: wholeAmount, device_sync: wholeAmount },
        { additionalProperties: false, description: "Of the whole process; add and remove have theirs together." },
      ),
    ),
  },
  { additionalProperties: false },
);

const neighbourResult = Type.Object(
  { ...headFields, rows: Type.Array(neighbourRow, { minItems: 1 }) },
  { additionalProperties: false },
);

export type NeighbourRow = Static<typeof neighbourRow>;
export type NeighbourResult = Static<typeof neighbourResult>;

export const checkNeighbourResult = (value: unknown): NeighbourResult => checked(neighbourResult, value, "The result");
