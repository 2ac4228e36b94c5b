#!/usr/bin/env python3
"""Channels of workload R14 in PyTorch: what `framelane bench peers` puts beside the service.

    python3 torch_channels.py --channels 1,2,4 --in-flight 3 --wait blocking --seconds 2

Each channel has slots of pinned memory that are used in turn, and for each frame in flight a lane: a CUDA stream,
device memory, and the kernels as a CUDA graph. Every frame goes up from its slot, through the graph, and down to
another slot. Modes:
    torch-graph                PyTorch's own kernels, one thread for each channel
    torch-graph-loop           the same, and one thread drives the lanes of all channels in turn
    torch-compile-graph        kernels by torch.compile, one thread for each channel
    torch-compile-graph-loop   the same, and one thread drives them all
Prints a JSON object on each line: first what runs here (mode `peer`), then a row for each number of channels, of
frames in flight, mode and way to wait. One frame in 100 is compared with what plain Python makes of it
(local_contrast.py); more than one grey level of difference ends the run. `--device cpu` runs the same without graphs,
streams or pinned memory, to try it out. Exit code 3: there is no PyTorch, or none for the device.
"""

import argparse
import ctypes
import gc
import json
import platform
import random
import sys
import threading
import time

import local_contrast

try:
    import torch
    import torch.nn.functional as functional
except ImportError as error:
    sys.stderr.write(f"there is no PyTorch in {sys.executable} ({error}): name another Python with --python\n")
    sys.exit(3)

MODES = ("torch-graph", "torch-graph-loop", "torch-compile-graph", "torch-compile-graph-loop")
COMPARE_EVERY = 100
COMPARE_APART = 37  # of neighbours: not all channels compare at once
TOLERANCE = 1  # grey levels
PICTURES = 2
START_S = 0.002  # until every thread has been told


def make_pipeline(width, height):
    """From a frame on the device to its result there."""
    levels, gain = local_contrast.LEVELS, local_contrast.GAIN
    (joined_x, read_x), (joined_y, read_y) = (local_contrast.reach(size) for size in (width, height))
    rim = 2 ** (levels + 1) - 1
    beyond = (rim, read_x[0] + 1 - width, rim, read_y[0] + 1 - height)

    def halved(image, axis):
        count = (image.shape[axis] - 4) // 2 + 1
        a, b, c, d = (image.narrow(axis, k, 2 * count - 1)[..., ::2] if axis == 3 else
                      image.narrow(axis, k, 2 * count - 1)[..., ::2, :] for k in range(4))
        return (a + d + 3.0 * (b + c)) * 0.125

    def pipeline(frame):
        base = frame.view(1, 1, height, width).float()
        pyramid = [functional.pad(base, beyond, mode="reflect")]
        for _ in range(levels):
            pyramid.append(halved(halved(pyramid[-1], 3), 2))
        coarse = pyramid[-1]
        for level in range(levels - 1, -1, -1):
            first = 2 ** (levels + 1 - level) - 2
            high, wide = joined_y[level] + 2, joined_x[level] + 2
            up = functional.interpolate(coarse, scale_factor=2.0, mode="bilinear", align_corners=False)
            met = pyramid[level][..., first : first + high, first : first + wide]
            coarse = 0.5 * (met + up[..., 1 : 1 + high, 1 : 1 + wide])
        result = base + gain * (base - coarse[..., 1:, 1:])
        return (result.clamp(0.0, 255.0) + 0.5).to(torch.uint8).view(height, width)

    return pipeline


memcmp = ctypes.CDLL(None).memcmp  # several times as fast as torch.equal, and without Python's lock
memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Pictures:
    """Frames of noise, and what has to come out."""

    def __init__(self, width, height, compare):
        frames = [random.Random(seed).randbytes(width * height) for seed in range(PICTURES)]
        self.shape = (height, width)
        self.inputs = [self.tensor(frame) for frame in frames]
        self.expected = [self.tensor(local_contrast.local_contrast(f, width, height)) for f in frames if compare]
        self.accepted = {}  # a result that was compared: its equals need no second look

    def tensor(self, data):
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(self.shape)

    def difference(self, picture, result):
        seen = self.accepted.get(picture)
        if seen is not None and memcmp(seen[0].data_ptr(), result.data_ptr(), result.numel()) == 0:
            return seen[1]
        worst = (result.to(torch.int16) - self.expected[picture].to(torch.int16)).abs().max().item()
        self.accepted[picture] = (result.clone(), worst)
        return worst


