#!/usr/bin/env python3
"""What profd costs, as ratios taken in one run on this machine: idle, sampling 8 devices at 50 Hz, start and stop,
and full speed to disk and to memory. Everything is the real daemon over the simulator; the simulator's own threads
(sim-…) and rings (sim-ring) are not counted. Prints; judges nothing.

  device_bench.py [--seconds N] [--only idle,sampling,latency,flood]
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import harness  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
EIGHT = "devices: 8\nchip: 910B\n"
PERIPHERALS = ("hbm,llc,pcie,hccs,nic,roce,dvpp,npu-mem,npu-app-mem,npu-module-mem,qos,soc-profile,low-power")


def thread_seconds(pid):
    """CPU seconds of every thread but the simulator's, from schedstat (ns), by name."""
    used = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            nanoseconds = int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
        if not name.startswith("sim-"):
            used[f"{name}/{task.name}"] = nanoseconds / 1e9
    return used


class Cpu:
    """CPU seconds of a process between two moments; threads that ended in between are counted up to their last look."""

    def __init__(self, pid):
        self.pid, self.before = pid, thread_seconds(pid)
        self.last = dict(self.before)

    def look(self):
        self.last.update(thread_seconds(self.pid))

    def spent(self):
        self.look()
        return sum(value - self.before.get(key, 0) for key, value in self.last.items())

    def by_thread(self):
        self.look()
        names = {}
        for key, value in self.last.items():
            name = key.split("/")[0]
            names[name] = names.get(name, 0) + value - self.before.get(key, 0)
        return {name: round(value, 4) for name, value in sorted(names.items()) if value > 0.0005}


def rss_mib(pid):
    """Resident memory without the simulator's rings."""
    total, name = 0, ""
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        head = line.split()
        if "-" in head[0] and not head[0].endswith(":"):
            name = line
        elif head[0] == "Rss:" and "sim-ring" not in name:
            total += int(head[1])
    return total / 1024


def show(what, value):
    print(f"  {what:<58} {value}")


def idle(seconds):
    print(f"idle, {seconds} s, against a gRPC server with the same services and no other code")
    daemon = harness.Profd()
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    bare = subprocess.Popen([str(harness.BUILD / "bench" / "bare_server"), address])
    try:
        # profd has answered a caller by now; gRPC's timers are never again as quiet as before the first one.
        harness.wait_until(lambda: "lacks the call" in daemon.ctl("list", "--host", address, "--plain").err,
                           "the bare server to answer")
        time.sleep(3)
        cpus = Cpu(daemon.process.pid), Cpu(bare.pid)
        time.sleep(seconds)
        profd, server = (cpu.spent() for cpu in cpus)
        show("profd CPU, % of a core", f"{100 * profd / seconds:.4f}")
        show("bare server CPU, % of a core", f"{100 * server / seconds:.4f}")
        show("ratio (goal <= 1.3)", f"{profd / max(server, 1e-9):.2f}")
        show("profd RSS, MiB", f"{rss_mib(daemon.process.pid):.1f}")
        show("bare server RSS, MiB", f"{rss_mib(bare.pid):.1f}")
        show("ratio (goal <= 1.6)", f"{rss_mib(daemon.process.pid) / rss_mib(bare.pid):.2f}")
    finally:
        bare.kill()
        bare.wait()
        daemon.close()


def kinds_at_50_hz():
    return ",".join(kind if kind in ("soc-profile", "low-power", "qos") else f"{kind}=50Hz"
                    for kind in PERIPHERALS.split(","))


def sampling(seconds):
    print(f"8 devices, all peripheral kinds at 50 Hz, {seconds} s (vendor: 8.5 % of a core, 574 MB)")
    daemon = harness.Profd(sim=EIGHT)
    try:
        started = daemon.begin("--collect", kinds_at_50_hz())
        channels = [kind for kind in started["kinds"] if kind["verdict"] == "started"]
        time.sleep(2)
        cpu = Cpu(daemon.process.pid)
        time.sleep(seconds)
        spent = cpu.spent()
        threads = cpu.by_thread()
        memory = rss_mib(daemon.process.pid)
        sealed = daemon.end(started["session"])
        show("kinds running", len(channels))
        show("CPU, % of a core (goal <= 1)", f"{100 * spent / seconds:.3f}")
        show("by thread, CPU seconds", threads)
        show("RSS without the driver's rings, MiB (goal <= 64)", f"{memory:.1f}")
        show("to disk, kB/s", f"{sealed['bytes'] / sealed['elapsed_s'] / 1000:.0f}")
        show("records lost (goal 0)", sealed["lost"])
    finally:
        daemon.close()


