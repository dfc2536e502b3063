#!/usr/bin/env python3
"""What profd says of a session after it was restarted is what it said before."""
import re
import unittest

import agent_reader
import harness
from limit_test import disk_bytes

FIGURES = ("bytes", "lost", "aged_bytes", "aged_records", "elapsed_s", "started_at", "directories", "end_reason", "kinds")


class PastTest(harness.ProfdTest):
    def again(self, daemon, session):
        """The session as the next profd shows it."""
        daemon.start()
        harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the past sessions")
        return daemon.status(session["session"])

    def test_a_sealed_session_keeps_its_figures(self):
        daemon = self.profd(config="store:\n  roll_after_s: 1\n")
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--devices", "all")
        job.order("mark 5000")
        harness.wait_until(lambda: len(daemon.status(session["session"])["directories"]) >= 2, "it to roll")
        job.order("mark 500")
        sealed = daemon.end(session["session"])
        for kind in ("agent-counter", "host-cpu"):
            self.assertGreater(sum(each["records"] for each in sealed["kinds"] if each["kind"] == kind), 0, kind)
        self.assertEqual(daemon.stop(), 0)
        past = self.again(daemon, session)
        for figure in FIGURES:
            self.assertEqual(past[figure], sealed[figure], figure)
        on_disk = sum(disk_bytes(directory) for directory in past["directories"])
        self.assertEqual(past["used_bytes"], on_disk)
        self.assertEqual(len(daemon.ctl("list", "--json").json["sessions"]), 1)

    def test_size_is_what_is_on_disk(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nmode: flood\nrate_mb_s: 100\n")
        session = daemon.begin("--devices", "all", "--storage-limit", "200MB")
        harness.wait_until(lambda: daemon.status(session["session"])["aged_bytes"] > 200_000_000, "as much to age")
        sealed = daemon.end(session["session"])
        self.assertEqual(daemon.stop(), 0)
        past = self.again(daemon, session)
        self.assertEqual((past["bytes"], past["aged_bytes"]), (sealed["bytes"], sealed["aged_bytes"]))
        self.assertGreater(past["bytes"], 300_000_000)  # far more than is there
        self.assertLessEqual(past["used_bytes"], 200_000_000)
        size = re.search(r"(\d+\.\d) MB", daemon.ctl("list").out)
        self.assertAlmostEqual(float(size[1]) * 1e6, disk_bytes(past["directory"]), delta=100_000)

    def test_an_interrupted_session_has_the_counts_of_its_files(self):
        daemon = self.profd()
        session = daemon.begin("--devices", "all")
        harness.wait_until(lambda: daemon.status(session["session"])["bytes"] > 100_000, "data")
        daemon.kill()
        past = self.again(daemon, session)
        streams = agent_reader.manifest(session["directory"])["streams"]
        for kind in past["kinds"]:
            if not kind["unit"].startswith("device:"):
                continue
            of_kind = [stream for stream in streams if (stream["kind"], stream["unit"]) == (kind["kind"], kind["unit"])]
            self.assertEqual(kind["records"], sum(stream["records"] for stream in of_kind), kind)
        self.assertGreater(sum(kind["records"] for kind in past["kinds"]), 0)
        self.assertGreater(past["elapsed_s"], 0)
        self.assertEqual(past["used_bytes"], disk_bytes(past["directory"]))


if __name__ == "__main__":
    unittest.main()
