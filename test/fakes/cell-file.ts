/** Writes cells of a statistics block as an engine does: a group at a time, its sequence odd meanwhile. */
import { openSync, readSync, writeSync } from "node:fs";
import { binOf } from "../../src/engine/histogram.ts";
import { channelOffset, engineOffset } from "../../src/engine/statistics-block.ts";
import {
  type ChannelCells,
  emptyChannelCells,
  type SourceCells,
  StatisticsReader,
  type WorkerCells,
} from "../../src/engine/statistics-reader.ts";
import { statsLayout as layout } from "../../src/engine/stats-layout.gen.ts";

const { worker, source, sinks, stages } = layout.channel;
type EngineCell = keyof typeof layout.engine.cells;

export class CellFile {
  readonly #file: number;
  readonly #path: string;
  readonly #engineCapacity: number;
  readonly #group = Buffer.alloc(worker.size);
  readonly #cell = Buffer.alloc(8);

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, "r+");
    const header = Buffer.alloc(layout.header.size);
    readSync(this.#file, header, 0, header.length, 0);
    this.#engineCapacity = header.readUInt32LE(layout.header.fields.engineCapacity);
  }

  /** Takes a channel over: what a dead writer left is made readable first. */
  readChannel(cell: number): ChannelCells {
    const reader = new StatisticsReader(this.#path);
    const cells = emptyChannelCells();
    for (const group of [worker, source]) this.#makeEven(this.#channel(cell) + group.offset + group.sequence);
    reader.readChannel(cell, cells);
    reader.close();
    return cells;
  }

  writeEngineCell(cell: number, name: EngineCell, value: number): void {
    this.#write(engineOffset(cell) + layout.engine.cells[name], value);
  }

  readEngineCell(cell: number, name: EngineCell): number {
    return this.#read(engineOffset(cell) + layout.engine.cells[name]);
  }

  writeWorker(cell: number, cells: WorkerCells): void {
    this.#writeGroup(this.#channel(cell) + worker.offset, worker.cells, cells, worker.size);
  }

  writeSource(cell: number, cells: SourceCells): void {
    this.#writeGroup(this.#channel(cell) + source.offset, source.cells, cells, source.size);
  }

  writeSinkFailure(cell: number, sink: number, failed: number, errorCode: number): void {
    const start = this.#channel(cell) + sinks.offset + sink * sinks.size;
    this.#write(start + sinks.cells.failed, failed);
    this.#write(start + sinks.cells.errorCode, errorCode);
  }

  /** Leaves the worker group as a writer does that was killed inside it. */
  leaveWorkerOdd(cell: number): void {
    const position = this.#channel(cell) + worker.offset + worker.sequence;
    this.#write(position, this.#read(position) + 1);
  }

  /** Where the cells of a channel's worker group lie in the file. */
  positions(cell: number): { worker: { sequence: number; cells: WorkerCells } } {
    const start = this.#channel(cell) + worker.offset;
    const cells = emptyChannelCells().worker;
    for (const name in worker.cells) {
      cells[name as keyof WorkerCells] = start + worker.cells[name as keyof WorkerCells];
    }
    return { worker: { sequence: start + worker.sequence, cells } };
  }

  addDurations(cell: number, stage: number, durationNs: number, count: number): void {
    const start = this.#channel(cell) + stages.offset + stage * stages.size;
    this.#add(start + stages.cells.bins + binOf(durationNs) * 8, count);
    this.#add(start + stages.cells.sumNs, durationNs * count);
    this.#add(start + stages.cells.count, count);
  }

  #channel(cell: number): number {
    return channelOffset(this.#engineCapacity, cell);
  }

  #writeGroup<T extends object>(position: number, names: T, cells: { [K in keyof T]: number }, size: number): void {
    const sequence = this.#read(position);
    this.#write(position, sequence + 1);
    this.#group.fill(0);
    put(this.#group, 0, sequence + 1);
    for (const name in names) put(this.#group, names[name] as number, cells[name]);
    writeSync(this.#file, this.#group, 0, size, position);
    this.#write(position, sequence + 2);
  }

  #makeEven(position: number): void {
    const sequence = this.#read(position);
    if (sequence % 2 === 1) this.#write(position, sequence + 1);
  }

  #add(position: number, more: number): void {
    this.#write(position, this.#read(position) + more);
  }

  #read(position: number): number {
    readSync(this.#file, this.#cell, 0, 8, position);
    return this.#cell.readUInt32LE(0) + this.#cell.readUInt32LE(4) * 4294967296;
  }

  #write(position: number, value: number): void {
    put(this.#cell, 0, value);
    writeSync(this.#file, this.#cell, 0, 8, position);
  }
}

function put(bytes: Buffer, offset: number, value: number): void {
  bytes.writeUInt32LE(value % 4294967296, offset);
  bytes.writeUInt32LE(Math.floor(value / 4294967296), offset + 4);
}
