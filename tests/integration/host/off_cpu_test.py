#!/usr/bin/env python3
"""host-off-cpu: where the threads of a process wait and how long, against what they are known to do."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
import own_folder
import prof_reader
from profile_test import HOT, SHIPPED, Stacks, known_pythons

KIND = "host-off-cpu"
PLENTY = 200  # waits
LOOKED_AT = 10_000  # switches of a second, at most
# Both functions are called at the same depth, one waits and one works.
PYTHON = """
import sys
import time

def planted_nap():
    time.sleep(float(sys.argv[1]))

def planted_spin(rounds):
    total = 0
    for i in range(rounds):
        total = (total * 31 + i) % 1000003
    return total

def planted_step():
    planted_nap()
    planted_spin(int(sys.argv[2]))

print("waits", flush=True)
while True:
    planted_step()
"""

# Two processes on one CPU, one of which always waits for the other: no scheduler can let them run without a switch.
PING_PONG = """
import os

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
there, back = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.close(there[1])
    while os.read(there[0], 1):
        os.write(back[1], b"x")
    os._exit(0)
print(os.getpid(), child, flush=True)
while True:
    os.write(there[1], b"x")
    os.read(back[0], 1)
"""


def switches(pids):
    """How often they gave their CPU away, by the kernel's own count."""
    return sum(int(line.split()[1]) for pid in pids for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
               if "ctxt_switches" in line)


class OffCpuTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd()
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="profd-test-"))
        self.addCleanup(shutil.rmtree, self.out)

    def hot(self, mode, program=SHIPPED):
        process = subprocess.Popen([str(program), mode], stdin=subprocess.PIPE)
        self.ends_with_the_test(process)
        return process

    def begin(self, pid):
        result = self.daemon.ctl("start", "--pid", pid, "--collect", KIND, "--json")
        if "the kernel refuses" in result.err or "has no perf events" in result.err:
            self.skipTest(result.err)
        self.assertEqual(result.code, harness.OK, result)
        kind = self.kind(result.json, KIND, f"pid:{pid}")
        self.assertEqual(kind["verdict"], "started", kind)
        self.assertRegex(kind["reason"], "^waits of 50 us and more; .*frame pointers")
        return result.json["session"]

    def end(self, session, records=PLENTY):
        harness.wait_until(lambda: self.daemon.status(session)["kinds"][0]["records"] >= records, "waits")
        ended = self.daemon.end(session)
        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)
        self.assertEqual(prof_reader.check(ended["directory"]), [])
        return ended

    def waits(self, ended):
        """[(begin ns, pid, tid, ns, stack)]"""
        found = []
        for path in sorted(own_folder.own_folder(ended["directory"]).glob("off-cpu.data.slice_*[0-9]")):
            for line in path.read_text().splitlines():
                begin, pid, tid, _, length, stack = map(int, line.split())
                found.append((begin, pid, tid, length, stack))
        self.assertEqual(len(found), ended["kinds"][0]["records"])
        return found

    def own_stacks(self):
        """Of a machine that is busy those in which it waits for a CPU are left out."""
        return Stacks("\n".join(line for line in self.one("off_cpu_*.collapsed").read_text().splitlines()
                                if "[waits for a CPU]" not in line))

    def own_waits(self, session):
        """How many of those that are stored are for something else than a CPU."""
        status = self.daemon.status(session)
        queued = self.stacks_of(status, "[waits for a CPU]")
        lines = [line.split() for path in own_folder.own_folder(status["directory"]).glob("off-cpu.data.slice_*[0-9]")
                 for line in path.read_text().splitlines()]
        return sum(len(line) == 6 and int(line[5]) not in queued for line in lines)

    def stacks_of(self, ended, function):
        """Their numbers: those with this function of the kernel."""
        names = [(line + "  ").split(" ", 2) for path in own_folder.own_folder(ended["directory"]).glob("off-cpu-names.data.slice_*[0-9]")
                 for line in path.read_text().splitlines()]
        kernel = {f"k{number}" for what, number, rest in names if what == "kernel" and rest.strip() == function}
        return {int(number) for what, number, rest in names
                if what == "stack" and kernel & set(rest.split(" ", 1)[-1].strip().split(";"))}

    def export(self, ended, formats):
        result = self.daemon.ctl("export", ended["directory"], "--format", formats, "--out", self.out)
        self.assertEqual(result.code, harness.OK, result)

    def one(self, pattern):
        (path,) = self.out.rglob(pattern)
        return path

    def test_a_lock_and_a_sleep(self):
        target = self.hot("wait")
        other = self.hot("wait")  # waits beside it, and nobody's business
        ended = self.end(self.begin(target.pid))
        waits = self.waits(ended)
        self.assertEqual({pid for _, pid, *_ in waits}, {target.pid})
        self.assertNotIn(other.pid, {tid for _, _, tid, *_ in waits})
        self.assertEqual(len({tid for _, _, tid, *_ in waits}), 2)
        self.assertGreaterEqual(min(length for *_, length, _ in waits), 50_000)
        # A thread waits for one thing at a time.
        for thread in {tid for _, _, tid, *_ in waits}:
            ends = 0
            for begin, _, _, length, _ in sorted(wait for wait in waits if wait[2] == thread):
                self.assertGreaterEqual(begin, ends)
                ends = begin + length

        self.export(ended, "collapsed,pprof,chrome,db")
        self.assertEqual(list(self.out.rglob("cpu_profile_*")), [])
        self.assertGreater(self.one("off_cpu_*.pb.gz").stat().st_size, 0)
        stacks = Stacks(self.one("off_cpu_*.collapsed").read_text())  # of microseconds
        total_us = sum(length for *_, length, _ in waits) / 1000
        self.assertLess(abs(stacks.total - total_us), 0.01 * total_us)
        stacks = self.own_stacks()
        # The call chains, without frame pointers, from the process's begin to the kernel.
        self.assertGreaterEqual(stacks.chain("hot_shipped", "main", "planted::WaitForLock()") +
                                stacks.chain("hot_shipped", "planted::HoldLock()"), 0.95, stacks.counts)
        self.assertTrue(stacks.has("planted::WaitForLock()", "futex"), stacks.counts)
        self.assertTrue(stacks.has("planted::HoldLock()", "nanosleep"), stacks.counts)

        shown = [event for event in json.loads(self.one("msprof_*.json").read_text())
                 if event.get("name", "").startswith(("waits in ", "waits for a CPU in "))]
        self.assertEqual(len(shown), len(waits))

    def test_a_sleep_is_as_long_as_it_was(self):
        target = self.hot("wait", program=HOT)
        session = self.begin(target.pid)
        harness.wait_until(lambda: self.own_waits(session) >= PLENTY, "waits of its own")
        ended = self.end(session)
        (sleeper,) = {int(task) for task in os.listdir(f"/proc/{target.pid}/task")} - {target.pid}
        queued = self.stacks_of(ended, "[waits for a CPU]")
        lengths = sorted(length for _, _, tid, length, stack in self.waits(ended) if tid == sleeper and stack not in queued)
        # Now and then the lock is what it waits for; else it sleeps for 5 ms, and no less.
        slept = [length for length in lengths if length >= 5_000_000]
        self.assertGreaterEqual(len(slept), 0.5 * len(lengths), lengths)
        self.assertLess(slept[len(slept) // 4], 15_000_000)

    def test_threads_and_children_are_followed(self):
        target = subprocess.Popen(["/bin/sh", "-c", f"read go; {SHIPPED} wait & wait"], stdin=subprocess.PIPE)
        self.ends_with_the_test(target)
        session = self.begin(target.pid)
        target.stdin.write(b"\n")
        target.stdin.flush()
        ended = self.end(session)
        self.export(ended, "collapsed")
        stacks = Stacks(self.one("off_cpu_*.collapsed").read_text())
        self.assertTrue(stacks.has("hot_shipped", "planted::WaitForLock()"), stacks.counts)
        self.assertTrue(stacks.has("hot_shipped", "planted::HoldLock()"), stacks.counts)
        # The shell has waited for its child all the time, and does still.
        self.assertGreater(stacks.of("sh"), 0)

    def test_one_that_is_not_let_waits_for_a_cpu(self):
        cpu = {min(os.sched_getaffinity(0))}
        target, neighbour = self.hot("sort"), self.hot("sort")  # both would run all the time
        for process in (target, neighbour):
            os.sched_setaffinity(process.pid, cpu)
        ended = self.end(self.begin(target.pid))
        self.export(ended, "collapsed")
        stacks = Stacks(self.one("off_cpu_*.collapsed").read_text())
        self.assertGreaterEqual(stacks.share("[waits for a CPU]"), 0.9, stacks.counts)
        self.assertGreaterEqual(stacks.chain("main", "planted::Sort()", "[waits for a CPU]"), 0.5, stacks.counts)
        self.assertFalse(stacks.has("[waits for a CPU]_[k]"), stacks.counts)

    def of_python(self, sleep_s, rounds, records):
        script = self.out / "train.py"
        script.write_text(PYTHON)
        pythons = known_pythons()
        if not pythons:
            self.skipTest("there is no Python from 3.8 to 3.13")
        target = subprocess.Popen([pythons[0], str(script), str(sleep_s), str(rounds)], stdout=subprocess.PIPE)
        self.ends_with_the_test(target)
        self.assertEqual(target.stdout.readline(), b"waits\n")
        session = self.begin(target.pid)
        harness.wait_until(lambda: self.own_waits(session) >= records, "waits of its own")
        self.export(self.end(session, records), "collapsed")
        return self.own_stacks()

    def test_a_wait_is_the_python_functions_that_waits(self):
        stacks = self.of_python(0.05, 200_000, 40)
        slept = sum(count for stack, count in stacks.counts.items() if any("nanosleep" in frame for frame in stack))
        own = sum(count for stack, count in stacks.counts.items() if any("planted_nap (" in frame for frame in stack))
        self.assertFalse(stacks.has("planted_spin (train.py:", "nanosleep"), stacks.counts)
        self.assertGreaterEqual(own, 0.8 * slept, stacks.counts)
        self.assertGreaterEqual(stacks.chain("planted_step (train.py:", "planted_nap (train.py:", "nanosleep"), 0.5, stacks.counts)

    def test_a_wait_too_short_to_be_looked_at_is_no_other_functions(self):
        stacks = self.of_python(0.0002, 2000, PLENTY)
        self.assertTrue(stacks.has("nanosleep"), stacks.counts)
        self.assertFalse(stacks.has("planted_spin (train.py:", "nanosleep"), stacks.counts)

    def test_more_than_it_looks_at_is_counted(self):
        target = subprocess.Popen([sys.executable, "-c", PING_PONG], stdout=subprocess.PIPE, text=True)
        self.ends_with_the_test(target)
        pids = [int(pid) for pid in target.stdout.readline().split()]
        session = self.begin(target.pid)
        before = switches(pids)
        harness.wait_until(lambda: self.daemon.status(session)["kinds"][0]["lost"] > 10 * LOOKED_AT, "a rest")
        made = switches(pids) - before
        ended = self.daemon.end(session)
        self.assertEqual(ended["state"], "sealed")
        lost = sum(loss["records"] for stream in own_folder.manifest(ended["directory"])["streams"]
                   for loss in stream.get("losses", []))
        # What stood in the rings when the limit was reached is looked at, too.
        self.assertGreater(lost, made - 2 * LOOKED_AT * (ended["elapsed_s"] + 1))
        # A ring that is full loses two records of a switch: that a thread goes, and that it comes.
        self.assertLess(lost, 2 * switches(pids))
        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)


if __name__ == "__main__":
    unittest.main()
