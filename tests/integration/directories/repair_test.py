#!/usr/bin/env python3
"""profctl repair: a directory of --output that a kill of profd left open becomes whole, with the rights of its owner."""
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

import harness
import own_folder
import prof_reader
from harness import BUSY, FAILED, OK, PARTIAL_LOSS, PERMISSION, UNAVAILABLE, USAGE


class RepairTest(harness.ProfdTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-repair-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.daemon = self.profd()

    def killed(self, **options):
        """What a kill leaves of a session that writes into --output."""
        session = self.running(**options)
        self.daemon.kill()
        return pathlib.Path(session["directory"])

    def running(self, user=None, collect="hbm,host-sys-cpu"):
        output = self.top / "output"
        output.mkdir(exist_ok=True)
        what = ("--collect", collect, "--devices", "0")
        if user is not None:
            os.chown(output, user, user)
            self.top.chmod(0o755)
            os.chmod(self.daemon.socket, 0o666)
            work = self.workload(command=["sleep", "300"], user=user, group=user, extra_groups=[])
            what = ("--collect", "host-mem=50Hz,host-cpu=50Hz", "--pid", work.pid)
        session = self.daemon.begin(*what, "--output", output, user=user)
        harness.wait_until(lambda: self.daemon.status(session["session"])["bytes"] > 5_000, "data")
        return session

    def repair(self, directory, **options):
        return self.daemon.ctl("repair", directory, **options)

    def test_the_launch_that_stands_in_is_no_data(self):
        """A 910B's log of tasks has a launch beside it that no task belongs to, for the vendor's parser: in no count of ours."""
        directory = self.killed(collect="task,hbm")
        stand_ins = {f"unaging.{name}" for name in ("compact.task_track", "additional.hash_dic", "additional.type_info_dic")}
        for slice_name in (name + ".slice_0" for name in stand_ins):
            (directory / "host/data" / (slice_name + ".done")).unlink()
        self.assertIn(self.repair(directory).code, (OK, PARTIAL_LOSS))
        for name in stand_ins:
            self.assertTrue((directory / "host/data" / (name + ".slice_0.done")).exists(), name)
        track = (directory / "host/data/unaging.compact.task_track.slice_0").read_bytes()
        magic, _, _, _, size, stamp, device, stream, task = struct.unpack_from("<HHIIIQHHI", track)
        self.assertEqual((len(track), magic, size, device, stream, task), (64, 0x5A5A, 40, 0, 0xFFFF, 0xFFFF))
        self.assertGreater(stamp, 0)
        manifest = own_folder.manifest(directory)
        self.assertFalse([stream["file"] for stream in manifest["streams"] if stream["file"] in stand_ins])
        self.assertEqual(self.daemon.ctl("verify", directory).code, OK)
        self.assertEqual(prof_reader.check(str(directory), sealed=True), [])
        (queried,) = self.daemon.ctl("query", directory, "--json").json["directories"]
        self.assertNotIn("api", {kind["kind"] for kind in queried["kinds"]})
        exported = self.daemon.ctl("export", directory, "--out", self.top / "out", "--json")
        self.assertNotIn("launch", exported.out)

    def test_it_is_whole_again(self):
        directory = self.killed()
        refused = self.daemon.ctl("verify", directory)
        self.assertEqual(refused.code, FAILED, refused)
        self.assertIn("profctl repair DIR", refused.out)
        with open(directory / "device_0/data/hbm.data.0.slice_0", "ab") as file:
            file.write(b"torn")
        done = self.repair(directory)
        self.assertEqual(done.code, OK, done)
        self.assertIn("sealed as interrupted, 4 bytes cut", done.out)
        self.assertEqual(self.daemon.ctl("verify", directory).code, OK)
        self.assertEqual(prof_reader.check(str(directory), sealed=True), [])
        manifest = own_folder.manifest(directory)
        self.assertEqual((manifest["state"], manifest["end_reason"]), ("sealed", "interrupted"))
        hbm = [stream for stream in manifest["streams"] if stream["file"] == "hbm.data.0"]
        self.assertEqual([stream["kind"] for stream in hbm], ["hbm"])
        again = self.repair(directory)
        self.assertEqual((again.code, again.out), (OK, f"{directory}: nothing to repair, it is sealed\n"))
        said = self.daemon.ctl("repair", directory, "--json").json
        self.assertEqual(said, {"ok": True, "directories": [{"directory": str(directory), "repaired": False, "cut_bytes": 0,
                                                             "remarks": []}]})

    def test_who_waits_for_a_profd_that_is_killed(self):
        """Is told where the data lie and what to do; the program runs on, and what is exported says that it was cut off."""
        for verb in (("msprof", "--output={}"), ("record", "--output", "{}", "--")):
            with self.subTest(verb=verb[0]):
                self.daemon = self.profd()
                output, go_on = self.top / verb[0], self.top / f"{verb[0]}.go"
                output.mkdir()
                program = ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.05; done; : > "$0.over"', str(go_on)]
                waits = subprocess.Popen([str(harness.RUN), *(word.format(output) for word in verb), *program], text=True,
                                         env=self.daemon.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.ends_with_the_test(waits)
                harness.wait_until(lambda: any(one["bytes"] > 5_000 for one in self.daemon.ctl("list", "--json").json["sessions"]), "data")
                self.daemon.kill()
                told = next(line for line in waits.stderr if "lost the connection" in line)
                [directory] = output.glob("PROF_*")
                self.assertIn(f" is recorded up to here in {directory}: profctl repair {directory} seals it", told)
                go_on.touch()
                self.assertEqual(waits.wait(harness.PATIENCE_S), UNAVAILABLE)
                self.assertTrue(go_on.with_suffix(".go.over").exists(), "the program was ended")
                for done in (self.daemon.ctl("export", directory, "--format", "csv"), self.daemon.ctl("query", directory)):
                    self.assertIn("the recording was cut off: profd ended before it had sealed it; profctl repair seals it", done.out)
                    self.assertNotIn(", complete", done.out)
                self.assertIn(self.repair(directory).code, (OK, PARTIAL_LOSS))
                self.assertNotIn("cut off", self.daemon.ctl("export", directory, "--format", "csv").out)

    def test_not_while_it_is_written(self):
        session = self.running()
        refused = self.repair(session["directory"])
        self.assertEqual((refused.code, len(refused.err.splitlines())), (BUSY, 1), refused)
        self.assertIn("being written", refused.err)
        # Also where the name does not tell: it is the lock that counts.
        renamed = pathlib.Path(session["directory"]).with_name("PROF_000001_20261121055338123_00000000ABCDEFGH")
        os.rename(session["directory"], renamed)
        self.assertEqual(self.repair(renamed).code, BUSY)
        os.rename(renamed, session["directory"])
        sealed = self.daemon.end(session["session"])
        self.assertEqual(sealed["end_reason"], "stopped")
        self.assertEqual(self.repair(session["directory"]).out, f"{session['directory']}: nothing to repair, it is sealed\n")

    def test_what_is_planted_is_left_alone(self):
        directory = self.killed()
        precious = self.top / "precious"
        precious.write_bytes(b"precious")
        slice_0 = directory / "device_0/data/hbm.data.0.slice_0"
        slice_0.unlink()
        slice_0.symlink_to(precious)
        (directory / "host").rename(self.top / "host")
        (directory / "host").symlink_to(self.top / "host")
        before = sorted((self.top / "host").rglob("*"))
        done = self.repair(directory)
        self.assertEqual(done.code, PARTIAL_LOSS, done)
        self.assertEqual(done.out.count("left alone"), 2, done)
        self.assertEqual(precious.read_bytes(), b"precious")
        self.assertEqual(sorted((self.top / "host").rglob("*")), before)
        # A manifest that is a link is none.
        other = self.top / "PROF_000001_20261121055338123_00000000ABCDEFGH"
        shutil.copytree(directory, other, symlinks=True)
        (other / own_folder.OWN_FOLDER).rename(self.top / "own")
        (other / own_folder.OWN_FOLDER).symlink_to(self.top / "own")
        self.assertEqual(self.repair(other).code, USAGE)
        link = self.top / "link"
        link.symlink_to(directory)
        self.assertEqual(self.repair(link).code, USAGE)

    def test_what_is_none(self):
        (self.top / "empty").mkdir()
        for path, code in ((self.top / "empty", USAGE), (self.top / "no such", harness.NOT_FOUND), ("/etc/passwd", USAGE)):
            with self.subTest(path=path):
                done = self.repair(path)
                self.assertEqual((done.code, done.out, len(done.err.splitlines())), (code, "", 1), done)

    @harness.needs_root
    def test_only_its_owner(self):
        user = harness.nobody()
        directory = self.killed(user=user)
        refused = self.repair(directory)
        self.assertEqual(refused.code, PERMISSION, refused)
        self.assertIn(f"belongs to user {user}", refused.err)
        done = self.repair(directory, user=user)
        self.assertEqual(done.code, OK, done)
        self.assertEqual({path.lstat().st_uid for path in directory.rglob("*")}, {user})


if __name__ == "__main__":
    unittest.main()
