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

process.exitCode = await runCommand(process.argv.slice(2), commands, projectVersion());
