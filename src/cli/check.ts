/** `framelane check FILE`: says what is wrong with a configuration without running it. */
import { statSync } from "node:fs";
import type { Found } from "../config/hindrances.ts";
import type { Configuration } from "../config/load.ts";
import { errorCatalogue } from "../errors.ts";
import { Command, Exit, paint, type Streams } from "./command.ts";

function lookUp(path: string): Found {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isDirectory()) return "directory";
  return found.isFile() ? "file" : "other";
}

const summary = ({ channels }: Configuration): string =>
  channels.length === 1 ? "1 channel" : `${channels.length} channels`;

async function check(file: string, json: boolean, { stdout, stderr }: Streams): Promise<void> {
  const { formatProblem, parseConfig, readConfigText } = await import("../config/load.ts");
  const { configuration, problems, warnings = [] } = parseConfig(await readConfigText(file), file, { lookUp });
  if (json) {
    const channels = configuration?.channels.map(({ name }) => name) ?? [];
    stdout.write(
      `${JSON.stringify({ file, valid: configuration !== undefined, problems, warnings, channels }, null, 2)}\n`,
    );
  } else {
    for (const one of [...problems, ...warnings]) stderr.write(`${formatProblem(one)}\n`);
  }
  if (configuration === undefined) throw new Exit(errorCatalogue.config_invalid.exit);
  if (!json) {
    stdout.write(`${file}: ${paint(stdout, "green", "good")}, ${summary(configuration)}\n`);
  }
}

export const makeCommand = (streams: Streams): Command =>
  new Command("check")
    .description("checks a configuration file; exit code 78 and every problem where it is bad")
    .argument("<file>", "the configuration, YAML")
    .option("--json", "prints the result as JSON")
    .action((file: string, { json = false }: { json?: boolean }) => check(file, json, streams));
