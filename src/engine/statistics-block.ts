/** Makes the statistics block, which the supervisor does before the first engine starts. */
import { closeSync, ftruncateSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { FramelaneError } from "../errors.ts";
import { statsLayout as layout } from "./stats-layout.gen.ts";

export interface BlockNames {
  /** By engine cell: "cpu", "cuda:0". */
  readonly engines: readonly string[];
  /** By channel cell. */
  readonly channels: readonly string[];
}

const engineCapacity = 16;
const leastChannelCapacity = 1024;

export const engineOffset = (cell: number): number => layout.header.size + cell * layout.engine.size;

export const channelOffset = (capacity: number, cell: number): number =>
  engineOffset(capacity) + cell * layout.channel.size;

/**
 * Sparse but for what is used: room for channels that come later costs nothing, and what engines write through their
 * mapping has its place already. A mapped page without one ends the process that touches it.
 */
export function createStatisticsBlock(path: string, names: BlockNames): void {
  const channelCapacity = Math.max(leastChannelCapacity, names.channels.length);
  // Under another name first: an engine of an earlier run that still lives keeps its own file.
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx+", 0o600);
  try {
    ftruncateSync(file, channelOffset(engineCapacity, channelCapacity));
    writeSync(file, header(channelCapacity), 0, layout.header.size, 0);
    for (const [cell, name] of names.engines.entries()) {
      writeBlock(file, engineOffset(cell), layout.engine, name);
    }
    for (const [cell, name] of names.channels.entries()) {
      writeBlock(file, channelOffset(engineCapacity, cell), layout.channel, name);
    }
  } catch (thrown) {
    rmSync(temporary, { force: true });
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EDQUOT" && code !== "EFBIG") throw thrown;
    throw new FramelaneError("runtime_directory_unusable", `No room for the statistics block ${path}: ${code}.`, {
      cause: thrown,
    });
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

function header(channelCapacity: number): Buffer {
  const bytes = Buffer.alloc(layout.header.size);
  const { fields } = layout.header;
  bytes.writeBigUInt64LE(layout.magic, fields.magic);
  bytes.writeUInt32LE(layout.version, fields.version);
  bytes.writeUInt32LE(layout.layoutHash, fields.layoutHash);
  bytes.writeUInt32LE(engineCapacity, fields.engineCapacity);
  bytes.writeUInt32LE(channelCapacity, fields.channelCapacity);
  return bytes;
}

interface BlockPlace {
  readonly size: number;
  readonly name: number;
}

function writeBlock(file: number, offset: number, place: BlockPlace, name: string): void {
  const bytes = Buffer.alloc(place.size);
  const written = Buffer.from(name);
  if (written.length >= layout.nameBytes) {
    throw new FramelaneError("config_invalid", `The name "${name}" has more than ${layout.nameBytes - 1} bytes.`);
  }
  written.copy(bytes, place.name);
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, offset + done);
}
