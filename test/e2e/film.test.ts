import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fetchTestFilm } from "../../scripts/fetch-test-film.mjs";
import { realEntry, ServiceProcess, sumOf } from "../fakes/service-process.ts";

/** The one line that a newcomer edits: the "#" taken away, the path put in. */
function withFilm(text: string, film: string): string {
  const edited = text.replace(/^( *)#(film: .*)\/path\/to\/film\.mp4/m, `$1$2${film}`);
  assert.notEqual(edited, text, "config/framelane.yaml has no film line to edit");
  return edited;
}

describe("a real film", { timeout: 180_000 }, () => {
  test("runs beside the default channels after one line was edited", async () => {
    const film = await fetchTestFilm();
    const service = await ServiceProcess.start({
      entry: realEntry,
      configuration: new URL("../../config/framelane.yaml", import.meta.url),
      edit: (text) => withFilm(text, film),
    });
    try {
      await service.until("more than one round of the film", (channels) => {
        const channel = channels.find(({ name }) => name === "film");
        return channel !== undefined && channel.frames.processed > 150;
      });
      const channel = (await service.channels()).find(({ name }) => name === "film");
      assert.deepEqual(channel?.input, { width: 1280, height: 720, pixel: "rgb8" });
      assert.equal(channel.error, null);
      assert.equal(sumOf(channel.frames.lost), 0);
      assert.equal(channel.fps.expected, 25);
      assert.ok(Math.abs(channel.fps.measured - 25) < 3, `${channel.fps.measured} frames a second`);
      assert.ok((channel.latency.window.total.p50 ?? 1) < 0.5);
    } finally {
      assert.equal(await service.stop(), 0);
    }
  });
});
