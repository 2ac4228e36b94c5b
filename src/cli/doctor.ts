/** `framelane doctor`: what this build and this machine can do, and what to install for what is missing. */
import { errorCatalogue } from "../errors.ts";
import { Command, Exit, paint, type Streams } from "./command.ts";
import type { Finding } from "./doctor-findings.ts";

const marks = {
  good: { text: "ok", colour: "green" },
  absent: { text: "--", colour: "yellow" },
  missing: { text: "!!", colour: "red" },
} as const;

/** One line per finding, and one below it for what helps. */
export function formatFindings(findings: readonly Finding[], stdout: Streams["stdout"]): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, state, value, help, packages }) => {
    const { text, colour } = marks[state];
    const line = `${paint(stdout, colour, text)}  ${name.padEnd(width)}  ${value}`;
    const install = packages === undefined ? [] : [`apt-get install ${packages.join(" ")}`];
    const advice = [...(help === undefined ? [] : [help]), ...install].join("; ");
    return advice === "" ? [line] : [line, `    ${" ".repeat(width)}  ${paint(stdout, "dim", advice)}`];
  });
  return `${lines.join("\n")}\n`;
}

async function doctor(json: boolean, { stdout }: Streams): Promise<void> {
  const { probeMachine } = await import("./doctor-probes.ts");
  const { canRun, findingsOf } = await import("./doctor-findings.ts");
  const findings = findingsOf(await probeMachine());
  const runs = canRun(findings);
  if (json) stdout.write(`${JSON.stringify({ runs, findings }, null, 2)}\n`);
  else stdout.write(formatFindings(findings, stdout));
  if (!runs) throw new Exit(errorCatalogue.addon_missing.exit);
}

export const makeCommand = (streams: Streams): Command =>
  new Command("doctor")
    .description("says what this build and machine can do, and which package brings what is missing")
    .option("--json", "prints the result as JSON")
    .action(({ json = false }: { json?: boolean }) => doctor(json, streams));
