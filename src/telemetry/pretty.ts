/** Log lines for people at a terminal. */
import pretty from "pino-pretty";

export const pinoPretty = () =>
  pretty({ destination: 2, sync: true, translateTime: "SYS:HH:MM:ss.l", ignore: "state,code", singleLine: true });
