#!/usr/bin/env node
/** The command line. A command is one file and one line here. */
import { readFileSync } from "node:fs";
import { type LoadCommand, runCommand } from "./command.ts";

const commands: Readonly<Record<string, LoadCommand>> = {
  check: () => import("./check.ts"),
  schema: () => import("./schema.ts"),
  doctor: () => import("./doctor.ts"),
};

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

process.exitCode = await runCommand(process.argv.slice(2), commands, version);
