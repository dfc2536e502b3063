#!/usr/bin/env python3
"""profctl dump: where every thread of a real process is, C++ and Python, and that nobody else's is shown."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from profile_test import SHIPPED, known_pythons

PYTHON = """
import sys
import threading
import time

held = threading.Lock()
held.acquire()

def planted_lock():
    held.acquire()

def planted_nap():
    time.sleep(1000)

def planted_reader():
    sys.stdin.read()

threads = [threading.Thread(target=each, daemon=True) for each in (planted_lock, planted_lock, planted_nap)]
for thread in threads:
    thread.start()
print("ready", flush=True)
planted_reader()
"""

RUNS = """
def planted_sum():
    x = 0
    for i in range(100000):
        x += i * i

print("ready", flush=True)
while True:
    planted_sum()
"""


def line_of(code):
    (line,) = [number for number, line in enumerate(PYTHON.splitlines(), 1) if line == code]
    return line


class DumpTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.daemon.environment)
        self.ends_with_the_test(process)
        return process

    def dump(self, pid):
        result = self.daemon.ctl("dump", "--pid", pid, "--json")
        self.assertEqual(result.code, harness.OK, result)
        self.assertEqual(result.json["pid"], pid)
        return result.json["threads"]

    def until(self, pid, seen):
        """Of one dump; threads get to where they wait when the machine lets them."""
        newest = []

        def found():
            newest[:] = self.dump(pid)
            return seen(newest)

        harness.wait_until(found, "the threads where they wait")
        return newest

    @staticmethod
    def has(thread, *functions):
        """In this order, among others, outermost first."""
        frames = iter(reversed([frame["function"] for frame in thread["frames"]]))
        return all(any(function in frame for frame in frames) for function in functions)

    def test_threads_that_run_and_threads_that_wait(self):
        target = self.start(SHIPPED, "late")

        def seen(threads):
            return len(threads) == 2 and self.has(threads[0], "main", "planted::Planted") and threads[1]["waits_in"]

        main, waiting = self.until(target.pid, seen)
        self.assertEqual(main["tid"], target.pid)
        self.assertEqual((main["state"], waiting["state"]), ("R", "S"), (main, waiting))
        # From where the thread began to the system call.
        self.assertIn("read", waiting["frames"][0]["function"], waiting)
        self.assertTrue(self.has(waiting, "clone", "read") or self.has(waiting, "thread_start", "read") or
                        self.has(waiting, "libc.so", "read"), waiting)

    def test_a_stopped_process(self):
        target = self.start(SHIPPED, "sort")
        self.until(target.pid, lambda threads: self.has(threads[0], "main", "planted::Sort()"))
        os.kill(target.pid, signal.SIGSTOP)
        (main,) = self.until(target.pid, lambda threads: threads[0]["state"] == "T" and threads[0]["frames"])
        self.assertTrue(self.has(main, "main", "planted::Sort()"), main)

    def test_threads_of_python(self):
        pythons = known_pythons()
        if not pythons:
            self.skipTest("there is no Python from 3.8 to 3.13")
        script = self.folder / "train.py"
        script.write_text(PYTHON)
        for python in pythons:
            with self.subTest(python):
                target = self.start(python, str(script))
                self.assertEqual(target.stdout.readline(), b"ready\n")

                def seen(threads):
                    return len(threads) == 4 and all(self.has(thread, "planted_") for thread in threads)

                main, *others = self.until(target.pid, seen)
                at = line_of("    sys.stdin.read()")
                self.assertTrue(self.has(main, "<module> (train.py:", f"planted_reader (train.py:{at})", "read"), main)
                at = line_of("    held.acquire()")
                locks = [thread for thread in others if self.has(thread, f"planted_lock (train.py:{at})")]
                self.assertEqual(len(locks), 2, others)
                at = line_of("    time.sleep(1000)")
                (nap,) = [thread for thread in others if self.has(thread, f"planted_nap (train.py:{at})")]
                self.assertTrue(self.has(nap, "run (threading.py", "planted_nap", "nanosleep"), nap)
                self.assertEqual(nap["frames"][-1 - [self.has({"frames": [frame]}, "planted_nap") for frame in
                                                     reversed(nap["frames"])].index(True)]["line"], at)
                # Those at one place are shown once.
                text = self.daemon.ctl("dump", "--pid", target.pid).out
                self.assertRegex(text, r"(?m)^2 threads \d+[-,]\d+ .*  waits in futex_")
                self.assertEqual(text.count("planted_lock (train.py"), 1, text)
                everything = self.daemon.ctl("dump", "--pid", target.pid, "--all").out
                self.assertEqual(everything.count("planted_lock (train.py"), 2, everything)
                # It is as it was.
                self.assertIsNone(target.poll())
                target.stdin.close()
                self.assertEqual(target.wait(), 0)

    def test_a_thread_of_python_that_runs_beside_one_that_is_none_of_pythons(self):
        """The agent's thread waits, and is looked at before the one that runs."""
        pythons = known_pythons()
        if not pythons:
            self.skipTest("there is no Python from 3.8 to 3.13")
        script = self.folder / "runs.py"
        script.write_text(RUNS)
        for python in pythons:
            with self.subTest(python):
                target = self.start(harness.PROFCTL, "run", "--", python, str(script))
                self.assertEqual(target.stdout.readline(), b"ready\n")

                self.until(target.pid, lambda threads: len(threads) == 2 and threads[0]["frames"])
                # Mostly at the first look. (One between two Python functions shows neither.)
                looks = [self.dump(target.pid) for _ in range(10)]
                runs = [threads[0] for threads in looks if threads[0]["frames"]]
                known = [thread for thread in runs if self.has(thread, "<module> (runs.py:", "planted_sum (runs.py:")]
                self.assertGreater(len(known), len(runs) / 2, runs)
                for threads in looks:
                    self.assertNotIn("runs.py", str(threads[1:]))
                target.kill()

    def test_what_is_refused(self):
        target = self.start(SHIPPED, "late")
        harness.wait_until(lambda: len(self.dump(target.pid)) == 2, "its thread")
        thread = self.dump(target.pid)[1]["tid"]
        gone = subprocess.Popen(["/bin/true"])
        gone.wait()
        for pid, code, words in ((gone.pid, 3, "no such process"), (thread, 2, "is a thread: name its process"),
                                 ("0", 2, "pid"), (f"{target.pid},{os.getpid()}", 2, "one process at a time")):
            result = self.daemon.ctl("dump", "--pid", pid)
            self.assertEqual(result.code, code, result)
            self.assertIn(words, result.err)
            self.assertEqual(result.err.count("\n"), 1, result)

    def test_nobody_sees_anothers_threads(self):
        target = self.start(SHIPPED, "late")
        result = self.daemon.ctl("dump", "--pid", target.pid, user=harness.nobody())
        self.assertEqual(result.code, 4, result)
        self.assertNotIn("planted", result.out + result.err)


if __name__ == "__main__":
    unittest.main()
