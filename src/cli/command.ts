/** What the commands share: how they are declared, what they write, how they end. */
import { Command, CommanderError } from "commander";
import { FramelaneError } from "../errors.ts";

export { Command };

/** Where a command writes; tests put their own in. */
export interface Streams {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
}

/** Builds one command. Heavy modules are imported in its action, so that help and `check` stay quick. */
export type CommandModule = { readonly makeCommand: (streams: Streams) => Command };
export type LoadCommand = () => Promise<CommandModule>;

type Colour = "red" | "green" | "yellow" | "dim";
const colours: Readonly<Record<Colour, number>> = { red: 31, green: 32, yellow: 33, dim: 2 };

/** Colour for people at a terminal only; NO_COLOR (no-color.org) turns it off. */
export function paint(stream: Streams["stdout"], colour: Colour, text: string): string {
  const wanted = stream.isTTY === true && (process.env["NO_COLOR"] ?? "") === "";
  return wanted ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text;
}

/** Ends a command with an exit code when everything to say has been said. */
export class Exit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** commander ends with 1 for whatever it cannot make sense of; help and version are no failure. */
function exitCodeOf(error: unknown, streams: Streams): number {
  if (error instanceof Exit) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 64;
  const known = FramelaneError.from(error);
  const prefix = paint(streams.stderr, "red", "framelane:");
  streams.stderr.write(`${prefix} ${known.message}\n`);
  if (known.code === "internal" && known.cause instanceof Error) {
    streams.stderr.write(`${known.cause.stack ?? ""}\n`);
  }
  return known.exitCode;
}

function prepare(command: Command, streams: Streams, whatHelps = "framelane --help lists what there is"): Command {
  for (const part of command.commands) prepare(part, streams, whatHelps);
  return command
    .exitOverride()
    .showHelpAfterError(`(${whatHelps})`)
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "framelane: ")),
    });
}

/**
 * Runs the command that `words` names and returns its exit code. Only that command's module is loaded;
 * without a known name all are, for the help.
 */
export async function runCommand(
  words: readonly string[],
  commands: Readonly<Record<string, LoadCommand>>,
  version: string,
  streams: Streams = process,
): Promise<number> {
  const program = prepare(new Command("framelane"), streams)
    .description("Runs many live video channels through JIT-compiled Halide pipelines.")
    .version(version, "-V, --version", "prints the version")
    .helpOption("-h, --help", "prints this help");
  const [first] = words;
  const named = first !== undefined && Object.hasOwn(commands, first) ? commands[first] : undefined;
  try {
    for (const load of named === undefined ? Object.values(commands) : [named]) {
      const command = (await load()).makeCommand(streams);
      const words = `framelane ${command.name()}`;
      program.addCommand(prepare(command, streams, `${words} ${command.usage()}; ${words} --help says more`));
    }
    if (words.length === 0) {
      streams.stderr.write(program.helpInformation());
      return 64;
    }
    await program.parseAsync([...words], { from: "user" });
    return 0;
  } catch (error) {
    return exitCodeOf(error, streams);
  }
}
