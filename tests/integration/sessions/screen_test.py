#!/usr/bin/env python3
"""What people see: every list fits 80 columns, grows with the terminal, folds what is alike, and is all there with --all."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

import harness
from harness import OK, USAGE

DEVICES = 8


class ScreenTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Profd(sim=f"devices: {DEVICES}\nchip: 910B\n")
        cls.addClassCleanup(cls.daemon.stop)
        cls.first = cls.daemon.begin("--preset", "all", "--devices", "all", "--name", "a night run with a long name")["session"]
        cls.daemon.let_run(cls.first, 0.5)
        cls.daemon.end(cls.first)
        # Slow, so that it stays the smaller one however long the tests take.
        cls.second = cls.daemon.begin("--collect", "hbm=2Hz", "--devices", "0,1,2,5", "--name", "short", "--duration", "3600s")["session"]
        cls.daemon.let_run(cls.second, 0.2)

    def shown(self, *words, columns=None):
        environment = dict(self.daemon.environment)
        environment.pop("COLUMNS", None)
        if columns:
            environment["COLUMNS"] = str(columns)
        done = subprocess.run([str(harness.PROFCTL), *words], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, OK, (words, done.stderr))
        return done.stdout.splitlines()

    def on_a_terminal(self, columns, *words):
        mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = dict(self.daemon.environment, TERM="dumb")
        environment.pop("COLUMNS", None)
        process = subprocess.Popen([str(harness.PROFCTL), *words], env=environment, stdin=subprocess.DEVNULL, stdout=theirs)
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(mine, 1 << 16):
                text += piece
        except OSError:  # nobody has it open any more
            pass
        os.close(mine)
        self.assertEqual(process.wait(), OK)
        return text.decode().splitlines()

    def test_everything_fits(self):
        surfaces = (["devices"], ["status"], ["status", self.first], ["list"], ["targets"], ["top", "--once"], ["doctor"])
        for words in surfaces:
            for columns in (80, 200):
                for line in self.shown(*words, columns=columns):
                    # What is copied stays whole: a path.
                    if not line.startswith(("directory ", "driver ")) and len(line.split()) > 1:
                        self.assertLessEqual(len(line), columns, (words, line))

    def test_a_terminal_has_its_width(self):
        narrow, wide = (self.on_a_terminal(columns, "list") for columns in (80, 200))
        self.assertTrue(all(len(line) <= 80 for line in narrow), narrow)
        self.assertIn("no room for", narrow[-1])
        self.assertIn("DIRECTORY", wide[1])
        self.assertNotIn("no room for", wide[-1])

    def test_sums_come_first_and_equal_devices_are_one_line(self):
        lines = self.shown("devices")
        self.assertEqual(lines[1], f"{DEVICES} devices, all working")
        self.assertEqual(sum("910B3" in line for line in lines), 1)
        self.assertTrue(any(line.startswith(f"devices 0-{DEVICES - 1}  910B3") for line in lines), lines)
        self.assertTrue(any(line.startswith("not here: ddr, ") for line in lines), lines)
        every = self.shown("devices", "--all")
        self.assertEqual(sum("910B3" in line for line in every), DEVICES)
        self.assertEqual(self.shown("devices", "-o", "wide"), every)
        self.assertEqual(self.shown("list")[0].split(";")[0], "2 sessions: 1 running, 1 sealed")
        status = self.shown("status", self.second)
        # A line of those that lost something, on a busy machine, and one of the rest.
        self.assertLessEqual(sum(line.startswith("hbm") for line in status), 2, status)
        folded, every = self.shown("status", self.first), self.shown("status", self.first, "--all")
        rows = [line for line in every if re.match(r"\S+ +(device:\d+|host) ", line)]
        self.assertEqual(len(rows), len(self.daemon.status(self.first)["kinds"]))
        # How many lines that makes depends on who lost what: the machine is busy.
        self.assertLess(sum(bool(re.match(r"\S+ +(device:[\d,-]+|host) ", line)) for line in folded), len(rows))
        self.assertTrue(any(line.startswith("skipped ") for line in folded), folded)

    def test_sessions_that_share_are_named_once(self):
        daemon = self.profd(sim=f"devices: {DEVICES}\nchip: 910B\n")
        sessions = [daemon.begin("--collect", "hbm,pcie,llc", "--devices", "0,1,2,3,5")["session"],
                    daemon.begin("--preset", "all", "--devices", "all")["session"]]

        def shown(*words, columns=80):
            environment = dict(daemon.environment, COLUMNS=str(columns))
            return subprocess.run([str(harness.PROFCTL), *words], env=environment, capture_output=True, text=True, check=True).stdout

        devices = shown("devices")
        for session in sessions:
            self.assertEqual(devices.count(f"session {session} of "), 1, devices)
            self.assertRegex(devices, f"(?m)^held by session {session} of ")
        status = shown("status", sessions[1], columns=90).splitlines()
        self.assertTrue(any(line.endswith("shared") for line in status), status)
        self.assertFalse([line for line in status if line.strip() == "shared"], status)

    def test_rows_are_chosen_and_sorted(self):
        def listed(*words):
            return [one["session"] for one in self.daemon.ctl("list", "--json", *words).json["sessions"]]

        self.assertEqual(listed(), [self.second, self.first])
        self.assertEqual(listed("--sort", "size"), [self.first, self.second])
        self.assertEqual(listed("--sort", "-size"), [self.second, self.first])
        self.assertEqual(listed("--filter", "name=night"), [self.first])
        self.assertEqual(listed("--filter", "RUNNING"), [self.second])
        self.assertIn("short", self.shown("list", "--filter", "short")[1])
        for wrong in (("--sort", "weight"), ("--filter", "weight=1"), ("-o", "narrow")):
            refused = self.daemon.ctl("list", *wrong)
            self.assertEqual(refused.code, USAGE, refused)
        self.assertIn("session, state, user", self.daemon.ctl("list", "--sort", "weight").err)


class HelpTest(unittest.TestCase):
    def shown(self, *words, columns=None):
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        if columns:
            environment["COLUMNS"] = str(columns)
        return subprocess.run([str(harness.PROFCTL), *words], env=environment, capture_output=True, text=True, check=True).stdout.splitlines()

    def test_help_fits(self):
        verbs = re.findall(r"^  (\w+) ", "\n".join(self.shown("--help")).split("Subcommands:\n")[1], re.MULTILINE)
        self.assertGreater(len(verbs), 20)
        for words in (["--help"], *([verb, "--help"] for verb in verbs), ["start", "--help-all"], ["msprof", "--help-all"], ["tls", "node", "--help"]):
            lines = self.shown(*words)
            self.assertEqual([line for line in lines if len(line) > 80], [], words)
            wide = self.shown(*words, columns=10_000)
            self.assertEqual("".join(lines).replace(" ", ""), "".join(wide).replace(" ", ""))
        self.assertLess(len(self.shown("start", "--help", columns=200)), len(self.shown("start", "--help", columns=80)))


if __name__ == "__main__":
    unittest.main()
