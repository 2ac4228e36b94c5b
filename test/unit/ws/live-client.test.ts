import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { ServiceEvent } from "../../../src/engine/report.ts";
import { LiveClient } from "../../../src/ws/live-client.ts";
import { channelReport, FakeView } from "../../fakes/service-view.ts";

class FakeSocket {
  readonly OPEN = 1;
  readyState: 0 | 1 | 2 | 3 = 1;
  bufferedAmount = 0;
  readonly sent: { type: string; channels?: { name: string }[]; events_lost?: number }[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  count(type: string): number {
    return this.sent.filter((message) => message.type === type).length;
  }
}

const event: ServiceEvent = { time: "", channel: "a", device: "cpu", state: "running", reason: null, error: null };

function prepare() {
  mock.timers.enable({ apis: ["setInterval", "Date"] });
  const view = new FakeView(channelReport("a"), channelReport("b"));
  const socket = new FakeSocket();
  const client = new LiveClient(socket, view);
  client.start();
  return { view, socket, client };
}

const end = (client: LiveClient): void => {
  client.stop();
  mock.timers.reset();
};

test("a snapshot a second until asked for more", () => {
  const { socket, client } = prepare();
  assert.deepEqual(
    socket.sent.map(({ type }) => type),
    ["hello", "snapshot"],
  );
  mock.timers.tick(3000);
  assert.equal(socket.count("snapshot"), 4);
  client.receive(Buffer.from('{"type":"subscribe","rate_hz":10}'), false);
  mock.timers.tick(1000);
  assert.equal(socket.count("snapshot"), 15);
  client.stop();
  mock.timers.tick(1000);
  assert.equal(socket.count("snapshot"), 15);
  end(client);
});

test("while a slow client still has something to read, nothing is made for it", () => {
  const { view, socket, client } = prepare();
  socket.bufferedAmount = 1;
  const asked = view.asked;
  mock.timers.tick(10_000);
  assert.equal(view.asked, asked);
  assert.equal(socket.count("snapshot"), 1);
  socket.bufferedAmount = 0;
  view.reports = [channelReport("newest")];
  mock.timers.tick(1000);
  assert.deepEqual(
    socket.sent.at(-1)?.channels?.map(({ name }) => name),
    ["newest"],
  );
  end(client);
});

test("a client that is far behind loses events, and is told how many", () => {
  const { socket, client } = prepare();
  socket.bufferedAmount = 1;
  client.event(event);
  assert.equal(socket.count("event"), 1);
  socket.bufferedAmount = 1e6;
  client.event(event);
  client.event(event);
  assert.equal(socket.count("event"), 1);
  socket.bufferedAmount = 0;
  mock.timers.tick(1000);
  assert.equal(socket.sent.at(-1)?.events_lost, 2);
  end(client);
});

test("nothing is sent on a connection that is closing", () => {
  const { socket, client } = prepare();
  const before = socket.sent.length;
  socket.readyState = 2;
  client.event(event);
  mock.timers.tick(2000);
  assert.equal(socket.sent.length, before);
  end(client);
});
