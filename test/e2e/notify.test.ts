import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fakeEntry, patternYaml, ServiceProcess } from "../fakes/service-process.ts";

/** What systemd is at the other end: a datagram socket. Node has none of its own. */
const receiver = `
import socket, sys
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
end.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(end.recv(4096).decode().replace("\\n", " "), flush=True)
`;

test("systemd hears of readiness, the watchdog's food, the status and the end", { timeout: 60_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-notify-"));
  const path = join(directory, "socket");
  const python = spawn("python3", ["-c", receiver, path], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: python.stdout });
  const heard: string[] = [];
  lines.on("line", (line) => heard.push(line));
  const hears = async (pattern: RegExp): Promise<void> => {
    while (!heard.some((line) => pattern.test(line))) await once(lines, "line");
  };
  try {
    await hears(/^bound$/);
    const environment = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "400000" };
    const service = await ServiceProcess.start({ entry: fakeEntry, channels: patternYaml("a", "b"), environment });
    await hears(/^READY=1 STATUS=2 starting MAINPID=\d+$/);
    await hears(/^STATUS=2 running$/);
    await hears(/^WATCHDOG=1$/);
    assert.ok(!heard.some((line) => line.startsWith("STOPPING")));
    assert.equal(await service.stop(), 0);
    await hears(/^STOPPING=1 STATUS=stopping$/);
  } finally {
    python.kill();
    rmSync(directory, { recursive: true, force: true });
  }
});
