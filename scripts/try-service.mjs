/**
 * What a newcomer does after `npm install`: npm start, wait for /ready, look at /metrics after ten seconds, Ctrl-C.
 * Needs nothing but Node; .ci/run and scripts/prove-fresh-machine run it.
 */
import { spawn } from "node:child_process";
import { get } from "node:http";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const readyLimitMs = 180_000;
const watchMs = 10_000;
const stopLimitMs = 2_000;
/** Of 30 frames/s over the watch; what the first second of a channel takes is left out. */
const leastFrames = 270;

export class Refused extends Error {}

export function fetchText(url) {
  return new Promise((resolve, reject) => {
    const request = get(url, { timeout: 5_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, body }));
    });
    request.on("timeout", () => request.destroy(new Error("no answer in 5 s")));
    request.on("error", reject);
  });
}

/** Sums of a counter by channel. */
export function countersByChannel(metrics, name) {
  const sums = new Map();
  for (const line of metrics.split("\n")) {
    const match = new RegExp(`^${name}\\{(.*)\\} (\\S+)$`).exec(line);
    const channel = match && /channel="([^"]*)"/.exec(match[1])?.[1];
    if (channel !== undefined && channel !== null) sums.set(channel, (sums.get(channel) ?? 0) + Number(match[2]));
  }
  return sums;
}

/** The sum over all channels, each of which has to be counted. */
function total(metrics, name, channels) {
  const sums = countersByChannel(metrics, name);
  for (const channel of channels) {
    if (!sums.has(channel)) throw new Refused(`/metrics has no ${name} of ${channel}`);
  }
  return [...sums.values()].reduce((sum, value) => sum + value, 0);
}

/** A command in a process group of its own, as a terminal has it. */
export function startService(program, args, cwd) {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const service = { name: [program, ...args].join(" "), child, output: "", ended: undefined };
  const take = (chunk) => {
    service.output += chunk;
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  service.end = new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(code ?? signal));
  }).then((how) => {
    service.ended = how;
    return how;
  });
  return service;
}

/** The address that the service prints, once its /ready is 200. */
export async function waitUntilReady(service) {
  const start = performance.now();
  while (performance.now() - start < readyLimitMs) {
    if (service.ended !== undefined) throw new Refused(`${service.name} ended with ${service.ended}`);
    const address = /https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+/.exec(service.output)?.[0];
    const answer = address ? await fetchText(`${address}/ready`).catch(() => undefined) : undefined;
    if (answer?.status === 200) return address;
    await wait(100);
  }
  throw new Refused(`/ready did not answer 200 within ${readyLimitMs / 1000} s`);
}

/** Every channel goes on, and none has lost or dropped a frame. */
async function watchFrames(address) {
  const before = countersByChannel((await fetchText(`${address}/metrics`)).body, "framelane_frames_processed_total");
  await wait(watchMs);
  const { body } = await fetchText(`${address}/metrics`);
  const after = countersByChannel(body, "framelane_frames_processed_total");
  if (after.size < 2) throw new Refused(`/metrics shows ${after.size} channels, 2 or more are expected`);
  for (const [channel, frames] of after) {
    const gained = frames - (before.get(channel) ?? 0);
    if (gained < leastFrames) throw new Refused(`${channel} processed ${gained} frames in ${watchMs / 1000} s`);
  }
  const processed = total(body, "framelane_frames_processed_total", after.keys());
  const lost = total(body, "framelane_frames_lost_total", after.keys());
  const dropped = total(body, "framelane_frames_dropped_total", after.keys());
  if (lost + dropped > 0) throw new Refused(`${lost} frames were lost and ${dropped} dropped`);
  return `${after.size} channels, ${processed} frames processed, none lost, none dropped`;
}

/** SIGINT to the whole group, as Ctrl-C sends it. */
export async function stopService(service) {
  const start = performance.now();
  process.kill(-service.child.pid, "SIGINT");
  const how = await Promise.race([service.end, wait(stopLimitMs).then(() => undefined)]);
  if (how === undefined) throw new Refused(`it still ran ${stopLimitMs / 1000} s after SIGINT`);
  return `stopped ${((performance.now() - start) / 1000).toFixed(2)} s after SIGINT`;
}

async function tryService() {
  const service = startService("npm", ["start"], root);
  const start = performance.now();
  try {
    const address = await waitUntilReady(service);
    process.stdout.write(`${address} is ready after ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
    process.stdout.write(`${await watchFrames(address)}\n`);
    process.stdout.write(`${await stopService(service)}\n`);
  } catch (error) {
    process.stderr.write(`${service.output}\nframelane: ${error.message}\n`);
    process.exitCode = 1;
    if (service.ended === undefined) process.kill(-service.child.pid, "SIGKILL");
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await tryService();
