import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, parseConfig } from "../../../src/config/load.ts";

const machine = { cores: 4, memoryBytes: 8 * 2 ** 30, environment: {} };
const source = "{ type: pattern, width: 64, height: 48, fps: 30fps }";

test("a channel gets every default", () => {
  const { configuration, problems } = parseConfig(`channels: { a: { source: ${source} } }`, "/etc/f.yaml", machine);
  assert.deepEqual(problems, []);
  assert.deepEqual(configuration, {
    file: "/etc/f.yaml",
    server: { host: "127.0.0.1", port: 8600 },
    engine: { compileThreads: 2 },
    devices: { cuda: { use: "auto", memory: { reserve: 0 }, pinned: { reserve: 0 }, gpuTimeout: 5 } },
    log: { level: "info", format: "auto" },
    channels: [
      {
        name: "a",
        device: "auto",
        source: {
          type: "pattern",
          width: 64,
          height: 48,
          fps: 30,
          format: "mono8",
          pattern: "gradient",
          moving: true,
          pace: "realtime",
        },
        ring: { slots: 6 },
        pipeline: [],
        sinks: [{ type: "none", every: 1, queue: 4, onFull: "drop-newest" }],
        onOverload: "never",
        wait: "blocking",
        stagger: "auto",
        inFlight: 1,
        threads: 4,
        memory: {},
        pinned: "preferred",
        stall: 5,
        schedule: { cpus: [], fifo: 0, nice: 0 },
        retry: { first: 0.2, most: 10 },
        start: true,
      },
    ],
    secrets: [],
  });
});

test("defaults are merged field by field, the channel wins", () => {
  const text = `
defaults: { ring: { slots: 8, handling: newest-only }, deadline: 16ms, threads: 2, stagger: off }
channels:
  a: { source: ${source}, ring: { slots: 4 }, deadline: 1s, stagger: auto }
  b: { source: ${source} }
`;
  const [a, b] = parseConfig(text, "f.yaml", machine).configuration?.channels ?? [];
  assert.deepEqual(a?.ring, { slots: 4, handling: "newest-only" });
  assert.equal(a?.deadline, 1);
  assert.deepEqual(b?.ring, { slots: 8, handling: "newest-only" });
  assert.equal(b?.deadline, 0.016);
  assert.equal(b?.threads, 2);
  assert.deepEqual([a?.stagger, b?.stagger], ["auto", "off"]);
});

test("a misspelt argument is named with its place and the nearest name", () => {
  const text = `channels:\n  press-left:\n    source: ${source}\n    pipeline:\n      - gain: 1.2\n      - local_contrast: { gian: 1 }\n`;
  assert.deepEqual(parseConfig(text, "config/f.yaml", machine).problems.map(formatProblem), [
    'config/f.yaml:6:27: channels.press-left.pipeline[1].local_contrast.gian: unknown argument, did you mean "gain"?',
  ]);
});

test("threads are shared out: cores by channels, 1 to 8", () => {
  const threads = (cores: number, channels: number): number | undefined => {
    const names = Array.from({ length: channels }, (_, index) => `c${index}: { source: ${source} }`);
    const text = `channels: { ${names.join(", ")} }`;
    return parseConfig(text, "f.yaml", { ...machine, cores }).configuration?.channels[0]?.threads;
  };
  assert.deepEqual([threads(2, 3), threads(4, 3), threads(16, 3), threads(64, 1), threads(1, 1)], [1, 1, 5, 8, 1]);
});

test("compile threads are half the cores, 1 to 4, unless given", () => {
  const text = `channels: { a: { source: ${source} } }`;
  const compile = (cores: number, more = ""): number | undefined =>
    parseConfig(`${more}${text}`, "f.yaml", { ...machine, cores }).configuration?.engine.compileThreads;
  assert.deepEqual([compile(1), compile(2), compile(6), compile(64)], [1, 1, 3, 4]);
  assert.equal(compile(2, "engine: { compile_threads: 7 }\n"), 7);
});

test("a full queue is waited for where the source waits too", () => {
  const text = `
channels:
  live: { source: ${source}, sinks: [{ file: { path: live.raw } }] }
  file: { source: { type: raw, path: x, width: 4, height: 4, pace: max }, sinks: [memory, { file: { path: f.raw } }] }
  own: { source: { type: raw, path: x, width: 4, height: 4, pace: max }, sinks: [{ file: { path: o.raw, on_full: drop-oldest } }] }
`;
  const channels = parseConfig(text, "f.yaml", machine).configuration?.channels ?? [];
  assert.deepEqual(
    channels.map(({ sinks }) => sinks.map(({ onFull }) => onFull)),
    [["drop-newest"], ["wait", "wait"], ["drop-oldest"]],
  );
});

