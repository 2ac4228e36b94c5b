/** A channel beside those that are watched: it comes, changes and goes. */
import type { ChannelSpec, Engine, OperationSpec } from "../../engine/engine.ts";
import { type ChannelCells, emptyChannelCells, type StatisticsReader } from "../../engine/statistics-reader.ts";
import { channelStates, nativeErrorCodes } from "../../engine/stats-layout.gen.ts";
import { FramelaneError } from "../../errors.ts";
import { unlessStopped } from "./measurement.ts";

const pollMs = 1;
const startRadius = 0.2;
const radiusStep = 2 ** -14;

/**
 * Pipelines of which no two are the same to a compiler: values of a gain can be changed while it runs and are no part
 * of the code, the weights of a sharpening are. All radii take in one neighbour on each side.
 */
export function freshPipelines(): () => readonly OperationSpec[] {
  let made = 0;
  return (): OperationSpec[] => [
    { name: "gain", arguments: { value: 1.1 } },
    { name: "unsharp", arguments: { amount: 0.5, radius: startRadius + made++ * radiusStep } },
    { name: "gamma", arguments: { value: 1.1 } },
  ];
}

export class ExtraChannel {
  readonly #engine: Engine;
  readonly #statistics: StatisticsReader;
  readonly #spec: ChannelSpec;
  readonly #cells = emptyChannelCells();

  constructor(engine: Engine, statistics: StatisticsReader, spec: ChannelSpec) {
    this.#engine = engine;
    this.#statistics = statistics;
    this.#spec = spec;
  }

  get name(): string {
    return this.#spec.name;
  }

  /** Frames since the start of the engine. */
  processed(): number {
    return this.#read().worker.processed;
  }

  /** Until its first result. Its cells carry on from the last time that it was there. */
  async add(pipeline: readonly OperationSpec[]): Promise<void> {
    const processed = this.processed();
    await this.#engine.createChannel({ ...this.#spec, pipeline });
    await this.#until(
      ({ worker }) => channelStates[worker.state] === "running" && worker.processed > processed && worker.processed > 0,
    );
  }

  async remove(): Promise<void> {
    await this.#engine.deleteChannel(this.name);
  }

  /** Until the new one has taken over. */
  async replace(pipeline: readonly OperationSpec[]): Promise<void> {
    const { pipelineSwaps } = this.#read().worker;
    await this.#engine.replacePipeline(this.name, pipeline);
    await this.#until(({ worker }) => {
      const code = nativeErrorCodes[worker.errorCode];
      if (code !== undefined && code !== "ok") throw new FramelaneError(code, "The pipeline was not replaced.");
      return worker.pipelineSwaps > pipelineSwaps;
    });
  }

  #read(): ChannelCells {
    this.#statistics.readChannel(this.#spec.cell, this.#cells);
    return this.#cells;
  }

  #until(done: (cells: ChannelCells) => boolean): Promise<void> {
    return unlessStopped(this.#engine, () => done(this.#read()), pollMs);
  }
}
