#!/usr/bin/env python3
"""The spool's own disk as a weapon: remounted read-only, without inodes, with a million files in it, with links in
the folder of the log. Whoever records elsewhere notices nothing; whoever records there is told, and it ends when the disk is well."""
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import siege

FILES = int(os.environ.get("PROFD_TEST_FILES", "50000"))  # the full million takes minutes to make
MANY_NAMES, NAMES_KIB = 200_000, 12 << 10
SIM = "devices: 1\nchip: 910B\n"


@harness.needs_root
class HostileDiskTest(siege.Siege):
    def mounted(self, *arguments):
        where = pathlib.Path(tempfile.mkdtemp(prefix="profd-hostile-disk-"))
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        done = subprocess.run(["mount", *map(str, arguments), where], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"NOT RUN: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", where], check=False, stderr=subprocess.DEVNULL)
        os.chmod(where, 0o755)
        return where

    def ext4(self, megabytes, *options, mount=()):
        image = tempfile.NamedTemporaryFile(prefix="profd-hostile-disk-")
        self.addCleanup(image.close)
        image.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", *options, image.name], check=True)
        return self.mounted("-o", ",".join(["loop", *mount]), image.name)

    def beside(self, where):
        """A profd whose spool is on `where`, and where somebody else may record."""
        daemon = self.besieged(sim=SIM, spool=where / "spool")
        self.elsewhere = daemon.directory / "elsewhere"
        self.elsewhere.mkdir()
        os.chown(self.elsewhere, siege.HONEST, siege.HONEST)
        return daemon

    def goes_on(self, daemon, session, patience=60):
        before = daemon.status(session)["bytes"]
        harness.wait_until(lambda: daemon.status(session)["bytes"] > before, "the session to go on", patience)

    def told(self, result, words):
        self.assertNotEqual(result.code, harness.OK, result)
        self.assertEqual(len(result.err.strip().splitlines()), 1, result)
        self.assertIn(words, result.err)

    def test_a_spool_that_is_read_only(self):
        where = self.ext4(300)
        daemon = self.beside(where)
        session = daemon.begin("--collect", "hbm")["session"]
        self.goes_on(daemon, session)
        with self.witnessed(daemon, "a read-only spool", output=self.elsewhere):
            subprocess.run(["mount", "-o", "remount,abort", where], check=False, stderr=subprocess.DEVNULL)
            reason = harness.wait_until(lambda: daemon.status(session)["paused"], "the pause")
            self.assertIn("Read-only file system", reason)
            self.told(daemon.ctl("start", "--collect", "hbm"), "Read-only file system")
            self.assertEqual(daemon.ctl("stop", session, "--json").json["state"], "sealed")
            self.told(daemon.ctl("rm", session), "Read-only file system")

    def test_a_spool_without_inodes(self):
        where = self.mounted("-t", "tmpfs", "-o", "size=200m,nr_inodes=300", "none")
        daemon = self.beside(where)
        session = daemon.begin("--collect", "hbm,host-sys-cpu")["session"]
        self.goes_on(daemon, session)
        full = []
        with self.witnessed(daemon, "no inodes", output=self.elsewhere):
            try:
                for number in range(1000):
                    full.append(where / f"file{number}")
                    full[-1].touch()
            except OSError:
                full.pop()
            self.told(daemon.ctl("start", "--collect", "hbm"), "No space left on device")
            for file in full:
                file.unlink()
            self.assertEqual(daemon.end(daemon.begin("--collect", "hbm")["session"])["state"], "sealed")
            self.goes_on(daemon, session)
        self.assertEqual(daemon.end(session)["state"], "sealed")

    def test_a_folder_with_very_many_files(self):
        """In the folder of a user's sessions, and where he has them put."""
        daemon = self.besieged(sim=SIM)
        work = self.workload(command=["sleep", "600"], user=siege.USER, group=siege.USER, extra_groups=[])
        sealed = daemon.end(daemon.begin("--pid", work.pid, "--collect", "host-mem", user=siege.USER)["session"], user=siege.USER)
        folder = pathlib.Path(sealed["directory"]).parent
        out = daemon.directory / "out"
        out.mkdir()
        os.chown(out, siege.USER, siege.USER)

        def fill(_):
            for place in (pathlib.Path(sealed["directory"]) / "host" / "data", out):
                for number in range(FILES):
                    os.close(os.open(place / f"PROF_{number:06}_20260101000000000_00000001AAAAAAAA", os.O_CREAT | os.O_WRONLY, 0o600))

        with self.witnessed(daemon, f"{FILES} files"):
            siege.run_attackers(1, fill)
            for options in ((), ("--output", out)):
                session = daemon.begin("--pid", work.pid, "--collect", "host-mem=50Hz", *options, user=siege.USER)["session"]
                self.goes_on(daemon, session)
                self.assertEqual(daemon.end(session, user=siege.USER)["state"], "sealed")
            daemon.ctl("verify", sealed["directory"])
            self.assertEqual(daemon.ctl("rm", sealed["session"], user=siege.USER, timeout=240).code, harness.OK)
        self.assertTrue(folder.exists())

    def test_a_start_with_very_many_names(self):
        """A user has put so many names among his sessions: the next profd does not hold them all, nor say them all."""
        daemon = self.besieged(sim=SIM)
        work = self.workload(command=["sleep", "600"], user=siege.USER, group=siege.USER, extra_groups=[])

        def record():
            session = daemon.begin("--pid", work.pid, "--collect", "host-mem", user=siege.USER)["session"]
            return pathlib.Path(daemon.end(session, user=siege.USER)["directory"])

        def most_kib():
            status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
            return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))

        folder = record().parent
        daemon.stop()
        daemon.start()
        before = most_kib()
        daemon.stop()
        for number in range(MANY_NAMES):
            os.mknod(folder / f"PROF_000001_20260101000000000_{number:08}AAAAAAAA")
        said = daemon.log.stat().st_size
        daemon.start()
        harness.wait_until(lambda: len(daemon.ctl("list", "--json").json["sessions"]) == 1, "the past session")
        os.chmod(daemon.socket, 0o666)
        self.assertTrue(record().exists())
        print(f"{MANY_NAMES} names: {(most_kib() - before) / 1024:.1f} MiB more", file=sys.stderr)
        if not harness.IS_SANITIZED:
            self.assertLess(most_kib() - before, NAMES_KIB)
        self.assertLess(daemon.log.stat().st_size - said, 100_000)

    def test_links_where_the_logs_are(self):
        """Whoever may write to the folder of the logs has profd write nowhere else by that."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-hostile-log-"))
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        os.chmod(place, 0o755)
        precious = place / "precious"
        precious.write_text("precious")
        config = place / "profd.yaml"

        def folder(name, owner, mode):
            made = place / name
            made.mkdir()
            os.chmod(made, mode)
            os.chown(made, owner, owner)
            return made

        his, everybodys, roots = (folder(*each) for each in (("his", siege.USER, 0o755), ("everybodys", 0, 0o777), ("roots", 0, 0o755)))
        # Each by itself is a reason, whatever lies there.
        cases = [(where, planted, said) for where, said in ((his, f"user {siege.USER}'s to write to"), (everybodys, "everybody's to write to"))
                 for planted in (True, False)] + [(roots, True, "is a link: name the file itself")]
        for key, (where, planted, said) in itertools.product(("file", "audit"), cases):
            with self.subTest(key, where=where.name, planted=planted):
                log = where / "log"
                log.unlink(missing_ok=True)
                if planted:
                    log.symlink_to(precious)
                config.write_text(f"log:\n  {key}: '{log}'\n")
                done = subprocess.run([str(harness.PROFD), "--socket", str(place / "sock"), "--output-root", str(place / "spool"),
                                       "--config", str(config)], capture_output=True, text=True, check=False,
                                      timeout=harness.PATIENCE_S)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"log.{key}: ", done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(precious.read_text(), "precious")
                self.assertEqual(log.exists(), planted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