class CpuLane:
    """A frame at a time, on the calling thread."""

    captured = None

    def __init__(self, shape, device, run):
        self.run = run
        self.input = torch.empty(shape, dtype=torch.uint8)
        self.busy = False
        self.number, self.begun = 0, 0.0

    def rearm(self, wait):
        pass

    def submit(self, source, target):
        self.input.copy_(source)
        target.copy_(self.run(self.input))

    def wait(self):
        pass


class GpuLane:
    """A stream with a graph of its own."""

    captured = 1

    def __init__(self, shape, device, run):
        self.stream = torch.cuda.Stream(device)
        self.input = torch.zeros(shape, dtype=torch.uint8, device=device)
        self.graph = torch.cuda.CUDAGraph()
        self.event = None
        self.busy = False
        self.number, self.begun = 0, 0.0
        torch.cuda.synchronize(device)
        with torch.cuda.stream(self.stream):
            self.graph.capture_begin()
            self.output = run(self.input)
            self.graph.capture_end()
            self.graph.replay()
        self.stream.synchronize()

    def rearm(self, wait):
        """The driver spins for an event that does not block, without Python's lock."""
        self.event = torch.cuda.Event(blocking=wait == "blocking")

    def submit(self, source, target):
        torch.cuda.set_stream(self.stream)
        self.input.copy_(source, non_blocking=True)
        self.graph.replay()
        target.copy_(self.output, non_blocking=True)
        self.event.record(self.stream)

    def wait(self):
        self.event.synchronize()


