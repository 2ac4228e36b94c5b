import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const unit = fileURLToPath(new URL("../../../systemd/framelane.service", import.meta.url));

test("systemd understands every line of the unit", () => {
  const directory = mkdtempSync(join(tmpdir(), "framelane-unit-"));
  try {
    const copy = join(directory, "framelane.service");
    cpSync(unit, copy);
    const { error, status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", copy], { encoding: "utf8" });
    assert.equal(error, undefined, "systemd-analyze is missing: it comes with the Debian package systemd");
    // It only warns of what it does not know, and of other units as well.
    const own = stderr.split("\n").filter((line) => line.includes("framelane"));
    assert.deepEqual([status, own], [0, []]);
    writeFileSync(copy, readFileSync(unit, "utf8").replace("KillMode=", "KillModus="));
    assert.match(spawnSync("systemd-analyze", ["verify", "--man=no", copy], { encoding: "utf8" }).stderr, /KillModus/);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("an exit that a restart cannot mend is not tried again", () => {
  assert.match(readFileSync(unit, "utf8"), /^RestartPreventExitStatus=64 66 78$/m);
});
