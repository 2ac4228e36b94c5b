#!/usr/bin/env node
/** The command line. A command is one file and one line here. */
import { FramelaneError } from "../errors.ts";
import type { LoadCommand } from "./command.ts";
import { endWish } from "./end-wish.ts";

// Before anything else is loaded: a signal that comes by then ends the service in order.
if (process.argv[2] === "run") endWish();

const commands: Readonly<Record<string, LoadCommand>> = {
  run: () => import("./run.ts"),
  status: () => import("./status.ts"),
  check: () => import("./check.ts"),
  schema: () => import("./schema.ts"),
  doctor: () => import("./doctor.ts"),
  bench: () => import("./bench/command.ts"),
};

/** `framelane schema | head`: who read has left. The service goes on without; the others have nobody to work for. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (process.argv[2] !== "run") process.exit();
  });
}

try {
  const { runCommand } = await import("./command.ts");
  const { describeBuild, projectBuild } = await import("./build.ts");
  process.exitCode = await runCommand(process.argv.slice(2), commands, describeBuild(projectBuild()));
} catch (thrown) {
  const error = FramelaneError.from(thrown);
  if (error.code === "internal") throw thrown;
  process.stderr.write(`framelane: ${error.message}\n`);
  process.exitCode = error.exitCode;
}
