"""Sixteen channels of a bundle on `device: auto`, their frames compared with those of the CPU.

    python3 bench/gpu/sixteen_channels.py FRAMELANE [--json FILE] [--frames N] [--scale S]

FRAMELANE is bin/framelane of an unpacked bundle. Runs one service on the GPU and one on the CPU, with the same noise,
and writes whether each channel's kernels were replayed, which calls for memory the driver saw while all ran, what was
lost, and how far the results differ. Ends with 1 where one of these is not as it should be. Needs numpy.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy

KEPT = 15  # frames of each channel that are compared
WATCHED_S = 5
PATIENCE_S = 240
# Calls for memory, and those that wait for the whole device: none while frames run.
STEADY = re.compile(r"cu(MemAlloc|MemFree|MemHost|MemFreeHost|ModuleLoad|CtxSynchronize)(?!.*Async)")

CONTRAST = "local_contrast: { gain: 1.2, levels: 3 }"
STAGES = "local_contrast: { gain: 1.2, levels: 3, schedule: stages }"
# Name, how many, width, height, pixel format, pipeline, sample type of the result.
KINDS = [
    ("r14", 4, 2904, 1111, "mono8", [STAGES], numpy.uint8),
    ("fused", 4, 2904, 1111, "mono8", [CONTRAST], numpy.uint8),
    ("tone", 2, 1920, 1080, "rgb8", ["gain: 1.5", "gamma: 2.2"], numpy.uint8),
    ("sharp", 2, 641, 479, "mono16", ["unsharp: { amount: 0.8, radius: 2 }"], numpy.uint16),
    ("small", 2, 1920, 1080, "mono8", ["resize: { width: 701, height: 333, method: bicubic }"], numpy.uint8),
    ("area", 1, 1001, 777, "rgb8_planar",
     ["crop: { x: 3, y: 5, width: 333, height: 222 }", "convert: { type: float32 }"], numpy.float32),
    ("long", 1, 1280, 720, "mono8",
     ["gain: 1.1", "unsharp: { amount: 0.5 }", CONTRAST, "convert: { type: uint16 }"], numpy.uint16),
]


def channels():
    """(name, kind) of all sixteen."""
    kinds = [kind for kind in KINDS for _ in range(kind[1])]
    return [(f"{kind[0]}-{index}", kind) for index, kind in enumerate(kinds)]


def configuration(folder, device, pace, frames, scale):
    lines = [f"server: {{ listen: '127.0.0.1:0', runtime_dir: {folder}/run }}", "channels:"]
    for index, (name, (_, _, width, height, pixels, pipeline, _)) in enumerate(channels()):
        width, height = (max(400, int(side * scale)) for side in (width, height))
        width, height = max(width, 401), max(height, 401)
        lines += [
            f"  {name}:",
            f"    device: {device}",
            f"    in_flight: {1 + index % 3}",
            f"    source: {{ type: pattern, width: {width}, height: {height}, format: {pixels}, pattern: noise,"
            f" fps: 60, frames: {frames}{pace} }}",
            "    ring: { slots: 8, handling: oldest-first }",
            "    pipeline: [ " + ", ".join(f"{{ {step} }}" for step in pipeline) + " ]",
            f"    sinks: [ {{ file: {{ path: {folder}/{name}.raw, every: {frames // KEPT}, queue: 16 }} }} ]",
        ]
    path = folder / "channels.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def calls_for_memory(url):
    calls = get(f"{url}/api/v1/devices/cuda:0")["gpu"]["driver_calls"]
    return {name: count for name, count in calls.items() if STEADY.match(name)}


def processed(reports):
    return sum(report["frames"]["processed"] for report in reports)


def watch(url):
    """Calls for memory and frames while all channels run; None where one was over first."""
    before = calls_for_memory(url)
    frames = processed(get(f"{url}/api/v1/channels")["channels"])
    time.sleep(WATCHED_S)
    reports = get(f"{url}/api/v1/channels")["channels"]
    after = calls_for_memory(url)
    if not all(report["state"] == "running" for report in reports):
        return None
    return {
        "frames": processed(reports) - frames,
        "driver_calls": {name: after[name] - before[name] for name in after},
        "replay": {report["name"]: report["replay"]["mode"] for report in reports},
    }


def run(framelane, folder, device, pace, options):
    folder.mkdir()
    path = configuration(folder, device, pace, options.frames, options.scale)
    subprocess.run([framelane, "check", path], check=True, stdout=subprocess.DEVNULL)
    with open(folder / "log", "w", encoding="utf8") as log:
        service = subprocess.Popen([framelane, "run", path], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        url = next(found.group(0) for line in service.stdout if (found := re.search(r"http://[^/\s]+", line)))
        watched = None
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            reports = get(f"{url}/api/v1/channels")["channels"]
            if all(report["state"] in ("finished", "faulted") for report in reports):
                return reports, watched, get(f"{url}/api/v1/devices")["devices"]
            started = all(r["state"] == "running" and r["frames"]["processed"] >= 20 for r in reports)
            if device != "cpu" and watched is None and started:
                watched = watch(url)
            time.sleep(0.05)
        raise SystemExit(f"the channels did not end within {PATIENCE_S} s: {folder}/log")
    finally:
        service.send_signal(signal.SIGINT)
        service.wait(20)


def row(report, kind, folders):
    name = report["name"]
    on_gpu, on_cpu = (numpy.fromfile(folder / f"{name}.raw", kind[6]) for folder in folders)
    if on_gpu.size != on_cpu.size or on_gpu.size == 0:
        raise SystemExit(f"{name}: {on_gpu.size} and {on_cpu.size} values to compare")
    difference = numpy.abs(on_gpu.astype(numpy.float64) - on_cpu)
    return {
        "channel": name,
        "device": report["device"],
        "processed": report["frames"]["processed"],
        "lost": sum(report["frames"]["lost"].values()) + sum(report["frames"]["dropped"].values()),
        "compared_values": int(difference.size),
        "worst_difference": float(difference.max()),
        "differing_values": int((difference > 0).sum()),
    }


def faults(result, frames):
    """What is not as it should be; a grey level more or less is the operations' own tolerance."""
    watched = result["watched"]
    if watched is None:
        return ["a channel ended before all had run together"]
    found = [f"{name}: {count} calls" for name, count in watched["driver_calls"].items() if count]
    found += [f"{name} is {mode}" for name, mode in watched["replay"].items() if mode != "captured"]
    for one in result["rows"]:
        if one["lost"] or one["processed"] != frames or one["worst_difference"] > 1:
            found.append(str(one))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("framelane", help="bin/framelane of an unpacked bundle")
    parser.add_argument("--json", help="writes the result there")
    parser.add_argument("--frames", type=int, default=900, help="of each channel")
    parser.add_argument("--scale", type=float, default=1, help="of the frames' sides, for a trial")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="framelane-") as work:
        folders = [pathlib.Path(work) / name for name in ("gpu", "cpu")]
        reports, watched, devices = run(options.framelane, folders[0], "auto", "", options)
        run(options.framelane, folders[1], "cpu", ", pace: max", options)
        rows = [row(report, kind, folders) for report, (_, kind) in zip(reports, channels())]
    version = subprocess.run([options.framelane, "--version"], check=True, capture_output=True, text=True).stdout
    gpu = next((device for device in devices if device["gpu"]), None)
    result = {
        "gpu": gpu and gpu["name"],
        "version": version.strip(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "watched": watched,
        "rows": rows,
    }
    text = json.dumps(result, indent=2) + "\n"
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(text)
    found = faults(result, options.frames)
    print("\n".join(found) or "all as it should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
