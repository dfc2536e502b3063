#!/usr/bin/env python3
"""Who may do what, as an unprivileged user against a root profd."""
import os
import pathlib
import stat
import tempfile
import unittest

import harness
from harness import NOT_FOUND, OK, PARTLY_STARTED, PERMISSION


@unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
class IdentityTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd()
        self.user = harness.nobody()

    def test_ones_own_process_yes_and_the_files_are_ones_own(self):
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        with tempfile.TemporaryDirectory() as output:
            os.chown(output, self.user, self.user)
            started = self.daemon.ctl("start", "--pid", work.pid, "--output", output, "--json", user=self.user)
            self.assertIn(started.code, (OK, PARTLY_STARTED), started)
            self.daemon.let_run(started.json, 0.6)
            stopped = self.daemon.ctl("stop", started.json["session"], "--json", user=self.user)
            self.assertEqual(stopped.code, OK, stopped)
            directory = pathlib.Path(stopped.json["directory"])
            for path in [directory, *directory.rglob("*")]:
                self.assertEqual(path.lstat().st_uid, self.user, path)
                self.assertEqual(path.lstat().st_gid, self.user, path)

    def test_the_spool_of_a_user_is_theirs(self):
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        started = self.daemon.ctl("start", "--pid", work.pid, "--json", user=self.user)
        self.assertIn(started.code, (OK, PARTLY_STARTED), started)
        directory = pathlib.Path(started.json["directory"])
        self.assertEqual(directory.parent.stat().st_uid, self.user)
        self.assertEqual(stat.S_IMODE(directory.parent.stat().st_mode), 0o750)

    def test_anothers_process_no(self):
        work = self.workload()
        refused = self.daemon.ctl("start", "--pid", work.pid, user=self.user)
        self.assertEqual(refused.code, PERMISSION, refused)
        self.assertEqual(len(refused.err.strip().splitlines()), 1, refused)
        self.assertEqual(list(self.daemon.spool.rglob("PROF_*")) if self.daemon.spool.exists() else [], [])

    def test_device_kinds_no(self):
        refused = self.daemon.ctl("start", "--collect", "hbm", user=self.user)
        self.assertEqual(refused.code, PERMISSION, refused)

    def test_anothers_session_is_neither_seen_nor_stopped(self):
        started = self.daemon.begin("--collect", "hbm")
        self.assertEqual(self.daemon.ctl("list", "--json", user=self.user).json["sessions"], [])
        stop = self.daemon.ctl("stop", started["session"], user=self.user)
        self.assertIn(stop.code, (PERMISSION, NOT_FOUND), stop)
        self.assertEqual(self.daemon.status(started["session"])["state"], "running")
        self.daemon.ctl("stop", "--all", user=self.user)
        self.assertEqual(self.daemon.status(started["session"])["state"], "running")

    def test_an_output_one_may_not_write_is_refused(self):
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        with tempfile.TemporaryDirectory() as output:
            os.chmod(output, 0o755)
            refused = self.daemon.ctl("start", "--pid", work.pid, "--output", output, user=self.user)
            self.assertEqual(refused.code, PERMISSION, refused)
            self.assertEqual(os.listdir(output), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
