/** Where the service writes what happened: standard error, JSON for programs, plain lines for people. */
import { type Level, pino } from "pino";
import { pinoPretty } from "./pretty.ts";

export interface LogSettings {
  readonly level: Level;
  readonly format: "auto" | "json" | "pretty";
}

/** The part of a logger that is used here. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** systemd reads the stream, and says so. */
const underSystemd = (environment: NodeJS.ProcessEnv): boolean =>
  environment["INVOCATION_ID"] !== undefined || environment["JOURNAL_STREAM"] !== undefined;

export function chooseFormat(
  settings: LogSettings,
  environment: NodeJS.ProcessEnv,
  isTerminal: boolean,
): "json" | "pretty" {
  if (settings.format !== "auto") return settings.format;
  return isTerminal && !underSystemd(environment) ? "pretty" : "json";
}

export function makeLog(settings: LogSettings): Log {
  const format = chooseFormat(settings, process.env, process.stderr.isTTY === true);
  const options = { level: settings.level, base: null };
  if (format === "json") return pino(options, pino.destination({ dest: 2, sync: true }));
  return pino(options, pinoPretty());
}
