import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Notifier } from "../../../src/systemd/notify.ts";

function prepare(environment: Record<string, string>) {
  mock.timers.enable({ apis: ["setInterval"] });
  const sent: string[] = [];
  const state = { progress: true };
  const notifier = new Notifier({
    environment,
    send: (path, message) => sent.push(`${path} ${message.split("\n").slice(0, 2).join(" ")}`),
    makesProgress: () => state.progress,
  });
  return { sent, state, notifier };
}

const socket = "@notify";

test("ready, a status when it changes, stopping", () => {
  const { sent, notifier } = prepare({ NOTIFY_SOCKET: socket });
  notifier.ready("2 starting");
  notifier.status("2 starting");
  notifier.status("2 running");
  notifier.stopping();
  assert.deepEqual(sent, [
    "@notify READY=1 STATUS=2 starting",
    "@notify STATUS=2 running",
    "@notify STOPPING=1 STATUS=stopping",
  ]);
  mock.timers.reset();
});

test("nobody listens: nothing is sent", () => {
  const { sent, notifier } = prepare({ WATCHDOG_USEC: "1000000" });
  notifier.ready("");
  mock.timers.tick(5000);
  notifier.stopping();
  assert.deepEqual(sent, []);
  mock.timers.reset();
});

test("the watchdog is fed twice a period, while there is progress", () => {
  const { sent, state, notifier } = prepare({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: "4000000" });
  notifier.ready("");
  sent.length = 0;
  mock.timers.tick(4000);
  assert.deepEqual(sent.splice(0), ["@notify WATCHDOG=1", "@notify WATCHDOG=1"]);
  state.progress = false;
  mock.timers.tick(20_000);
  assert.deepEqual(sent, []);
  state.progress = true;
  mock.timers.tick(2000);
  assert.equal(sent.length, 1);
  mock.timers.reset();
});

test("a watchdog that is meant for another process is not fed", () => {
  const { sent, notifier } = prepare({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: "1000000", WATCHDOG_PID: "1" });
  notifier.ready("");
  sent.length = 0;
  mock.timers.tick(5000);
  assert.deepEqual(sent, []);
  mock.timers.reset();
});

test("a socket that is gone is no reason to fail", () => {
  const notifier = new Notifier({
    environment: { NOTIFY_SOCKET: "/gone" },
    send: () => {
      throw new Error("gone");
    },
    makesProgress: () => true,
  });
  notifier.ready("");
  notifier.stopping();
});
