/**
 * The whole service under load: `framelane run` with many small channels at a fixed rate. Counts lost frames, and the
 * CPU time of both JavaScript main threads, with nobody watching and with one WebSocket.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readyLimitMs = 120_000;
/** After /ready: what starting cost is over. */
const settleMs = 3_000;
/** Of a clock tick in /proc: always 100 for user space on Linux. */
const tickMs = 10;
const watchRateHz = 10;

function configuration({ channels, width, height, fps }, runtime) {
  const names = Array.from({ length: channels }, (_, index) => `load-${String(index).padStart(2, "0")}`);
  const source = `{ type: pattern, width: ${width}, height: ${height}, fps: ${fps} }`;
  return `server: { listen: "127.0.0.1:0", runtime_dir: ${JSON.stringify(runtime)} }
defaults:
  pipeline: [gain: { value: 1.1 }]
  sinks: [memory: {}]
channels:
${names.map((name) => `  ${name}: { source: ${source} }`).join("\n")}
`;
}

/** CPU time in milliseconds of a process or of one of its threads. */
function cpuMs(path) {
  const text = readFileSync(`/proc/${path}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

async function json(url) {
  const response = await fetch(url);
  return response.json();
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

async function counts(url) {
  const { channels } = await json(`${url}/api/v1/channels`);
  const over = (of) => channels.reduce((total, channel) => total + of(channel.frames), 0);
  return {
    running: channels.filter(({ state }) => state === "running").length,
    processed: over(({ processed }) => processed),
    lost: over(({ lost, dropped }) => sum(lost) + sum(dropped)),
  };
}

async function start(settings, entry, directory) {
  const file = join(directory, "load.yaml");
  writeFileSync(file, configuration(settings, join(directory, "runtime")));
  const child = spawn(process.execPath, [...entry, "run", file], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const service = { child, output: "", url: "", ended: once(child, "exit") };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    service.output += text;
    service.url ||= /http:\/\/\S+?(?=\/)/.exec(service.output)?.[0] ?? "";
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    service.output += text;
  });
  const limit = performance.now() + readyLimitMs;
  for (;;) {
    const ready = service.url && (await fetch(`${service.url}/ready`).catch(() => undefined));
    if (ready?.status === 200) return service;
    if (child.exitCode !== null || performance.now() > limit) throw new Error(`no /ready:\n${service.output}`);
    await wait(100);
  }
}

/** One snapshot stream, as a dashboard takes it; resolves with what ends it and says how much came. */
async function watch(url) {
  const { WebSocket } = await import("ws");
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/live`);
  let snapshots = 0;
  socket.on("message", (data) => {
    if (data.toString("utf8", 0, 20).includes("snapshot")) snapshots++;
  });
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "subscribe", rate_hz: watchRateHz }));
  return async () => {
    socket.close();
    await once(socket, "close");
    return snapshots;
  };
}

/** CPU times and frames over `seconds`; `enginePid` is the process that holds the frames. */
async function observe(service, enginePid, seconds) {
  const supervisorPid = service.child.pid;
  const take = () => ({
    time: performance.now(),
    supervisor: cpuMs(`${supervisorPid}/task/${supervisorPid}`),
    engineMain: cpuMs(`${enginePid}/task/${enginePid}`),
    engine: cpuMs(String(enginePid)),
  });
  const before = await counts(service.url);
  const first = take();
  await wait(seconds * 1000);
  const last = take();
  const after = await counts(service.url);
  const percent = (name) => Math.round(((last[name] - first[name]) / (last.time - first.time)) * 1000) / 10;
  return {
    seconds,
    running: after.running,
    processed: after.processed - before.processed,
    lost: after.lost - before.lost,
    supervisor_main_percent: percent("supervisor"),
    engine_main_percent: percent("engineMain"),
    javascript_percent: Math.round((percent("supervisor") + percent("engineMain")) * 10) / 10,
    engine_percent: percent("engine"),
  };
}

/**
 * `entry`: the command line's program with what node needs before it.
 * @returns one row with nobody watching, one with a WebSocket
 */
export async function measureLoad({ entry, seconds, settle = settleMs, ...settings }) {
  const directory = mkdtempSync(join(tmpdir(), "framelane-load-"));
  let service;
  try {
    service = await start(settings, entry, directory);
    await wait(settle);
    const enginePid = (await json(`${service.url}/health`)).engines[0].pid;
    const alone = await observe(service, enginePid, seconds);
    const stopWatching = await watch(service.url);
    const watched = await observe(service, enginePid, seconds);
    const snapshots = await stopWatching();
    return [
      { ...settings, websockets: 0, snapshots: 0, ...alone },
      { ...settings, websockets: 1, snapshots, ...watched },
    ];
  } finally {
    service?.child.kill("SIGINT");
    await service?.ended;
    rmSync(directory, { recursive: true, force: true });
  }
}
