/**
 * Makes build/bundle/framelane-VERSION-linux-x64.tar.xz: Framelane with Node and Halide, for a machine without a network.
 *   npm run bundle [-- --out DIR] [--fast] [--split 60MiB] [--with PLUGIN]... [--with-tests] [--node VERSION]
 * --fast compresses little. --with ffmpeg adds a plug-in; its libraries stay the system's. --with-tests adds the native
 * tests that scripts/build-native has built. The same commit and build give the same bytes (SOURCE_DATE_EPOCH sets the time).
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pack, parseSize, sha256, split } from "./bundle/archive.mjs";
import { layOut } from "./bundle/contents.mjs";
import { checkLibraries } from "./bundle/libraries.mjs";
import { fetchNode } from "./bundle/node.mjs";
import { commitOf } from "./install/commit.mjs";
import { findHalide } from "./install/halide.mjs";
import { InstallError, runQuietly } from "./install/process.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (text) => process.stdout.write(`framelane: ${text}\n`);

const options = {
  out: { type: "string", default: join(root, "build/bundle") },
  fast: { type: "boolean", default: false },
  split: { type: "string" },
  with: { type: "string", multiple: true, default: [] },
  "with-tests": { type: "boolean", default: false },
  node: { type: "string" },
};

function parse() {
  try {
    const { values } = parseArgs({ options });
    return { ...values, partSize: values.split === undefined ? undefined : parseSize(values.split) };
  } catch (error) {
    throw error instanceof InstallError ? error : new InstallError(error.message);
  }
}

/** What the bundle is made from: { commit, epoch }. */
function origin() {
  const commit = commitOf(root);
  const epoch = process.env.SOURCE_DATE_EPOCH ?? commit?.time;
  if (!/^\d+$/.test(epoch ?? "")) throw new InstallError("no commit gives the files' time: set SOURCE_DATE_EPOCH");
  return { commit: commit?.name ?? "unknown", epoch };
}

async function build() {
  const result = await runQuietly(process.execPath, [join(root, "scripts/install.mjs"), "--bench"], { cwd: root });
  if (!result.ok) throw new InstallError("the build failed; its output stands above", result.output);
}

/** Lays the bundle out in `folder` and packs it; the path of what came out, which is not in its place yet. */
async function makeBundle(folder, name, { fast, with: plugins, "with-tests": tests, node: wanted }) {
  const { commit, epoch } = origin();
  const halide = await findHalide(root, () => () => undefined);
  const node = await fetchNode(root, wanted, say);
  const bundle = join(folder, name);
  mkdirSync(bundle);
  layOut(root, bundle, { halide, node, plugins, tests, commit });
  // Plug-ins and tests use what the system has of their libraries.
  checkLibraries(bundle, (file) => /\/(plugins\/[^/]+\.so|tests\/[^/]+)$/.test(file));
  say(fast ? "packing ..." : "packing (minutes) ...");
  const packed = join(folder, "packed");
  await pack(bundle, packed, epoch, { fast, say });
  return packed;
}

async function bundle() {
  const settings = parse();
  await build();
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const name = `framelane-${version}-linux-x64`;
  const out = resolve(settings.out);
  const archive = join(out, `${name}.tar.xz`);
  mkdirSync(out, { recursive: true });
  const staging = mkdtempSync(join(out, "staging-"));
  const removeStaging = () => rmSync(staging, { recursive: true, force: true });
  // Ctrl-C in the minutes of packing leaves nothing behind.
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      removeStaging();
      process.exit(1);
    });
  }
  try {
    renameSync(await makeBundle(staging, name, settings), archive);
  } finally {
    removeStaging();
  }
  const digest = await sha256(archive);
  writeFileSync(`${archive}.sha256`, `${digest}  ${basename(archive)}\n`);
  say(`${relative(process.cwd(), archive)}: ${(statSync(archive).size / 1e6).toFixed(1)} MB, sha256 ${digest}`);
  if (settings.partSize === undefined) return;
  const parts = split(archive, settings.partSize, digest);
  say(`${parts} parts and how to join them: ${relative(process.cwd(), archive)}.parts/`);
}

try {
  await bundle();
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  if (error.output) process.stderr.write(`${error.output.trimEnd()}\n`);
  process.stderr.write(`framelane: ${error.message}\n`);
  process.exitCode = 1;
}
