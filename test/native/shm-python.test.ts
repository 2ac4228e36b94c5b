/** The Python client of the shared-memory ring against the engine's own code, built by scripts/test.mjs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const client = join(dirname(fileURLToPath(import.meta.url)), "../../clients/python");
const peer = join(process.env.FRAMELANE_NATIVE_TESTS ?? "", "shm_peer");
/** The system's Python has the distribution's numpy; another one may come first in PATH. */
const pythons = ["python3", "/usr/bin/python3"];

test("the Python client of the shared-memory ring", () => {
  const python = pythons.find((program) => spawnSync(program, ["-c", "import numpy"]).status === 0);
  assert.ok(python, "no Python with numpy: scripts/setup-dev installs python3-numpy");
  const { status, stderr } = spawnSync(python, ["-B", "-m", "unittest", "-v"], {
    cwd: client,
    env: { ...process.env, FRAMELANE_SHM_PEER: peer },
    encoding: "utf8",
    timeout: 120_000,
  });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /Ran [1-9][0-9]* tests/);
});
