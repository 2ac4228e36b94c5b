/**
 * Builds what `npm start` needs: Halide and CMake fetched when missing, the native addons, the JavaScript.
 * Needs nothing but Node: it must be able to say what else is missing. `--fresh` looks again for optional libraries.
 * `--bench` adds the programs that `framelane bench` runs in processes of their own: stock Halide, the device cache.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAddon } from "./install/addon.mjs";
import { recordCommit } from "./install/commit.mjs";
import { InstallError } from "./install/process.mjs";
import { buildTypeScript } from "./install/typescript.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (text) => process.stdout.write(`framelane: ${text}\n`);

/** Says that a step begins; the function it returns says that it is done, and how long it took. */
function report(step) {
  if (step) say(`${step} ...`);
  const start = performance.now();
  return (done) => say(`${done} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
}

/** As `engines` in package.json, which npm only warns about. */
const leastNode = [20, 19];
function checkNode([major, minor] = process.versions.node.split(".").map(Number)) {
  if (major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1])) return;
  throw new InstallError(`Node ${process.versions.node} is too old: install Node ${leastNode.join(".")} or newer`);
}

try {
  checkNode();
  if (process.platform !== "linux") throw new InstallError("Framelane runs on Linux only");
  const built = await buildAddon(root, report, {
    fresh: process.argv.includes("--fresh"),
    bench: process.argv.includes("--bench"),
  });
  const compiled = await buildTypeScript(root, report);
  recordCommit(root, built || compiled);
  if (built || compiled) say("ready: npm start");
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  if (error.output) process.stderr.write(`${error.output.trimEnd()}\n`);
  process.stderr.write(`framelane: ${error.message}\n`);
  process.exitCode = 1;
}
