#!/usr/bin/env python3
"""What an unprivileged user can do to root's daemon by means of the directories that are theirs: nothing."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import OK, PARTIAL_LOSS, PARTLY_STARTED

# Runs as the attacker beside a session: puts what `how` says in the place of what matches `pattern` below the
# directory, again and again. (It changes its user itself: Python may lie where nobody else can read it.)
ATTACKER = r'''
import glob, itertools, os, sys, time
user, directory, pattern, how, victim = sys.argv[1:]
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
def swap(path):
    aside = path + ".aside"
    try:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        elif not os.path.lexists(aside):
            os.rename(path, aside)
    except OSError:
        pass
    try:
        if how == "symlink":
            os.symlink(victim, path)
        elif how == "dangling":
            os.symlink(victim + "/made-by-profd", path)
        elif how == "hardlink":
            os.link(victim, path)
        elif how == "fifo":
            os.mkfifo(path)
        elif how == "directory":
            os.mkdir(path)
    except OSError:
        pass
print("ready", flush=True)
for turn in itertools.count():
    for path in glob.glob(os.path.join(directory, pattern), include_hidden=True) or [os.path.join(directory, pattern)]:
        swap(path)
    time.sleep(0.002)
'''


def picture(root):
    """Everything there is in `root`, as text."""
    lines = []
    for path in sorted(pathlib.Path(root).rglob("*")):
        facts = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        lines.append(f"{path} {facts.st_mode:o} {facts.st_uid}:{facts.st_gid} {facts.st_size} {content}")
    return lines


@unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
class AttackTest(harness.ProfdTest):
    def setUp(self):
        self.user = harness.nobody()
        self.daemon = self.profd()
        # Root's, readable by all, so that following a link would succeed: what is in it looks like what profd writes.
        self.victim = pathlib.Path(self.folder(0))
        for name in ("manifest.json", "host_network.data.slice_0", "host_network.data.slice_0.done", "end_info", "secret"):
            (self.victim / name).write_text("root's own\n")
        (self.victim / "data").mkdir()
        (self.victim / "data" / "host_cpu.data.slice_0").write_text("root's own, 12345678\n")
        self.before = picture(self.victim)

    def folder(self, owner):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        os.chown(folder.name, owner, owner)
        return folder.name

    def unharmed(self):
        self.assertEqual(picture(self.victim), self.before)
        self.assertIsNone(self.daemon.process.poll(), self.daemon.log.read_text())

    def session(self, output):
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        started = self.daemon.ctl("start", "--pid", work.pid, "--output", output, "--json", user=self.user)
        self.assertIn(started.code, (OK, PARTLY_STARTED), started)
        return started.json

    def attack(self, directory, pattern, how, victim):
        attacker = subprocess.Popen([sys.executable, "-c", ATTACKER, str(self.user), directory, pattern, how, str(victim)],
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(attacker.stdout.close)
        self.addCleanup(attacker.wait)
        self.addCleanup(attacker.kill)
        self.assertEqual(attacker.stdout.readline(), "ready\n")
        return attacker

    def test_swapped_files_and_folders_of_a_running_session(self):
        """Links, pipes and folders in the place of what profd is about to write, replace and mark as done."""
        places = (("profd/manifest.json", self.victim / "manifest.json"),
                  ("profd/.manifest.json.tmp", self.victim / "manifest.json"),
                  ("host/end_info", self.victim / "end_info"),
                  ("host/.end_info.tmp", self.victim / "secret"),
                  ("host/data/*.slice_0", self.victim / "host_network.data.slice_0"),
                  ("host/data/.host_network.data.slice_0.done.tmp", self.victim / "secret"),
                  ("host/data/host_network.data.slice_0.done", self.victim / "host_network.data.slice_0.done"),
                  ("host/data", self.victim / "data"),
                  ("host", self.victim),
                  ("profd", self.victim))
        ways = ("symlink", "dangling", "hardlink", "fifo", "directory")
        sessions = []
        for number, (place, victim) in enumerate(places):
            how = ways[number % len(ways)] if victim.is_file() else "symlink"
            session = self.session(self.folder(self.user))
            sessions.append((session, place, self.attack(session["directory"], place, how, victim)))
        time.sleep(1.5)
        for session, place, attacker in sessions:
            with self.subTest(place=place):
                ended = self.daemon.ctl("stop", session["session"], "--json", user=self.user)
                self.assertIn(ended.code, (OK, PARTIAL_LOSS, PARTLY_STARTED), ended)
                self.assertEqual(ended.json["state"], "sealed")
                attacker.kill()
        self.unharmed()

    def test_the_directory_is_moved_and_a_link_takes_its_place(self):
        output = self.folder(self.user)
        session = self.session(output)
        directory = pathlib.Path(session["directory"])
        subprocess.run(["mv", str(directory), str(directory) + ".moved"], user=self.user, group=self.user, check=True)
        subprocess.run(["ln", "-s", str(self.victim), str(directory)], user=self.user, group=self.user, check=True)
        time.sleep(0.5)
        self.assertEqual(self.daemon.end(session["session"])["state"], "sealed")
        moved = pathlib.Path(str(directory) + ".moved")
        self.assertTrue((moved / "host" / "end_info").exists(), "profd goes on in the directory it made")
        self.unharmed()

    def test_the_output_is_swapped_while_it_is_opened(self):
        """The client opens --output with its own rights and passes the descriptor: whatever it was is written to."""
        top = pathlib.Path(self.folder(self.user))
        mine = top / "out"
        subprocess.run(["mkdir", str(mine)], user=self.user, group=self.user, check=True)
        self.attack(str(top), "out", "symlink", self.victim)
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        for _ in range(30):
            started = self.daemon.ctl("start", "--pid", work.pid, "--output", mine, "--json", user=self.user)
            if started.code in (OK, PARTLY_STARTED):
                self.daemon.end(started.json["session"])
            else:
                self.assertEqual(len(started.err.strip().splitlines()), 1, started)
        self.unharmed()

    def test_what_a_recovery_finds(self):
        """A session that a kill cut short, rearranged by its owner before the next profd looks at it as root."""
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        for place, kind in (("host/data", "symlink"), ("host/data/host_network.data.slice_0", "symlink"),
                            ("host/data/host_network.data.slice_0", "fifo"), ("profd/manifest.json", "symlink"),
                            ("host", "symlink"), ("", "symlink"), ("profd/aged", "symlink")):
            with self.subTest(place=place, kind=kind):
                started = self.daemon.ctl("start", "--pid", work.pid, "--json", user=self.user)
                self.assertIn(started.code, (OK, PARTLY_STARTED), started)
                time.sleep(0.3)
                self.daemon.kill()
                path = os.path.join(started.json["directory"], place).rstrip("/")
                target = self.victim if "." not in place else self.victim / os.path.basename(path)
                script = f"mv {path} {path}.aside; " + (f"mkfifo {path}" if kind == "fifo" else f"ln -s {target} {path}")
                subprocess.run(["sh", "-c", script], user=self.user, group=self.user, check=True,
                               stderr=subprocess.DEVNULL)
                self.daemon.start()
                self.unharmed()

    def test_no_output_but_a_directory(self):
        work = self.workload(command=["sleep", "120"], user=self.user, group=self.user, extra_groups=[])
        top = pathlib.Path(self.folder(self.user))
        os.mkfifo(top / "fifo")
        os.symlink(self.victim, top / "link")
        (top / "file").write_text("")
        for name in ("fifo", "link", "link/.", "file", "file/x", "../" * 40 + "etc", "/proc/self/fd", "/dev/fd", "/sys"):
            with self.subTest(output=name):
                refused = self.daemon.ctl("start", "--pid", work.pid, "--output", name if name[0] == "/" else top / name,
                                          user=self.user, timeout=20)
                self.assertNotIn(refused.code, (OK, PARTLY_STARTED), refused)
                self.assertEqual(len(refused.err.strip().splitlines()), 1, refused)
        self.unharmed()


if __name__ == "__main__":
    unittest.main(verbosity=2)
