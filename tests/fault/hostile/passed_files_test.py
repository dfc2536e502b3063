#!/usr/bin/env python3
"""Files of a mount that answers nothing any more, passed to profd where a directory belongs. Whoever has such a file waits when it
closes it, and when it ends: nobody else may wait for that, and profd must be able to go."""
import os
import pathlib
import select
import shutil
import signal
import tempfile
import time
import unittest

import hanging_fs
import harness
import raw_client as raw

USER = harness.nobody()
MOST = 2  # s: a list that waited for a file would wait until the mount has gone


@harness.needs_root
class PassedFilesTest(harness.ProfdTest):
    def mount(self):
        where = pathlib.Path(tempfile.mkdtemp(prefix="profd-hang-"))
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        try:
            mount = hanging_fs.HangingFs(where, USER)
        except OSError as error:
            self.skipTest(f"NOT RUN: no FUSE here: {error}")
        self.addCleanup(mount.end)
        return mount

    def attacker(self, daemon, mount, path, flags):
        """A process of another user, which alone has the file: it says when it has it, and what came of it."""
        orders, order = os.pipe()
        answer, answers = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(mount.device)
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            try:
                file = os.open(path, flags, 0o600)
            except OSError:
                os.write(answers, b"none")
                os._exit(0)
            os.write(answers, b"has")
            os.read(orders, 1)
            doors = [raw.Door(daemon.socket, raw.HELLO_OUTPUT, [file]) for _ in range(4)]
            os.write(answers, b"told" if all(door.status == raw.OUTPUT_DIR and door.reason for door in doors) else b"not")
            time.sleep(600)  # until it is killed
        os.close(orders)
        os.close(answers)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(mount.end)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        if os.read(answer, 64) == b"none":
            self.skipTest("NOT RUN: this kernel's FUSE makes no such file")
        return order, answer

    def attack(self, name, flags, end):
        daemon = self.profd()
        os.chmod(daemon.socket, 0o666)
        self.assertEqual(daemon.ctl("list").code, harness.OK)
        threads = len(os.listdir(f"/proc/{daemon.process.pid}/task"))
        mount = self.mount()
        order, answer = self.attacker(daemon, mount, f"{mount.where}/{name}", flags)
        mount.hang()
        os.write(order, b"!")
        slowest = 0
        while not select.select([answer], [], [], 0.05)[0]:
            began = time.monotonic()
            self.assertEqual(daemon.ctl("--timeout", "5s", "list").code, harness.OK)
            slowest = max(slowest, time.monotonic() - began)
        self.assertLess(slowest, MOST)
        self.assertEqual(os.read(answer, 64), b"told", "each of them is no directory, or does not answer")
        harness.wait_until(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/task")) <= threads + 4, "the threads")
        # Nothing of profd's holds what hangs: it ends when it is told to, or when it is killed.
        daemon.process.send_signal(end)
        daemon.process.wait(timeout=10)

    def test_a_file_and_a_kill(self):
        self.attack("file", os.O_RDONLY, signal.SIGKILL)

    def test_a_file_without_a_name_whose_flags_are_a_directorys(self):
        self.attack("folder", os.O_TMPFILE | os.O_RDWR, signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
