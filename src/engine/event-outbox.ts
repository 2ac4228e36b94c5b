/** Events on their way to the supervisor. */
import type { EngineEvent } from "./engine.ts";

/** Hands a batch over and calls back when the other side has room for the next one. */
export type SendBatch = (events: readonly EngineEvent[], done: () => void) => void;

/**
 * Bounded: one batch is on its way at a time, the rest waits here. When that is full, an event takes the place of
 * an older one of its channel, because the newest state is what counts; the full history is in no one's interest.
 */
export class EventOutbox {
  readonly #send: SendBatch;
  readonly #capacity: number;
  #waiting: EngineEvent[] = [];
  #sending = false;

  constructor(send: SendBatch, capacity = 4096) {
    this.#send = send;
    this.#capacity = capacity;
  }

  push(event: EngineEvent): void {
    if (this.#waiting.length >= this.#capacity) {
      const older = this.#waiting.findIndex((waiting) => waiting.channel === event.channel);
      this.#waiting.splice(older === -1 ? 0 : older, 1);
    }
    this.#waiting.push(event);
    this.#sendNext();
  }

  #sendNext(): void {
    if (this.#sending || this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#sending = true;
    this.#send(batch, () => {
      this.#sending = false;
      this.#sendNext();
    });
  }
}
