#!/usr/bin/env python3
"""Processes that are dear to look at: very many threads, mappings without end. Whoever has profd look at them pays for it; another
user's samples and profile are as in a profd that nobody attacks."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import harness
from quiet import Quiet

USER = harness.nobody()
HONEST = 1234
PROGRAM = harness.PLAIN_BUILD / "tests" / "costly_target"
SESSIONS = 12
SAMPLES = 300  # of the other user's, in which the attack is measured
# Computes, and when it is told to, does so in a library that it had not loaded before.
LEARNS = "import sys; sys.stdin.readline(); import decimal\nwhile True: decimal.Decimal(2).sqrt(decimal.Context(prec=100_000))"


@harness.needs_root
class CostlyTargetTest(harness.ProfdTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.profd()
        os.chmod(self.daemon.socket, 0o666)

    def target(self, how):
        process = subprocess.Popen([PROGRAM, how, str(USER)], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process.pid

    def honest(self, *command, kinds):
        """Her process and her session."""
        process = subprocess.Popen(command, user=HONEST, group=HONEST, extra_groups=[], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        self.ends_with_the_test(process)
        started = self.daemon.ctl("start", "--pid", process.pid, "--collect", kinds, "--json", user=HONEST)
        if started.code != harness.OK:
            self.skipTest(f"NOT RUN: {started}")
        return process, started.json["session"]

    def her(self, session):
        (kind,) = self.daemon.status(session)["kinds"]
        return kind

    def attacked(self, what, kind, samples, session, quiet, attack):
        """While attack(), which starts sessions of another user's, lasts for so many samples, she loses about as many as of a profd that
        nobody attacks. Then all sessions end."""
        before, of_quiet = self.her(session), quiet.lost(kind)
        sessions = attack()

        def moments():
            now = self.her(session)
            return now["records"] + now["lost"] - before["records"] - before["lost"]

        harness.wait_until(lambda: moments() >= samples, "the attack to last")
        lost, of_quiet, all_of_them = self.her(session)["lost"] - before["lost"], quiet.lost(kind) - of_quiet, moments()
        paid = sum(kind["lost"] for each in sessions for kind in self.daemon.status(each)["kinds"])
        print(f"{what}: {lost} of {all_of_them} samples lost, of a profd that nobody attacks {of_quiet}, of the attacker's {paid}",
              file=sys.stderr)
        if not harness.IS_SANITIZED:
            self.assertLess(lost, 2 * of_quiet + all_of_them // 10)
        for each in sessions:
            self.assertEqual(self.daemon.end(each, user=USER)["state"], "sealed")
        self.assertEqual(self.daemon.end(session, user=HONEST)["state"], "sealed")

    def test_sessions_over_what_is_dear_to_sample(self):
        targets = [self.target("crowd") for _ in range(2)]
        process, session = self.honest("sleep", "600", kinds="host-cpu=50Hz")
        quiet = Quiet(self, "--pid", process.pid, "--collect", "host-cpu=50Hz", user=HONEST)
        self.attacked("sessions over a crowd", "host-cpu", SAMPLES, session, quiet, lambda: [
            self.daemon.begin("--pid", targets[number % len(targets)], "--collect", "host-cpu=50Hz,host-pid-cpu", user=USER)["session"]
            for number in range(SESSIONS)])

    def test_mappings_without_end(self):
        """The kernel tells of everybody's code that comes, whoever is profiled: what gets lost of that is found out again."""
        self.target("mappings")
        process, session = self.honest("/usr/bin/python3", "-c", LEARNS, kinds="host-cpu-profile")
        process.stdin.write("go\n")
        process.stdin.flush()
        harness.wait_until(lambda: self.her(session)["records"] > 100, "samples")
        directory = pathlib.Path(self.daemon.status(session)["directory"])
        names = lambda: "".join(path.read_text() for path in directory.rglob("*names*"))  # noqa: E731
        harness.wait_until(lambda: "_decimal" in names(), "the library that has come meanwhile")
        ended = self.daemon.end(session, user=HONEST)
        lost = sum(kind["lost"] for kind in ended["kinds"])
        records = sum(kind["records"] for kind in ended["kinds"])
        print(f"mappings without end: a profile has {records} samples and has lost {lost}", file=sys.stderr)
        if not harness.IS_SANITIZED:  # where nobody empties its ring for a third of a second it runs over, whoever maps what
            self.assertLess(lost, records)

    def test_threads_that_are_born_and_die(self):
        """And their user profiles them as often as may be, in as many sessions as may be: that is at his own cost. What the ring of a
        CPU has lost was mostly his, too."""
        target = self.target("births")
        process, session = self.honest("/usr/bin/python3", "-c", "while True: pass", kinds="host-cpu-profile")
        quiet = Quiet(self, "--pid", process.pid, "--collect", "host-cpu-profile", user=HONEST)
        harness.wait_until(lambda: self.her(session)["records"] > 0, "samples")

        def attack():
            started = [self.daemon.ctl("start", "--pid", target, "--collect", "host-cpu-profile=999Hz", "--json", user=USER)
                       for _ in range(SESSIONS)]
            sessions = [each.json["session"] for each in started if each.code == harness.OK]
            self.assertGreater(len(sessions), 1, "further ones are refused where these are too slow to answer")
            return sessions

        self.attacked("births", "host-cpu-profile", SAMPLES // 10, session, quiet, attack)


if __name__ == "__main__":
    unittest.main(verbosity=2)
