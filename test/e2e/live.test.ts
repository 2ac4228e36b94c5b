import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import type { Hello, LiveEvent, Refusal, Snapshot, Subscribed } from "../../src/ws/messages.ts";
import { fakeEntry, patternYaml, ServiceProcess } from "../fakes/service-process.ts";

type Message = Hello | Snapshot | LiveEvent | Refusal | Subscribed;

/** Keeps what came, so that nothing is missed between two waits. */
class LiveReader {
  readonly socket: WebSocket;
  readonly #messages: Message[] = [];
  #arrived: () => void = () => {};

  constructor(url: string) {
    this.socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/live`);
    this.socket.on("message", (data) => {
      this.#messages.push(JSON.parse(data.toString()) as Message);
      this.#arrived();
    });
  }

  /** The next message of a type; those before it are passed over. */
  async next<T extends Message["type"]>(type: T): Promise<Extract<Message, { type: T }>> {
    for (;;) {
      const message = this.#messages.shift();
      if (message?.type === type) return message as Extract<Message, { type: T }>;
      if (message === undefined) {
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
      }
    }
  }

  tell(message: object): void {
    this.socket.send(JSON.stringify(message));
  }
}

/** The status line that an upgrade is answered with. */
async function upgrade(url: string, path: string, headers: Record<string, string>): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const all = { Host: host, Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", ...headers };
  const lines = Object.entries({ "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", ...all });
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return answer.toString().split("\r\n", 1)[0] ?? "";
}

describe("/api/v1/live", { timeout: 120_000 }, () => {
  let service: ServiceProcess;
  const readers: LiveReader[] = [];
  const open = (): LiveReader => {
    const reader = new LiveReader(service.url);
    readers.push(reader);
    return reader;
  };

  before(async () => {
    service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a", "b") });
    await service.allRunning();
  });
  after(async () => {
    for (const { socket } of readers) socket.terminate();
    await service.stop();
  });

  test("says hello, then snapshots of all channels", async () => {
    const reader = open();
    const hello = await reader.next("hello");
    assert.deepEqual([hello.schema, hello.channels], [1, ["a", "b"]]);
    const first = await reader.next("snapshot");
    const second = await reader.next("snapshot");
    assert.deepEqual(
      first.channels.map(({ name }) => name),
      ["a", "b"],
    );
    assert.ok((second.channels[0]?.frames.processed ?? 0) > (first.channels[0]?.frames.processed ?? 0));
    assert.equal(second.engines[0]?.state, "running");
  });

  test("subscribe chooses channels and rate", async () => {
    const reader = open();
    await reader.next("snapshot");
    reader.tell({ type: "subscribe", channels: ["b"], rate_hz: 10 });
    assert.deepEqual(await reader.next("subscribed"), { type: "subscribed", channels: ["b"], rate_hz: 10 });
    await reader.next("snapshot");
    const start = performance.now();
    for (let count = 0; count < 10; count++) {
      assert.deepEqual(
        (await reader.next("snapshot")).channels.map(({ name }) => name),
        ["b"],
      );
    }
    const seconds = (performance.now() - start) / 1000;
    assert.ok(seconds > 0.8 && seconds < 3, `ten snapshots in ${seconds} s`);
  });

  test("what is not understood is answered and survived", async () => {
    const reader = open();
    await reader.next("snapshot");
    const cases: [string | Buffer, string][] = [
      ["{", "bad_request"],
      ["[]", "bad_request"],
      ["null", "bad_request"],
      ['{"type":"launch"}', "bad_request"],
      ['{"type":"subscribe","rate_hz":11}', "bad_request"],
      ['{"type":"subscribe","rate_hz":"1"}', "bad_request"],
      ['{"type":"subscribe","channels":"a"}', "bad_request"],
      ['{"type":"subscribe","rate":1}', "bad_request"],
      ['{"type":"subscribe","channels":["nobody"]}', "not_found"],
      [Buffer.from([1, 2, 3]), "bad_request"],
    ];
    for (const [message, code] of cases) {
      reader.socket.send(message);
      assert.equal((await reader.next("error")).code, code, String(message));
    }
    reader.tell({ type: "subscribe" });
    assert.equal((await reader.next("subscribed")).rate_hz, 1);
  });

  test("a message that is too large ends that connection only", async () => {
    const reader = open();
    await reader.next("snapshot");
    const closed = once(reader.socket, "close");
    reader.socket.send("x".repeat(100_000));
    assert.equal((await closed)[0], 1009);
    await open().next("snapshot");
  });

  test("strange origins, hosts and paths are refused", async () => {
    const { host } = new URL(service.url);
    const at = "/api/v1/live";
    assert.match(await upgrade(service.url, at, { Origin: "http://evil.example" }), /^HTTP\/1\.1 403 /);
    assert.match(await upgrade(service.url, at, { Origin: "null" }), /^HTTP\/1\.1 403 /);
    assert.match(await upgrade(service.url, at, { Host: "evil.example" }), /^HTTP\/1\.1 421 /);
    assert.match(await upgrade(service.url, "/live", {}), /^HTTP\/1\.1 404 /);
    assert.match(await upgrade(service.url, at, { Origin: `http://${host}` }), /^HTTP\/1\.1 101 /);
  });

  test("events tell an engine's loss to those who want the channel", async () => {
    const reader = open();
    await reader.next("snapshot");
    reader.tell({ type: "subscribe", channels: ["b"], rate_hz: 0.1 });
    await reader.next("subscribed");
    process.kill(await service.enginePid(), "SIGKILL");
    const engine = await reader.next("event");
    assert.deepEqual([engine.channel, engine.state], [null, "backoff"]);
    const channel = await reader.next("event");
    assert.deepEqual([channel.channel, channel.state, channel.reason], ["b", "backoff", "engine_restart"]);
    for (;;) {
      const { channel: name, state } = await reader.next("event");
      assert.notEqual(name, "a");
      if (name === "b" && state === "running") break;
    }
  });
});
