/** What a measurement leaves besides its table. */
import { writeFileSync } from "node:fs";

export function writeFiles<Result>(
  { json, plot }: { readonly json?: string; readonly plot?: string },
  result: Result,
  draw: (result: Result) => string,
): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  if (plot !== undefined) writeFileSync(plot, draw(result));
}