def latency(rounds=7):
    # ext4 looks long for a place for a new file for minutes after many were removed, so its own part is shown apart.
    for name, place in (("disk", None), ("memory", "/dev/shm")):
        one_latency(name, tempfile.mkdtemp(prefix="profd-bench-", dir=place), rounds)


def one_latency(name, directory, rounds):
    print(f"start and stop with 8 devices, to {name}, medians of {rounds}")
    daemon = harness.Profd(sim=EIGHT, directory=directory)
    try:
        first, stop, whole = [], [], []
        for _ in range(rounds):
            lines = len(daemon.truth_lines()) if daemon.truth.exists() else 0
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            started = daemon.begin("--collect", kinds_at_50_hz())
            whole.append((time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - before) / 1e6)
            time.sleep(0.5)
            before_stop = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            daemon.end(started["session"])
            stop.append((time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - before_stop) / 1e6)
            events = [line for line in daemon.truth_lines()[lines:] if line.get("event") == "start"]
            first.append((min(event["host_raw_ns"] for event in events) - before) / 1e6)
        show("exec of profctl to first channel started, ms (goal <= 40)", f"{statistics.median(first):.1f}")
        show("exec of profctl start to its reply, ms", f"{statistics.median(whole):.1f}")
        show("exec of profctl stop to sealed, ms (goal <= 100)", f"{statistics.median(stop):.1f}")
    finally:
        daemon.close()


def floor(directory, megabytes):
    done = subprocess.run([str(harness.BUILD / "bench" / "floor"), directory, str(megabytes)], check=True,
                          capture_output=True, text=True)
    figures = json.loads(done.stdout)
    return figures["bytes"] / figures["cpu_s"]


def flood(seconds):
    places = [("disk", None)]
    if os.geteuid() == 0:
        places.append(("memory (tmpfs)", "tmpfs"))
    for name, kind in places:
        print(f"8 devices as fast as the simulator delivers, {seconds} s, to {name}")
        directory = tempfile.mkdtemp(prefix="profd-bench-", dir=None if kind else str(harness.BUILD))
        if kind:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12g", "tmpfs", directory], check=True)
        daemon = harness.Profd(sim=EIGHT + "mode: flood\n")
        try:
            # Nothing is removed before the end: ext4 makes files much more slowly for 5 s after.
            scratch = [pathlib.Path(directory, name) for name in ("before", "after")]
            for folder in scratch:
                folder.mkdir()
            before = floor(str(scratch[0]), 1024)
            started = daemon.begin("--collect", "hbm,llc,pcie", "--output", directory)
            cpu = Cpu(daemon.process.pid)
            end = time.monotonic() + seconds
            memory = 0
            while time.monotonic() < end:
                time.sleep(0.1)
                cpu.look()
                memory = max(memory, rss_mib(daemon.process.pid))
            result = daemon.ctl("stop", started["session"], "--json")
            spent = cpu.spent()
            sealed = result.json
            generated = sum(line["generated_records"] for line in daemon.truth_lines() if line.get("event") == "stop")
            after = floor(str(scratch[1]), 1024)
            yardstick = (before + after) / 2
            stored = sum(kind["bytes"] for kind in sealed["kinds"])
            show("stored, GB", f"{stored / 1e9:.2f}")
            kept = sum(kind["records"] for kind in sealed["kinds"])
            show("records generated = stored + lost",
                 f"{generated} {'=' if generated == kept + sealed['lost'] else '!='} {kept} + {sealed['lost']}")
            show("stored GB per CPU-second", f"{stored / spent / 1e9:.2f}")
            show("plain memcpy + append, GB per CPU-second", f"{yardstick / 1e9:.2f}")
            show("ratio (goal >= 0.4)", f"{stored / spent / yardstick:.2f}")
            show("peak RSS without the driver's rings, MiB", f"{memory:.1f}")
        finally:
            daemon.close()
            if kind:
                subprocess.run(["umount", "-l", directory], check=True)
            shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", default="idle,sampling,latency,flood")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",")
    if "idle" in chosen:
        idle(arguments.seconds)
    if "sampling" in chosen:
        sampling(arguments.seconds)
    if "latency" in chosen:
        latency()
    if "flood" in chosen:
        flood(min(arguments.seconds, 4))


if __name__ == "__main__":
    main()
