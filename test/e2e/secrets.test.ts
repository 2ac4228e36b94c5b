import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import WebSocket from "ws";
import { fakeEntry, ServiceProcess } from "../fakes/service-process.ts";

test("a secret of the configuration is told nowhere", { timeout: 60_000 }, async () => {
  const service = await ServiceProcess.start({
    entry: fakeEntry,
    channels:
      '  a: { source: { type: y4m, path: "/nowhere/${env:CAMERA_KEY}/film.y4m" } }\n' +
      '  b: { start: false, source: { type: ffmpeg, url: "rtsp://operator:open-sesame@127.0.0.1/${env:CAMERA_KEY}" } }\n',
    environment: { CAMERA_KEY: "hunter22" },
  });
  const told: string[] = [];
  try {
    await service.until("tried", ([a]) => a?.state === "backoff" && a.error?.message !== "");
    for (const path of ["channels", "channels/a", "channels/b"]) {
      told.push(await (await fetch(`${service.url}/api/v1/${path}`)).text());
    }
    for (const path of ["ready", "health", "metrics"]) told.push(await (await fetch(`${service.url}/${path}`)).text());
    const live = new WebSocket(`${service.url.replace("http", "ws")}/api/v1/live`);
    const snapshot = new Promise<string>((resolve) => {
      live.on("message", (data) => {
        if (String(data).includes('"snapshot"')) resolve(String(data));
      });
    });
    await once(live, "open");
    told.push(await snapshot);
    live.close();
  } finally {
    await service.stop();
  }
  told.push(service.stdout, service.stderr);
  for (const text of told) assert.doesNotMatch(text, /hunter22|open-sesame|operator/);
  assert.match(told[1] ?? "", /cannot open \/nowhere\/\$\{env:CAMERA_KEY\}\/film/);
  assert.match(told[2] ?? "", /"rtsp:\/\/\*\*\*@127\.0\.0\.1\/\$\{env:CAMERA_KEY\}"/);
  assert.match(service.stdout + service.stderr, /CAMERA_KEY/);
});
