import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { benchPrograms } from "../../scripts/install/addon.mjs";
import { commitOf } from "../../scripts/install/commit.mjs";
import { which } from "../../scripts/install/process.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const system = (name: string): string => which(name, "/usr/bin:/bin:/usr/sbin:/sbin") ?? assert.fail(`no ${name}`);

describe("npm run bundle", { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "framelane-bundle-"));
  const tools = join(folder, "tools");
  /** Not where it was made, and with a space in its path. */
  const bundle = join(folder, "moved to", "framelane");
  let archive = "";

  before(() => {
    const args = [join(root, "scripts/bundle.mjs"), "--fast", "--split", "30MiB", "--out", folder];
    const made = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(made.status, 0, made.stdout + made.stderr);
    archive = join(folder, readdirSync(folder).find((name) => name.endsWith(".tar.xz")) ?? "");
    execFileSync("tar", ["-xJf", archive, "-C", folder]);
    mkdirSync(join(folder, "moved to"));
    renameSync(join(folder, basename(archive, ".tar.xz")), bundle);
    // The launcher needs a shell and readlink, and nothing else is there to be found.
    mkdirSync(tools);
    for (const name of ["sh", "readlink"]) symlinkSync(system(name), join(tools, name));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const environment = { PATH: tools, XDG_RUNTIME_DIR: folder };

  test("it runs without Node, npm, Python and a network", (context) => {
    const program = [join(bundle, "lib/node"), join(root, "scripts/try-bundle.mjs"), bundle];
    const isolated = [
      system("unshare"),
      "-rn",
      system("sh"),
      "-c",
      `${system("ip")} link set lo up && exec "$@"`,
      "sh",
    ];
    const namespaces = spawnSync(system("unshare"), ["-rn", system("true")]).status === 0;
    if (!namespaces) context.diagnostic("no network namespace may be made here: it ran beside the network");
    const [command = "", ...args] = namespaces ? [...isolated, ...program] : program;
    const tried = spawnSync(command, args, { encoding: "utf8", env: environment, cwd: "/" });
    assert.equal(tried.status, 0, tried.stdout + tried.stderr);
    assert.match(tried.stdout, /3 channels run\nstopped /);
  });

  test("its launcher is found through links", () => {
    const links = join(folder, "links");
    mkdirSync(links);
    symlinkSync(join(bundle, "bin/framelane"), join(links, "first"));
    symlinkSync("first", join(links, "framelane"));
    const env = { PATH: `${links}:${tools}` };
    const ran = spawnSync(system("sh"), ["-c", "framelane --version"], { encoding: "utf8", env, cwd: "/" });
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    assert.equal(ran.stdout, `${version} (commit ${commitOf(root)?.name ?? "unknown"})\n`, ran.stderr);
  });

  test("it holds the licences, the unit that starts it, and nothing that only builds or tests it", () => {
    const licences = readdirSync(join(bundle, "LICENSES"));
    assert.deepEqual(licences.sort(), ["framelane.txt", "halide.txt", "inside-halide.txt", "node.txt", "npm"]);
    const named = readdirSync(join(bundle, "LICENSES/npm")).map((name) =>
      name.replace(/@[^@]*$/, "").replace("+", "/"),
    );
    const modules = readdirSync(join(bundle, "node_modules")).filter((name) => !name.startsWith("@"));
    assert.deepEqual(
      modules.filter((name) => !named.includes(name)),
      [],
    );
    assert.match(
      readFileSync(join(bundle, "systemd/framelane.service"), "utf8"),
      /^ExecStart=\S+\/bin\/framelane run /m,
    );
    for (const name of ["cmake-js", "typescript", "tsx"]) assert.ok(!modules.includes(name), name);
    assert.ok(!existsSync(join(bundle, "tests")));
    assert.ok(existsSync(join(bundle, "docs/configuration.md")));
  });

  test("it brings along what a Python with PyTorch runs", () => {
    // Without site-packages there is no PyTorch, and the script says so when it finds its own modules.
    const args = ["-B", "-S", join(bundle, "bench/peers/torch_channels.py")];
    const { status, stderr } = spawnSync("python3", args, { encoding: "utf8", env: { PATH: process.env["PATH"] } });
    assert.equal(status, 3, stderr);
    assert.match(stderr, /^there is no PyTorch in /);
  });

  test("it brings along the programs that measure a GPU", () => {
    for (const name of benchPrograms) {
      const program = join(bundle, "build/Release", name);
      const { status, stderr } = spawnSync(program, ["--no-such-option", "1"], { encoding: "utf8", env: environment });
      assert.equal(status, 64, stderr);
      assert.match(stderr, /^usage: /);
    }
  });

  test("its parts join to what was cut", () => {
    const hash = createHash("sha256");
    const parts = readdirSync(`${archive}.parts`).filter((name) => name.includes(".part-"));
    assert.ok(parts.length >= 2);
    for (const name of parts.sort()) hash.update(readFileSync(join(`${archive}.parts`, name)));
    assert.ok(readFileSync(`${archive}.sha256`, "utf8").startsWith(`${hash.digest("hex")}  `));
  });
});
