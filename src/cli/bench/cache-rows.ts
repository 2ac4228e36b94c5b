/** What `framelane bench cache` writes: one row for each trace, number of threads and kind of memory. */
import { type Static, Type } from "typebox";
import { checked, count, headFields, orNull, text, wholeAmount } from "./fields.ts";
import { memoryModes, traces } from "./workloads.ts";

const cacheRow = Type.Object(
  {
    trace: Type.Enum([...traces]),
    mode: Type.Enum([...memoryModes]),
    threads: count,
    pair_ns: Type.Number({ minimum: 0, description: "CPU time to ask for a block and to give it back." }),
    slowest_thread_ns: Type.Number({ minimum: 0, description: "The same of the slowest thread." }),
    pair_wall_ns: Type.Number({ minimum: 0, description: "The same by the clock on the wall." }),
    pairs: wholeAmount,
    misses: orNull(Type.Integer({ minimum: 0, description: "Null: the driver does not say." })),
    hit_rate: orNull(Type.Number({ minimum: 0, maximum: 1, description: "Since the first block." })),
    waste: orNull(
      Type.Number({
        minimum: -1,
        description: "What was taken from the driver by the most that was asked for, less 1.",
      }),
    ),
    allocations: orNull(Type.Integer({ minimum: 0, description: "Of host memory; null: the driver does not say." })),
  },
  { additionalProperties: false },
);

const cacheResult = Type.Object(
  {
    ...headFields,
    no_pool: orNull(Type.String({ description: "Why there are no rows of the driver's pool." })),
    rows: Type.Array(cacheRow, { minItems: 1 }),
  },
  { additionalProperties: false },
);

export type CacheRow = Static<typeof cacheRow>;
export type CacheResult = Static<typeof cacheResult>;
export const checkCacheRow = (value: unknown): CacheRow => checked(cacheRow, value, "A measured row");
export const checkCacheResult = (value: unknown): CacheResult => checked(cacheResult, value, "The result");

const placeLine = Type.Object({ gpu: text, driver: text, no_pool: orNull(text) }, { additionalProperties: false });
/** What the rows were measured on. */
export type PlaceLine = Static<typeof placeLine>;
export const checkPlaceLine = (value: unknown): PlaceLine => checked(placeLine, value, "What the program runs on");
