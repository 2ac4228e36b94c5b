/** A channel specification as the configuration makes it, for tests. */
import type { ChannelSpec } from "../../src/engine/engine.ts";

export const patternChannel = (name: string, cell: number, more: Partial<ChannelSpec> = {}): ChannelSpec => ({
  name,
  cell,
  source: { type: "pattern", width: 64, height: 48, fps: 100, format: "mono8" },
  ring: { slots: 4 },
  pipeline: [{ name: "gain", arguments: { value: 1.5 } }],
  sinks: [],
  onOverload: "never",
  wait: "blocking",
  stagger: "auto",
  inFlight: 1,
  threads: 1,
  memory: {},
  pinned: "preferred",
  stall: 5,
  schedule: { cpus: [], fifo: 0, nice: 0 },
  retry: { first: 0.2, most: 10 },
  start: true,
  ...more,
});
