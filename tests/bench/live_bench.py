#!/usr/bin/env python3
"""What values that are always at hand cost: profd with 16 idle agents and 8 simulated devices, in three states: nobody looks;
a beat a second; and a scrape a second on top. The simulator's own threads (sim-…) and rings are not counted. Prints; judges
nothing.

  live_bench.py [--seconds N]
"""
import argparse
import os
import pathlib
import re
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import device_bench  # noqa: E402
import harness  # noqa: E402

AGENTS = 16


def agents(test, daemon):
    return [harness.Job(test, daemon, labels=f"rank={rank}") for rank in range(AGENTS)]


class Cleanups:
    """What harness.Job wants of a test."""

    def __init__(self):
        self.calls = []

    def addCleanup(self, call):  # noqa: N802 - unittest's name
        self.calls.append(call)

    def run(self):
        for call in reversed(self.calls):
            call()


def switches(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith("sim-"):
            continue
        total += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", (task / "status").read_text()))
    return total


def measure(name, seconds, config, scrape):
    daemon = harness.Profd(sim="devices: 8\nchip: 910B\n", config=config)
    cleanups = Cleanups()
    try:
        agents(cleanups, daemon)
        harness.wait_until(lambda: sum(bool(t["agent_version"]) for t in daemon.ctl("targets", "--json").json["targets"])
                           >= AGENTS, "the agents")
        found = re.search(r"metrics at (http://\S+)", daemon.log.read_text())
        values = 0
        if found:
            def count():
                text = urllib.request.urlopen(found.group(1), timeout=10).read().decode()
                return sum(not line.startswith("#") for line in text.splitlines())

            time.sleep(2)
            values = count()
        time.sleep(12)  # threads that only the start needed have ended
        pid = daemon.process.pid
        cpu, before, begin = device_bench.Cpu(pid), switches(pid), time.monotonic()
        latency = []
        while time.monotonic() - begin < seconds:
            if scrape:
                started = time.monotonic()
                count()
                latency.append(time.monotonic() - started)
            time.sleep(max(0.0, 1 - (latency[-1] if latency else 0)))
        elapsed = time.monotonic() - begin
        spent = cpu.spent()
        print(f"{name}, {elapsed:.0f} s, {values} values, {AGENTS} agents, 8 devices; load {os.getloadavg()[0]:.1f}")
        device_bench.show("CPU, % of a core (goal <= 0.2)", f"{100 * spent / elapsed:.4f}")
        if values:
            device_bench.show("CPU per value and beat, us (goal <= 5)", f"{spent / elapsed / values * 1e6:.2f}")
        device_bench.show("by thread, CPU seconds", cpu.by_thread())
        device_bench.show("context switches a second", f"{(switches(pid) - before) / elapsed:.1f}")
        device_bench.show("RSS without the driver's rings, MiB (goal <= 28)", f"{device_bench.rss_mib(pid):.1f}")
        if latency:
            device_bench.show("scrape, ms, median", f"{1000 * sorted(latency)[len(latency) // 2]:.2f}")
    finally:
        cleanups.run()
        daemon.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    seconds = parser.parse_args().seconds
    listen = 'metrics: {listen: "127.0.0.1:0", processes: true}\n'
    measure("nobody looks", seconds, "", False)
    measure("a beat a second", seconds, listen, False)
    measure("a beat and a scrape a second", seconds, listen, True)


if __name__ == "__main__":
    main()
