/** What repeats becomes one line with a count, and no line is written once something newer was said. */

const stateHoldMs = 1000;
const errorHoldMs = 60_000;
const mostEntries = 10_000;

/** Writes a line that stands for so many. */
export type WriteLine = (repeats: number) => void;

interface Entry {
  readonly isError: boolean;
  /** How many are held back. */
  repeats: number;
  write: WriteLine;
  timer: NodeJS.Timeout;
  /** The time is over: the next one is written at once. */
  isOver: boolean;
}

/** What is known of one channel or one device. */
interface Subject {
  newest: string;
  /** The last line that was written. */
  written: string;
  /** An error was held back after that line. */
  hidesError: boolean;
  readonly entries: Map<string, Entry>;
}

export class RepeatFilter {
  readonly #subjects = new Map<string, Subject>();
  #entries = 0;

  /** At once, and within a second again only where it is still the newest then. */
  state(name: string, text: string, write: WriteLine): void {
    const subject = this.#subject(name, text);
    // The error between the two was not written: a reader sees no change.
    if (subject.hidesError && subject.written === text) return;
    this.#pass(subject, text, { isError: false, times: 1, write });
  }

  /** At once, then once a minute with the count. `times`: how many this one stands for itself. */
  error(name: string, text: string, times: number, write: WriteLine): void {
    this.#pass(this.#subject(name, text), text, { isError: true, times, write });
  }

  /** What is said elsewhere makes all that is held back old. */
  note(name: string, text: string): void {
    this.#subject(name, text);
  }

  /** Writes what is held back and still the newest. */
  close(): void {
    for (const subject of this.#subjects.values()) {
      for (const [text, entry] of subject.entries) {
        clearTimeout(entry.timer);
        if (entry.repeats > 0 && this.#isNews(subject, text, entry)) entry.write(entry.repeats);
      }
    }
    this.#subjects.clear();
    this.#entries = 0;
  }

  #subject(name: string, newest: string): Subject {
    const known = this.#subjects.get(name);
    if (known !== undefined) {
      known.newest = newest;
      return known;
    }
    const subject = { newest, written: "", hidesError: false, entries: new Map<string, Entry>() };
    this.#subjects.set(name, subject);
    return subject;
  }

  #pass(subject: Subject, text: string, line: { isError: boolean; times: number; write: WriteLine }): void {
    const { isError, times, write } = line;
    const entry = subject.entries.get(text);
    if (entry !== undefined && !entry.isOver) {
      entry.repeats += times;
      entry.write = write;
      subject.hidesError ||= isError;
      return;
    }
    this.#write(subject, text, write, times + (entry?.repeats ?? 0));
    if (entry !== undefined) {
      clearTimeout(entry.timer);
      Object.assign(entry, { repeats: 0, write, isOver: false, timer: this.#arm(subject, text, isError) });
    } else if (this.#entries < mostEntries) {
      this.#entries++;
      subject.entries.set(text, {
        isError,
        repeats: 0,
        write,
        isOver: false,
        timer: this.#arm(subject, text, isError),
      });
    }
  }

  #arm(subject: Subject, text: string, isError: boolean): NodeJS.Timeout {
    return setTimeout(() => this.#turn(subject, text), isError ? errorHoldMs : stateHoldMs).unref();
  }

  #write(subject: Subject, text: string, write: WriteLine, repeats: number): void {
    write(repeats);
    subject.written = text;
    subject.hidesError = false;
  }

  /** A state that the log shows already is none; errors count. */
  #isNews({ newest, written }: Subject, text: string, { isError }: Entry): boolean {
    return newest === text && (isError || written !== text);
  }

  #turn(subject: Subject, text: string): void {
    const entry = subject.entries.get(text);
    if (entry === undefined) return;
    const { isError, repeats, isOver, write } = entry;
    if (repeats > 0 && this.#isNews(subject, text, entry)) {
      this.#write(subject, text, write, repeats);
      entry.repeats = 0;
    } else if (repeats > 0 && isError && !isOver) {
      // Something newer has been said: the count waits for the error's next time.
      entry.isOver = true;
    } else {
      subject.entries.delete(text);
      this.#entries--;
      return;
    }
    entry.timer = this.#arm(subject, text, isError);
  }
}