test("every way to write an operation and a sink means the same", () => {
  const text = `
channels:
  short: { source: ${source}, pipeline: [gain: 2], sinks: [memory] }
  long: { source: ${source}, pipeline: [{ gain: { value: 2 } }], sinks: [{ memory: {} }] }
  blank: { source: ${source}, pipeline: [gain: 2.0], sinks: [memory: ] }
  alias: { source: ${source}, pipeline: [&g { gain: &v 2 }], sinks: [&m memory] }
  again: { source: ${source}, pipeline: [*g], sinks: [*m] }
  value: { source: ${source}, pipeline: [gain: *v], sinks: [*m] }
`;
  const { configuration, problems } = parseConfig(text, "f.yaml", machine);
  assert.deepEqual(problems, []);
  for (const { name, pipeline, sinks } of configuration?.channels ?? []) {
    assert.deepEqual(pipeline, [{ name: "gain", arguments: { value: 2 } }], name);
    assert.deepEqual(sinks, [{ type: "memory", every: 1, queue: 4, onFull: "drop-newest" }], name);
  }
});

test("an empty list of sinks is the sink none, empty sections are their defaults", () => {
  const text = `server:\nlog: {}\ndefaults:\nchannels: { a: { source: ${source}, sinks: [], ring: , schedule: ~ } }`;
  const { configuration, problems } = parseConfig(text, "f.yaml", machine);
  assert.deepEqual(problems, []);
  assert.deepEqual(configuration?.channels[0]?.sinks, [{ type: "none", every: 1, queue: 4, onFull: "drop-newest" }]);
  assert.equal(configuration?.server.port, 8600);
});

test("an address of this machine is taken apart", () => {
  const listen = (address: string): unknown =>
    parseConfig(`server: { listen: "${address}" }\nchannels: { a: { source: ${source} } }`, "f.yaml", machine)
      .configuration?.server;
  assert.deepEqual(listen("[::1]:0"), { host: "::1", port: 0 });
  assert.deepEqual(listen("localhost:80"), { host: "localhost", port: 80 });
  assert.deepEqual(listen("127.1.2.3:65535"), { host: "127.1.2.3", port: 65_535 });
});

test("values may come from the environment, whatever their type", () => {
  const environment = { WIDTH: "640", RATE: "25fps", START: "false", PATTERN: "checker", PORT: "9000", GAIN: "1.5" };
  const text = `
server: { listen: "localhost:\${env:PORT}" }
channels:
  a:
    source: { type: pattern, width: "\${env:WIDTH}", height: 48, fps: "\${env:RATE}", pattern: "\${env:PATTERN}" }
    start: \${env:START}
    pipeline:
      - gain: \${env:GAIN}
`;
  const { configuration, problems } = parseConfig(text, "f.yaml", { ...machine, environment });
  assert.deepEqual(problems, []);
  const [a] = configuration?.channels ?? [];
  assert.equal(configuration?.server.port, 9000);
  assert.deepEqual([a?.source["width"], a?.source["fps"], a?.source["pattern"], a?.start], [640, 25, "checker", false]);
  assert.deepEqual(a?.pipeline[0]?.arguments, { value: 1.5 });
});

test("a y4m file says the rate at which it gets frames, and directories may have percent signs", () => {
  const text = `
channels:
  a: { source: ${source}, sinks: [{ file: { path: a%04d.y4m, every: 4 } }, { file: { path: b.y4m, fps: 12fps } }] }
  b: { source: { type: y4m, path: film.y4m }, sinks: [{ file: { path: c.y4m } }] }
`;
  const { configuration, problems } = parseConfig(text, "/100%/f.yaml", machine);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    configuration?.channels.flatMap(({ sinks }) => sinks.map(({ path, fps, format }) => [path, fps, format])),
    [
      ["/100%%/a%04d.y4m", 7.5, "y4m"],
      ["/100%%/b.y4m", 12, "y4m"],
      ["/100%%/c.y4m", 25, "y4m"],
    ],
  );
  assert.equal(configuration?.channels[1]?.source["path"], "/100%/film.y4m");
});

const placesOf = (text: string) => parseConfig(text, "f.yaml", machine).problems.map(formatProblem);

