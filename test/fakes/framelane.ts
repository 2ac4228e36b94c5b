/** The command line with the fake native engine in the engine's process. */
import { runCommand } from "../../src/cli/command.ts";
import { makeRunCommand } from "../../src/cli/run.ts";

const host = new URL("./engine-host.ts", import.meta.url);
const commands = { run: async () => ({ makeCommand: makeRunCommand({ host }) }) };
process.exitCode = await runCommand(process.argv.slice(2), commands, "0.0.0");
