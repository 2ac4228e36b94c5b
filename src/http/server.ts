/** The HTTP side: what is asked for is answered from the service's view, whatever the engines do. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import type { DeviceReport, ServiceControl, ServiceView } from "../engine/report.ts";
import { FramelaneError } from "../errors.ts";
import { checkHost } from "./host-check.ts";
import { parseMemoryPatch } from "./memory-patch.ts";
import { problemMediaType, problemResponse, toFramelaneError, toProblem } from "./problem.ts";

export interface HttpOptions {
  readonly view: ServiceView;
  readonly control: ServiceControl;
  /** The text of /metrics and its media type. */
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>;
  /** Called for errors that are a defect, not the caller's doing. */
  readonly onDefect: (error: FramelaneError) => void;
}

const mostBodyBytes = 1 << 20;

export class HttpServer {
  readonly #app: FastifyInstance;

  constructor(options: HttpOptions) {
    this.#app = fastify({
      bodyLimit: mostBodyBytes,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: 200 },
      clientErrorHandler: refuseMalformed,
      frameworkErrors: (thrown, request, reply) => sendProblem(reply, toFramelaneError(thrown), request.url),
    });
    this.#app.addHook("onRequest", async (request) => checkHost(request.headers.host));
    this.#app.setErrorHandler((thrown, request, reply) => {
      const error = toFramelaneError(thrown);
      if (error.code === "internal") options.onDefect(error);
      return sendProblem(reply, error, request.url);
    });
    this.#app.setNotFoundHandler((request, reply) => {
      const error = new FramelaneError("not_found", `There is no ${request.method} ${request.url}.`);
      return sendProblem(reply, error, request.url);
    });
    addServiceRoutes(this.#app, options);
    addChannelRoutes(this.#app, options);
    refusePlainLive(this.#app);
  }

  /** For upgrades to WebSocket. */
  get server(): Server {
    return this.#app.server;
  }

  /** Resolves with the port; rejects with `address_in_use` where another program has it. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await this.#app.listen({ host, port });
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === "EADDRINUSE") {
        throw new FramelaneError("address_in_use", `Another program listens on ${host}:${port}.`, { cause: thrown });
      }
      throw new FramelaneError("io_failed", `Cannot listen on ${host}:${port}: ${code ?? thrown}.`, { cause: thrown });
    }
    const address = this.#app.server.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }

  async close(): Promise<void> {
    await this.#app.close();
  }
}

/** Malformed request lines and headers, before there is a request. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else {
    const answer = problemResponse(new FramelaneError("bad_request", `This is no HTTP request: ${error.message}.`));
    // Without the end of the other side, which might never come.
    socket.end(answer, () => socket.destroy());
  }
}

const sendProblem = (reply: FastifyReply, error: FramelaneError, instance: string) =>
  reply
    .status(error.httpStatus)
    .type(problemMediaType)
    .send(JSON.stringify(toProblem(error, instance)));

const whereToLook = `Framelane
  /api/v1/channels         channels, their states and counters
  /api/v1/channels/NAME    one channel, with its specification and parameters; PATCH as for devices
  /api/v1/devices          devices and engines; PATCH /api/v1/devices/ID changes the bounds of its memory
  /api/v1/live             WebSocket: snapshots and events
  /metrics                 for Prometheus
  /health, /ready          for supervisors and load balancers
`;

function addServiceRoutes(app: FastifyInstance, { view, metrics }: HttpOptions): void {
  app.get("/", async (_request, reply) => reply.type("text/plain; charset=utf-8").send(whereToLook));
  app.get("/health", async (_request, reply) => reply.header("cache-control", "no-store").send(view.health()));
  app.get("/ready", async (_request, reply) => {
    const readiness = view.readiness();
    return reply
      .status(readiness.ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send(readiness);
  });
  app.get("/metrics", async (_request, reply) => {
    const { type, text } = await metrics();
    return reply.type(type).send(text);
  });
}

function addChannelRoutes(app: FastifyInstance, { view, control }: HttpOptions): void {
  app.get("/api/v1/channels", async () => ({ channels: view.channels() }));
  app.get<{ Params: { name: string } }>("/api/v1/channels/:name", async (request) => {
    const { name } = request.params;
    const detail = await view.channelDetail(name);
    if (detail === undefined) throw new FramelaneError("not_found", `There is no channel "${name}".`);
    return detail;
  });
  app.patch<{ Params: { name: string } }>("/api/v1/channels/:name", async (request) =>
    control.setChannelLimits(request.params.name, parseMemoryPatch(request.body)),
  );
  app.get("/api/v1/devices", async () => ({ devices: view.devices(), gpu_problem: view.gpuProblem }));
  app.get<{ Params: { id: string } }>("/api/v1/devices/:id", async (request) => deviceOf(view, request.params.id));
  app.patch<{ Params: { id: string } }>("/api/v1/devices/:id", async (request) => {
    const { id } = deviceOf(view, request.params.id);
    return control.setDeviceLimits(id, parseMemoryPatch(request.body));
  });
}

function deviceOf(view: ServiceView, id: string): DeviceReport {
  const devices = view.devices();
  const found = devices.find((device) => device.id === id);
  if (found !== undefined) return found;
  const why = view.gpuProblem === null ? "" : `; no GPU: ${view.gpuProblem}`;
  const known = devices.map((device) => device.id).join(", ");
  throw new FramelaneError("not_found", `There is no device "${id}", only ${known}${why}.`);
}

/** Upgrades do not come by here: src/ws/live-server.ts takes them. */
function refusePlainLive(app: FastifyInstance): void {
  app.get("/api/v1/live", async (request, reply) => {
    const error = new FramelaneError("upgrade_required", `${request.url} speaks WebSocket, not plain HTTP.`);
    return sendProblem(reply.headers({ upgrade: "websocket", connection: "upgrade" }), error, request.url);
  });
}
