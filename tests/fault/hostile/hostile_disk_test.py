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

    def test_a_user_who_takes_all_inodes(self):
        """His own sessions that ended go for them, and nothing of a session that runs."""
        where = self.mounted("-t", "tmpfs", "-o", "size=200m,nr_inodes=400", "none")
        daemon = self.beside(where)
        session = daemon.begin("--collect", "hbm,host-sys-cpu")["session"]
        self.goes_on(daemon, session)
        work = self.workload(command=["sleep", "600"], user=siege.USER, group=siege.USER, extra_groups=[])
        ended = [daemon.end(daemon.begin("--pid", work.pid, "--collect", "host-mem=50Hz,host-cpu=50Hz", user=siege.USER)["session"],
                            user=siege.USER)["directory"] for _ in range(40)]
        self.assertGreater(sum(not pathlib.Path(directory).exists() for directory in ended), 10)
        self.assertTrue(pathlib.Path(ended[-1]).exists())
        self.goes_on(daemon, session)
        sealed = daemon.end(session)
        self.assertEqual((sealed["state"], sealed["aged_bytes"], sealed["lost"]), ("sealed", 0, 0))
        self.assertEqual(daemon.ctl("verify", sealed["directory"]).code, harness.OK)

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

    def test_ways_that_others_can_lead_elsewhere(self):
        """Whoever may write to a folder of the log, the spool or the pid file, or to any above it, or has a link on the way there,
        has profd write nowhere else by that."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-hostile-way-"))
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

        his, everybodys, roots, sticky = (folder(*each) for each in (
            ("his", siege.USER, 0o755), ("everybodys", 0, 0o777), ("roots", 0, 0o755), ("sticky", 0, 0o1777)))
        for above in (his, everybodys, sticky):
            folder(f"{above.name}/roots", 0, 0o755)
        (sticky / "link").symlink_to(roots)
        os.chown(sticky / "link", siege.USER, siege.USER, follow_symlinks=False)
        (roots / "link").symlink_to(his / "roots")
        by_user, by_all = f"user {siege.USER}'s to write to", "everybody's to write to"
        above = [(his / "roots", by_user), (everybodys / "roots", by_all), (sticky / "link", f"is a link of user {siege.USER}'s"),
                 (roots / "link", by_user)]
        logs = [*above, (his, by_user), (everybodys, by_all), (sticky, by_all)]

        def refused(said, *arguments, settings="", spool=place / "spool"):
            config.write_text(settings)
            done = subprocess.run([str(harness.PROFD), "--socket", str(place / "sock"), "--output-root", str(spool),
                                   "--config", str(config), *map(str, arguments)], capture_output=True, text=True, check=False,
                                  timeout=harness.PATIENCE_S)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)
            return done.stderr

        for key, (where, said), planted in itertools.product(("file", "audit"), logs, (True, False)):
            with self.subTest(key, where=where.relative_to(place), planted=planted):  # each by itself is a reason, whatever lies there
                log = where / "log"
                log.unlink(missing_ok=True)
                if planted:
                    log.symlink_to(precious)
                self.assertIn(f"log.{key}: ", refused(said, settings=f"log:\n  {key}: '{log}'\n"))
                self.assertEqual(precious.read_text(), "precious")
                self.assertEqual(log.exists(), planted)
        (roots / "log").symlink_to(precious)
        for key in ("file", "audit"):
            refused("is a link: name the file itself", settings=f"log:\n  {key}: '{roots / 'log'}'\n")
        for where, said in above:
            with self.subTest("spool and pid file", where=where.relative_to(place)):
                refused(said, spool=where / "spool")
                refused(said, "--pid-file", where / "pid")
                self.assertFalse({"spool", "pid"} & set(os.listdir(where)))
        self.assertEqual(precious.read_text(), "precious")
        good = folder("good", 0, 0o755)
        (roots / "good").symlink_to(good)  # as /var/run is root's link to /run
        self.profd(hal=None, config=f"log:\n  file: '{roots}/good/made/log'\n", arguments=("--pid-file", str(roots / "good" / "pid")))
        self.assertIn("listens on", (good / "made" / "log").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
