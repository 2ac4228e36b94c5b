/**
 * What somebody does with an unpacked bundle: check, doctor, run, status, Ctrl-C. It runs under the bundle's own Node:
 *   BUNDLE/lib/node scripts/try-bundle.mjs BUNDLE
 * It and try-service.mjs may be copied elsewhere; test/e2e/bundle.test.ts and scripts/prove-bundle run it.
 */
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { countersByChannel, fetchText, Refused, startService, stopService, waitUntilReady } from "./try-service.mjs";

const bundle = resolve(process.argv[2] ?? ".");
const launcher = join(bundle, "bin/framelane");
const configuration = "config/framelane.yaml";
const framesLimitMs = 30_000;
/** A second of frames, after the channels are ready. */
const leastFrames = 30;

const say = (text) => process.stdout.write(`${text}\n`);

/** Runs one command to its end; its output. */
function command(...args) {
  const { status, signal, error, stdout, stderr } = spawnSync(launcher, args, { cwd: bundle, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Refused(`framelane ${args.join(" ")} ended with ${error ?? status ?? signal}\n${stdout}${stderr}`);
}

/** Nothing that the bundle should bring itself is there to be used. */
function refuseOthers() {
  for (const program of ["node", "npm", "npx", "python3"]) {
    if (spawnSync(program, ["--version"]).error === undefined) throw new Refused(`${program} is on this PATH`);
  }
}

/** Every channel goes on. */
async function watchFrames(address) {
  const frames = async () =>
    countersByChannel((await fetchText(`${address}/metrics`)).body, "framelane_frames_processed_total");
  const before = await frames();
  const start = performance.now();
  for (;;) {
    const now = await frames();
    const late = [...now].filter(([channel, count]) => count < (before.get(channel) ?? 0) + leastFrames);
    if (now.size > 0 && late.length === 0) return now.size;
    if (performance.now() - start > framesLimitMs) {
      throw new Refused(`${late.map(([channel]) => channel).join(", ") || "no channel"}: no frames`);
    }
    await wait(100);
  }
}

async function run() {
  const service = startService(launcher, ["run", configuration], bundle);
  const start = performance.now();
  try {
    const address = await waitUntilReady(service);
    say(`${address} is ready after ${((performance.now() - start) / 1000).toFixed(1)} s`);
    const channels = await watchFrames(address);
    const status = JSON.parse(command("status", "--json", "--url", address));
    const running = status.channels.filter(({ state }) => state === "running");
    if (running.length !== channels) throw new Refused(`${running.length} of ${channels} channels run`);
    say(`${channels} channels run`);
    say(await stopService(service));
    if (service.ended !== 0) throw new Refused(`framelane run ended with ${service.ended}`);
  } catch (error) {
    if (service.ended === undefined) process.kill(-service.child.pid, "SIGKILL");
    throw new Refused(`${error.message}\n${service.output}`);
  }
}

try {
  refuseOthers();
  say(command("--version").trim());
  say(command("check", configuration).trim());
  say(command("doctor").trim());
  await run();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  process.stderr.write(`framelane: ${error.message}\n`);
  process.exitCode = 1;
}
