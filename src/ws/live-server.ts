/** /api/v1/live: takes upgrades of the HTTP server. */
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { ServiceView } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import { LiveClient } from "./live-client.ts";

const livePath = "/api/v1/live";
const mostMessageBytes = 64 * 1024;
const mostClients = 256;
const goodbyeMs = 150;
const pingPeriodMs = 30_000;

export interface LiveServerOptions {
  readonly view: ServiceView;
  /** Throws where the request's Host or Origin is not welcome. */
  readonly check: (host: string | undefined, origin: string | undefined) => void;
  /** The refusal of an upgrade, as bytes of an HTTP answer. */
  readonly refusal: (error: FramelaneError) => string;
}

export class LiveServer {
  readonly #options: LiveServerOptions;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: mostMessageBytes, perMessageDeflate: false });
  readonly #clients = new Map<WebSocket, LiveClient>();
  readonly #silent = new Set<WebSocket>();
  readonly #unsubscribe: () => void;
  readonly #pinger: NodeJS.Timeout;

  constructor(options: LiveServerOptions) {
    this.#options = options;
    this.#unsubscribe = options.view.subscribe((event) => {
      for (const client of this.#clients.values()) client.event(event);
    });
    this.#pinger = setInterval(() => this.#ping(), pingPeriodMs);
  }

  attach(server: Server): void {
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Says goodbye; who does not answer in time is cut off. */
  async close(): Promise<void> {
    this.#unsubscribe();
    clearInterval(this.#pinger);
    const closed = Array.from(this.#clients, ([socket, client]) => {
      client.stop();
      socket.close(1001, "Framelane stops");
      return once(socket, "close");
    });
    const cutOff = setTimeout(() => {
      for (const socket of this.#clients.keys()) socket.terminate();
    }, goodbyeMs);
    await Promise.all(closed);
    clearTimeout(cutOff);
    this.#sockets.close();
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    try {
      this.#check(request);
    } catch (thrown) {
      // Without the end of the other side: it might never come, and the server could not close.
      socket.end(this.#options.refusal(FramelaneError.from(thrown)), () => socket.destroy());
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#welcome(opened));
  }

  #check(request: IncomingMessage): void {
    this.#options.check(request.headers.host, request.headers.origin);
    const path = request.url?.split("?", 1)[0];
    if (path !== livePath) throw new FramelaneError("not_found", `There is no WebSocket at ${path}.`);
    if (this.#clients.size >= mostClients) {
      throw new FramelaneError("too_many_clients", `${mostClients} clients are connected already.`);
    }
  }

  #welcome(socket: WebSocket): void {
    const client = new LiveClient(socket, this.#options.view);
    this.#clients.set(socket, client);
    socket.on("message", (data, isBinary) => client.receive(toBuffer(data), isBinary));
    socket.on("pong", () => this.#silent.delete(socket));
    // A protocol error or a message that is too large: ws closes the connection and says why.
    socket.on("error", () => {});
    socket.on("close", () => {
      client.stop();
      this.#clients.delete(socket);
      this.#silent.delete(socket);
    });
    client.start();
  }

  #ping(): void {
    for (const socket of this.#clients.keys()) {
      if (this.#silent.has(socket)) {
        socket.terminate();
        continue;
      }
      this.#silent.add(socket);
      socket.ping();
    }
  }
}

const toBuffer = (data: Buffer | ArrayBuffer | Buffer[]): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
