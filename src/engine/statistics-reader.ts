/** Reads the statistics block with plain file reads, while engines write it. */
import { closeSync, openSync, readSync } from "node:fs";
import { FramelaneError } from "../errors.ts";
import { channelOffset, engineOffset } from "./statistics-block.ts";
import { statsLayout as layout } from "./stats-layout.gen.ts";

type Cells<T> = { -readonly [K in keyof T]: number };
export type WorkerCells = Cells<typeof layout.channel.worker.cells>;
export type SourceCells = Cells<typeof layout.channel.source.cells>;
export type SinkCells = Cells<typeof layout.channel.sinks.cells>;
export type DeviceCells = Cells<typeof layout.engine.device.cells>;

/** How often an engine's processes called a function of the driver. */
export interface DriverCalls {
  readonly name: string;
  readonly kind: string;
  readonly calls: number;
}

/** An engine's own cells, and those of its device; reused from read to read. */
export interface EngineCells extends Cells<typeof layout.engine.cells> {
  readonly device: DeviceCells;
  driver: readonly DriverCalls[];
}

/** One channel's counters; reused from read to read. */
export interface ChannelCells {
  readonly worker: WorkerCells;
  readonly source: SourceCells;
  readonly sinks: readonly SinkCells[];
}

/** The histogram of one stage; bins as they stand, counts beyond 2^32 included. */
export interface HistogramCells {
  count: number;
  sumNs: number;
  maxNs: number;
  readonly bins: Float64Array;
}

const zeroes = <T extends object>(cells: T): Cells<T> =>
  Object.fromEntries(Object.keys(cells).map((name) => [name, 0])) as Cells<T>;

export const emptyChannelCells = (): ChannelCells => ({
  worker: zeroes(layout.channel.worker.cells),
  source: zeroes(layout.channel.source.cells),
  sinks: Array.from({ length: layout.sinksPerChannel }, () => zeroes(layout.channel.sinks.cells)),
});

export const emptyEngineCells = (): EngineCells => ({
  ...zeroes(layout.engine.cells),
  device: zeroes(layout.engine.device.cells),
  driver: [],
});

export const emptyHistogramCells = (): HistogramCells => ({
  count: 0,
  sumNs: 0,
  maxNs: 0,
  bins: new Float64Array(layout.histogramBins),
});

const { worker, source, sinks, stages } = layout.channel;
/** Worker group, source group and sinks lie side by side: one read takes them all. */
const countersOffset = worker.offset;
const countersBytes = stages.offset - countersOffset;
const mostAttempts = 16;

/** Cells as 32-bit halves: no BigInt, no allocation. */
class CellBuffer {
  readonly bytes: Uint8Array;
  readonly #halves: Uint32Array;

  constructor(size: number) {
    const memory = new ArrayBuffer(size);
    this.bytes = new Uint8Array(memory);
    this.#halves = new Uint32Array(memory);
  }

  /** Up to the first NUL. */
  text(offset: number, length: number): string {
    const bytes = this.bytes.subarray(offset, offset + length);
    const end = bytes.indexOf(0);
    return Buffer.from(bytes.subarray(0, end === -1 ? length : end)).toString("latin1");
  }

  /** Exact below 2^53. */
  at(offset: number): number {
    const index = offset >>> 2;
    return (this.#halves[index] ?? 0) + (this.#halves[index + 1] ?? 0) * 4294967296;
  }
}

const copyCells = <T extends object>(into: Cells<T>, names: T, from: CellBuffer, offset: number): void => {
  for (const name in names) into[name] = from.at(offset + (names[name] as number));
};

const stable = (before: CellBuffer, after: CellBuffer, sequence: number): boolean => {
  const found = before.at(sequence);
  return found % 2 === 0 && found === after.at(sequence);
};

/** Thread-safety: none needed; everything is synchronous. */
export class StatisticsReader {
  readonly #file: number;
  readonly #engineCapacity: number;
  readonly channelCapacity: number;
  readonly #reads: readonly [CellBuffer, CellBuffer, CellBuffer, CellBuffer];
  readonly #engine = new CellBuffer(layout.engine.size);
  readonly #stage = new CellBuffer(stages.size);
  /** Reads of a group that found its writer inside every time; the caller's values stayed as they were. */
  unstableReads = 0;

