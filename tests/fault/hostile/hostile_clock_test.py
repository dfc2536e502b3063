#!/usr/bin/env python3
"""The wall clock steps, by seconds and by decades, while sessions begin, run and end. It is profd's own clock that steps, by what
is preloaded into it: the machine's is everybody's."""
import os
import pathlib
import shutil
import struct
import tempfile
import time
import unittest

import agent_reader
import harness
import prof_reader
import siege

STEPPED_CLOCK = harness.PLAIN_BUILD / "tests" / "libstepped_clock.so"
S, HOUR, YEAR = 10**9, 3600 * 10**9, 365 * 24 * 3600 * 10**9
# To 1970 and one step short of where 64 bits of nanoseconds end, too.
STEPS = (1 * S, -1 * S, HOUR, -HOUR, 10 * YEAR, -10 * YEAR, -50 * YEAR, 150 * YEAR)


@harness.needs_root
class HostileClockTest(siege.Siege):
    def stepping(self, **options):
        self.clock = pathlib.Path(tempfile.mkdtemp(prefix="profd-clock-")) / "step"
        self.addCleanup(shutil.rmtree, self.clock.parent, ignore_errors=True)
        self.clock.write_bytes(bytes(8))
        within = ["env", f"LD_PRELOAD={STEPPED_CLOCK}", f"PROFD_TEST_CLOCK={self.clock}"]
        return self.besieged(within=within, **options)

    def step(self, ns):
        with open(self.clock, "r+b") as file:
            file.write(struct.pack("=q", ns))

    def check(self, sealed):
        self.assertEqual((sealed["state"], sealed["lost"]), ("sealed", 0), sealed)
        self.assertEqual(prof_reader.check(sealed["directory"]), [])
        manifest = agent_reader.manifest(sealed["directory"])
        self.assertEqual(manifest["state"], "sealed")
        return manifest

    def test_sessions_under_steps(self):
        daemon = self.stepping()
        with self.witnessed(daemon, "a wall clock that steps"):
            throughout = daemon.begin("--collect", "hbm")["session"]
            for step in STEPS:
                with self.subTest(step_s=step // S):
                    timed = daemon.begin("--collect", "hbm", "--duration", "2s")["session"]
                    begin = time.monotonic()
                    before = daemon.status(throughout)["bytes"]
                    self.step(step)
                    harness.wait_until(lambda b=before: daemon.status(throughout)["bytes"] > b, "records")
                    within = daemon.begin("--collect", "hbm")["session"]
                    harness.wait_until(lambda s=timed: daemon.status(s)["state"] == "sealed", "its end")
                    self.assertGreater(time.monotonic() - begin, 1)
                    self.assertEqual(daemon.status(timed)["end_reason"], "duration")
                    self.step(0)
                    self.check(daemon.status(timed))
                    self.check(daemon.end(within))
            self.check(daemon.end(throughout))
        names = [session["directory"] for session in daemon.ctl("list", "--json").json["sessions"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(daemon.stop(), 0)
        # What was recorded under such a clock is read again.
        daemon.start()
        harness.wait_until(lambda: len(daemon.ctl("list", "--json").json["sessions"]) == len(names), "the past sessions")

    def test_a_step_makes_nothing_old(self):
        """What has just been recorded stays for as long as store.max_age_s says, by a clock that does not step."""
        daemon = self.stepping(config="store:\n  max_age_s: 3600\n")
        first = daemon.end(daemon.begin("--collect", "hbm")["session"])["directory"]
        self.step(10 * YEAR)
        # The end of a session has it looked at what may go.
        last = daemon.begin("--collect", "hbm")["session"]
        self.step(0)
        daemon.end(last)
        self.step(HOUR + S)
        self.assertEqual(daemon.end(daemon.begin("--collect", "hbm", "--duration", "1s")["session"])["state"], "sealed")
        self.assertTrue(os.path.isdir(first), daemon.log.read_text()[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
