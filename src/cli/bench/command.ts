/** `framelane bench`: what this machine does. */
import { Command, type Streams } from "../command.ts";
import { cacheCommand } from "./cache-command.ts";
import { channelsCommand } from "./channels-command.ts";
import { imagesCommand } from "./images-command.ts";
import { latencyCommand } from "./latency-command.ts";
import { neighbourCommand } from "./neighbour-command.ts";
import { operationsCommand } from "./operations-command.ts";
import { peersCommand } from "./peers-command.ts";

export const makeCommand = (streams: Streams): Command =>
  new Command("bench")
    .description("measures what this machine does")
    .addCommand(cacheCommand(streams))
    .addCommand(channelsCommand(streams))
    .addCommand(imagesCommand(streams))
    .addCommand(latencyCommand(streams))
    .addCommand(neighbourCommand(streams))
    .addCommand(operationsCommand(streams))
    .addCommand(peersCommand(streams));
