/** One channel's part of the statistics block, as the service reports it. */

import type { SinkSpec } from "../config/channel-spec.ts";
import type { ChannelReport, FrameCounts, FrameShape, SinkReport } from "../engine/report.ts";
import { type ChannelCells, emptyChannelCells, type StatisticsReader } from "../engine/statistics-reader.ts";
import { channelStates, nativeErrorCodes, pixelFormats, replayObstacles, replays } from "../engine/stats-layout.gen.ts";
import { type ErrorCode, isErrorCode } from "../errors.ts";
import { FrameRate } from "./frame-rate.ts";
import { StageWindow } from "./stage-window.ts";

export const samplePeriodMs = 1000;
const windowSamples = 10;
const rateSamples = 3;

export type CountedPart = Pick<
  ChannelReport,
  | "fps"
  | "frames"
  | "latency"
  | "lanes"
  | "replay"
  | "ring"
  | "input"
  | "output"
  | "restarts"
  | "compilations"
  | "pipeline_swaps"
  | "sinks"
>;

const toErrorCode = (index: number): ErrorCode | null => {
  const name = nativeErrorCodes[index];
  return name !== undefined && name !== "ok" && isErrorCode(name) ? name : null;
};

const toShape = (width: number, height: number, pixel: number): FrameShape | null =>
  width === 0 ? null : { width, height, pixel: pixelFormats[pixel] ?? "unknown" };

export class ChannelStatistics {
  readonly cells: ChannelCells = emptyChannelCells();
  readonly stages = new StageWindow(windowSamples);
  readonly #cell: number;
  readonly #sinks: readonly SinkSpec[];
  readonly #rate = new FrameRate(rateSamples);
  /** By sink; the block has no room for texts. */
  readonly #sinkMessages = new Map<number, string>();

  constructor(cell: number, sinks: readonly SinkSpec[]) {
    this.#cell = cell;
    this.#sinks = sinks;
  }

  sinkFailed(index: number, message: string): void {
    this.#sinkMessages.set(index, message);
  }

  /** The counters as they are now. */
  refresh(reader: StatisticsReader): void {
    reader.readChannel(this.#cell, this.cells);
  }

  /** Once per sampling period: what windows and rates are made of. */
  sample(reader: StatisticsReader, nowNs: number): void {
    this.refresh(reader);
    const { processed, lastProcessedNs } = this.cells.worker;
    this.#rate.sample(processed, lastProcessedNs, nowNs);
    this.stages.sample(reader, this.#cell);
  }

  get state(): (typeof channelStates)[number] {
    return channelStates[this.cells.worker.state] ?? "faulted";
  }

  get stateSinceNs(): number {
    return this.cells.worker.stateSinceNs;
  }

  get errorCode(): ErrorCode | null {
    return toErrorCode(this.cells.worker.errorCode);
  }

  report(): CountedPart {
    const { worker } = this.cells;
    return {
      fps: {
        measured: this.#rate.perSecond,
        expected: worker.expectedFpsMilli === 0 ? null : worker.expectedFpsMilli / 1000,
      },
      frames: this.frames(),
      latency: {
        window_seconds: (windowSamples * samplePeriodMs) / 1000,
        window: this.stages.window,
        since_start: this.stages.sinceStart,
      },
      lanes: worker.lanes,
      replay: {
        mode: replays[worker.replay] ?? "none",
        obstacle: replayObstacles[worker.replayObstacle] ?? "none",
        captures: worker.captures,
        staged_frames: worker.stagedFrames,
      },
      ring: {
        slots: worker.slotsTotal,
        free: Math.max(0, worker.slotsTotal - worker.slotsFull - worker.slotsReading),
        full: worker.slotsFull,
        reading: worker.slotsReading,
      },
      input: toShape(worker.inputWidth, worker.inputHeight, worker.inputPixel),
      output: toShape(worker.outputWidth, worker.outputHeight, worker.outputPixel),
      restarts: {
        source: worker.restartsSource,
        pipeline: worker.restartsPipeline,
        engine: worker.restartsEngine,
        device_lost: worker.restartsDevice,
        command: worker.restartsCommand,
      },
      compilations: worker.compilations,
      pipeline_swaps: worker.pipelineSwaps,
      sinks: this.#sinkReports(),
    };
  }

  frames(): FrameCounts {
    const { worker, source } = this.cells;
    const dropped = {
      overwritten: source.droppedOverwritten,
      superseded: source.droppedSuperseded,
      late: worker.droppedLate,
      error: worker.droppedError,
      restart: worker.droppedRestart,
      shutdown: worker.droppedShutdown,
    };
    let gone = worker.processed;
    for (const reason in dropped) gone += dropped[reason as keyof typeof dropped];
    return {
      received: source.received,
      received_bytes: source.receivedBytes,
      processed: worker.processed,
      in_flight: source.received - gone,
      dropped,
      lost: {
        transport: source.lostTransport,
        incomplete: source.lostIncomplete,
        id_gap: source.lostIdGap,
        ring_full: source.lostRingFull,
      },
      deadline_missed: worker.deadlineMissed,
    };
  }

  #sinkReports(): SinkReport[] {
    return this.#sinks.map(({ type }, index) => {
      const cells = this.cells.sinks[index];
      const code = toErrorCode(cells?.errorCode ?? 0);
      return {
        type,
        written: cells?.written ?? 0,
        written_bytes: cells?.writtenBytes ?? 0,
        failed: cells?.failed ?? 0,
        dropped: cells?.dropped ?? 0,
        error: code === null ? null : { code, message: this.#sinkMessages.get(index) ?? "" },
      };
    });
  }
}
