// Preloaded by tests with NODE_OPTIONS=--import: SIGUSR2 blocks the JavaScript main thread for one second.
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("SIGUSR2", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000));
}
