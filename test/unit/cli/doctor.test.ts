import assert from "node:assert/strict";
import { test } from "node:test";
import { formatFindings } from "../../../src/cli/doctor.ts";
import { canRun, type Finding, findingsOf } from "../../../src/cli/doctor-findings.ts";
import { type Machine, parseCpuFeatures, parseLimits, probeMachine } from "../../../src/cli/doctor-probes.ts";

const complete: Machine = {
  build: { version: "1.2.3", commit: "0123abc" },
  node: "20.19.0",
  kernel: "6.1.0",
  architecture: "x64",
  addon: { halide: "21.0.0", compiler: "g++ 12.2.0", plugins: { ffmpeg: "5.1.6" } },
  cpu: { model: "A processor", cores: 8, features: ["avx2", "fma"] },
  memoryBytes: 16 * 2 ** 30,
  gpus: {
    devices: [
      {
        id: "cuda:0",
        name: "NVIDIA H200",
        memoryBytes: 139 * 2 ** 30,
        cores: 132,
        uuid: "GPU-00000000-0000-0000-0000-000000000000",
        architecture: "sm_90",
        driver: "13.0",
        numaNode: 1,
      },
    ],
  },
  refusedDeviceFiles: [],
  limits: { lockedBytes: Infinity, realtimePriority: 99 },
  sharedMemoryBytes: 8 * 2 ** 30,
};

const finding = (machine: Machine, name: string): Finding =>
  findingsOf(machine).find((one) => one.name === name) ?? assert.fail(`no finding ${name}`);

test("a complete machine has nothing to complain about", () => {
  const findings = findingsOf(complete);
  assert.ok(
    findings.every(({ state, help, packages }) => state === "good" && help === undefined && packages === undefined),
  );
  assert.ok(canRun(findings));
});

test("without the addon the service cannot run, and the packages to build it are named", () => {
  const machine = { ...complete, addon: { problem: "Cannot find module" } };
  const { state, value, packages } = finding(machine, "native addon");
  assert.deepEqual(
    [state, value, packages],
    ["missing", "Cannot find module", ["g++", "make", "python3", "python3-pip"]],
  );
  assert.equal(finding(machine, "ffmpeg source").state, "absent");
  assert.equal(canRun(findingsOf(machine)), false);
});

test("an old Node.js is missing, a newer one is good", () => {
  for (const [node, state] of [
    ["18.20.0", "missing"],
    ["20.18.9", "missing"],
    ["20.19.0", "good"],
    ["24.1.0", "good"],
  ] as const) {
    assert.equal(finding({ ...complete, node }, "Node.js").state, state, node);
  }
});

test("what only some set-ups need is absent, with what helps, and the service can run", () => {
  const machine: Machine = {
    ...complete,
    addon: { halide: "21.0.0", compiler: "g++ 12.2.0", plugins: {} },
    gpus: { devices: [], problem: "no NVIDIA driver here: there is no libcuda.so.1" },
    limits: { lockedBytes: 8 * 2 ** 20, realtimePriority: 0 },
    sharedMemoryBytes: 32 * 2 ** 20,
  };
  const findings = findingsOf(machine);
  const absent = findings.filter(({ state }) => state === "absent");
  assert.deepEqual(
    absent.map(({ name }) => name),
    ["ffmpeg source", "GPU", "locked memory", "real-time priority", "/dev/shm"],
  );
  const helpless = absent.filter(({ help, packages }) => help === undefined && packages === undefined);
  assert.deepEqual(helpless, []);
  assert.ok(canRun(findings));
  const text = formatFindings(findings, { write: () => {} });
  assert.match(
    text,
    /^--\s+ffmpeg source\s+not in this build\n\s+scripts\/setup-dev .*; apt-get install libavformat-dev/m,
  );
});

test("limits are read as the kernel writes them", () => {
  const text = `Limit                     Soft Limit           Hard Limit           Units
Max locked memory         8388608              unlimited            bytes
Max realtime priority     0                    0
`;
  assert.deepEqual(parseLimits(text), { lockedBytes: 8_388_608, realtimePriority: 0 });
  assert.equal(parseLimits("Max locked memory unlimited unlimited bytes\n").lockedBytes, Infinity);
});

test("the useful vector extensions are found on both architectures", () => {
  assert.deepEqual(parseCpuFeatures("flags\t\t: fpu sse4_1 avx2 avx512f xyz\n"), ["sse4_1", "avx2", "avx512f"]);
  assert.deepEqual(parseCpuFeatures("Features\t: fp asimd sve\n"), ["asimd", "sve"]);
  assert.deepEqual(parseCpuFeatures(""), []);
});

test("this machine can be looked at", async () => {
  const machine = await probeMachine();
  assert.equal(machine.node, process.versions.node);
  assert.ok(machine.cpu.cores >= 1);
  assert.ok(machine.memoryBytes > 0);
  if ("problem" in machine.addon) assert.notEqual(machine.addon.problem, "");
  else assert.match(machine.addon.halide, /^\d+\.\d+/);
});

test("a GPU is told with what tells it apart", () => {
  assert.equal(
    finding(complete, "GPU cuda:0").value,
    "NVIDIA H200, 139GiB, GPU-00000000-0000-0000-0000-000000000000, sm_90, CUDA 13.0, NUMA node 1",
  );
});

test("without a GPU the reason is told, and what helps against it", () => {
  const without = (problem: string, refusedDeviceFiles: readonly string[] = []) =>
    finding({ ...complete, gpus: { devices: [], problem }, refusedDeviceFiles }, "GPU");
  const absent = without("no NVIDIA driver here: there is no libcuda.so.1");
  assert.deepEqual(absent, {
    name: "GPU",
    state: "absent",
    value: "no NVIDIA driver here: there is no libcuda.so.1; channels run on the CPU",
    help: "a GPU needs NVIDIA's driver, 525 or newer, and nothing else",
  });
  const elsewhere = without("no NVIDIA driver here: there is no /opt/libcuda.so");
  assert.equal(elsewhere.help, "FRAMELANE_CUDA_LIBRARY names that file");
  assert.equal(without("libcuda.so.1 is too old: it lacks cuStreamGetId").help, "install a newer NVIDIA driver");
  assert.match(without("cuInit: CUDA_ERROR_NO_DEVICE (no device)").help ?? "", /nvidia-smi/);
  assert.match(without("cuInit: CUDA_ERROR_NO_DEVICE", ["/dev/nvidia0"]).help ?? "", /permission on \/dev\/nvidia0/);
});