  constructor(path: string) {
    this.#file = openSync(path, "r");
    const header = Buffer.alloc(layout.header.size);
    readSync(this.#file, header, 0, header.length, 0);
    checkHeader(path, header);
    this.#engineCapacity = header.readUInt32LE(layout.header.fields.engineCapacity);
    this.channelCapacity = header.readUInt32LE(layout.header.fields.channelCapacity);
    const buffer = () => new CellBuffer(countersBytes);
    this.#reads = [buffer(), buffer(), buffer(), buffer()];
  }

  close(): void {
    closeSync(this.#file);
  }

  heartbeatNs(engineCell: number): number {
    const position = engineOffset(engineCell) + layout.engine.cells.heartbeatNs;
    readSync(this.#file, this.#engine.bytes, 0, 8, position);
    return this.#engine.at(0);
  }

  readEngine(engineCell: number, into: EngineCells): void {
    readSync(this.#file, this.#engine.bytes, 0, layout.engine.size, engineOffset(engineCell));
    copyCells<typeof layout.engine.cells>(into, layout.engine.cells, this.#engine, 0);
    copyCells(into.device, layout.engine.device.cells, this.#engine, layout.engine.device.offset);
    into.driver = this.#driverCalls();
  }

  #driverCalls(): DriverCalls[] {
    const { functions } = layout.engine;
    const found: DriverCalls[] = [];
    for (let index = 0; index < functions.count; index++) {
      const start = functions.offset + index * functions.size;
      const name = this.#engine.text(start + functions.name, functions.nameBytes);
      if (name === "") break;
      const kind = this.#engine.text(start + functions.kind, functions.kindBytes);
      found.push({ name, kind, calls: this.#engine.at(start + functions.cells.calls) });
    }
    return found;
  }

  /**
   * The worker group is taken before the source group, so that `received` is never behind what became of it.
   * A group whose writer died inside it keeps the values of the last good read until the next engine repairs it.
   */
  readChannel(cell: number, into: ChannelCells): boolean {
    const [first, second, third, fourth] = this.#reads;
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      for (const buffer of this.#reads) this.#readCounters(cell, buffer);
      const workerSequence = worker.offset - countersOffset + worker.sequence;
      const sourceSequence = source.offset - countersOffset + source.sequence;
      if (!stable(first, third, workerSequence) || !stable(second, fourth, sourceSequence)) continue;
      copyCells(into.worker, worker.cells, second, worker.offset - countersOffset);
      copyCells(into.source, source.cells, third, source.offset - countersOffset);
      for (const [index, sink] of into.sinks.entries()) {
        copyCells(sink, sinks.cells, third, sinks.offset - countersOffset + index * sinks.size);
      }
      return true;
    }
    this.unstableReads++;
    return false;
  }

  /** No sequence here: a histogram's cells may be a frame apart, which no percentile shows. */
  readStage(cell: number, stage: number, into: HistogramCells): void {
    const position = channelOffset(this.#engineCapacity, cell) + stages.offset + stage * stages.size;
    readSync(this.#file, this.#stage.bytes, 0, stages.size, position);
    into.count = this.#stage.at(stages.cells.count);
    into.sumNs = this.#stage.at(stages.cells.sumNs);
    into.maxNs = this.#stage.at(stages.cells.maxNs);
    for (let bin = 0; bin < layout.histogramBins; bin++) {
      into.bins[bin] = this.#stage.at(stages.cells.bins + bin * 8);
    }
  }

  #readCounters(cell: number, into: CellBuffer): void {
    const position = channelOffset(this.#engineCapacity, cell) + countersOffset;
    readSync(this.#file, into.bytes, 0, countersBytes, position);
  }
}

function checkHeader(path: string, header: Buffer): void {
  const { fields } = layout.header;
  if (header.readBigUInt64LE(fields.magic) !== layout.magic) {
    throw new FramelaneError("internal", `${path} is no statistics block.`);
  }
  if (header.readUInt32LE(fields.layoutHash) !== layout.layoutHash) {
    throw new FramelaneError("internal", `${path} was written by another version of Framelane.`);
  }
}
