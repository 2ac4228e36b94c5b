/** `framelane schema`: prints the JSON Schema of the configuration, for editors and programs. */
import { Command, type Streams } from "./command.ts";

export const makeCommand = (streams: Streams): Command =>
  new Command("schema").description("prints the JSON Schema of the configuration").action(async () => {
    const { configSchema } = await import("../config/json-schema.ts");
    streams.stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`);
  });