class Channel:
    """Slots, lanes, and what was measured. One thread drives it at a time."""

    def __init__(self, index, lanes, pictures, device):
        # An output slot held another picture's result before: one that was not written would be seen.
        inputs = max(6, (len(lanes) + 3) // 2 * 2)
        slots = torch.empty((2 * inputs - 1, *pictures.shape), dtype=torch.uint8, pin_memory=device.type == "cuda")
        self.inputs, self.outputs = list(slots[:inputs].unbind()), list(slots[inputs:].unbind())
        for number, slot in enumerate(self.inputs):
            slot.copy_(pictures.inputs[number % PICTURES])
        self.index, self.lanes, self.pictures = index, lanes, pictures
        self.begun = 0  # frames, over all measurements: pictures and slots stay in step

    def start(self):
        self.latencies, self.compared, self.worst, self.last_end = [], 0, 0, 0.0
        self.until_compared = self.index * COMPARE_APART % COMPARE_EVERY

    def submit(self, lane, now):
        number = self.begun
        self.begun += 1
        lane.number, lane.begun, lane.busy = number, now, True
        lane.submit(self.inputs[number % len(self.inputs)], self.outputs[number % len(self.outputs)])

    def finish(self, lane):
        lane.wait()
        lane.busy = False
        self.last_end = time.perf_counter()
        self.latencies.append(self.last_end - lane.begun)
        if not self.pictures.expected:
            return
        if self.until_compared > 0:
            self.until_compared -= 1
            return
        self.until_compared = COMPARE_EVERY - 1
        self.compared += 1
        result = self.outputs[lane.number % len(self.outputs)]
        self.worst = max(self.worst, self.pictures.difference(lane.number % PICTURES, result))


def drive(work, begin, end):
    """Lanes in turn, each with its channel: a lane's frame is waited for before it gets the next one."""
    time.sleep(max(0.0, begin - time.perf_counter()))
    running = True
    while running:
        for channel, lane in work:
            if lane.busy:
                channel.finish(lane)
            now = time.perf_counter()
            if now < end:
                channel.submit(lane, now)
            else:
                running = False
    for channel, lane in work:
        if lane.busy:
            channel.finish(lane)


def on_threads(tasks):
    """Each on a thread of its own; raises what the first one raised."""
    failures = []

    def guarded(task):
        try:
            task()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def quantile_us(sorted_s, part):
    return round(sorted_s[min(int(part * len(sorted_s)), len(sorted_s) - 1)] * 1e6, 1)


def measure(channels, loop, wait, seconds):
    for channel in channels:
        channel.start()
        for lane in channel.lanes:
            lane.rearm(wait)
    deep = range(len(channels[0].lanes))
    work = [[(channel, channel.lanes[k]) for k in deep] for channel in channels]
    if loop:
        work = [[(channel, channel.lanes[k]) for k in deep for channel in channels]]
    gc.collect()
    begin, cpu = time.perf_counter() + START_S, time.process_time()
    on_threads([lambda mine=mine: drive(mine, begin, begin + seconds) for mine in work])
    cores = (time.process_time() - cpu) / (time.perf_counter() - begin)
    latencies = sorted(one for channel in channels for one in channel.latencies)
    if not latencies:
        raise RuntimeError("no frame was done in time")
    worst = max(channel.worst for channel in channels)
    if worst > TOLERANCE:
        raise RuntimeError(f"a frame is not what plain Python makes of it: {worst} grey levels")
    return {
        "fps": round(sum(len(c.latencies) / (c.last_end - begin) for c in channels if c.latencies), 1),
        "p50_us": quantile_us(latencies, 0.5),
        "p99_us": quantile_us(latencies, 0.99),
        "p999_us": quantile_us(latencies, 0.999),
        "max_us": quantile_us(latencies, 1),
        "engine_cores": round(cores, 2),
        "compared": {"frames": sum(c.compared for c in channels), "worst_difference": worst}
        if channels[0].pictures.expected
        else None,
    }


def print_row(options, mode, channels, wait, runs):
    row = sorted(runs, key=lambda run: run["fps"])[(len(runs) - 1) // 2]
    lanes = channels[0].lanes
    head = {
        "workload": "r14",
        "size": "%dx%d" % options.size,
        "mode": mode,
        "device": options.device,
        "channels": len(channels),
        "threads": 1,
        "in_flight": len(lanes),
        "wait": wait,
        "pace_fps": None,
        "stagger": None,
        "fps_runs": [run["fps"] for run in runs],
        "pcie_fraction": None,
        "lost": 0,
        "captured": lanes[0].captured and len(channels),
        "driver_calls_per_frame": None,
    }
    print(json.dumps({**head, **row}), flush=True)


def make_channels(options, run, in_flight, pictures, device):
    make = GpuLane if device.type == "cuda" else CpuLane
    return [
        Channel(index, [make(pictures.shape, device, run) for _ in range(in_flight)], pictures, device)
        for index in range(max(options.channels))
    ]


def measure_kind(options, modes, channels):
    for count in options.channels:
        for mode in modes:
            for wait in options.wait:
                some, loop = channels[:count], mode.endswith("-loop")
                runs = [measure(some, loop, wait, options.seconds) for _ in range(options.runs)]
                print_row(options, mode, some, wait, runs)


def words(text):
    return text.split(",")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    numbers = {"type": lambda text: [int(word) for word in words(text)]}
    parser.add_argument("--size", type=lambda text: tuple(int(side) for side in text.split("x")), default=(2904, 1111))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--modes", type=words, default=list(MODES))
    parser.add_argument("--channels", default=[1], **numbers)
    parser.add_argument("--in-flight", default=[3], **numbers)
    parser.add_argument("--wait", type=words, default=["blocking"])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--compare", type=int, choices=(0, 1), default=1)
    options = parser.parse_args()
    if any(mode not in MODES for mode in options.modes):
        parser.error(f"--modes takes {', '.join(MODES)}")
    if min(options.size) < 40:
        parser.error("--size: at least 40x40, for the borders are mirrored once")
    return options


def measure_all(options, device):
    pictures = Pictures(*options.size, options.compare == 1)
    pipeline = make_pipeline(*options.size)
    kinds = {"torch-graph": lambda: pipeline, "torch-compile-graph": lambda: torch.compile(pipeline, dynamic=False)}
    for kind, make in kinds.items():
        modes = [mode for mode in options.modes if mode.removesuffix("-loop") == kind]
        if not modes:
            continue
        run = make()
        frame = pictures.inputs[0].to(device)
        for _ in range(3):  # compiles, and takes what the first calls of a library take
            run(frame)
        for in_flight in options.in_flight:
            measure_kind(options, modes, make_channels(options, run, in_flight, pictures, device))


def main():
    options = parse()
    # Nothing here makes garbage, and what is collected while a graph is captured could end the capture.
    gc.disable()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.stderr.write(f"PyTorch {torch.__version__} of {sys.executable} finds no GPU\n")
        sys.exit(3)
    torch.set_num_threads(1)
    peer = f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    gpu = None
    if device.type == "cuda":
        torch.cuda.set_device(device)
        gpu = torch.cuda.get_device_name(device)
        peer += f", CUDA {torch.version.cuda}"
    print(json.dumps({"mode": "peer", "peer": peer, "gpu": gpu}), flush=True)
    try:
        measure_all(options, device)
    except RuntimeError as error:
        sys.stderr.write(f"{peer}: {error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
