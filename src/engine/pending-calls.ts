/** Calls that wait for their answer from the other process. */
import { FramelaneError } from "../errors.ts";
import type { Failure, Reply, Request } from "./engine-protocol.ts";

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: FramelaneError) => void;
}

/** At most `limit` calls are on the wire at a time; the rest wait their turn, in order. */
export class PendingCalls {
  readonly #send: (request: Request) => void;
  readonly #limit: number;
  readonly #onWire = new Map<number, Pending>();
  readonly #waiting: { readonly request: Request; readonly pending: Pending }[] = [];
  #nextId = 1;
  #gone: FramelaneError | undefined;

  constructor(send: (request: Request) => void, limit = 64) {
    this.#send = send;
    this.#limit = limit;
  }

  call(method: Request["method"], args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) {
        reject(this.#gone);
        return;
      }
      const request: Request = { kind: "request", id: this.#nextId++, method, arguments: args };
      this.#waiting.push({ request, pending: { resolve, reject } });
      this.#sendWaiting();
    });
  }

  settle(message: Reply | Failure): void {
    const pending = this.#onWire.get(message.id);
    if (pending === undefined) return;
    this.#onWire.delete(message.id);
    if (message.kind === "reply") pending.resolve(message.value);
    else pending.reject(new FramelaneError(message.code, message.detail));
    this.#sendWaiting();
  }

  /** Nobody will answer any more. */
  fail(error: FramelaneError): void {
    this.#gone = error;
    const all = [...this.#onWire.values(), ...this.#waiting.splice(0).map((entry) => entry.pending)];
    this.#onWire.clear();
    for (const pending of all) pending.reject(error);
  }

  #sendWaiting(): void {
    while (this.#onWire.size < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#onWire.set(next.request.id, next.pending);
      this.#send(next.request);
    }
  }
}
