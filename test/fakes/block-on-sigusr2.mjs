// Preloaded by tests with NODE_OPTIONS=--import: SIGUSR2 blocks the JavaScript main thread for one second,
// or for as long as FRAMELANE_BLOCK_MS says, and says so first.
import { writeSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  const blockMs = Number(process.env.FRAMELANE_BLOCK_MS ?? 1000);
  process.on("SIGUSR2", () => {
    writeSync(2, "JavaScript stands still\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
  });
}
