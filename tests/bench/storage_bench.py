#!/usr/bin/env python3
"""What profd does with bytes on disk, as figures of one run on this machine: storage limits under load, 8 devices at
60 MB/s beside a naked append loop of the same rate, and verify. The real daemon over the simulator, whose own threads
(sim-…) and rings (sim-ring) are not counted. Prints; judges nothing.

  storage_bench.py [--seconds N] [--only limits,rate,verify] [--limits 200,500,2000] [--devices 1,2,8] [--rates 1,10,60]
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import harness  # noqa: E402
from device_bench import Cpu, rss_mib, show  # noqa: E402

SLICE_MB = 2.097152


def disk_bytes(path):
    """As du counts: blocks of files and folders; what goes away in between is gone."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in [".", *files]:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


class DiskUse(threading.Thread):
    """The most that lay in a directory, looked at every 100 ms."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.most, self.ending = path, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ending.wait(0.1):
            self.most = max(self.most, disk_bytes(self.path))

    def end(self):
        self.ending.set()
        self.join()
        return self.most


def flood(devices, rate):
    return harness.Profd(sim=f"devices: {devices}\nchip: 910B\nmode: flood\nrate_mb_s: {rate}\n",
                         directory=tempfile.mkdtemp(prefix="profd-bench-", dir=str(harness.BUILD)))


def window(directory):
    """(seconds that are left of the stream that has aged, how far apart the streams' oldest records lie)."""
    manifest = json.loads((pathlib.Path(directory) / "profd" / "manifest.json").read_text())
    begins = [stream["aged"]["to_ns"] for stream in manifest["streams"] if stream["aged"]["slices"]]
    ends = [clock["host_raw_ns"] for clock in manifest["clocks"]]
    if not begins or not ends:
        return None
    return (max(ends) - min(begins)) / 1e9, (max(begins) - min(begins)) / 1e9


def limits(seconds, sizes, devices, rates):
    print(f"storage limits, {seconds} s each: the most on disk, looked at every 100 ms (goal <= limit + one slice)")
    print(f"  {'limit MB':>8} {'devices':>7} {'MB/s each':>9} {'most MB':>9} {'over MB':>8} {'aged MB':>9} {'window s':>9}"
          f" {'apart s':>8} {'lost':>9}")
    for size in sizes:
        for count in devices:
            for rate in rates:
                daemon = flood(count, rate)
                try:
                    session = daemon.begin("--devices", "all", "--preset", "node", "--storage-limit", f"{size}MB")
                    use = DiskUse(session["directory"])
                    time.sleep(seconds)
                    sealed = daemon.ctl("stop", session["session"], "--json").json
                    most = use.end() / 1e6
                    left = window(sealed["directory"])
                    print(f"  {size:>8} {count:>7} {rate:>9} {most:>9.1f} {max(0, most - size):>8.2f} "
                          f"{sealed['aged_bytes'] / 1e6:>9.1f} {f'{left[0]:.1f}' if left else 'all':>9} "
                          f"{f'{left[1]:.2f}' if left else '-':>8} {sealed['lost']:>9}", flush=True)
                finally:
                    daemon.close()


def append_loop(directory, streams, rate_mb_s, seconds):
    """A naked append of `rate_mb_s` into each of `streams` files of 2 MiB at a time: CPU seconds, bytes that were late."""
    piece = os.urandom(256 << 10)
    files, written = [None] * streams, [0] * streams
    begin, cpu = time.monotonic(), time.process_time()
    done, number, late = 0, 0, 0
    while (now := time.monotonic() - begin) < seconds:
        due = int(now * rate_mb_s * 1e6 * streams)
        late = max(late, due - done)
        while done + len(piece) <= due:
            stream = number % streams
            if files[stream] is None or written[stream] >= 2 << 20:
                if files[stream] is not None:
                    os.close(files[stream])
                files[stream] = os.open(os.path.join(directory, f"{stream}.{number}"), os.O_CREAT | os.O_WRONLY, 0o640)
                written[stream] = 0
            os.write(files[stream], piece)
            written[stream] += len(piece)
            done += len(piece)
            number += 1
            if time.monotonic() - begin > seconds:
                break
        time.sleep(0.005)
    for file in files:
        if file is not None:
            os.close(file)
    return time.process_time() - cpu, done, late


def rate(seconds, each=60):
    print(f"8 devices at {each} MB/s each, {seconds} s (vendor: 1.18 cores, 1.45 GB)")
    scratch = tempfile.mkdtemp(prefix="profd-bench-", dir=str(harness.BUILD))
    try:
        cpu, done, late = append_loop(scratch, 8, each, seconds)
        show("naked append loop: cores", f"{cpu / seconds:.2f}")
        show("naked append loop: MB/s kept", f"{done / seconds / 1e6:.0f}")
        show("naked append loop: furthest behind, MB", f"{late / 1e6:.1f}")
    finally:
        shutil.rmtree(scratch)
    daemon = flood(8, each)
    try:
        session = daemon.begin("--devices", "all", "--preset", "node")
        cpu = Cpu(daemon.process.pid)
        memory, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.2)
            cpu.look()
            memory = max(memory, rss_mib(daemon.process.pid))
        spent = cpu.spent()
        sealed = daemon.ctl("stop", session["session"], "--json").json
        show("profd: cores (goal <= 0.5)", f"{spent / seconds:.2f}")
        show("profd: MB/s stored", f"{sealed['bytes'] / sealed['elapsed_s'] / 1e6:.0f}")
        show("profd: peak RSS without the driver's rings, MiB (goal <= 128)", f"{memory:.1f}")
        show("profd: records lost (goal 0 where the loop keeps up)", sealed["lost"])
    finally:
        daemon.close()


def verify(seconds):
    print("profctl verify of a directory in the page cache")
    daemon = flood(4, 150)
    try:
        session = daemon.begin("--devices", "all", "--preset", "node")
        time.sleep(min(seconds, 4))
        sealed = daemon.ctl("stop", session["session"], "--json").json
        for turn in ("cold", "warm"):
            before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run([str(harness.PROFCTL), "verify", sealed["directory"]], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
            wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            show(f"{turn}: GB/s (goal >= 2), GB per CPU-second",
                 f"{sealed['bytes'] / wall / 1e9:.2f}, {sealed['bytes'] / cpu / 1e9:.2f}")
    finally:
        daemon.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", default="limits,rate,verify")
    parser.add_argument("--limits", default="200,500,2000")
    parser.add_argument("--devices", default="1,2,8")
    parser.add_argument("--rates", default="1,10,60")
    arguments = parser.parse_args()
    numbers = {name: [int(item) for item in getattr(arguments, name).split(",")] for name in ("limits", "devices", "rates")}
    chosen = arguments.only.split(",")
    if "limits" in chosen:
        limits(arguments.seconds, numbers["limits"], numbers["devices"], numbers["rates"])
    if "rate" in chosen:
        rate(arguments.seconds)
    if "verify" in chosen:
        verify(arguments.seconds)


if __name__ == "__main__":
    main()
