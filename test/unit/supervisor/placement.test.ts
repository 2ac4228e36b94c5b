import assert from "node:assert/strict";
import { test } from "node:test";
import { FramelaneError } from "../../../src/errors.ts";
import {
  absentGpus,
  loadOf,
  placeChannels,
  problemOf,
  usableGpus,
  type Wish,
} from "../../../src/supervisor/placement.ts";

const gpus = Array.from({ length: 8 }, (_, index) => ({
  id: `cuda:${index}`,
  name: "a GPU",
  memoryBytes: 1,
  cores: 1,
  uuid: `GPU-00000000-0000-0000-0000-00000000000${index}`,
}));
const two = gpus.slice(0, 2);

const wish = (name: string, device: string, width = 640, fps = 30): Wish => ({
  name,
  device,
  source: { type: "pattern", width, height: 480, fps },
});

const placesOf = (...args: Parameters<typeof placeChannels>) => Object.fromEntries(placeChannels(...args));

test("channels without a wish are spread over the GPUs, the same every time", () => {
  const wishes = Array.from({ length: 16 }, (_, index) => wish(`c${index}`, "auto"));
  const places = placeChannels(wishes, gpus);
  for (const { id } of gpus) assert.equal([...places.values()].filter((place) => place === id).length, 2, id);
  assert.deepEqual(placeChannels(wishes, gpus), places);
});

test("a GPU with few large channels has no room for more small ones", () => {
  const wishes = [wish("large", "auto", 2560), wish("a", "auto"), wish("b", "auto"), wish("c", "auto")];
  assert.deepEqual(placesOf(wishes, two), { large: "cuda:0", a: "cuda:1", b: "cuda:1", c: "cuda:1" });
});

test("channels that name their device are counted first", () => {
  const wishes = [wish("a", "auto"), wish("b", "cuda:0"), wish("c", `cuda:${gpus[1]?.uuid}`, 64), wish("d", "cpu")];
  assert.deepEqual(placesOf(wishes, two), { a: "cuda:1", b: "cuda:0", c: "cuda:1", d: "cpu" });
});

test("without a GPU auto is the CPU, and a named GPU is refused with the reason", () => {
  const places = placesOf([wish("a", "auto"), wish("b", "cuda:0")], [], "no NVIDIA driver here");
  assert.equal(places["a"], "cpu");
  assert.ok(places["b"] instanceof FramelaneError);
  assert.equal(places["b"].message, "There is no cuda:0: no NVIDIA driver here.");
  const more = placesOf([wish("b", "cuda:7")], two)["b"];
  assert.match(String(more), /There is no cuda:7: channels may use cuda:0, cuda:1\./);
});

test("only the GPUs that may be used are", () => {
  const ids = (use: Parameters<typeof usableGpus>[0]) => usableGpus(use, gpus).map(({ id }) => id);
  assert.deepEqual(ids("none"), []);
  assert.equal(ids("auto").length, 8);
  assert.deepEqual(ids(["cuda:3", `cuda:${gpus[5]?.uuid}`, "cuda:99"]), ["cuda:3", "cuda:5"]);
});

test("what is not there of the GPUs that are to be used has a name", () => {
  assert.deepEqual(absentGpus(["cuda:1", `cuda:${gpus[0]?.uuid}`, "cuda:9"], two), ["cuda:9"]);
  assert.deepEqual(absentGpus("auto", two), []);
  const found = { devices: two };
  assert.equal(problemOf("auto", found), undefined);
  assert.equal(problemOf(["cuda:1", "cuda:9"], found), undefined);
  assert.equal(
    problemOf(["cuda:8", "cuda:9"], found),
    "devices.cuda.use names cuda:8, cuda:9, but there are cuda:0, cuda:1",
  );
  const none = { devices: [], problem: "no driver" };
  assert.equal(problemOf("auto", none), "no driver");
  assert.equal(problemOf(["cuda:0"], none), "no driver");
  assert.equal(problemOf("none", none), undefined);
  // No channel wanted one, so nobody looked.
  assert.equal(problemOf(["cuda:0"], { devices: [] }), undefined);
});

test("a source that does not say its size counts as a camera", () => {
  assert.equal(loadOf({ source: { type: "shm", path: "/x" } }), 1920 * 1080 * 30);
});
