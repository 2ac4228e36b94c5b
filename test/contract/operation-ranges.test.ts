import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationSpec } from "../../src/config/channel-spec.ts";
import type { FieldSchema } from "../../src/config/fields.ts";
import { operationSchemas } from "../../src/config/schema-operations.ts";
import type { EngineEvent } from "../../src/engine/engine.ts";
import { patternChannel } from "../fakes/channel-spec.ts";
import { realEngine } from "../fakes/real-engine.ts";

const engine = realEngine();

type Argument = number | string | readonly number[];

/** The ends of a field's range, or all of its choices; geometry stays small, levels fit the frames' type. */
function extremes(field: FieldSchema, name: string): Argument[] {
  if (field.enum !== undefined) return [...field.enum];
  if (name === "size") return [3, 5];
  if (field.anyOf !== undefined) return [0, 255, "0%", "12.5%", "100%"];
  const { items, minItems = 0, multipleOf } = field;
  if (items !== undefined) return extremes(items, name).map((end) => Array(minItems).fill(end));
  if (multipleOf !== undefined) return [90, 180, 270];
  if (/^(x|y)$/.test(name)) return [0];
  if (/^(width|height)$/.test(name)) return [4];
  return [field.minimum ?? 0, field.maximum ?? 0];
}

/** Each operation with each argument at each end of its range, the others at their first. */
const operations: OperationSpec[] = Object.entries(operationSchemas).flatMap(([name, schema]) => {
  const fields = Object.entries(schema.properties as unknown as Record<string, FieldSchema>);
  const first = Object.fromEntries(fields.map(([field, one]) => [field, extremes(one, field)[0] ?? 0]));
  const others = fields.flatMap(([field, one]) =>
    extremes(one, field)
      .slice(1)
      .map((value) => ({ name, arguments: { ...first, [field]: value } })),
  );
  return [{ name, arguments: first }, ...others];
});

/** Runs one frame through the pipeline; resolves with the state in which the channel comes to rest. */
async function runOneFrame(pipeline: readonly OperationSpec[], cell: number): Promise<EngineEvent> {
  const name = `operation-${cell}`;
  const rests = new Promise<EngineEvent>((resolve) => {
    const listen = (event: EngineEvent): void => {
      if (event.channel !== name || !/^(finished|faulted|backoff)$/.test(event.state)) return;
      engine.off("event", listen);
      resolve(event);
    };
    engine.on("event", listen);
  });
  const source = { type: "pattern", width: 8, height: 8, format: "rgb8", pace: "max", frames: 1 } as const;
  await engine.createChannel(patternChannel(name, cell, { source, pipeline }));
  const event = await rests;
  await engine.deleteChannel(name);
  return event;
}

test("native code compiles and runs every operation at the ends of its arguments' ranges", async () => {
  engine.setMaxListeners(operations.length + 1);
  const events = await Promise.all(operations.map((operation, index) => runOneFrame([operation], index + 1)));
  assert.ok(operations.length > 15);
  const failed = events.filter(({ state }) => state !== "finished");
  assert.deepEqual(failed, []);
});
