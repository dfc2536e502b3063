#!/usr/bin/env python3
"""Groups and leases: who beside root may collect what shows every job, as real users against a root profd."""
import json
import os
import signal
import subprocess
import time
import unittest

import harness
from harness import NOT_FOUND, OK, PERMISSION, USAGE

USER = harness.nobody()
MEMBERS, ADMINS = 54321, 54322  # numbers: this machine need not have the groups
SETTINGS = f"auth:\n  group: {MEMBERS}\n  admin_group: {ADMINS}\n"


@harness.needs_root
class LeaseTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd(config=SETTINGS)

    def as_user(self, *arguments, group=USER, groups=(), user=USER):
        done = subprocess.run([str(harness.PROFCTL), *map(str, arguments)], env=self.daemon.environment, capture_output=True,
                              text=True, user=user, group=group, extra_groups=groups, stdin=subprocess.DEVNULL, check=False)
        return harness.Result(done.returncode, done.stdout, done.stderr)

    def ended(self, session):
        harness.wait_until(lambda: self.daemon.status(session)["state"] == "sealed", "the session to end")
        return self.daemon.status(session)

    def test_members_of_the_group_collect_devices_and_the_host_but_nobody_elses_session(self):
        for collect in ("hbm", "host-sys-cpu"):
            self.assertEqual(self.as_user("start", "--collect", collect).code, PERMISSION)
            for group, groups in ((USER, [MEMBERS]), (MEMBERS, [])):
                started = self.as_user("start", "--collect", collect, "--json", group=group, groups=groups)
                self.assertEqual(started.code, OK, started)
                self.assertEqual(self.daemon.end(started.json["session"])["user"], started.json["user"])
        of_root = self.daemon.begin("--collect", "hbm")["session"]
        self.assertIn(self.as_user("stop", of_root, groups=[MEMBERS]).code, (NOT_FOUND, PERMISSION))
        self.assertNotIn(of_root, [entry["session"] for entry in self.as_user("list", "--json", groups=[MEMBERS]).json["sessions"]])

    def test_members_of_the_admin_group_may_what_root_may(self):
        of_root = self.daemon.begin("--collect", "hbm")["session"]
        stopped = self.as_user("stop", of_root, "--json", groups=[ADMINS])
        self.assertEqual((stopped.code, stopped.json["session"]), (OK, of_root))

    def test_a_lease_is_for_its_user_its_devices_and_its_time(self):
        refused = self.as_user("start", "--devices", "0", "--collect", "hbm")
        self.assertEqual(refused.code, PERMISSION, refused)
        self.assertIn("lease", refused.err)
        lease = self.daemon.ctl("lease", "add", "--user", USER, "--devices", "0", "--for", "8h", "--json")
        self.assertEqual(lease.code, OK, lease)
        self.assertEqual((lease.json["uid"], lease.json["devices"], lease.json["given_by"]), (USER, [0], "root"))
        started = self.as_user("start", "--devices", "0", "--collect", "hbm", "--json")
        self.assertEqual(started.code, OK, started)
        for refused in (("--devices", "1", "--collect", "hbm"), ("--devices", "0,1", "--collect", "hbm"),
                        ("--collect", "host-sys-cpu")):
            self.assertEqual(self.as_user("start", *refused).code, PERMISSION, refused)
        self.assertEqual(self.as_user("start", "--devices", "0", "--collect", "hbm", user=1234, group=1234).code, PERMISSION)
        # Of every device the leased one; the rest is skipped with the reason.
        both = self.as_user("start", "--devices", "all", "--collect", "hbm", "--json")
        self.assertEqual(self.kind(both.json, "hbm", "device:0")["verdict"], "started")
        self.assertIn("lease", self.kind(both.json, "hbm", "device:1")["reason"])
        # Taken back, both sessions end.
        self.assertEqual(self.daemon.ctl("lease", "rm", lease.json["lease"]).code, OK)
        for session in (started, both):
            self.assertEqual(self.ended(session.json["session"])["end_reason"], "lease")
        self.assertEqual(self.as_user("start", "--devices", "0", "--collect", "hbm").code, PERMISSION)

    def test_a_lease_ends_by_itself_and_with_it_the_session(self):
        begin = time.monotonic()
        self.daemon.end(self.daemon.begin("--devices", "1", "--collect", "hbm")["session"])
        took = time.monotonic() - begin  # a start, and more than that: on a busy machine, too, one fits into the lease
        self.daemon.ctl("lease", "add", "--user", USER, "--devices", "all", "--for", f"{2 + 5 * took:.1f}s")
        started = self.as_user("start", "--devices", "1", "--collect", "hbm", "--json")
        self.assertEqual(started.code, OK, started)
        self.assertEqual(self.ended(started.json["session"])["end_reason"], "lease")
        self.assertEqual(self.daemon.ctl("lease", "list", "--json").json["leases"], [])

    def test_root_alone_gives_takes_and_sees_all(self):
        lease = self.daemon.ctl("lease", "add", "--user", USER, "--devices", "0", "--for", "8h", "--json").json["lease"]
        other = self.daemon.ctl("lease", "add", "--user", "1234", "--devices", "1", "--for", "8h", "--json").json["lease"]
        for asked in (("add", "--user", USER, "--devices", "0", "--for", "1h"), ("rm", lease)):
            for groups in ([], [MEMBERS]):
                self.assertEqual(self.as_user("lease", *asked, groups=groups).code, PERMISSION, asked)
        self.assertEqual([entry["lease"] for entry in self.as_user("lease", "list", "--json").json["leases"]], [lease])
        self.assertEqual([entry["lease"] for entry in self.daemon.ctl("lease", "list", "--json").json["leases"]], [lease, other])
        self.assertEqual(self.as_user("lease", "rm", other, groups=[ADMINS]).code, OK)

    def test_leases_outlive_profd(self):
        self.daemon.ctl("lease", "add", "--user", USER, "--devices", "0", "--for", "8h")
        note = self.daemon.spool / ".profd" / "leases.json"
        harness.wait_until(lambda: note.exists() and json.loads(note.read_text())["leases"], "the lease to be remembered")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(len(self.daemon.ctl("lease", "list", "--json").json["leases"]), 1)
        self.assertEqual(self.as_user("start", "--devices", "0", "--collect", "hbm").code, OK)

    def stream(self, *arguments, groups=()):
        """A profctl of the user's that goes on until the test ends."""
        process = subprocess.Popen([str(harness.PROFCTL), *map(str, arguments)], env=self.daemon.environment, text=True, user=USER, group=USER,
                                   extra_groups=groups, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(), process.stderr.close()))
        return process

    def test_values_go_out_of_sight_when_the_lease_ends(self):
        self.daemon.begin("--collect", "hbm=50Hz")
        lease = self.daemon.ctl("lease", "add", "--user", USER, "--devices", "0", "--for", "8h", "--json").json["lease"]
        watch = self.stream("watch", "hbm", "--json")
        of_others = self.stream("watch", "device", "--json")

        def shown():
            return "profd_device_hbm_bytes_per_second" in watch.stdout.readline()

        harness.wait_until(shown, "the values of the leased device")
        self.assertEqual(self.daemon.ctl("lease", "rm", lease).code, OK)
        harness.wait_until(lambda: not shown(), "the values to be hidden")
        self.assertFalse(any(shown() for _ in range(3)))
        self.assertIsNone(watch.poll())
        self.assertIn("profd_device_status", of_others.stdout.readline())  # what is everybody's goes on

    def test_a_watch_ends_with_the_right_to_it(self):
        of_root = self.daemon.begin("--collect", "host-sys-cpu")["session"]
        watch = self.stream("status", of_root, "--watch", "--json", groups=[ADMINS])
        values = self.stream("watch", "session", "--json", groups=[ADMINS])
        self.assertIn(of_root, watch.stdout.readline())
        harness.wait_until(lambda: of_root in values.stdout.readline(), "the values of root's session")
        self.daemon.configure(SETTINGS.replace(str(ADMINS), str(ADMINS + 1)))
        self.daemon.signal(signal.SIGHUP)
        self.assertEqual(watch.wait(harness.PATIENCE_S), PERMISSION)
        self.assertIn(f"may no longer see session {of_root}", watch.stderr.read())
        harness.wait_until(lambda: of_root not in values.stdout.readline(), "the values to be hidden")

    def test_bad_input(self):
        for arguments, code in ((("--user", "no-such-user-here", "--devices", "0", "--for", "1h"), NOT_FOUND),
                                (("--user", "root", "--devices", "7", "--for", "1h"), NOT_FOUND),
                                (("--user", "root", "--devices", "x", "--for", "1h"), USAGE),
                                (("--user", "root", "--devices", "0", "--for", "400d"), USAGE),
                                (("--user", "", "--devices", "0", "--for", "1h"), USAGE),
                                (("--user", "root", "--devices", "0"), USAGE)):
            result = self.daemon.ctl("lease", "add", *arguments)
            self.assertEqual(result.code, code, (arguments, result))
            self.assertEqual(len(result.err.strip().splitlines()), 1, result)
        self.assertEqual(self.daemon.ctl("lease", "rm", "12345678").code, NOT_FOUND)


if __name__ == "__main__":
    unittest.main(verbosity=2)
