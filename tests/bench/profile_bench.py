#!/usr/bin/env python3
"""What being looked at costs a program: nobody, profd, and the tools that do the same, in turns. A CPU profile of a program
that computes, in C++ and in Python 3.11, beside `perf record -g` and `--call-graph dwarf`; system calls of one that makes a
hundred thousand a second, beside `strace -c` and `perf trace -s`; locks of one, beside `ltrace -c`; waits of one that takes thousands of naps a second. Prints only: rounds
a second by the wall clock and by the program's CPU time, best and median, and what profd itself takes of a CPU."""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "integration" / "host")]
import harness  # noqa: E402
import osrt_test  # noqa: E402
import profile_test  # noqa: E402

HOT = harness.BUILD / "tests" / "hot_shipped"
PYTHON = """
import sys, time
def work():
    total = 0
    for i in range(20000):
        total = (total * 31 + i) % 1000003
    return total
def main(seconds):
    wall, cpu, rounds = time.monotonic(), time.process_time(), 0
    while time.process_time() - cpu < seconds:
        work()
        rounds += 1
    print(rounds / (time.monotonic() - wall), rounds / (time.process_time() - cpu))
main(float(sys.argv[1]))
"""


class Turns:
    """One program, and the ways to look at it."""

    def __init__(self, daemon, *program):
        self.daemon, self.ways, self.rounds, self.own = daemon, {"nobody": self.alone}, {}, {}
        self.command = ["taskset", "-c", "1", *map(str, program)]

    def start(self):
        return subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def figures(target):
        out, _ = target.communicate()
        return tuple(float(value) for value in out.split())

    def alone(self):
        return self.figures(self.start())

    def by_profd(self, what):
        target = self.start()
        session = self.daemon.begin("--pid", target.pid, "--collect", what)["session"]
        before = self.own_cpu(), time.monotonic()
        figures = self.figures(target)
        self.own.setdefault(what, []).append(100 * (self.own_cpu() - before[0]) / (time.monotonic() - before[1]))
        harness.wait_until(lambda: self.daemon.status(session)["state"] == "sealed", "the session to end")
        kind = self.daemon.status(session)["kinds"][0]
        if kind["verdict"] != "started":
            sys.exit(f"{what}: {kind['reason']}")
        return figures

    def own_cpu(self):
        """Of profd and the processes that it has look into others' memory, also of those that have ended."""
        ticks, left = 0, [self.daemon.process.pid]
        while left:
            process = pathlib.Path(f"/proc/{left.pop()}")
            ticks += sum(map(int, (process / "stat").read_text().rsplit(")", 1)[1].split()[11:15]))
            left += [int(child) for task in (process / "task").iterdir() for child in (task / "children").read_text().split()]
        return ticks / os.sysconf("SC_CLK_TCK")

    def by_tool(self, *tool):
        target = self.start()
        looker = subprocess.Popen([*tool, "-p", str(target.pid)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        figures = self.figures(target)
        looker.wait()
        return figures

    def add(self, name, way, *arguments):
        self.ways[name] = lambda: way(*arguments)

    def add_tool(self, *tool, within=(), name=None):
        if shutil.which(tool[0]):
            self.add(name or " ".join(tool[:2]), self.by_tool, *within, *tool)
        else:
            print(f"{tool[0]} is not there: no comparison")

    def run(self, turns):
        for _ in range(turns):
            for name, way in self.ways.items():
                self.rounds.setdefault(name, []).append(way())
        base = None
        for name, values in self.rounds.items():
            wall, cpu = zip(*values)
            figures = (max(wall), statistics.median(wall), max(cpu), statistics.median(cpu))
            base = base or figures
            cost = " ".join(f"{100 * (1 - mine / theirs):+6.2f} %" for mine, theirs in zip(figures, base))
            print(f"{name:24} rounds/s: wall best {figures[0]:7.1f} median {figures[1]:7.1f}, cpu best {figures[2]:7.1f} "
                  f"median {figures[3]:7.1f}; cost {cost}", flush=True)
        for what, shares in self.own.items():
            print(f"{what:24} profd itself: {min(shares):.2f} to {max(shares):.2f} % of a CPU", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of CPU time a turn takes")
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    within = harness.tracefs()
    daemon = harness.Profd(hal=None, within=within or ())
    folder = tempfile.mkdtemp(prefix="profd-bench-")
    try:
        print("CPU profile of a program that computes")
        turns = Turns(daemon, HOT, "count", options.seconds)
        turns.add("profd 99 Hz", turns.by_profd, "host-cpu-profile")
        turns.add("profd 999 Hz", turns.by_profd, "host-cpu-profile=999Hz")
        turns.add_tool("perf", "record", "-q", "-F", "99", "-g", "-o", folder + "/perf.data")
        turns.add_tool("perf", "record", "-q", "-F", "99", "--call-graph", "dwarf", "-o", folder + "/perf.data",
                       name="perf record dwarf")
        turns.run(options.turns)
        if profile_test.is_known_python("/usr/bin/python3"):
            print("CPU profile of a Python program")
            turns = Turns(daemon, "/usr/bin/python3", "-c", PYTHON, options.seconds)
            turns.add("profd 99 Hz", turns.by_profd, "host-cpu-profile")
            turns.add_tool("perf", "record", "-q", "-F", "99", "-g", "-o", folder + "/perf.data")
            turns.run(options.turns)
        print("System calls of a program that makes a thousand a round")
        turns = Turns(daemon, HOT, "mixed", options.seconds)
        if within is not None:
            turns.add("profd", turns.by_profd, "host-osrt")
        turns.add_tool("perf", "trace", "-s", within=within or ())
        turns.add_tool("strace", "-f", "-c")
        turns.run(options.turns)
        print("Locks of a program that takes a thousand a round, of which none is waited for")
        turns = Turns(daemon, HOT, "locks", options.seconds)
        if within is not None:
            turns.add("profd", turns.by_profd, "host-pthread")
        turns.add_tool("ltrace", "-f", "-c", "-e", "pthread_*")
        turns.run(options.turns)
        print("Waits of a program that takes thousands of naps a second")
        turns = Turns(daemon, HOT, "naps", options.seconds)
        turns.add("profd", turns.by_profd, "host-off-cpu")
        turns.run(options.turns)
    finally:
        daemon.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
