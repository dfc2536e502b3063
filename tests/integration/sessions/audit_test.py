#!/usr/bin/env python3
"""The audit log: who asked for what, on what, and what became of it."""
import contextlib
import fcntl
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

import harness

USER = harness.nobody()


class AuditTest(harness.ProfdTest):
    def setUp(self):
        self.file = pathlib.Path(tempfile.mkdtemp()) / "audit.log"
        self.addCleanup(lambda: (self.file.exists() and self.file.unlink(), self.file.parent.rmdir()))

    def lines(self, what=None):
        text = self.file.read_text() if self.file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if what in (None, line["what"])]

    def line(self, what, **expected):
        def found():
            return [line for line in self.lines(what) if all(line.get(key) == value for key, value in expected.items())]
        return harness.wait_until(found, f"a line {what} {expected}")[-1]

    @harness.needs_root
    def test_everything_allowed_and_refused_is_there(self):
        daemon = self.profd(config=f"log:\n  audit: '{self.file}'\n  level: error\n")
        session = daemon.begin("--collect", "hbm", "--devices", "0")["session"]
        started = self.line("start", result="allowed")
        self.assertEqual((started["uid"], started["user"]), (0, "root"))
        self.assertEqual(started["on"], f"session {session}: devices 0 kinds hbm ")
        self.assertEqual(os.path.realpath(started["program"]), os.path.realpath(harness.PROFCTL))
        self.assertGreater(started["pid"], 1)
        daemon.ctl("start", "--collect", "hbm", user=USER)
        refused = self.line("start", result="refused")
        self.assertEqual(refused["uid"], USER)
        self.assertIn("may not", refused["reason"])
        daemon.ctl("stop", session, user=USER)
        self.line("stop", uid=USER, on=f"session {session}", result="failed")
        daemon.end(session)
        self.line("stop", uid=0, on=f"session {session}", result="allowed")
        daemon.ctl("lease", "add", "--user", USER, "--devices", "0,1", "--for", "1h")
        self.line("lease add", on=f"devices 0,1 to user {USER} for 3600 s", result="allowed")
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode) & 0o007, 0)

    def test_names_from_outside_end_no_line(self):
        daemon = self.profd(config=f"log:\n  audit: '{self.file}'\n")
        evil = 'x\n{"what":"start","result":"allowed","uid":0}\x1b[2J'
        daemon.ctl("stop", evil)
        line = self.line("stop")
        self.assertEqual((line["on"], line["result"]), ("session " + evil, "failed"))
        self.assertNotIn("\x1b", self.file.read_text())

    def test_without_a_file_it_goes_with_the_log_at_any_level(self):
        daemon = self.profd(config="log:\n  level: error\n")
        daemon.ctl("devices")
        harness.wait_until(lambda: '"what":"devices"' in daemon.log.read_text(), "the line in the log")
        quiet = self.profd(config="log:\n  audit: 'off'\n")
        quiet.ctl("devices")
        self.assertEqual(quiet.stop(), 0)
        self.assertNotIn('"what"', quiet.log.read_text())

    def test_what_was_given_is_written_when_profd_stops(self):
        daemon = self.profd(config=f"log:\n  audit: '{self.file}'\n")
        for _ in range(20):
            daemon.ctl("devices")
        daemon.stop()
        self.assertEqual(len(self.lines("devices")), 20)

    def test_a_log_that_is_stuck_stops_nobody(self):
        pipe = self.file.parent / "pipe"
        os.mkfifo(pipe)
        self.addCleanup(pipe.unlink)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        daemon = self.profd(config=f"log:\n  file: '{pipe}'\n")
        for _ in range(20):
            daemon.end(daemon.begin("--collect", "hbm", "--devices", "0")["session"])
        written = bytearray()

        def read_it():
            with contextlib.suppress(BlockingIOError):
                written.extend(os.read(reader, 1 << 16))
            return written.count(b'"what":"stop"') == 20

        harness.wait_until(read_it, "what waited to be written")

    def test_a_place_that_cannot_be_is_refused_at_start(self):
        config = self.file.parent / "profd.yaml"
        config.write_text("log:\n  audit: /proc/no/such/place\n")
        self.addCleanup(config.unlink)
        done = subprocess.run([str(harness.PROFD), "--config", str(config), "--socket", str(self.file.parent / "s")],
                              capture_output=True, text=True, timeout=harness.PATIENCE_S, check=False)
        self.assertEqual((done.returncode, len(done.stderr.strip().splitlines())), (harness.USAGE, 1), done)
        self.assertIn("log.audit", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
