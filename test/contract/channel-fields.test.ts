import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { parseConfig } from "../../src/config/load.ts";
import { FramelaneError } from "../../src/errors.ts";
import { anyFile } from "../fakes/any-config.ts";
import { realEngine } from "../fakes/real-engine.ts";

const engine = realEngine();

test("native code takes over every channel that a configuration can describe", async () => {
  let taken = 0;
  const machine = { cores: 2, memoryBytes: 2 ** 50, environment: {} };
  await fc.assert(
    fc.asyncProperty(anyFile, async (file) => {
      const channels = parseConfig(stringify(file), "f", machine).configuration?.channels ?? [];
      for (const channel of channels) {
        // Never started: what is asked is whether each field is understood, not whether this machine has the memory.
        try {
          await engine.createChannel({ ...channel, cell: 0, start: false });
        } catch (thrown) {
          // A build without FFmpeg's libraries.
          if (!(thrown instanceof FramelaneError) || thrown.code !== "unsupported") throw thrown;
          continue;
        }
        await engine.deleteChannel(channel.name);
        taken += 1;
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(taken > 15, `${taken} channels were taken over`);
});
