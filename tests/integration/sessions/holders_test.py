#!/usr/bin/env python3
"""What somebody else holds: refused at once naming the holder, or waited for (--wait-lease)."""
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import harness
from harness import BUSY, OK, USAGE

# Another process has channel 1 (hbm) for a while.
HELD = "devices: 1\nchip: 910B\nfaults:\n  - {call: start, ret: -10, channel: 1, while: $DIR/fault}\n"


class HoldersTest(harness.ProfdTest):
    def sessions(self, daemon):
        return daemon.ctl("list", "--json").json["sessions"]

    def test_a_refusal_names_session_user_and_since(self):
        daemon = self.profd()
        reader = daemon.begin("--collect", "llc:read", "--devices", "0")
        refused = daemon.ctl("start", "--collect", "llc:write", "--devices", "0")
        self.assertEqual(refused.code, BUSY, refused)
        self.assertRegex(refused.err, rf"session {reader['session']} of root since \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
        held = [holder for device in daemon.ctl("devices", "--json").json["devices"] for holder in device["holders"]]
        self.assertTrue(all(re.search("of root since ", holder["holder"]) for holder in held) and held, held)

    def test_waits_until_the_holder_is_done_and_then_has_all_of_it(self):
        daemon = self.profd()
        reader = daemon.begin("--collect", "llc:read", "--devices", "0")
        waits = daemon.popen_ctl("start", "--collect", "llc:write,hccs", "--devices", "0", "--wait-lease", "--json")
        # What it could have had at once is not kept from others meanwhile.
        other = daemon.begin("--collect", "hccs", "--devices", "0")
        daemon.end(other["session"])
        self.assertIsNone(waits.poll())
        daemon.end(reader["session"])
        out, err = waits.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((waits.returncode, err), (OK, ""))
        started = json.loads(out)
        for kind in ("llc", "hccs"):
            self.assertEqual(self.kind(started, kind, "device:0")["verdict"], "started")
        sealed = daemon.end(started["session"])
        self.assertGreater(self.kind(sealed, "llc", "device:0")["requested_hz"], 0)
        # Tries that came to nothing have left nothing.
        self.assertEqual(len(list(daemon.spool.rglob("PROF_*"))), 3)

    def test_another_process_at_the_driver_is_waited_for_too(self):
        daemon = self.profd(sim=HELD)
        daemon.begin_fault()
        waits = daemon.popen_ctl("start", "--collect", "hbm", "--wait-lease", "600s", "--json")
        # One that does not wait is refused: the other process has the channel.
        self.assertEqual(daemon.ctl("start", "--collect", "hbm").code, BUSY)
        self.assertIsNone(waits.poll())
        daemon.end_fault()
        out, err = waits.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((waits.returncode, err), (OK, ""))
        daemon.end(json.loads(out)["session"])
        self.assertGreater(sum(1 for line in daemon.truth_lines() if line.get("event") == "start"), 0)

    def test_another_process_at_the_driver_is_said(self):
        daemon = self.profd(sim=HELD)
        daemon.begin_fault()
        refused = daemon.ctl("start", "--collect", "hbm")
        self.assertEqual(refused.code, BUSY, refused)
        self.assertIn("another process", refused.err)
        # A program of a known name is named.
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy("/bin/sleep", folder / "msprof")
        other = self.workload(command=[str(folder / "msprof"), "100"])
        harness.wait_until(lambda: f"(pid {other.pid})" in daemon.ctl("start", "--collect", "hbm").err, "msprof to be named")
        refused = daemon.ctl("start", "--collect", "hbm")
        self.assertIn(f"msprof of user root (pid {other.pid})", refused.err)
        self.assertEqual(len(refused.err.strip().splitlines()), 1, refused)
        checks = {check["name"]: check for check in daemon.ctl("doctor", "--json").json["checks"]}
        self.assertIn("msprof", checks["other collectors"]["detail"])
        # Several of them are named once.
        second = self.workload(command=[str(folder / "msprof"), "100"])
        first, last = sorted((other.pid, second.pid))
        harness.wait_until(lambda: f"msprof of user root (pids {first}, {last})" in daemon.ctl("doctor").out, "both")

    def test_the_wait_has_an_end(self):
        daemon = self.profd()
        reader = daemon.begin("--collect", "llc:read", "--devices", "0")
        refused = daemon.ctl("start", "--collect", "llc:write,hccs", "--devices", "0", "--wait-lease", "1s")
        self.assertEqual(refused.code, BUSY, refused)
        self.assertIn(reader["session"], refused.err)
        self.assertEqual(len(self.sessions(daemon)), 1)
        self.assertEqual(daemon.ctl("start", "--collect", "hbm", "--wait-lease", "x").code, USAGE)

    def test_who_goes_away_waits_no_more(self):
        daemon = self.profd()
        reader = daemon.begin("--collect", "llc:read", "--devices", "0")
        waits = daemon.popen_ctl("start", "--collect", "llc:write", "--devices", "0", "--wait-lease", "--name", "gone")
        stays = daemon.popen_ctl("start", "--collect", "llc:write", "--devices", "0", "--wait-lease", "--name", "stays", "--json")
        waits.kill()
        waits.communicate()
        daemon.end(reader["session"])
        out, _ = stays.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(stays.returncode, OK)
        daemon.end(json.loads(out)["session"])
        self.assertNotIn("gone", [session["name"] for session in self.sessions(daemon)])

    def test_profd_stops_while_somebody_waits(self):
        daemon = self.profd()
        daemon.begin("--collect", "llc:read", "--devices", "0")
        waits = daemon.popen_ctl("start", "--collect", "llc:write", "--devices", "0", "--wait-lease")
        daemon.ctl("list")
        self.assertEqual(daemon.stop(), 0)
        waits.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(waits.returncode, harness.UNAVAILABLE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
