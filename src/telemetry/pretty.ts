/** Log lines for people at a terminal. */
import pretty from "pino-pretty";

/** The channel's name stands in front of what is said of it. */
export const pinoPretty = (destination: NonNullable<Parameters<typeof pretty>[0]>["destination"] = 2) =>
  pretty({
    destination,
    sync: true,
    translateTime: "SYS:HH:MM:ss.l",
    ignore: "state,code,channel",
    singleLine: true,
    messageFormat: (fields, messageKey) => {
      const channel = fields["channel"];
      return channel === undefined ? `${fields[messageKey]}` : `${channel}: ${fields[messageKey]}`;
    },
  });
