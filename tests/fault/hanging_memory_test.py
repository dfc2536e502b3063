#!/usr/bin/env python3
"""Processes whose memory does not answer: whoever looks at them through profd is told so in time, everybody else notices
nothing, and nothing of it is left of profd when it goes."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import failing_fs
import harness

USER = harness.nobody()
HONEST = 1234
PROGRAM = pathlib.Path(__file__).with_name("hanging_memory.py")


@harness.needs_root
class HangingMemoryTest(harness.ProfdTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.profd()
        os.chmod(self.daemon.socket, 0o666)
        self.honest = self.workload(command=["/usr/bin/python3", "-c", "while True: pass"], user=HONEST, group=HONEST,
                                    extra_groups=[])
        result = self.daemon.ctl("start", "--pid", self.honest.pid, "--collect", "host-cpu-profile,host-pid-cpu", "--json",
                                 user=HONEST)
        if result.code != harness.OK:
            self.skipTest(f"NOT RUN: no CPU profiles here: {result}")
        self.session = result.json["session"]
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="profd-hang-"))
        os.chmod(self.place, 0o755)
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def target(self, *arguments, **options):
        process = subprocess.Popen([sys.executable, PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **options)
        self.ends_with_the_test(process)
        return process

    def ready(self, process, word="ready"):
        if process.stdout.readline() != word + "\n":
            self.skipTest("NOT RUN: this kernel has no such memory")

    def mounted(self, *command):
        subprocess.run([*map(str, command), self.place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.place], check=False)

    def records(self):
        return self.daemon.status(self.session)["kinds"][0]["records"]

    def stand_ins(self):
        """Processes that profd has started, but for the one that they are forked from."""
        (nursery,) = children(self.daemon.process.pid)
        return children(nursery)

    def honest_goes_on(self):
        before = self.records()
        harness.wait_until(lambda: self.records() > before + 10, "samples of the other user's")

    def honest_has_lost_nothing(self):
        ended = self.daemon.end(self.session, user=HONEST)
        self.assertEqual((ended["state"], ended["lost"]), ("sealed", 0))

    def threads(self):
        return len(os.listdir(f"/proc/{self.daemon.process.pid}/task"))

    def attack(self, target):
        """Profiles of it end early, and say so, or are refused; nothing of them stays."""
        stand_ins, threads = len(self.stand_ins()), self.threads()
        sessions = []
        for _ in range(3):
            started = self.daemon.begin("--pid", target.pid, "--collect", "host-cpu-profile,host-mem", user=USER)
            sessions.append(started["session"])
            self.honest_goes_on()
        kinds = []
        for session in sessions:
            ended = self.daemon.end(session, user=USER)
            self.assertEqual(ended["state"], "sealed")
            kinds.append(self.kind(ended, "host-cpu-profile", f"pid:{target.pid}"))
        harness.wait_until(lambda: len(self.stand_ins()) == stand_ins, "those that hang to be killed")
        harness.wait_until(lambda: self.threads() <= threads, "the threads")
        return kinds

    def killed_at_once(self):
        """profd, with all that it has started, however that hangs."""
        left = children(self.daemon.process.pid) + self.stand_ins()
        self.daemon.process.send_signal(signal.SIGKILL)
        self.daemon.process.wait(1)
        harness.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in left), "its processes to go, too")

    def held_lock(self):
        """A target whose lock is held, and whoever asks for its memory waits."""

        def prepare(source):
            (source / "file").write_text("something")
            os.chmod(source / "file", 0o644)

        where, fault = failing_fs.mount(self, self.place, prepare)
        target = self.target("lock", USER, where / "file")
        self.ready(target, "mapped")
        self.addCleanup(fault.write_text, "")  # or it cannot be killed
        fault.write_text("stall\n")
        target.stdin.write("go\n")
        target.stdin.flush()
        self.ready(target)
        states = lambda: [pathlib.Path(f"/proc/{target.pid}/task/{task}/stat").read_text().rsplit(")", 1)[1].split()[0]  # noqa: E731
                          for task in os.listdir(f"/proc/{target.pid}/task")]
        harness.wait_until(lambda: states().count("D") == 2, "the lock to be held")
        return target

    def test_code_on_a_page_that_nobody_brings(self):
        self.mounted("mount", "-t", "tmpfs", "profd-test")
        target = self.target("code", USER, self.place / "code")
        self.ready(target)
        self.attack(target)
        self.honest_has_lost_nothing()
        self.killed_at_once()

    def test_a_lock_that_is_never_given_back(self):
        for kind in self.attack(self.held_lock()):
            if kind["verdict"] == "failed":
                self.assertIn(f"the memory of user {USER}'s processes", kind["reason"])
            else:
                self.assertGreater(kind["lost"], 0)  # that something is missing is said
        self.honest_has_lost_nothing()
        self.assertEqual(self.daemon.stop(), 0)

    def test_killed_while_it_hangs(self):
        target = self.held_lock()
        self.daemon.begin("--pid", target.pid, "--collect", "host-cpu-profile,host-mem", user=USER)
        self.killed_at_once()

    def test_an_environment_that_nobody_brings(self):
        target = self.target("environ", USER, env={**os.environ, "PADDING": "x" * 100_000})
        self.ready(target)
        threads = self.threads()
        # What it would say is done without; nobody waits for it for long, and the third time not at all.
        for _ in range(3):
            result = self.daemon.ctl("doctor", "--pid", target.pid, user=USER)
            self.assertNotIn("no answer", result.out + result.err)
        session = self.daemon.begin("--pid", target.pid, "--collect", "host-mem", user=USER)["session"]
        self.honest_goes_on()
        self.assertEqual(self.daemon.end(session, user=USER)["state"], "sealed")
        harness.wait_until(lambda: self.threads() <= threads, "the threads")
        self.honest_has_lost_nothing()
        self.assertEqual(self.daemon.stop(), 0)


def children(pid):
    return [int(child) for task in os.listdir(f"/proc/{pid}/task")
            for child in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]


if __name__ == "__main__":
    unittest.main()
