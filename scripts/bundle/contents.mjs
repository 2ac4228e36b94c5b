/** What lies where in a bundle. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nativeFolder } from "../build-native.mjs";
import { benchPrograms } from "../install/addon.mjs";
import { capture, InstallError } from "../install/process.mjs";
import { elfFiles } from "./libraries.mjs";
import { copyModules, licenceOf, runtimeModules } from "./modules.mjs";

const ownFile = (name) => fileURLToPath(new URL(`files/${name}`, import.meta.url));

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function copyScript(name, to) {
  copy(ownFile(name), to);
  chmodSync(to, 0o755);
}

/** The JavaScript with the few lines of package.json that it and Node read. */
function addJavaScript(root, bundle, modules, commit) {
  const filter = (source) => !/\.map$|\/\.sources$/.test(source);
  cpSync(join(root, "dist"), join(bundle, "dist"), { recursive: true, filter });
  const { name, version, description, license, type } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const kept = { name, version, description, license, private: true, type, commit };
  writeFileSync(join(bundle, "package.json"), `${JSON.stringify(kept, null, 2)}\n`);
  copyModules(root, modules, bundle);
}

function addNative(root, bundle, halide, node, plugins) {
  copy(join(node, "bin/node"), join(bundle, "lib/node"));
  chmodSync(join(bundle, "lib/node"), 0o755);
  const library = ["lib64", "lib"].map((folder) => join(halide, folder, "libHalide.so")).find(existsSync);
  copy(library, join(bundle, "lib/libHalide.so"));
  for (const built of ["framelane.node", "framelane_system.node", ...benchPrograms]) {
    copy(join(root, "build/Release", built), join(bundle, "build/Release", built));
  }
  for (const program of benchPrograms) chmodSync(join(bundle, "build/Release", program), 0o755);
  for (const script of ["torch_channels.py", "local_contrast.py"]) {
    copy(join(root, "bench/peers", script), join(bundle, "bench/peers", script));
  }
  for (const plugin of plugins) {
    const file = join(root, "build/Release/plugins", `${plugin}.so`);
    if (!existsSync(file)) throw new InstallError(`there is no ${plugin} plug-in in this build: scripts/setup-dev`);
    copy(file, join(bundle, "build/Release/plugins", `${plugin}.so`));
  }
}

/** The unit starts the launcher instead of a Node of the system. */
function addConfiguration(root, bundle) {
  cpSync(join(root, "config"), join(bundle, "config"), { recursive: true });
  const unit = readFileSync(join(root, "systemd/framelane.service"), "utf8");
  const adapted = unit
    .replace("(npm ci there as root)", "(this bundle, unpacked by root)")
    .replace("/usr/bin/env node /opt/framelane/dist/cli/main.js", "/opt/framelane/bin/framelane");
  if (!adapted.includes("\nExecStart=/opt/framelane/bin/framelane run ")) {
    throw new InstallError("systemd/framelane.service has another ExecStart than scripts/bundle/contents.mjs expects");
  }
  mkdirSync(join(bundle, "systemd"));
  writeFileSync(join(bundle, "systemd/framelane.service"), adapted);
}

/** The pages that a machine without a network has no other way to. */
function addDocuments(root, bundle) {
  cpSync(join(root, "docs"), join(bundle, "docs"), { recursive: true });
}

function halideLicence(halide) {
  const path = join(halide, "share/doc/Halide/LICENSE.txt");
  const beside = join(halide, "../share/doc/Halide/LICENSE.txt");
  const found = [path, beside].find(existsSync);
  if (!found) throw new InstallError(`${path} is not there: a bundle has to carry the licence of Halide`);
  return found;
}

/** Of everything inside; node-addon-api is compiled into the addons. */
function addLicences(root, bundle, halide, node, modules) {
  const folder = join(bundle, "LICENSES");
  copy(join(root, "LICENSE"), join(folder, "framelane.txt"));
  copy(join(node, "LICENSE"), join(folder, "node.txt"));
  copy(halideLicence(halide), join(folder, "halide.txt"));
  copy(ownFile("inside-halide.txt"), join(folder, "inside-halide.txt"));
  mkdirSync(join(folder, "npm"));
  for (const module of [...modules, join(root, "node_modules/node-addon-api")]) {
    const { name, text } = licenceOf(module);
    writeFileSync(join(folder, "npm", `${name}.txt`), text);
  }
}

/** The native tests that were built, with the libraries beside them and the files that they read. */
function addTests(root, bundle) {
  const built = join(nativeFolder(), "Release");
  const names = existsSync(built) ? readdirSync(built).filter((name) => /^test_|\.so$|^plugins$/.test(name)) : [];
  if (!names.some((name) => name.startsWith("test_"))) {
    throw new InstallError("no native test has been built: scripts/build-native");
  }
  for (const name of names) cpSync(join(built, name), join(bundle, "tests", name), { recursive: true });
  copyScript("run-tests", join(bundle, "tests/run"));
  cpSync(join(root, "test/fixtures"), join(bundle, "test/fixtures"), { recursive: true });
}

function stripAll(bundle) {
  const result = capture("strip", elfFiles(bundle));
  if (!result.ok) throw new InstallError("strip failed: apt-get install binutils", result.output);
}

/** Fills `bundle`, an empty folder. `plugins` are names, `tests` whether the native tests go along. */
export function layOut(root, bundle, { halide, node, plugins, tests, commit }) {
  const modules = runtimeModules(root);
  addJavaScript(root, bundle, modules, commit);
  addNative(root, bundle, halide, node.folder, plugins);
  addConfiguration(root, bundle);
  addDocuments(root, bundle);
  addLicences(root, bundle, halide, node.folder, modules);
  if (tests) addTests(root, bundle);
  copyScript("framelane", join(bundle, "bin/framelane"));
  const readme = readFileSync(ownFile("README.txt"), "utf8").replace("NODE_VERSION", node.version);
  writeFileSync(join(bundle, "README.txt"), readme.replace("COMMIT", commit));
  stripAll(bundle);
}
