/** `framelane bench`: what this machine does. */
import { Command, type Streams } from "../command.ts";
import { channelsCommand } from "./channels-command.ts";
import { latencyCommand } from "./latency-command.ts";
import { neighbourCommand } from "./neighbour-command.ts";

export const makeCommand = (streams: Streams): Command =>
  new Command("bench")
    .description("measures what this machine does")
    .addCommand(channelsCommand(streams))
    .addCommand(latencyCommand(streams))
    .addCommand(neighbourCommand(streams));
