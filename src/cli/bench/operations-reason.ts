/** Why an operation's kernels do not reach the device's bandwidth, as far as the same run's figures say it. */
import { pixelFormats } from "../../config/pixel-format.ts";
import type { MeasuredRow } from "./operations-rows.ts";

/** Of the device's bandwidth; what reaches it needs no reason. */
export const goal = 0.7;
/** Of the bytes that have to move: what is stored besides counts from here on. */
const countingStored = 0.1;
/** Of a frame's time: what kernels take without pixels counts from here on. */
const countingKernels = 0.15;
/** Who moves so many times the bytes in no more than so many times the time does not wait for bytes. */
const [moreBytes, sameTime] = [2, 1.25];

const megabytes = (bytes: number): string =>
  bytes < 1e6 ? (bytes / 1e6).toPrecision(2) : String(Math.round(bytes / 1e6));
const bytesOf = ({ traffic_bytes: traffic, stored_bytes: stored }: MeasuredRow): number =>
  (traffic ?? 0) + 2 * (stored ?? 0);

function storedReason({ traffic_bytes: traffic, stored_bytes: stored }: MeasuredRow): string[] {
  if (traffic === null || stored === null || 2 * stored < countingStored * traffic) return [];
  return [`stores ${megabytes(stored)} MB between its kernels`];
}

function kernelsReason({ kernels, frame_us: frameUs }: MeasuredRow, kernelUs: number | null): string[] {
  if (kernels === null || frameUs === null || kernelUs === null) return [];
  const least = kernels * kernelUs;
  if (least < countingKernels * frameUs) return [];
  const named = kernels === 1 ? "a kernel takes" : `${kernels} kernels take`;
  return [`small frame: ${named} ${least.toFixed(1)} us without pixels`];
}

/** Another sample type, as many samples: as long for other bytes means that time goes into the samples. */
function samplesReason(row: MeasuredRow, others: readonly MeasuredRow[]): string[] {
  const { frame_us: frameUs } = row;
  if (frameUs === null || bytesOf(row) === 0) return [];
  for (const other of others) {
    if (pixelFormats[other.format].samples !== pixelFormats[row.format].samples || other.frame_us === null) continue;
    const [bytes, time] = [bytesOf(other) / bytesOf(row), other.frame_us / frameUs];
    const more = bytes >= moreBytes && time <= sameTime;
    const fewer = bytes <= 1 / moreBytes && time >= 1 / sameTime;
    if (!more && !fewer) continue;
    return [
      `not its bytes: ${other.format} moves ${bytes.toPrecision(2)} x as many and takes ${time.toFixed(2)} x as long`,
    ];
  }
  return [];
}

/** `others`: the rows of the same operation in other formats. Null: the goal is reached, or no figure says why not. */
export function reasonOf(row: MeasuredRow, others: readonly MeasuredRow[], kernelUs: number | null): string | null {
  const { bandwidth_fraction: fraction } = row;
  if (fraction === null || fraction >= goal) return null;
  const small = kernelsReason(row, kernelUs);
  // Small frames take as long in every format.
  const reasons = [...storedReason(row), ...(small.length > 0 ? small : samplesReason(row, others))];
  return reasons.length === 0 ? null : reasons.join(", ");
}
