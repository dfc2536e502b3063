#!/usr/bin/env python3
"""Disks that really fail: a full one, one that is remounted read-only, a quota, I/O errors, delays, a directory that is
gone. Each has its state in status and manifest, costs exactly what is counted, and ends when the disk is well again."""
import errno
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import agent_reader
import failing_fs
import harness
import own_folder

MB = 1_000_000
SIM = "devices: 1\nchip: 910B\nmode: flood\nrate_mb_s: 20\n"


@harness.needs_root
class DiskTest(harness.ProfdTest):
    def directory(self):
        where = pathlib.Path(tempfile.mkdtemp(prefix="profd-disk-"))
        os.chmod(where, 0o755)
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        return where

    def unmount(self, where):
        subprocess.run(["umount", "-l", where], check=False, stderr=subprocess.DEVNULL)

    def ext4(self, megabytes):
        """A disk of its own; where it is mounted."""
        place = self.directory()
        image, where = place / "image", place / "mnt"
        where.mkdir()
        with open(image, "wb") as file:
            file.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        if subprocess.run(["mount", "-o", "loop", image, where], check=False).returncode != 0:
            self.skipTest("NOT RUN: no loop device here")
        self.addCleanup(self.unmount, where)
        return where

    def failing(self):
        """A file system that fails as its fault file says."""
        return failing_fs.mount(self, self.directory())

    def take_all_but(self, megabytes, file):
        """Somebody else does, in `file`: again where profd has written between the look and that."""
        def taken():
            room = os.statvfs(file.name)
            try:
                os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - megabytes * MB)
                return True
            except OSError as full:
                self.assertEqual(full.errno, errno.ENOSPC)
                os.ftruncate(file.fileno(), 0)
                return False

        harness.wait_until(taken, "the room to be taken")

    def begin(self, where, *arguments, config="", megabytes=10):
        daemon = self.profd(sim=SIM, config=config)
        session = daemon.begin("--collect", "hbm", "--devices", "0", "--output", where / "out", *arguments)
        harness.wait_until(lambda: daemon.status(session["session"])["bytes"] > megabytes * MB, "data")
        return daemon, session["session"]

    def wait_paused(self, daemon, session):
        return harness.wait_until(lambda: daemon.status(session)["paused"], "the pause")

    def wait_resumed(self, daemon, session):
        before = daemon.status(session)["bytes"]
        harness.wait_until(lambda: not daemon.status(session)["paused"] and daemon.status(session)["bytes"] > before,
                           "the session to go on")

    def check(self, daemon, sealed, *reasons):
        """The directory is whole, and generated = stored + lost, of which a part may have aged."""
        result = daemon.ctl("verify", sealed["directory"], "--json")
        self.assertEqual(result.json["directories"][0]["findings"], [])
        manifest = agent_reader.manifest(sealed["directory"])
        self.assertEqual(manifest["state"], "sealed")
        stops = [line for line in daemon.truth_lines() if line.get("event") == "stop"]
        generated = sum(line["generated_records"] - line["dropped_records"] for line in stops)
        streams = manifest["streams"]
        self.assertEqual(sum(stream["records"] + stream["lost_records"] for stream in streams), generated)
        for stream in streams:
            self.assertEqual(sum(loss["records"] for loss in stream["losses"]), stream["lost_records"])
        if not reasons:
            # ext4 gives blocks back some time after their file has gone: now and then too late.
            for pause in manifest["pauses"]:
                self.assertIn("No space left", pause["reason"])
                self.assertGreater(pause["to_ns"], pause["from_ns"], "it went on by itself")
            return manifest
        self.assertTrue(any(reason in pause["reason"] for pause in manifest["pauses"] for reason in reasons),
                        manifest["pauses"])
        written_off = [loss for stream in streams for loss in stream["losses"] if loss["where"] == "write"]
        self.assertGreater(sum(loss["records"] for loss in written_off), 0)
        self.assertTrue(any(reason in text for text in manifest["degraded"] for reason in reasons), manifest["degraded"])
        for loss in written_off:  # within a pause; a chunk holds what came a moment before
            self.assertTrue(any(pause["from_ns"] - 2e9 <= loss["from_ns"] and
                                (pause["to_ns"] == 0 or loss["to_ns"] <= pause["to_ns"])
                                for pause in manifest["pauses"]), (loss, manifest["pauses"]))
        return manifest

    def test_a_full_disk_makes_the_oldest_go(self):
        # Somebody else takes what should stay free.
        where = self.ext4(300)
        daemon, session = self.begin(where, megabytes=80)
        with open(where / "ballast", "wb") as ballast:
            self.take_all_but(2, ballast)
        harness.wait_until(lambda: daemon.status(session)["aged_bytes"] > 60 * MB, "the oldest to go")
        sealed = daemon.end(session)
        manifest = self.check(daemon, sealed)
        if not manifest["pauses"]:
            self.assertEqual([loss for stream in manifest["streams"] for loss in stream["losses"] if loss["where"] == "write"],
                             [])
        self.assertEqual(sum(stream["aged"]["bytes"] for stream in manifest["streams"]), sealed["aged_bytes"])

    def test_a_full_disk_pauses_when_told_so_and_goes_on_when_there_is_room(self):
        where = self.ext4(300)
        daemon, session = self.begin(where, "--on-full", "pause")
        ballast = where / "ballast"
        with open(ballast, "wb") as file:
            self.take_all_but(8, file)
        reason = self.wait_paused(daemon, session)
        self.assertIn("keep_free", reason)
        self.assertIn("paused: ", daemon.ctl("status", session).out)
        ballast.unlink()
        self.wait_resumed(daemon, session)
        manifest = self.check(daemon, daemon.end(session), "keep_free", "No space left on device")
        self.assertEqual([stream["aged"]["slices"] for stream in manifest["streams"]], [0])
        self.assertGreater(manifest["pauses"][0]["to_ns"], 0)

    def test_a_full_disk_ends_the_session_when_told_so(self):
        where = self.ext4(200)
        daemon = self.profd(sim=SIM)
        waiting = daemon.popen_ctl("start", "--collect", "hbm", "--devices", "0", "--output", where / "out",
                                   "--on-full", "stop", "--wait", "--json")
        out, errors = waiting.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(waiting.returncode, harness.PARTIAL_LOSS, errors)
        sealed = daemon.ctl("list", "--json").json["sessions"][0]
        self.assertEqual((sealed["state"], sealed["end_reason"]), ("sealed", "disk"), out)
        self.check(daemon, sealed, "keep_free", "No space left on device")

    def test_where_the_socket_is_there_is_no_room(self):
        place = self.directory()
        where = place / "run"
        where.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", where], check=True)
        self.addCleanup(self.unmount, where)
        with open(where / "full", "wb", buffering=0) as file, self.assertRaises(OSError) as full:
            while True:
                file.write(b"x" * 4096)
        self.assertEqual(full.exception.errno, errno.ENOSPC)
        daemon = self.profd(socket=where / "profd.sock")
        self.assertEqual(daemon.end(daemon.begin("--collect", "host-sys-cpu")["session"])["state"], "sealed")

    def test_the_last_block_is_taken(self):
        """Not even a byte for the manifest: its room was there before."""
        where = self.ext4(200)
        daemon, session = self.begin(where, "--on-full", "pause")
        with open(where / "ballast", "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
            except OSError as full:
                self.assertEqual(full.errno, errno.ENOSPC)
            try:
                file.close()
            except OSError:
                pass
        self.wait_paused(daemon, session)
        out = next((where / "out").glob("PROF_*"))
        harness.wait_until(lambda: agent_reader.manifest(out)["pauses"], "the pause in the manifest")
        (where / "ballast").unlink()
        self.wait_resumed(daemon, session)
        self.check(daemon, daemon.end(session), "keep_free", "No space left on device")

    def test_remounted_read_only(self):
        where = self.ext4(300)
        daemon, session = self.begin(where)
        # Files that are open for writing keep a disk from it; a disk that fails does it all the same.
        subprocess.run(["mount", "-o", "remount,abort", where], check=False, stderr=subprocess.DEVNULL)
        reason = self.wait_paused(daemon, session)
        self.assertIn("Read-only file system", reason)
        result = daemon.ctl("stop", session, "--json")
        self.assertEqual(result.json["state"], "sealed")
        self.assertGreater(result.json["lost"], 0)
        self.assertTrue(any("Read-only" in text for text in result.json["degraded"]))
        self.assertEqual(daemon.ctl("list").code, harness.OK)

    def fails(self, number, reason):
        where, fault = self.failing()
        daemon, session = self.begin(where, "--on-full", "pause")
        fault.write_text(f"error {number}")
        self.assertIn(reason, self.wait_paused(daemon, session))
        fault.write_text("")
        self.wait_resumed(daemon, session)
        self.check(daemon, daemon.end(session), reason)

    def test_input_output_error(self):
        self.fails(errno.EIO, "Input/output error")

    def test_quota_of_the_file_system(self):
        self.fails(errno.EDQUOT, "Disk quota exceeded")

    def test_too_many_open_files(self):
        self.fails(errno.EMFILE, "Too many open files")

    def test_a_slow_disk_costs_counted_records_and_no_call_waits_for_it(self):
        where, fault = self.failing()
        daemon, session = self.begin(where)
        fault.write_text("delay 3000")
        lost = harness.wait_until(lambda: daemon.status(session)["lost"], "losses")
        # Meanwhile others record and are sealed.
        other = daemon.begin("--collect", "host-sys-cpu")["session"]
        self.assertEqual(own_folder.losses(daemon.end(other)["directory"], but=["sampler"]), set())
        fault.write_text("")
        before = daemon.status(session)["bytes"]
        harness.wait_until(lambda: daemon.status(session)["bytes"] > before + MB, "the session to go on")
        sealed = daemon.end(session)
        self.assertGreaterEqual(sealed["lost"], lost)
        manifest = agent_reader.manifest(sealed["directory"])
        causes = {loss["where"] for stream in manifest["streams"] for loss in stream["losses"]}
        self.assertEqual(causes, {"pool"})
        self.check(daemon, sealed)

    def test_a_directory_that_is_gone(self):
        where = self.directory()
        daemon, session = self.begin(where, config="store:\n  slice_bytes: 65536\n")
        gone = next((where / "out").glob("PROF_*"))

        def remove():  # profd may make a new slice in the middle of it
            shutil.rmtree(gone, ignore_errors=True)
            return not gone.exists()

        harness.wait_until(remove, "the directory to go")
        self.assertIn("No such file or directory", self.wait_paused(daemon, session))
        result = daemon.ctl("stop", session, "--json")
        self.assertEqual(result.json["state"], "sealed")
        self.assertTrue(any("No such file" in text for text in result.json["degraded"]))
        self.assertEqual(daemon.end(daemon.begin("--collect", "host-sys-cpu")["session"])["state"], "sealed")


if __name__ == "__main__":
    unittest.main()
