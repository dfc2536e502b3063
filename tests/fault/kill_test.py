#!/usr/bin/env python3
"""kill -9 of profd at random moments: what is on disk is a valid directory at once, and all but the last moment is in it.

PROFD_KILL_ROUNDS sets how often (20 by default)."""
import collections
import os
import pathlib
import random
import threading
import time
import unittest

import harness
import prof_reader

ROUNDS = int(os.environ.get("PROFD_KILL_ROUNDS", "20"))
# The promise is 0.5 s of a machine that lets profd run: what it held others up meanwhile comes on top.
MISSING_S = float(os.environ.get("PROFD_KILL_MISSING_S", "0.5"))


PAGE = 4096
HOLE = 4  # bytes, the least that is told from data
# Bytes of a record where a page holds no whole number of them; by the file's name.
CROSSING = {"hbm.": 24, "llc.": 24, "pcie.": 96, "npu_module_mem.": 24, "lpm": 888, "tscpu.": 304, "ffts_profile.": 96}


def whole_part(name, content):
    """What a kill in the middle of an append may leave of the newest slice (docs/formats.md), without that append's rest."""
    edge = (len(content) - 1) // PAGE * PAGE
    hole = edge
    while hole > 0 and content[hole - 1] == 0:
        hole -= 1
    if b"\0" not in content[:64]:  # text
        return content if len(content) % PAGE else content[:content.rfind(b"\n", 0, -1) + 1]
    size = next((size for prefix, size in CROSSING.items() if name.startswith(prefix)), None)
    return content[:hole // size * size] if size and edge - hole >= HOLE else content


def mended(directory):
    """The files that may be torn, by their paths, now without the end that may be."""
    torn = []
    for path in pathlib.Path(directory).glob("*/data/*.slice_*"):
        if path.name.endswith(".done") or path.with_name(path.name + ".done").exists():
            continue
        content = path.read_bytes()
        whole = whole_part(path.name, content)
        if content and len(whole) < len(content):
            path.write_bytes(whole)
            torn.append(str(path.relative_to(directory)))
    return torn


class Turns:
    """How long a thread that wants to run every 10 ms has had to wait for its turn, at most in the last two seconds."""

    def __init__(self):
        self.late, self.ending = collections.deque(maxlen=200), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        due = time.monotonic()
        while not self.ending.is_set():
            due = max(due + 0.01, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))  # how late it comes back is what is measured
            self.late.append(time.monotonic() - due)

    def longest(self):
        return max(self.late, default=0)

    def end(self):
        self.ending.set()
        self.thread.join()


class KillTest(harness.ProfdTest):
    def test_valid_at_any_moment(self):
        seed = int.from_bytes(os.urandom(4), "little")
        print(f"seed {seed}")
        moments = random.Random(seed)
        missing, excess = [], []
        torn = 0
        turns = Turns()
        self.addCleanup(turns.end)
        for number in range(ROUNDS):
            daemon = self.profd()
            work = self.workload()
            started = daemon.begin("--pid", work.pid, "--devices", "all")
            directory = started["directory"]
            time.sleep(moments.uniform(0.0, 1.5))  # any moment: that is the test
            killed_at = time.time_ns()
            daemon.kill()
            # Of the simulator, the pump and the writer each has waited for its turn, one behind the other.
            held_up = 3 * turns.longest()
            with self.subTest(round=number):
                found = prof_reader.check(directory)
                if found:
                    # It came into an append over a page's edge: that stream's end alone.
                    files = mended(directory)
                    print(f"round {number}: {found}")
                    torn += 1
                    # Of a block of lines its begin may be left.
                    blocks = tuple(file for file in files if file.startswith("host/"))
                    self.assertEqual([line for line in prof_reader.check(directory) if not line.startswith(blocks)], [])
                for device in prof_reader.ProfDir(directory).devices.values():
                    stamps = [stamp for stamp, _ in device.hbm()]
                    if killed_at - max(stamps, default=killed_at) < 3_000_000_000 and stamps:
                        missing.append((killed_at - max(stamps)) / 1e9)
                        excess.append(missing[-1] - held_up)
            work.kill()
            work.wait()
            daemon.close()
        self.assertLessEqual(torn, max(2, ROUNDS // 10))
        self.assertTrue(missing, "no round left a sample")
        missing.sort()
        excess.sort()
        print(f"missing before the kill, s: median {missing[len(missing) // 2]:.3f}, worst {missing[-1]:.3f}")
        # A disk that stands still for a moment keeps back what comes in that moment.
        self.assertLess(excess[len(excess) * 9 // 10], MISSING_S, missing)

    def test_the_next_daemon_shows_it_as_interrupted(self):
        daemon = self.profd()
        started = daemon.begin("--collect", "hbm")
        daemon.let_run(started, 0.3)
        daemon.kill()
        daemon.start()
        listed = harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the past sessions")
        self.assertEqual([(s["session"], s["end_reason"]) for s in listed], [(started["session"], "interrupted")])
        self.assertTrue(pathlib.Path(started["directory"]).is_dir())

    def test_clients_are_told(self):
        daemon = self.profd()
        waiting = daemon.popen_ctl("start", "--collect", "hbm", "--wait")
        harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the session")
        daemon.kill()
        _, errors = waiting.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(waiting.returncode, harness.UNAVAILABLE, errors)
        self.assertEqual(len(errors.strip().splitlines()), 1, errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
