/** What Prometheus is told about channels; all of it has the label `channel`. */
import type { ChannelReport, ServiceView, SinkReport } from "../engine/report.ts";
import { channelStates, replays } from "../engine/stats-layout.gen.ts";
import { counter, type Family, gauge, type Sample } from "./family.ts";

type Collect = () => Sample[];
type Counts = Readonly<Record<string, number>>;

/** One sample per channel; null: none. */
const each =
  (view: ServiceView, value: (channel: ChannelReport) => number | null): Collect =>
  () =>
    view.channels().flatMap((channel) => {
      const found = value(channel);
      return found === null ? [] : [{ labels: { channel: channel.name }, value: found }];
    });

/** One sample per channel and key of a record. */
const by =
  (view: ServiceView, label: string, counts: (channel: ChannelReport) => Counts): Collect =>
  () =>
    view.channels().flatMap((channel) => {
      const entries = Object.entries(counts(channel));
      return entries.map(([key, value]) => ({ labels: { channel: channel.name, [label]: key }, value }));
    });

/** One sample per sink of a channel. */
const bySink =
  (view: ServiceView, field: keyof SinkReport & ("written" | "written_bytes" | "failed" | "dropped")): Collect =>
  () =>
    view.channels().flatMap(({ name, sinks }) =>
      sinks.map((sink, index) => ({
        labels: { channel: name, sink: `${sink.type} ${index}` },
        value: sink[field],
      })),
    );

const frameMetrics = (view: ServiceView): Family[] => [
  counter(
    "frames_received_total",
    "Frames that reached a slot.",
    each(view, ({ frames }) => frames.received),
  ),
  counter(
    "received_bytes_total",
    "Bytes that reached a slot.",
    each(view, ({ frames }) => frames.received_bytes),
  ),
  counter(
    "frames_processed_total",
    "Frames that were processed.",
    each(view, ({ frames }) => frames.processed),
  ),
  counter(
    "frames_dropped_total",
    "Frames in a slot, not processed.",
    by(view, "reason", ({ frames }) => frames.dropped),
  ),
  counter(
    "frames_lost_total",
    "Frames that reached no slot.",
    by(view, "reason", ({ frames }) => frames.lost),
  ),
  counter(
    "deadline_missed_total",
    "Frames done too late.",
    each(view, ({ frames }) => frames.deadline_missed),
  ),
  gauge(
    "frames_in_flight",
    "Frames in a slot, not yet done.",
    each(view, ({ frames }) => frames.in_flight),
  ),
  gauge(
    "expected_frames_per_second",
    "The rate that the source announces.",
    each(view, ({ fps }) => fps.expected),
  ),
];

const stateFlags = (channel: ChannelReport): Counts =>
  Object.fromEntries(channelStates.map((state) => [state, state === channel.state ? 1 : 0]));

const replayFlags = ({ replay }: ChannelReport): Counts =>
  Object.fromEntries(replays.filter((mode) => mode !== "none").map((mode) => [mode, mode === replay.mode ? 1 : 0]));

const slotCounts = ({ ring: { free, full, reading } }: ChannelReport): Counts => ({ free, full, reading });

const stateMetrics = (view: ServiceView): Family[] => [
  gauge("channel_state", "1 for the state that the channel is in.", by(view, "state", stateFlags)),
  gauge("ring_slots", "Slots of the ring by what they are doing.", by(view, "state", slotCounts)),
  counter(
    "channel_restarts_total",
    "Restarts by what failed.",
    by(view, "reason", ({ restarts }) => restarts),
  ),
  gauge("channel_replay", "1 for the way in which frames get onto the GPU.", by(view, "mode", replayFlags)),
  gauge(
    "channel_lanes",
    "Frames that are worked on at the same time.",
    each(view, ({ lanes }) => lanes),
  ),
  counter(
    "graph_captures_total",
    "Graphs that were captured.",
    each(view, ({ replay }) => replay.captures),
  ),
  counter(
    "frames_staged_total",
    "Frames that were copied through a page-locked buffer.",
    each(view, ({ replay }) => replay.staged_frames),
  ),
  counter(
    "compilations_total",
    "Compiled pipelines.",
    each(view, ({ compilations }) => compilations),
  ),
  counter(
    "pipeline_swaps_total",
    "Pipelines replaced while running.",
    each(view, (channel) => channel.pipeline_swaps),
  ),
];

const sinkMetrics = (view: ServiceView): Family[] => [
  counter("sink_frames_written_total", "Frames that a sink took.", bySink(view, "written")),
  counter("sink_written_bytes_total", "Bytes that a sink took.", bySink(view, "written_bytes")),
  counter("sink_frames_failed_total", "Frames that a sink refused.", bySink(view, "failed")),
  counter("sink_frames_dropped_total", "Frames that found a sink's queue full.", bySink(view, "dropped")),
];

export const channelMetrics = (view: ServiceView): Family[] => [
  ...frameMetrics(view),
  ...stateMetrics(view),
  ...sinkMetrics(view),
];
