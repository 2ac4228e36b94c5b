import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, createServer } from "node:net";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fakeEntry, isAlive, patternYaml, realEntry, ServiceProcess } from "../fakes/service-process.ts";

const untilGone = async (pid: number, withinMs: number): Promise<void> => {
  for (const start = performance.now(); isAlive(pid); await delay(10)) {
    assert.ok(performance.now() - start < withinMs, `process ${pid} is still there after ${withinMs} ms`);
  }
};

describe("the service's life", { timeout: 120_000 }, () => {
  test("SIGINT ends everything within two seconds, with exit code 0", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a", "b") });
    await service.allRunning();
    const engine = await service.enginePid();
    const start = performance.now();
    assert.equal(await service.stop(), 0);
    assert.ok(performance.now() - start < 2000);
    assert.ok(!isAlive(engine));
  });

  for (const signal of ["SIGINT", "SIGTERM"]) {
    test(`${signal} while it still starts is an orderly stop that says nothing`, async () => {
      const early = `process.once("newListener", (name) =>
        name === "SIGINT" && setImmediate(() => process.kill(process.pid, "${signal}")));`;
      const service = new ServiceProcess({
        entry: realEntry,
        channels: patternYaml("a"),
        environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(early)}` },
      });
      assert.equal(await service.exited, 0, service.stderr);
      assert.equal(service.stdout + service.stderr, "");
      await service.stop();
    });
  }

  test("connections that others never end hold nothing up", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") });
    await service.allRunning();
    const { port, hostname } = new URL(service.url);
    const upgrade = "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
    const requests = [
      `GET /elsewhere HTTP/1.1\r\n${upgrade}\r\n`,
      `GET /api/v1/live HTTP/1.1\r\n${upgrade}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
      "no request\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nX-",
    ];
    const sockets = requests.map((request) => {
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      socket.on("error", () => {});
      return {
        socket,
        answered: once(
          socket.setNoDelay().on("connect", () => socket.write(request)),
          "data",
        ),
      };
    });
    await Promise.all(sockets.slice(0, 3).map(({ answered }) => answered));
    const start = performance.now();
    assert.equal(await service.stop(), 0);
    assert.ok(performance.now() - start < 1500);
    for (const { socket } of sockets) socket.destroy();
  });

  test("two SIGINTs close together, as npm and the terminal send them, are one", async () => {
    const service = await ServiceProcess.start({
      entry: fakeEntry,
      channels: patternYaml("a", "b"),
      environment: { FRAMELANE_FAKE_STOP: "slow" },
    });
    await service.allRunning();
    service.child.kill("SIGINT");
    await delay(100);
    service.child.kill("SIGINT");
    assert.equal(await service.exited, 0);
    for (const name of ["a", "b"]) assert.match(service.stderr, new RegExp(`"channel":"${name}","state":"stopped"`));
    await service.stop();
  });

  test("a second signal later than that ends it at once", async () => {
    const service = await ServiceProcess.start({
      entry: fakeEntry,
      channels: patternYaml("a"),
      environment: { FRAMELANE_FAKE_STOP: "never" },
    });
    await service.allRunning();
    const engine = await service.enginePid();
    service.child.kill("SIGTERM");
    while ((await service.health()).status !== "stopping") await delay(5);
    let ended = false;
    void service.exited.then(() => {
      ended = true;
    });
    while (!ended) {
      service.child.kill("SIGTERM");
      await delay(20);
    }
    assert.equal(await service.exited, 143);
    await untilGone(engine, 5000);
    await service.stop();
  });

  test("an engine does not outlive a supervisor that was killed", async () => {
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") });
    await service.allRunning();
    const engine = await service.enginePid();
    service.child.kill("SIGKILL");
    await service.exited;
    await untilGone(engine, 5000);
    await service.stop();
  });

  test("an engine whose JavaScript hangs does not outlive it either", async () => {
    const preload = new URL("../fakes/block-on-sigusr2.mjs", import.meta.url);
    const service = await ServiceProcess.start({
      entry: realEntry,
      channels: patternYaml("a"),
      environment: { NODE_OPTIONS: `--import ${preload.href}`, FRAMELANE_BLOCK_MS: "60000" },
    });
    await service.allRunning();
    const engine = await service.enginePid();
    process.kill(engine, "SIGUSR2");
    service.child.kill("SIGKILL");
    await service.exited;
    await untilGone(engine, 5000);
    await service.stop();
  });

  test("a second instance of a runtime directory is refused", async () => {
    const first = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a") });
    try {
      const second = new ServiceProcess({ entry: fakeEntry, channels: patternYaml("a"), directory: first.directory });
      assert.equal(await second.exited, 75);
      assert.ok(second.stderr.includes(`Framelane already runs here (pid ${first.child.pid}, ${first.url}): stop it`));
      assert.equal((await first.health()).status, "ok");
    } finally {
      await first.stop();
    }
  });

  test("a port in use is named, the exit code is 69, and nothing is left behind", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const service = new ServiceProcess({ entry: fakeEntry, channels: patternYaml("a"), listen: `127.0.0.1:${port}` });
    assert.equal(await service.exited, 69);
    assert.match(service.stderr, new RegExp(`Another program listens on 127\\.0\\.0\\.1:${port}\\.`));
    assert.deepEqual(readdirSync(service.directory), [basename(service.file)]);
    other.close();
    await service.stop();
  });
});
