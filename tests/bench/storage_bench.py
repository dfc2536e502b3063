#!/usr/bin/env python3
"""Storage: is the limit kept at every moment, is one window of every kind left, what does writing cost next to a naked append
loop in the same run, how fast does verify read. The real daemon over the simulator. Prints; judges nothing, but exits 1 when a
directory was larger than its limit and one slice.

  storage_bench.py [--only limits,rate,verify] [--seconds N] [--limits MB,…] [--devices N,…] [--rates MB/s,…] [--turns N]
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import agent_reader  # noqa: E402
import harness  # noqa: E402
from device_bench import Cpu, rss_mib  # noqa: E402

MB = 1_000_000
SLICE_BYTES = 2 << 20
STREAMS = 20  # that cut slices, of a 910B with all its kinds


def show(what, value):
    print(f"  {what:<58} {value}", flush=True)


def flood(devices, rate):
    return f"devices: {devices}\nchip: 910B\nmode: flood\nrate_mb_s: {rate}\n"


def disk_bytes(path):
    """What du says; of slices that go meanwhile it complains, and counts them as far as it has seen them."""
    said = subprocess.run(["du", "-s", "--block-size=1", path], capture_output=True, text=True, check=False).stdout
    return int(said.split()[0]) if said else 0


class Watcher(threading.Thread):
    """The most that lay there, looked at every 100 ms, and how long the longest look took: what is written meanwhile is
    counted beside what goes."""

    def __init__(self, path):
        super().__init__()
        self.path, self.most, self.longest_s, self.ending = path, 0, 0.0, threading.Event()
        self.start()

    def run(self):
        while not self.ending.wait(0.1):
            begin = time.monotonic()
            self.most = max(self.most, disk_bytes(self.path))
            self.longest_s = max(self.longest_s, time.monotonic() - begin)

    def end(self):
        self.ending.set()
        self.join()
        return self.most


def slice_bytes(limit, devices):
    return max(64 << 10, min(SLICE_BYTES, limit * MB // (4 * devices * STREAMS)))


def limits(options):
    """Each until `--turns` times the limit has been stored, or the time is over."""
    print("limit: most on disk (du every 100 ms), longest look, spread of what the kinds have lost, loss")
    kept = True
    for limit in options.limits:
        for devices in options.devices:
            for rate in options.rates:
                daemon = harness.Profd(sim=flood(devices, rate))
                try:
                    session = daemon.begin("--devices", "all", "--storage-limit", f"{limit}MB")
                    watcher = Watcher(session["directory"])
                    end = time.monotonic() + options.seconds
                    while time.monotonic() < end:
                        time.sleep(0.5)
                        if daemon.status(session["session"])["bytes"] > options.turns * limit * MB:
                            break
                    # While all run: channels stop one after the other, and those that still flood age the others.
                    running = agent_reader.manifest(session["directory"])
                    sealed = daemon.end(session["session"])
                    most = watcher.end()
                    manifest = agent_reader.manifest(sealed["directory"])
                    ends = [stream["aged"]["to_ns"] for stream in running["streams"] if stream["aged"]["slices"]]
                    spread = f"{(max(ends) - min(ends)) / 1e9:.2f} s of {sealed['window_s']:.1f} s" if ends else "nothing aged"
                    made = sum(stream["records"] + stream["lost_records"] for stream in manifest["streams"])
                    lost = sum(stream["lost_records"] for stream in manifest["streams"])
                    over = most > limit * MB + slice_bytes(limit, devices)
                    kept &= not over
                    show(f"{limit} MB, {devices} × {rate} MB/s",
                         f"{most / MB:.1f} MB{' OVER' if over else ''} ({watcher.longest_s * 1e3:.0f} ms), {spread}, "
                         f"lost {lost} of {made} records, stored {sealed['bytes'] / MB:.0f} MB in {sealed['elapsed_s']:.0f} s")
                finally:
                    daemon.close()
    return kept


class Flusher(threading.Thread):
    """What store.durability periodic does: every 5 s, all that was written."""

    def __init__(self):
        super().__init__()
        self.waiting, self.lock, self.ending = {}, threading.Lock(), threading.Event()
        self.start()

    def add(self, name, file):
        with self.lock:
            if name not in self.waiting:
                self.waiting[name] = os.dup(file)

    def run(self):
        while not self.ending.wait(5):
            with self.lock:
                files, self.waiting = self.waiting, {}
            for file in files.values():
                os.fdatasync(file)
                os.close(file)

    def end(self):
        self.ending.set()
        self.join()
        for file in self.waiting.values():
            os.close(file)


def naked(directory, rate_bytes, seconds, streams):
    """Appends at the rate, cut into slices and flushed as profd does, nothing else: CPU seconds and how far it got."""
    piece = os.urandom(256 << 10)
    files, written, used = {}, 0, time.process_time()
    flusher = Flusher()
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < seconds:
        while written < now * rate_bytes:
            number = (written // len(piece)) % streams
            file, size, slice_number = files.get(number, (None, 0, 0))
            if file is None or size >= SLICE_BYTES:
                if file is not None:
                    os.close(file)
                name = pathlib.Path(directory) / f"s{number}.slice_{slice_number}"
                file, size, slice_number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), 0, slice_number + 1
            os.write(file, piece)
            flusher.add((number, slice_number), file)
            files[number] = (file, size + len(piece), slice_number)
            written += len(piece)
            if time.monotonic() - begin > seconds:
                break
        time.sleep(0.002)
    flusher.end()
    for file, _, _ in files.values():
        os.close(file)
    return time.process_time() - used, written / rate_bytes / seconds


def rate(options):
    devices, each = 8, 60
    seconds = options.seconds
    print(f"{devices} × {each} MB/s for {seconds} s")
    where = tempfile.mkdtemp(prefix="profd-bench-")
    try:
        cpu, reached = naked(where, devices * each * MB, seconds, 160)
        show("naked append loop (Python): cores, share of the rate", f"{cpu / seconds:.2f}, {reached:.2f}")
    finally:
        shutil.rmtree(where)
        os.sync()  # what was removed is discarded with the journal's next commit, which stops every write for a second
        time.sleep(6)  # and for five seconds ext4 passes over the inodes of what was removed, one by one
    daemon = harness.Profd(sim=flood(devices, each))
    try:
        session = daemon.begin("--devices", "all")["session"]
        cpu, most = Cpu(daemon.process.pid), 0.0
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            time.sleep(0.5)
            cpu.look()
            most = max(most, rss_mib(daemon.process.pid))
        spent = cpu.spent() / (time.monotonic() - begin)
        threads = cpu.by_thread()
        sealed = daemon.end(session)
        manifest = agent_reader.manifest(sealed["directory"])
        lost = {}
        for stream in manifest["streams"]:
            for loss in stream["losses"]:
                lost[loss["where"]] = lost.get(loss["where"], 0) + loss["records"]
        show("profd: cores, without the simulator", f"{spent:.2f}  {threads}")
        show("profd: most resident memory without the rings, MiB", f"{most:.0f}")
        show("profd: stored MB/s; lost records by cause",
             f"{sealed['bytes'] / MB / sealed['elapsed_s']:.0f}; {lost or 'none'}")
    finally:
        daemon.close()
    return True


def verify(options):
    print("verify, from the page cache")
    daemon = harness.Profd(sim=flood(2, 60))
    try:
        sealed = daemon.ctl("start", "--devices", "all", "--duration", "8s", "--wait", "--json").json
        best, cpu = 0.0, 0.0
        for _ in range(3):
            before = os.times()
            begin = time.monotonic()
            result = daemon.ctl("verify", sealed["directory"])
            speed = sealed["bytes"] / 1e9 / (time.monotonic() - begin)
            after = os.times()
            if speed > best:
                best = speed
                cpu = after.children_user + after.children_system - before.children_user - before.children_system
        show("GB/s; CPU seconds for each GB; processors",
             f"{best:.2f}; {cpu / sealed['bytes'] * 1e9:.2f}; {os.cpu_count()}")
        show("what it says", result.out.strip().rsplit(": ", 1)[-1])
    finally:
        daemon.close()
    return True


def main():
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="limits,rate,verify")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--turns", type=float, default=2)
    parser.add_argument("--limits", type=numbers, default=[200, 500, 2000])
    parser.add_argument("--devices", type=numbers, default=[1, 2, 8])
    parser.add_argument("--rates", type=numbers, default=[1, 10, 60])
    options = parser.parse_args()
    parts = {"limits": limits, "rate": rate, "verify": verify}
    results = [parts[name](options) for name in options.only.split(",")]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
