/** PyTorch beside the service: a script that a Python of the machine runs. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { FramelaneError } from "../../errors.ts";
import { runProgram } from "./program.ts";
import { type ChannelsRow, checkPeerLine, checkRow, type PeerLine } from "./rows.ts";
import type { ChannelLoad, TorchModeName } from "./workloads.ts";

/** Beside the sources, and in the bundle. */
const script = fileURLToPath(new URL("../../../bench/peers/torch_channels.py", import.meta.url));
/** The script's: there is no PyTorch, or none for the GPU. */
const noTorch = 3;

export interface TorchRun extends Pick<ChannelLoad, "size"> {
  readonly python: string;
  readonly modes: readonly TorchModeName[];
  readonly channels: readonly number[];
  readonly inFlight: readonly number[];
  readonly wait: readonly string[];
  readonly device: string;
  readonly seconds: number;
  readonly runs: number;
  readonly compare: boolean;
}

function wordsOf(run: TorchRun): string[] {
  const { width, height } = run.size;
  return [
    ...["-B", script, "--size", `${width}x${height}`, "--device", run.device, "--modes", run.modes.join(",")],
    ...["--channels", run.channels.join(","), "--in-flight", run.inFlight.join(","), "--wait", run.wait.join(",")],
    ...["--seconds", String(run.seconds), "--runs", String(run.runs), "--compare", run.compare ? "1" : "0"],
  ];
}

function cannotStart(python: string, error: unknown): never {
  if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
  throw new FramelaneError("unsupported", `${python} cannot be started: --python names a Python that has PyTorch.`);
}

/** Rows come one by one, after what it is. */
export async function measureTorch(
  run: TorchRun,
  on: { peer(line: PeerLine): void; row(row: ChannelsRow): void },
): Promise<void> {
  if (!existsSync(script)) throw new FramelaneError("unsupported", `There is no ${script}.`);
  const { code, said } = await runProgram(run.python, wordsOf(run), (line, index) => {
    if (index === 0) on.peer(checkPeerLine(line));
    else on.row(checkRow(line));
  }).catch((error: unknown) => cannotStart(run.python, error));
  if (code === noTorch) throw new FramelaneError("unsupported", `${said}.`);
  if (code !== 0) throw new FramelaneError("device_failed", said || `PyTorch's benchmark ended with ${code}.`);
}
