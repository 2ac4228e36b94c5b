/** Frames per second over the last few samples of a counter. */

interface Sample {
  frames: number;
  /** When the last of them was done. */
  lastFrameNs: number;
  takenNs: number;
}

/** Seconds without a frame after which the rate is taken by the clock and falls, instead of by the frames' own times. */
const quietNs = 0.5e9;

export class FrameRate {
  readonly #samples: readonly Sample[];
  #taken = 0;

  /** `samples`: how many sampling periods the rate is taken over. */
  constructor(samples: number) {
    this.#samples = Array.from({ length: samples + 1 }, () => ({ frames: 0, lastFrameNs: 0, takenNs: 0 }));
  }

  sample(frames: number, lastFrameNs: number, takenNs: number): void {
    const into = this.#samples[this.#taken % this.#samples.length];
    if (into === undefined) return;
    into.frames = frames;
    into.lastFrameNs = lastFrameNs;
    into.takenNs = takenNs;
    this.#taken++;
  }

  /** Zero until two samples were taken. */
  get perSecond(): number {
    const newest = this.#sampleBack(0);
    const oldest = this.#oldest();
    if (newest === undefined || oldest === undefined) return 0;
    const frames = newest.frames - oldest.frames;
    if (frames <= 0) return 0;
    const quiet = newest.takenNs - newest.lastFrameNs > quietNs;
    // From frame to frame the rate is exact; from look to look it would be off by one frame.
    const byFrames = !quiet && oldest.lastFrameNs > 0 && newest.lastFrameNs > oldest.lastFrameNs;
    const elapsed = byFrames ? newest.lastFrameNs - oldest.lastFrameNs : newest.takenNs - oldest.takenNs;
    return Math.round((frames / elapsed) * 1e12) / 1000;
  }

  /** The oldest sample to compare with; the time before the first frame says nothing about the rate. */
  #oldest(): Sample | undefined {
    for (let back = Math.min(this.#taken, this.#samples.length) - 1; back > 0; back--) {
      const sample = this.#sampleBack(back);
      if (back === 1 || (sample?.frames ?? 0) > 0) return sample;
    }
    return undefined;
  }

  #sampleBack(back: number): Sample | undefined {
    return back < this.#taken ? this.#samples[(this.#taken - 1 - back) % this.#samples.length] : undefined;
  }
}
