/** What measurements write: one row for each mode and number of channels, checked before it is written. */
import { type Static, Type } from "typebox";
import { amount, checked, count, deviceId, frameSize, headFields, orNull, percentiles, text } from "./fields.ts";
import { isTorch, modes, staggers, torchModes, workloads } from "./workloads.ts";

export const countedKinds = ["alloc", "free", "module_load", "device_sync", "launch"] as const;

const channelsRow = Type.Object(
  {
    workload: Type.Enum(Object.keys(workloads)),
    size: frameSize,
    mode: Type.Enum([...modes, ...torchModes]),
    device: deviceId,
    channels: count,
    threads: count,
    in_flight: count,
    wait: Type.Enum(["blocking", "spin", "driver"], { description: "driver: as it waits for who sets nothing" }),
    pace_fps: orNull(Type.Number({ minimum: 0, description: "Null: as fast as slots come free." })),
    stagger: orNull(Type.Enum([...staggers])),
    fps: Type.Number({ minimum: 0, description: "Over all channels." }),
    fps_runs: Type.Array(amount, { minItems: 1, description: "Of each run; the row is the median one's." }),
    ...percentiles,
    pcie_fraction: orNull(
      Type.Number({ minimum: 0, description: "Of what the bus carries both ways at once; null: not measured." }),
    ),
    lost: Type.Integer({ minimum: 0, description: "Frames lost or dropped, for whatever reason." }),
    engine_cores: Type.Number({ minimum: 0, description: "CPU time of the process by wall-clock time." }),
    captured: orNull(Type.Integer({ minimum: 0, description: "Channels whose kernels run as a captured graph." })),
    compared: orNull(
      Type.Object(
        {
          frames: Type.Integer({ minimum: 0 }),
          worst_difference: orNull(
            Type.Integer({ minimum: 0, maximum: 255, description: "In grey levels; null: 1 at most." }),
          ),
        },
        { additionalProperties: false, description: "With the CPU's results; null: no frame was." },
      ),
    ),
    driver_calls_per_frame: orNull(
      Type.Object(
        { alloc: amount, free: amount, module_load: amount, device_sync: amount, launch: amount },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export const channelsResult = Type.Object(
  {
    ...headFields,
    pcie_both_gbps: orNull(
      Type.Number({ minimum: 0, description: "Each way, both at once, copies of the workload's frame; null: none." }),
    ),
    peer: Type.Optional(Type.String({ minLength: 1, description: "The versions of what else was measured." })),
    rows: Type.Array(channelsRow),
  },
  { additionalProperties: false },
);

export type ChannelsRow = Static<typeof channelsRow>;
export type ChannelsResult = Static<typeof channelsResult>;

const busLine = Type.Object(
  { mode: Type.Literal("pcie"), gpu: text, driver: text, pcie_both_gbps: amount },
  { additionalProperties: false },
);
export type BusLine = Static<typeof busLine>;

const peerLine = Type.Object(
  { mode: Type.Literal("peer"), peer: text, gpu: orNull(text) },
  { additionalProperties: false },
);
export type PeerLine = Static<typeof peerLine>;

/** The fastest of PyTorch's with as many channels, however it was driven and waited. */
export const bestTorch = (rows: readonly ChannelsRow[], channels: number): ChannelsRow | undefined =>
  rows
    .filter((row) => isTorch(row.mode) && row.channels === channels)
    .reduce<ChannelsRow | undefined>(
      (best, row) => (best !== undefined && best.fps >= row.fps ? best : row),
      undefined,
    );

export const checkRow = (value: unknown): ChannelsRow => checked(channelsRow, value, "A measured row");
export const checkBusLine = (value: unknown): BusLine => checked(busLine, value, "The bus's measurement");
export const checkPeerLine = (value: unknown): PeerLine => checked(peerLine, value, "What the peer says of itself");
export const checkResult = (value: unknown): ChannelsResult => checked(channelsResult, value, "The result");
