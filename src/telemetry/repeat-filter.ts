/** Repeated errors become one line a second with a count. */

const periodMs = 1000;
const mostKeys = 10_000;

interface Entry {
  repeats: number;
  write: (repeats: number) => void;
  readonly timer: NodeJS.Timeout;
}

/** The first line of a key is written at once, those of the next second as one line with their count, and so on. */
export class RepeatFilter {
  readonly #entries = new Map<string, Entry>();

  /** `write` is called with how many lines it stands for. */
  pass(key: string, write: (repeats: number) => void): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.repeats++;
      entry.write = write;
      return;
    }
    write(1);
    // More keys than can repeat within a second are no repetition.
    if (this.#entries.size >= mostKeys) return;
    const timer = setInterval(() => this.#turn(key), periodMs);
    timer.unref();
    this.#entries.set(key, { repeats: 0, write, timer });
  }

  /** Writes what is still held back. */
  close(): void {
    for (const [key, entry] of this.#entries) {
      clearInterval(entry.timer);
      if (entry.repeats > 0) entry.write(entry.repeats);
      this.#entries.delete(key);
    }
  }

  #turn(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (entry.repeats > 0) {
      entry.write(entry.repeats);
      entry.repeats = 0;
      return;
    }
    clearInterval(entry.timer);
    this.#entries.delete(key);
  }
}
