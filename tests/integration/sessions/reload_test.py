#!/usr/bin/env python3
"""SIGHUP reads the settings again: checked first, what can be is applied, sessions go on."""
import signal
import unittest

import harness
from harness import OK, USAGE

SETTINGS = "log: {level: LEVEL}\nsession: {max_duration_s: 2000}\ndriver: {sweep_ms: 200}\nstore: {keep_free_bytes: 0}\n"


class ReloadTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd(config=SETTINGS.replace("LEVEL", "info"))
        self.settings = self.daemon.directory / "profd.yaml"
        self.session = self.daemon.begin("--collect", "hbm,host-sys-cpu", "--duration", "2000s")["session"]

    def reload(self, text, until):
        """What the log says about it."""
        before = len(self.daemon.log.read_text())
        self.daemon.configure(text)
        self.daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: until in self.daemon.log.read_text()[before:], f"{until!r} in the log")
        return self.daemon.log.read_text()[before:]

    def longest(self, duration):
        """The exit code of a start that wants so long."""
        return self.daemon.ctl("start", "--collect", "host-sys-mem", "--duration", duration).code

    def goes_on(self):
        before = self.daemon.status(self.session)
        self.assertEqual(before["state"], "running")
        harness.wait_until(lambda: all(now["records"] > then["records"] for now, then in
                                       zip(self.daemon.status(self.session)["kinds"], before["kinds"])), "the session to go on")

    def test_what_can_be_is_applied_and_the_rest_named(self):
        self.assertEqual(self.longest("2500s"), USAGE)
        said = self.reload("log: {level: debug}\nsession: {max_duration_s: 3000}\ndriver: {sweep_ms: 250}\n"
                           "store: {keep_free_bytes: 50000000}\n", "session.max_duration_s: 3000")
        self.assertIn('log.level: "debug"', said)
        self.assertIn("store.keep_free_bytes: 50000000", said)
        seen = lambda *lines: all(line in self.daemon.log.read_text() for line in lines)  # noqa: E731
        ended = self.daemon.end(self.daemon.begin("--collect", "host-sys-cpu")["session"])["session"]
        harness.wait_until(lambda: seen(f"debug session {ended}: stop, so running -> stopping",
                                        f"debug session {ended}: host-sys-cpu of host started"), "the steps of a session")
        harness.wait_until(lambda: "driver.sweep_ms: 250 counts from the next start: restart profd" in
                           self.daemon.log.read_text(), "what needs a restart to be named")
        self.assertEqual(self.longest("2500s"), OK)
        self.goes_on()
        self.reload(self.settings.read_text().replace("250", "200"), "the settings are as they were")

    def test_an_error_leaves_everything_as_it_was(self):
        for text, what in (("session: {max_duration_s: 3, typo: 1}\n", "session.typo: unknown key"),
                           ("session: {max_duration_s: many}\n", "is not a whole number"), ("{", "profd.yaml:"),
                           # What a start would refuse.
                           ("session: {max_duration_s: 3}\nmetrics: {listen: ':99999'}\n", "metrics.listen"),
                           ("session: {max_duration_s: 3}\nlog: {level: loud}\n", "log.level: 'loud'")):
            said = self.reload(text, "SIGHUP: the settings stay as they were: ")
            self.assertIn(what, said)
            self.assertEqual(self.longest("2000s"), OK)
            self.assertEqual(self.longest("2001s"), USAGE)
        self.goes_on()
        self.settings.unlink()
        self.daemon.signal(signal.SIGHUP)
        self.goes_on()


if __name__ == "__main__":
    unittest.main(verbosity=2)