test("GPUs and their bounds are read, the channel's own beside the defaults", () => {
  const text = `
devices: { cuda: { use: [cuda:1], memory: { reserve: 1GiB, max_bytes: 8GiB, max_buffers: 4096 }, pinned: { reserve: 64MiB }, gpu_timeout: 2s, library: ./libcuda_fake.so } }
defaults: { device: cuda:1, memory: { max_buffers: 64 } }
channels:
  a: { source: ${source}, memory: { max_bytes: 16MiB }, pinned: required, on_overload: degrade-others }
`;
  const { configuration } = parseConfig(text, "/etc/f.yaml", machine);
  assert.deepEqual(configuration?.devices.cuda, {
    use: ["cuda:1"],
    library: "/etc/libcuda_fake.so",
    memory: { reserve: 2 ** 30, maxBytes: 2 ** 33, maxBuffers: 4096 },
    pinned: { reserve: 2 ** 26 },
    gpuTimeout: 2,
  });
  const [a] = configuration?.channels ?? [];
  assert.deepEqual([a?.device, a?.memory, a?.pinned], ["cuda:1", { maxBytes: 2 ** 24, maxBuffers: 64 }, "required"]);
});

test("the driver's library may come from the environment, the file wins", () => {
  const library = (more: string) =>
    parseConfig(`${more}channels: { a: { source: ${source} } }`, "/etc/f.yaml", {
      ...machine,
      environment: { FRAMELANE_CUDA_LIBRARY: "/opt/libcuda.so" },
    }).configuration?.devices.cuda.library;
  assert.equal(library(""), "/opt/libcuda.so");
  assert.equal(library("devices: { cuda: { library: /usr/lib/x.so } }\n"), "/usr/lib/x.so");
});

test("a channel's GPU is one of those to be used, as far as the file alone can tell", () => {
  const uuid = (last: number) => `cuda:GPU-0a1b2c3d-0000-0000-0000-00000000000${last}`;
  const problems = (use: string, device: string) =>
    placesOf(`devices: { cuda: { use: [ "${use}" ] } }\nchannels: { a: { source: ${source}, device: "${device}" } }\n`);
  assert.deepEqual(problems("cuda:0", "cuda:0"), []);
  assert.deepEqual(problems("cuda:0", "cpu"), []);
  assert.deepEqual(problems("cuda:0", uuid(1)), []);
  assert.deepEqual(problems(uuid(1), "cuda:1"), []);
  assert.deepEqual(problems(uuid(1), uuid(1)), []);
  assert.match(
    String(problems("cuda:0", "cuda:1")),
    /channels\.a\.device: devices\.cuda\.use is cuda:0, found cuda:1$/,
  );
  assert.match(String(problems(uuid(1), uuid(2))), /devices\.cuda\.use is cuda:GPU-\S+1, found cuda:GPU-\S+2$/);
});

test("what is wrong with devices is told with its place", () => {
  const channels = `channels:\n  a: { source: ${source}, device: cuda:0 }\n`;
  assert.deepEqual(placesOf(`devices: { cuda: { use: none } }\n${channels}`), [
    "f.yaml:3:78: channels.a.device: devices.cuda.use is none, found cuda:0",
  ]);
  const inDefaults = `defaults: { device: cuda:0 }\nchannels: { a: { source: ${source} } }\n`;
  assert.deepEqual(placesOf(`devices: { cuda: { use: none } }\n${inDefaults}`), [
    "f.yaml:2:21: defaults.device: devices.cuda.use is none, found cuda:0",
  ]);
  assert.deepEqual(placesOf(`devices: { cuda: { use: [gpu0] } }\n${channels}`), [
    'f.yaml:1:26: devices.cuda.use[0]: expected a GPU such as cuda:0 or cuda:GPU-0a1b2c3d-0000-0000-0000-000000000000, found "gpu0"',
  ]);
  assert.deepEqual(placesOf(`devices: { cuda: { use: most } }\n${channels}`), [
    'f.yaml:1:25: devices.cuda.use: expected auto, none or a list of GPUs such as [cuda:0, cuda:1], found "most"',
  ]);
  assert.deepEqual(placesOf(`devices: { cuda: { memory: { reserve: 2GiB, max_bytes: 1GiB } } }\n${channels}`), [
    "f.yaml:1:39: devices.cuda.memory.reserve: expected at most max_bytes, 1GiB, found 2GiB",
  ]);
});
