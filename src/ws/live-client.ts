/** One client of /api/v1/live. */
import type { WebSocket } from "ws";
import { type ServiceEvent, type ServiceView, schemaVersion } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import {
  type Hello,
  type LiveEvent,
  parseSubscribe,
  type Refusal,
  type Snapshot,
  type Subscribed,
  type Subscription,
} from "./messages.ts";

/** Bytes that may wait in this process for a client before events are dropped and counted. */
const mostEventBacklog = 256 * 1024;
const firstRateHz = 1;

/** The part of a WebSocket that is used here. */
export type Socket = Pick<WebSocket, "send" | "bufferedAmount" | "readyState" | "OPEN">;

/**
 * A client gets the newest snapshot, never a queue: while anything is still on its way to a slow one, its turn
 * passes and nothing is made for it.
 */
export class LiveClient {
  readonly #socket: Socket;
  readonly #view: ServiceView;
  #subscription: Subscription = { channels: undefined, rateHz: firstRateHz };
  #eventsLost = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, view: ServiceView) {
    this.#socket = socket;
    this.#view = view;
  }

  start(): void {
    this.#send({
      type: "hello",
      schema: schemaVersion,
      ...this.#view.build,
      channels: this.#view.channelNames(),
    } satisfies Hello);
    this.#snapshot();
    this.#restartTimer();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  receive(data: Buffer, isBinary: boolean): void {
    try {
      if (isBinary) throw new FramelaneError("bad_request", "Expected a text message.");
      const names = new Set(this.#view.channelNames());
      this.#subscription = parseSubscribe(data.toString(), this.#subscription, (name) => names.has(name));
    } catch (thrown) {
      const { code, message: detail } = FramelaneError.from(thrown);
      this.#send({ type: "error", code, detail } satisfies Refusal);
      return;
    }
    const { channels, rateHz } = this.#subscription;
    this.#send({
      type: "subscribed",
      channels: channels === undefined ? null : [...channels],
      rate_hz: rateHz,
    } satisfies Subscribed);
    this.#snapshot();
    this.#restartTimer();
  }

  event(event: ServiceEvent): void {
    const { channels } = this.#subscription;
    if (channels !== undefined && event.channel !== null && !channels.has(event.channel)) return;
    if (this.#socket.bufferedAmount > mostEventBacklog) {
      this.#eventsLost++;
      return;
    }
    this.#send({ type: "event", ...event } satisfies LiveEvent);
  }

  #restartTimer(): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#snapshot(), 1000 / this.#subscription.rateHz);
  }

  #snapshot(): void {
    if (this.#socket.bufferedAmount > 0) return;
    const { channels } = this.#subscription;
    const all = this.#view.channels();
    const devices = this.#view.devices();
    this.#send({
      type: "snapshot",
      time: new Date().toISOString(),
      engines: devices.flatMap(({ engine }) => (engine === null ? [] : [engine])),
      devices,
      channels: channels === undefined ? all : all.filter(({ name }) => channels.has(name)),
      events_lost: this.#eventsLost,
    } satisfies Snapshot);
  }

  #send(message: Hello | Snapshot | LiveEvent | Refusal | Subscribed): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
