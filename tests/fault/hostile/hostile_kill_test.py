#!/usr/bin/env python3
"""Somebody, or a kernel that is short of memory, kills the processes beside profd, over and over: what runs is told, and what comes
after finds new ones, which can do all that the first could."""
import contextlib
import os
import pathlib
import re
import signal
import sys
import unittest

import harness
import own_folder
from hanging_memory_test import children

KINDS = "host-cpu=50Hz,host-cpu-profile"
ROUNDS = 3


def descendants(pid):
    with contextlib.suppress(OSError):  # it has ended
        for child in children(pid):
            yield child
            yield from descendants(child)


@harness.needs_root
class HostileKillTest(harness.ProfdTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.profd(within=harness.tracefs() or ())
        self.honest = self.workload(command=[sys.executable, "-c", "while True: pass"])
        started = self.daemon.ctl("start", "--pid", self.honest.pid, "--collect", KINDS, "--json")
        if started.code != harness.OK:
            self.skipTest(f"NOT RUN: no CPU profiles here: {started}")
        self.session = started.json["session"]
        self.sampled(self.session)

    def sampled(self, session, kinds=KINDS):
        """Since now."""
        wanted = [kind.split("=")[0] for kind in kinds.split(",")]
        records = lambda: {kind["kind"]: kind["records"] for kind in self.daemon.status(session)["kinds"]}  # noqa: E731
        before = records()
        harness.wait_until(lambda: all(records()[kind] > before[kind] for kind in wanted), f"records of {wanted}")

    def nursery(self):
        """The one that there is."""
        def alone():
            found = children(self.daemon.process.pid)
            return found[0] if len(found) == 1 and self.name(found[0]) == "profd-nursery" else None

        harness.wait_until(alone, "a profd-nursery")
        return alone()

    @staticmethod
    def name(pid):
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        return ""

    @staticmethod
    def rights(pid):
        return [line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                if line.startswith(("Uid", "Gid", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs"))]

    def kill_all(self):
        before = self.nursery()
        for pid in [before, *descendants(before)]:
            with contextlib.suppress(ProcessLookupError):  # it goes with the one that it is from
                os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: self.nursery() != before, "another profd-nursery")

    def test_whoever_is_killed_is_there_again(self):
        rights, nice = self.rights(self.nursery()), os.getpriority(os.PRIO_PROCESS, self.nursery())
        for _ in range(ROUNDS):
            self.kill_all()
        self.assertEqual(self.rights(self.nursery()), rights)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, self.nursery()), nice)
        for said in (r"warning profd-nursery \(pid \d+\) was killed by signal 9", r"warning profd-nursery is started anew \(pid \d+\)"):
            harness.wait_until(lambda: len(re.findall(said, self.daemon.log.read_text())) == ROUNDS, f"{ROUNDS} times in the log: {said}")

        # What ran goes on as far as it can, and what it has lost is told.
        self.sampled(self.session, "host-cpu")
        ended = self.daemon.end(self.session)
        self.assertEqual(ended["state"], "sealed")
        self.assertRegex(" ".join(ended["degraded"]), f"host-cpu-profile of pid {self.honest.pid}: .* was killed")
        profile = next(kind for kind in ended["kinds"] if kind["kind"] == "host-cpu-profile")
        self.assertGreater(profile["lost"], 0, profile)

        # And what begins now is as before.
        session = self.daemon.begin("--pid", self.honest.pid, "--collect", KINDS)["session"]
        self.sampled(session)
        self.assertEqual(self.daemon.end(session)["degraded"], [])
        self.assertEqual(self.daemon.ctl("dump", "--pid", self.honest.pid).code, harness.OK)

    def test_a_profile_goes_on_after_its_helper_was_killed(self):
        """Within its session, with the gap in the manifest."""
        def profile(told):
            return next(kind for kind in told["kinds"] if kind["kind"] == "host-cpu-profile")

        for pid in list(descendants(self.nursery())):
            with contextlib.suppress(ProcessLookupError):  # it goes with the one that it is from
                os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: self.daemon.status(self.session)["degraded"], "what is said of the killed helper")
        harness.wait_until(lambda: profile(self.daemon.status(self.session))["lost"] > 0, "another helper")
        self.sampled(self.session)
        ended = self.daemon.end(self.session)
        self.assertEqual(ended["state"], "sealed")
        self.assertRegex(" ".join(ended["degraded"]), f"host-cpu-profile of pid {self.honest.pid}: .* was killed.* Another is started")
        # Another is started after a second.
        profile_stream = next(stream for stream in own_folder.manifest(ended["directory"])["streams"]
                              if stream["file"].startswith("cpu-profile.data"))
        gaps = [loss for loss in profile_stream["losses"] if loss["where"] == "sampler" and loss["to_ns"] - loss["from_ns"] > 5e8]
        self.assertEqual(len(gaps), 1, profile_stream)

    def test_breakpoints_too(self):
        """Only profd's first rights could load their programs, and open the kernel's list of names."""
        def begun():
            result = self.daemon.ctl("start", "--pid", self.honest.pid, "--collect", "host-pthread,host-osrt", "--json")
            kinds = {kind["kind"]: (kind["verdict"], kind["reason"]) for kind in result.json["kinds"]}
            self.daemon.ctl("stop", "last")
            return kinds

        before = begun()
        if "started" not in (verdict for verdict, _ in before.values()):
            self.skipTest(f"NOT RUN: {before}")
        self.kill_all()
        self.assertEqual(begun(), before)

    def test_profd_ends_its_new_ones(self):
        self.kill_all()
        nursery = self.nursery()
        self.assertEqual(self.daemon.stop(), 0)
        harness.wait_until(lambda: self.name(nursery) != "profd-nursery", "its end")

    def test_nobody_else_starts_one(self):
        for told in ("", "board=0,orders=1", "orders=99", "orders=x"):
            result = harness.subprocess.run([harness.PROFD, "--nursery", told], capture_output=True, text=True, check=False,
                                            stdin=harness.subprocess.DEVNULL)
            self.assertNotEqual(result.returncode, 0, told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
