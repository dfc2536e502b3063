#!/usr/bin/env python3
"""A user's file system that answers nothing any more: whoever passes files of it to profd waits for himself, and is told so.
Others are answered meanwhile, ctl waits for nothing."""
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest
import warnings

import failing_fs
import harness
import stalled_mount
from quiet import Quiet

USER = harness.nobody()
HONEST = 1234


class Attack:
    """The program in a process with the user's rights, whose Python the user need not be able to start."""

    def __init__(self, test, *arguments):
        orders, order = os.pipe()
        answer, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(orders, 0)
                os.dup2(answers, 1)
                os.closerange(3, 1024)
                sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
                os.setgroups([])
                os.setresgid(USER, USER, USER)
                os.setresuid(USER, USER, USER)
                warnings.simplefilter("ignore", ResourceWarning)  # what it leaves open is the attack
                stalled_mount.main(*arguments)
                os._exit(0)
            except BaseException as error:  # noqa: BLE001
                print(f"attacker: {error!r}", file=sys.stderr)
                os._exit(1)
        os.close(orders)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(order, "w"), os.fdopen(answer)
        test.addCleanup(self.close)

    def order(self, text):
        self.stdin.write(text + "\n")
        self.stdin.flush()

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.stdin.close()
        self.stdout.close()


@harness.needs_root
class StalledMountTest(harness.ProfdTest):
    def mount(self):
        """Where it is, and the file that says what it does."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-stall-"))
        os.chmod(place, 0o755)
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)

        def prepare(source):
            os.chown(source, USER, USER)
            (source / "file").write_text("something")
            os.chown(source / "file", USER, USER)

        return failing_fs.mount(self, place, prepare)

    def threads(self, daemon):
        return len(os.listdir(f"/proc/{daemon.process.pid}/task"))

    def descriptors(self, daemon):
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    def test_who_waits_for_his_files_waits_alone(self):
        where, fault = self.mount()
        daemon = self.profd()
        os.chmod(daemon.socket, 0o666)
        of_root = daemon.begin("--collect", "host-sys-cpu")["session"]
        quiet = Quiet(self, "--collect", "host-sys-cpu")
        work = self.workload(command=["sleep", "300"], user=USER, group=USER, extra_groups=[])
        honest = self.workload(command=["sleep", "300"], user=HONEST, group=HONEST, extra_groups=[])
        threads, descriptors = self.threads(daemon), self.descriptors(daemon)
        attack = Attack(self, str(daemon.socket), str(work.pid), str(where), str(where / "file"))
        self.assertEqual(attack.stdout.readline(), "ready\n")
        self.addCleanup(fault.write_text, "")  # or it cannot be killed
        fault.write_text("stall\n")
        attack.order("go")
        self.assertEqual(attack.stdout.readline(), "begun\n")  # the door has answered each of them
        # Nothing of it has come back yet, and everything of others goes on.
        for user in (HONEST, None):
            self.assertEqual(daemon.ctl("list", user=user).code, harness.OK)
            self.assertEqual(daemon.ctl("devices", user=user).code, harness.OK)
        session = daemon.begin("--pid", honest.pid, "--collect", "host-mem", user=HONEST)["session"]
        self.assertEqual(daemon.end(session, user=HONEST)["state"], "sealed")
        # Four of each of the three users' at most, and what profd starts when it is first asked; he has 64 calls that wait.
        self.assertLess(self.threads(daemon), threads + 20)
        # He himself is told, while his files still do not answer.
        answers = [attack.stdout.readline() for _ in range(8)]
        self.assertTrue(all("no answer from the file system" in answer for answer in answers), answers)
        self.assertEqual(attack.stdout.readline(), "end\n")
        self.assertEqual(daemon.status(of_root)["state"], "running")
        fault.write_text("")
        attack.order("end")
        # What was held is given back when they answer again, and he is served again.
        harness.wait_until(lambda: self.descriptors(daemon) <= descriptors + 4, "the descriptors")
        result = daemon.ctl("start", "--pid", work.pid, "--collect", "host-mem", user=USER)
        self.assertEqual(result.code, harness.OK, result)
        # Nobody waited for him: ten samples a second would be lost. One or another the machine may have cost.
        self.assertLessEqual(daemon.end(of_root)["lost"], 5 + 2 * quiet.lost("host-sys-cpu"))

    def test_a_target_that_runs_from_it(self):
        """Its pages are on a mount that answers no more: profiles of it end in time, leave nothing behind, and keep nobody from
        making others."""
        where, fault = self.mount()
        daemon = self.profd()
        os.chmod(daemon.socket, 0o666)
        program = where / "python"
        shutil.copy("/usr/bin/python3", where.parent / "source" / "python")  # one that anybody can start
        honest = self.workload(command=["/usr/bin/python3", "-c", "while True: pass"], user=HONEST, group=HONEST, extra_groups=[])
        result = daemon.ctl("start", "--pid", honest.pid, "--collect", "host-cpu-profile", "--json", user=HONEST)
        if result.code != harness.OK:
            self.skipTest(f"NOT RUN: no CPU profiles here: {result}")
        daemon.end(result.json["session"], user=HONEST)
        target = self.workload(command=[program, "-c", "while True: pass"], user=USER, group=USER, extra_groups=[])
        cpu = pathlib.Path(f"/proc/{target.pid}/stat")
        harness.wait_until(lambda: int(cpu.read_text().split()[13]) > 20, "the target to spin")
        file = os.open(program, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)  # what it does not use is not in memory either
        os.close(file)
        threads = self.threads(daemon)
        fault.write_text("stall\n")
        for _ in range(4):
            sessions = [daemon.begin("--pid", target.pid, "--collect", f"{kind},host-mem", user=USER)["session"]
                        for kind in ("host-cpu-profile", "host-off-cpu")]
            before = daemon.status(sessions[0])["bytes"]
            harness.wait_until(lambda s=sessions[0], b=before: daemon.status(s)["bytes"] > b + 1000, "samples")
            for session in sessions:
                self.assertEqual(daemon.end(session, user=USER)["state"], "sealed")
        harness.wait_until(lambda: self.threads(daemon) <= threads, "the threads")
        # Others' are as they were.
        session = daemon.begin("--pid", honest.pid, "--collect", "host-cpu-profile", user=HONEST)
        self.assertEqual(self.kind(session, "host-cpu-profile", f"pid:{honest.pid}")["verdict"], "started")
        daemon.end(session["session"], user=HONEST)
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
