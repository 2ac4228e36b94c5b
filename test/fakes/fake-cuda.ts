/** The fake CUDA driver for a whole service: its library, and the orders it takes while the service runs. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { realEntry, type ServiceSettings } from "./service-process.ts";

/** scripts/test.mjs builds it. */
function fakeCudaLibrary(): string {
  const library = fileURLToPath(new URL("../../build/test/Release/libcuda_fake.so", import.meta.url));
  assert.ok(existsSync(library), `there is no ${library}: scripts/build-native --target cuda_fake`);
  return library;
}

export class FakeCuda {
  readonly #directory = mkdtempSync(join(tmpdir(), "framelane-fake-cuda-"));
  readonly #control = join(this.#directory, "control");
  readonly #report = join(this.#directory, "report");
  readonly #options: string;

  constructor(options: string) {
    this.#options = options;
  }

  /** What a service needs to run on it. `more`: further fields of devices.cuda. */
  settings(channels: string, more = ""): ServiceSettings {
    return {
      entry: realEntry,
      channels,
      settings: `devices: { cuda: { library: ${fakeCudaLibrary()}, memory: { reserve: 16MiB, max_bytes: 64MiB }${more} } }\n`,
      environment: this.environment,
    };
  }

  /** For a process that takes the driver's library from its environment. */
  get environment(): Readonly<Record<string, string>> {
    return {
      FRAMELANE_CUDA_LIBRARY: fakeCudaLibrary(),
      FRAMELANE_FAKE_CUDA: `${this.#options},control=${this.#control},report=${this.#report}`,
      XDG_CACHE_HOME: this.#directory,
    };
  }

  /** Resolves when one of the processes that use the driver has taken the order; one by one they look for it. */
  async order(options: string): Promise<void> {
    writeFileSync(`${this.#control}.new`, options);
    renameSync(`${this.#control}.new`, this.#control);
    while (existsSync(this.#control)) await delay(20);
  }

  /** A line for each detection (test/fakes/cuda/fake_control.h) of every process so far; leaks of those that ended. */
  get detections(): string {
    return existsSync(this.#report) ? readFileSync(this.#report, "utf8") : "";
  }

  assertNothingDetected(): void {
    assert.equal(this.detections, "", "what the fake driver detected");
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
