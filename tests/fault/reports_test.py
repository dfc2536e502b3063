#!/usr/bin/env python3
"""A program of profd's that crashes, or of which a sanitizer says something, fails the test that started it: each of Careless, which
looks at nothing, is run by itself and must fail."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import harness

OF_A_SANITIZER = "Sanitizer"


class Careless(harness.ProfdTest):
    def crash(self, pid):
        os.kill(pid, signal.SIGSEGV)
        status = pathlib.Path(f"/proc/{pid}/status")
        harness.wait_until(lambda: not status.exists() or "\nState:\tZ" in status.read_text(), f"the end of pid {pid}")

    def test_profd(self):
        self.crash(self.profd().process.pid)

    def test_process_beside_profd(self):
        pid = self.profd().process.pid
        (nursery,) = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.crash(int(nursery))

    def test_client(self):
        daemon = self.profd()
        client = daemon.popen_ctl("start", "--collect", "host-sys-cpu", "--wait")
        harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "its session")
        self.crash(client.pid)
        client.communicate()


class ReportsTest(unittest.TestCase):
    def fails(self, test, why):
        done = subprocess.run([sys.executable, __file__, f"Careless.{test}"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertIn(why, done.stderr)

    def test_crash_of_profd(self):
        self.fails("test_profd", OF_A_SANITIZER if harness.IS_SANITIZED else f"profd ended with {-signal.SIGSEGV}")

    @unittest.skipUnless(harness.IS_SANITIZED, "NOT RUN: who crashes beside profd says so in a sanitizer's build only")
    def test_reports(self):
        for test in ("test_process_beside_profd", "test_client"):
            with self.subTest(test):
                self.fails(test, OF_A_SANITIZER)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "ReportsTest"] if len(sys.argv) == 1 else sys.argv)
