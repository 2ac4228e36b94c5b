#!/usr/bin/env node
/** The command line. A command is one file and one line here. */
import { type LoadCommand, runCommand } from "./command.ts";
import { projectVersion } from "./version.ts";

const commands: Readonly<Record<string, LoadCommand>> = {
  run: () => import("./run.ts"),
  status: () => import("./status.ts"),
  check: () => import("./check.ts"),
  schema: () => import("./schema.ts"),
  doctor: () => import("./doctor.ts"),
  bench: () => import("./bench.ts"),
};

/** `framelane schema | head`: who read has left. The service goes on without; the others have nobody to work for. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (process.argv[2] !== "run") process.exit();
  });
}

process.exitCode = await runCommand(process.argv.slice(2), commands, projectVersion());
