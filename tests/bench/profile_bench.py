#!/usr/bin/env python3
"""What being looked at costs a program: nobody, profd, and the tools that do the same, in turns. A CPU profile of a program
that computes, beside `perf record -g`; system calls of one that makes a hundred thousand a second, beside `strace -c` and
`perf trace -s`. Prints only: rounds a second by the wall clock and by the program's CPU time, best and median."""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "integration")]
import harness  # noqa: E402
import osrt_test  # noqa: E402

HOT = harness.BUILD / "tests" / "hot"


class Turns:
    """One program, and the ways to look at it."""

    def __init__(self, daemon, seconds, mode):
        self.daemon, self.ways, self.rounds = daemon, {"nobody": self.alone}, {}
        self.command = ["taskset", "-c", "1", str(HOT), mode, str(seconds)]

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
        figures = self.figures(target)
        harness.wait_until(lambda: self.daemon.status(session)["state"] == "sealed", "the session to end")
        kind = self.daemon.status(session)["kinds"][0]
        if kind["verdict"] != "started":
            sys.exit(f"{what}: {kind['reason']}")
        return figures

    def by_tool(self, *tool):
        target = self.start()
        looker = subprocess.Popen([*tool, "-p", str(target.pid)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        figures = self.figures(target)
        looker.wait()
        return figures

    def add(self, name, way, *arguments):
        self.ways[name] = lambda: way(*arguments)

    def add_tool(self, *tool, within=()):
        if shutil.which(tool[0]):
            self.add(" ".join(tool[:2]), self.by_tool, *within, *tool)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of CPU time a turn takes")
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    within = osrt_test.tracefs()
    daemon = harness.Profd(hal=None, within=within or ())
    folder = tempfile.mkdtemp(prefix="profd-bench-")
    try:
        print("CPU profile of a program that computes")
        turns = Turns(daemon, options.seconds, "count")
        turns.add("profd 99 Hz", turns.by_profd, "host-cpu-profile")
        turns.add("profd 999 Hz", turns.by_profd, "host-cpu-profile=999Hz")
        turns.add_tool("perf", "record", "-q", "-F", "99", "-g", "-o", folder + "/perf.data")
        turns.run(options.turns)
        print("System calls of a program that makes a thousand a round")
        turns = Turns(daemon, options.seconds, "mixed")
        if within is not None:
            turns.add("profd", turns.by_profd, "host-osrt")
        turns.add_tool("perf", "trace", "-s", within=within or ())
        turns.add_tool("strace", "-f", "-c")
        turns.run(options.turns)
    finally:
        daemon.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
