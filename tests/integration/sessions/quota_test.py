#!/usr/bin/env python3
"""Quotas of the spool, keep_free, max_age, pin, unpin and rm: which data goes, and which never does."""
import collections
import fcntl
import getpass
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import agent_reader
import harness
from limit_test import disk_bytes, flood

MB = 1_000_000
SMALL = "devices: 1\nchip: 910B\nmode: flood\nrate_mb_s: 20\n"


def store(**settings):
    return "store:\n" + "".join(f"  {key}: {value}\n" for key, value in settings.items())


class QuotaTest(harness.ProfdTest):
    def record(self, daemon, mb, *arguments):
        """A sealed session of at least so many MB."""
        session = daemon.begin("--collect", "hbm", "--devices", "0", *arguments)["session"]
        harness.wait_until(lambda: daemon.status(session)["bytes"] >= mb * MB, f"{mb} MB")
        return daemon.end(session)

    def listed(self, daemon):
        return {session["session"]: session for session in daemon.ctl("list", "--json").json["sessions"]}

    def spool_bytes(self, daemon):
        return sum(disk_bytes(path) for path in daemon.spool.glob("*/*"))

    def test_the_oldest_session_goes_for_the_quota_and_the_pinned_and_the_read_stay(self):
        daemon = self.profd(sim=SMALL)
        pinned = self.record(daemon, 40)
        self.assertEqual(daemon.ctl("pin", pinned["session"], "--json").json["pinned"], True)
        self.assertIn("pinned", daemon.ctl("list").out)
        read = self.record(daemon, 40)
        holder = os.open(read["directory"], os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, holder)
        fcntl.flock(holder, fcntl.LOCK_SH)
        first, second = (self.record(daemon, 40) for _ in range(2))
        # How much a session records before it is stopped is the machine's: the quota comes from what there is.
        quota = sum(disk_bytes(kept["directory"]) for kept in (pinned, read, first, second)) + 30 * MB
        daemon.configure(store(quota_per_user_bytes=quota))
        daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: f"SIGHUP: store.quota_per_user_bytes: {quota}\n" in daemon.log.read_text(), "SIGHUP")
        session = daemon.begin("--collect", "hbm", "--devices", "0")["session"]
        harness.wait_until(lambda: first["session"] not in self.listed(daemon), "the oldest to go")
        self.assertFalse(os.path.exists(first["directory"]))
        harness.wait_until(lambda: second["session"] not in self.listed(daemon), "the next one to go")
        # Nothing else may: what runs ages.
        status = harness.wait_until(lambda: (now := daemon.status(session))["aged_bytes"] > 100 * MB and now,
                                    "the running one to age")
        shown = daemon.ctl("status", session).out
        self.assertRegex(shown, r"on disk .*  the last .*  aged ")
        # What costs it data is named, and so is what has become of those before it.
        said = f"its oldest data was removed for the quota of user {getpass.getuser()} (store.quota_per_user_bytes)"
        self.assertIn(said, " ".join(shown.split()))
        gone = daemon.ctl("status", first["session"])
        self.assertEqual(gone.code, harness.NOT_FOUND, gone)
        self.assertRegex(gone.err, f"session {first['session']} is gone: profd removed it at .* for the quota of user .*profctl pin")
        for verb in ("query", "analyze", "verify", "export"):
            answer = daemon.ctl(verb, first["session"])
            self.assertEqual(answer.code, gone.code, answer)
            self.assertIn(gone.err.removeprefix("profctl: "), answer.err, "the same to whoever asks")
        self.assertEqual(status["lost"], 0)
        daemon.signal(signal.SIGSTOP)
        self.assertLessEqual(self.spool_bytes(daemon), quota + quota // 16 + 3 * MB)
        daemon.signal(signal.SIGCONT)
        for kept in (pinned, read):
            self.assertTrue(os.path.exists(kept["directory"]))
            self.assertEqual(daemon.ctl("verify", kept["directory"], "--json").json["directories"][0]["state"], "sealed")
        sealed = daemon.end(session)
        self.assertTrue(any(warning.startswith(said) for warning in sealed["warnings"]), sealed["warnings"])
        manifest = agent_reader.manifest(sealed["directory"])
        self.assertEqual(sum(stream["aged"]["bytes"] for stream in manifest["streams"]), sealed["aged_bytes"])
        stops = [line for line in daemon.truth_lines() if line.get("event") == "stop"]
        delivered = stops[-1]["generated_records"] - stops[-1]["dropped_records"]
        self.assertEqual(sum(stream["records"] + stream["lost_records"] for stream in manifest["streams"]), delivered)

    def test_the_quota_of_the_spool_and_the_pin_outlive_profd(self):
        # How much a session records before it is stopped is the machine's: the quota comes from what there is.
        daemon = self.profd(sim=SMALL, config=store(quota_spool_bytes=100_000 * MB))
        sessions = [self.record(daemon, 30) for _ in range(3)]
        self.assertEqual(daemon.ctl("pin", sessions[0]["session"]).code, harness.OK)
        self.assertEqual(daemon.stop(), 0)
        pinned, oldest, newest = (disk_bytes(session["directory"]) for session in sessions)
        daemon.configure(store(quota_spool_bytes=pinned + oldest // 2 + newest))
        daemon.start()
        harness.wait_until(lambda: self.listed(daemon), "the past sessions")
        harness.wait_until(lambda: sessions[1]["session"] not in self.listed(daemon), "the oldest that may to go")
        self.assertTrue(self.listed(daemon)[sessions[0]["session"]]["pinned"])
        self.assertTrue(os.path.exists(sessions[0]["directory"]))
        self.assertEqual(daemon.ctl("unpin", sessions[0]["session"], "--json").json["pinned"], False)

    def test_a_quota_that_is_read_anew(self):
        daemon = self.profd(sim=SMALL, config=store(quota_spool_bytes=0))
        first, second = (self.record(daemon, 30) for _ in range(2))
        quota = sum(disk_bytes(session["directory"]) for session in (first, second)) + 15 * MB
        daemon.configure(store(quota_spool_bytes=quota))
        daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: f"SIGHUP: store.quota_spool_bytes: {quota}\n" in daemon.log.read_text(), "SIGHUP")
        daemon.begin("--collect", "hbm", "--devices", "0")
        harness.wait_until(lambda: first["session"] not in self.listed(daemon), "the oldest to go")
        self.assertFalse(os.path.exists(first["directory"]))

    def test_what_stays_free_on_a_small_disk(self):
        spool = self.small_disk(400)
        keep = 150 * MB
        os.mkdir(spool / "profd")
        daemon = self.profd(sim=flood(40), config=store(keep_free_bytes=keep), directory=spool / "profd")
        # No host kinds: a loaded machine misses samples of theirs.
        kinds = ("--devices", "all", "--collect", "hbm,llc,pcie,hccs,nic,roce,dvpp,qos")

        def filled():
            """A session that has aged, the least room that was left beside it, and what found none."""
            session, least = daemon.begin(*kinds), []

            def aged():
                room = os.statvfs(spool)
                least.append(room.f_bavail * room.f_frsize)
                return daemon.status(session["session"])["aged_bytes"] > 100 * MB

            harness.wait_until(aged, "the running one to age")
            # One look at the disk is for 16 MiB.
            self.assertGreater(least[-1], keep - 20 * MB)
            directory = daemon.end(session["session"])["directory"]
            lost = [loss for stream in agent_reader.manifest(directory)["streams"] for loss in stream["losses"]
                    if loss["where"] == "write"]
            return directory, min(least), lost

        old, _, lost_of_old = filled()
        new, least, lost_of_new = filled()
        self.assertFalse(os.path.exists(old), "an ended session goes first")
        # Half of it may be used while others make way.
        self.assertGreater(least, keep // 2 - 20 * MB)
        # A busy machine may lose some on the way, and a sanitizer's build make room too late.
        if not harness.IS_SANITIZED:
            self.assertEqual((lost_of_old, lost_of_new), ([], []))
        self.assertEqual(daemon.ctl("verify", new, "--json").json["directories"][0]["state"], "sealed")

    def test_a_full_disk(self):
        """Who starts is told that there is no room, and who waits what has become of his session."""
        spool = self.small_disk(400)
        os.mkdir(spool / "profd")
        daemon = self.profd(sim=SMALL, config=store(keep_free_bytes=20 * MB), directory=spool / "profd")
        with open(spool / "others", "wb") as others:
            room = os.statvfs(spool)
            os.posix_fallocate(others.fileno(), 0, room.f_bavail * room.f_frsize - 8 * MB)
        kinds = ("--collect", "host-sys-cpu")
        started = daemon.ctl("start", *kinds, "--name", "full")
        self.assertEqual(started.code, harness.OK, started)
        self.assertRegex(" ".join(started.out.split()), r"warning: its disk is full: \d+ MB are free, 20 MB stay free \(store.keep_free_bytes\)")
        self.assertEqual(daemon.ctl("stop", "full").code, harness.OK)
        waited = daemon.ctl("start", *kinds, "--duration", "500ms", "--wait", "--name", "waits")
        # profd removes it as soon as it is sealed; who asks just before that still sees it, with the reason of its losses.
        if waited.code == harness.PARTIAL_LOSS:
            self.assertRegex(waited.out, r"degraded: the room that stays free on the file system \(store.keep_free_bytes\)")
            waited = harness.wait_until(lambda: next((said for said in [daemon.ctl("status", "waits")] if said.code != harness.OK), None),
                                        "the session to be removed")
        self.assertEqual(waited.code, harness.NOT_FOUND, waited)
        self.assertRegex(waited.err, r"session \w+ is gone: profd removed it at .*, for room on the disk \(store.keep_free_bytes, .*profctl pin")
        self.assertNotIn("may no longer see", waited.err)
        self.assertIn("is gone", daemon.ctl("status", "waits").err)
        if harness.nobody():
            os.chmod(daemon.socket, 0o666)
            self.assertIn("no session has", daemon.ctl("status", "waits", user=harness.nobody()).err)

    def small_disk(self, megabytes):
        if os.geteuid() != 0:
            self.skipTest("NOT RUN: mounting needs root")
        where = pathlib.Path(subprocess.run(["mktemp", "-d"], check=True, capture_output=True, text=True).stdout.strip())
        os.chmod(where, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "profd-test", where], check=True)
        self.addCleanup(os.rmdir, where)
        self.addCleanup(subprocess.run, ["umount", "-l", where], check=True)
        return where

    def test_old_ones_go_for_their_age(self):
        daemon = self.profd(sim=SMALL)
        past = self.record(daemon, 1)
        pinned = self.record(daemon, 1)
        self.assertEqual(daemon.ctl("pin", pinned["session"]).code, harness.OK)
        self.assertEqual(daemon.stop(), 0)
        daemon.configure(store(max_age_s=2))
        daemon.start()
        for old in (past, self.record(daemon, 1)):
            harness.wait_until(lambda of=old: of["session"] not in self.listed(daemon), "it to go for its age")
            self.assertFalse(os.path.exists(old["directory"]))
        self.assertTrue(os.path.exists(pinned["directory"]))

    def test_a_session_without_a_limit_gives_up_its_first_directories(self):
        daemon = self.profd(sim=flood(20), config=store(quota_per_user_bytes=300 * MB, roll_after_s=5))
        session = daemon.begin("--devices", "all", "--preset", "node")
        status = harness.wait_until(
            lambda: session["directory"] not in (now := daemon.status(session["session"]))["directories"] and now,
            "its first directory to go")
        self.assertFalse(os.path.exists(session["directory"]))
        self.assertGreater(status["aged_bytes"], 0)
        sealed = daemon.end(session["session"])
        names = agent_reader.manifest(sealed["directory"])["removed"]
        self.assertIn(os.path.basename(session["directory"]), names)
        counts = collections.Counter()
        for directory in sealed["directories"]:
            for stream in agent_reader.manifest(directory)["streams"]:
                counts["stored"] += stream["records"]
                counts["aged"] += stream["aged"]["records"]
        on_disk = counts["stored"] - counts["aged"]
        self.assertEqual(on_disk, sum(kind["records"] for kind in sealed["kinds"]) - sealed["aged_records"])

    def test_the_spool_first_and_then_the_output(self):
        daemon = self.profd(sim=SMALL, config=store(spool_first="true", move_mb_per_s=200))
        output = daemon.directory / "out"
        session = daemon.begin("--collect", "hbm", "--devices", "0", "--output", output)
        self.assertTrue(session["directory"].startswith(str(daemon.spool)))
        harness.wait_until(lambda: daemon.status(session["session"])["bytes"] > 10 * MB, "data")
        sealed = daemon.end(session["session"])
        moved = harness.wait_until(
            lambda: (now := daemon.status(session["session"]))["directory"].startswith(str(output)) and not now["warnings"]
            and now, "the move")
        self.assertFalse(os.path.exists(session["directory"]))
        result = daemon.ctl("verify", moved["directory"], "--json").json["directories"][0]
        self.assertEqual((result["state"], result["bytes"]), ("sealed", sealed["bytes"]))
        self.assertEqual([path.name for path in output.iterdir()], [os.path.basename(session["directory"])])

    def cut_short(self, daemon, output):
        """A session whose move to `output` a kill has cut short; the next profd runs."""
        session = daemon.begin("--collect", "hbm", "--devices", "0", "--output", output)
        harness.wait_until(lambda: daemon.status(session["session"])["bytes"] > 20 * MB, "data")
        daemon.end(session["session"])
        harness.wait_until(lambda: any(path.stat().st_size for path in output.glob(".moving_*/device_0/data/*")),
                           "the move to be under way")
        daemon.kill()
        self.assertEqual(list(output.glob("PROF_*")), [])
        daemon.start()
        harness.wait_until(lambda: self.listed(daemon), "the past sessions")
        return session

    def test_a_move_that_a_kill_has_cut_short_loses_nothing(self):
        daemon = self.profd(sim=SMALL, config=store(spool_first="true", move_mb_per_s=4))
        output = daemon.directory / "out"
        session = self.cut_short(daemon, output)
        past = daemon.status(session["session"])
        self.assertEqual(past["directory"], session["directory"])
        advice = f"profctl mv {session['session']} {output}"
        self.assertIn(advice, past["warnings"][0])
        self.assertIn(advice, daemon.log.read_text())
        daemon.stop()
        daemon.configure(store(spool_first="true"))
        daemon.start()
        harness.wait_until(lambda: self.listed(daemon), "the past sessions")
        moved = daemon.ctl("mv", session["session"], output, "--json").json
        self.assertEqual(moved["directory"], str(output / os.path.basename(session["directory"])))
        self.assertEqual((moved["warnings"], moved["bytes"]), ([], past["bytes"]))
        self.assertFalse(os.path.exists(session["directory"]))
        self.assertEqual([path.name for path in output.iterdir()], [os.path.basename(session["directory"])])
        result = daemon.ctl("verify", moved["directory"], "--json").json["directories"][0]
        self.assertEqual((result["ok"], result["state"], result["bytes"]), (True, "sealed", past["bytes"]))
        self.assertEqual(daemon.ctl("mv", session["session"], output).code, harness.FAILED)

    def test_a_kill_between_the_copy_and_the_original(self):
        daemon = self.profd(sim=SMALL)
        sealed = self.record(daemon, 5)
        output = daemon.directory / "out"
        there = output / os.path.basename(sealed["directory"])
        shutil.copytree(sealed["directory"], there)
        data = there / "device_0" / "data" / "hbm.data.0.slice_0"
        content = data.read_bytes()
        data.write_bytes(content[:-1] + b"?")
        refused = daemon.ctl("mv", sealed["session"], output)
        self.assertEqual(refused.code, harness.BUSY)
        self.assertIn("is there already", refused.err)
        self.assertTrue(os.path.exists(sealed["directory"]))
        data.write_bytes(content)
        self.assertEqual(daemon.ctl("mv", sealed["session"], output).code, harness.OK)
        self.assertFalse(os.path.exists(sealed["directory"]))
        self.assertEqual(data.read_bytes(), content)

    def test_a_pin_ends_with_the_move(self):
        daemon = self.profd(sim=SMALL)
        session = self.record(daemon, 5)["session"]
        self.assertTrue(daemon.ctl("pin", session, "--json").json["pinned"])
        output = daemon.directory / "out"
        self.assertEqual(daemon.ctl("mv", session, output).code, harness.OK)
        self.assertFalse(daemon.status(session)["pinned"])
        self.assertEqual(daemon.ctl("unpin", session).code, harness.OK)
        self.assertEqual(daemon.ctl("pin", session).code, harness.FAILED, "nothing of it is ever removed")

    def test_what_may_not_be_moved(self):
        daemon = self.profd(sim=SMALL)
        output = daemon.directory / "out"
        running = daemon.begin("--collect", "hbm", "--devices", "0")["session"]
        self.assertEqual(daemon.ctl("mv", running, output).code, harness.FAILED)
        self.assertFalse(output.exists())
        self.assertEqual(daemon.ctl("mv", "ffffffff", output).code, harness.NOT_FOUND)
        daemon.end(running)
        self.assertEqual(daemon.ctl("mv", running, daemon.spool / "root").code, harness.USAGE)
        self.assertEqual(daemon.ctl("mv", running, "/proc").code, harness.USAGE)

    def test_what_cannot_be_moved_stays(self):
        daemon = self.profd(sim=SMALL, config=store(spool_first="true"))
        output = daemon.directory / "out"
        session = daemon.begin("--collect", "hbm", "--devices", "0", "--output", output)
        (output / os.path.basename(session["directory"])).mkdir()
        daemon.end(session["session"])

        def refused():
            status = daemon.status(session["session"])
            return any("stays where it is" in text and "profctl mv" in text for text in status["warnings"]) and status

        status = harness.wait_until(refused, "the refusal")
        self.assertEqual(status["directory"], session["directory"])
        self.assertTrue(os.path.exists(session["directory"]))

    def test_rm(self):
        daemon = self.profd(sim=SMALL)
        sealed = self.record(daemon, 1)
        running = daemon.begin("--collect", "hbm", "--devices", "0")["session"]
        self.assertEqual(daemon.ctl("rm", running).code, harness.FAILED)
        self.assertEqual(daemon.ctl("rm", "ffffffff").code, harness.NOT_FOUND)
        self.assertEqual(daemon.ctl("pin", sealed["session"]).code, harness.OK)
        refused = daemon.ctl("rm", sealed["session"])
        self.assertEqual(refused.code, harness.FAILED)
        self.assertIn("unpin", refused.err)
        self.assertEqual(daemon.ctl("unpin", sealed["session"]).code, harness.OK)
        holder = os.open(sealed["directory"], os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(holder, fcntl.LOCK_SH)
        self.assertEqual(daemon.ctl("rm", sealed["session"]).code, harness.BUSY)
        os.close(holder)
        self.assertEqual(daemon.ctl("rm", sealed["session"]).code, harness.OK)
        self.assertFalse(os.path.exists(sealed["directory"]))
        self.assertNotIn(sealed["session"], self.listed(daemon))
        self.assertEqual(daemon.ctl("rm", sealed["session"]).code, harness.NOT_FOUND)
        output = daemon.directory / "out"
        elsewhere = self.record(daemon, 1, "--output", output)
        for verb in ("pin", "rm"):
            self.assertEqual(daemon.ctl(verb, elsewhere["session"]).code, harness.FAILED, verb)
        self.assertTrue(os.path.exists(elsewhere["directory"]))

    @harness.needs_root
    def test_only_the_owner_and_root_may(self):
        daemon = self.profd(sim=SMALL)
        os.chmod(daemon.socket, 0o666)
        user = harness.nobody()
        work = self.workload(command=["sleep", "100"], user=user, group=user, extra_groups=[])
        of_root = self.record(daemon, 1)
        session = daemon.begin("--pid", work.pid, user=user)["session"]
        daemon.end(session, user=user)
        for verb in ("pin", "unpin", "rm"):
            self.assertEqual(daemon.ctl(verb, of_root["session"], user=user).code, harness.NOT_FOUND, verb)
        output = daemon.directory / "out"
        output.mkdir()
        os.chown(output, user, user)
        self.assertEqual(daemon.ctl("mv", of_root["session"], output, user=user).code, harness.NOT_FOUND)
        self.assertEqual(daemon.ctl("mv", session, daemon.spool, user=user).code, harness.PERMISSION)
        self.assertEqual(list(output.iterdir()), [])
        self.assertEqual(daemon.ctl("pin", session, user=user).code, harness.OK)
        self.assertEqual(daemon.ctl("unpin", session).code, harness.OK)
        self.assertEqual(daemon.ctl("rm", session, user=user).code, harness.OK)
        self.assertIn(of_root["session"], self.listed(daemon))
        session = daemon.begin("--pid", work.pid, user=user)["session"]
        daemon.end(session, user=user)
        self.assertEqual(daemon.ctl("mv", session, output, user=user).code, harness.OK)
        moved = next(output.iterdir())
        self.assertEqual({path.stat().st_uid for path in [moved, *moved.glob("**/*")]}, {user})


if __name__ == "__main__":
    unittest.main()
