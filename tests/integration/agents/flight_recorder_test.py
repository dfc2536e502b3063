#!/usr/bin/env python3
"""A flight recorder of devices and host: the newest data in profd's memory, nothing on disk until somebody asks for it."""
import glob
import json
import os
import pathlib
import unittest

import harness
import own_folder
import prof_reader
from harness import BUSY, OK, PARTLY_STARTED

MIB = 1 << 20
# 0.7 MB/s of a 910B's cores: the least memory there is lasts a second and a half.
LEAST = f"store: {{flight_recorder_bytes: {MIB}}}\n"
KINDS = "aicore,aivector,hbm,host-sys-cpu"


class FlightRecorderTest(harness.ProfdTest):
    def slices(self, directory):
        return [path for path in glob.glob(os.path.join(directory, "*/data/*.slice_*")) if not path.endswith(".done")]

    def elapsed(self, daemon, session, seconds):
        return harness.wait_until(
            lambda: (info := daemon.status(session["session"]))["elapsed_s"] > seconds and info, f"{seconds} s")

    def snapshot(self, daemon, session, *arguments):
        result = daemon.ctl("snapshot", session["session"], *arguments, "--json")
        self.assertEqual(result.code, OK, result)
        return result.json

    def stamps(self, directory):
        return [stamp for stamp, _ in prof_reader.ProfDir(directory).devices[0].hbm_counts()]

    def test_the_newest_data_is_in_memory_until_it_is_asked_for(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", config=LEAST)
        session = daemon.begin("--devices", "0", "--collect", KINDS, "--flight-recorder")
        directory = session["directory"]
        info = self.elapsed(daemon, session, 5)
        self.assertEqual((self.slices(directory), info["bytes"]), ([], 0))
        self.assertTrue(MIB / 2 < info["held_bytes"] <= MIB, info)
        self.assertTrue(0.5 < info["held_s"] < 4, info)
        self.assertNotIn("no data", json.dumps(info["kinds"]))

        first = self.snapshot(daemon, session)
        for kind, unit in (("hbm", "device:0"), ("aicore", "device:0"), ("host-sys-cpu", "host")):
            self.assertGreater(self.kind(first, kind, unit)["records"], 5, kind)
        stamps = self.stamps(directory)
        self.assertEqual(8 * len(stamps), self.kind(first, "hbm", "device:0")["records"])
        begin = first["elapsed_s"] - (stamps[-1] - stamps[0]) / 1e9
        self.assertGreater(begin, 1, "what was before has made way")

        self.elapsed(daemon, session, first["elapsed_s"] + 1)
        second = self.snapshot(daemon, session)
        both = self.stamps(directory)
        self.assertEqual(both[:len(stamps)], stamps)
        self.assertGreater(len(both), len(stamps))
        self.assertEqual(len(set(both)), len(both), "nothing twice")
        self.assertEqual(8 * len(both), self.kind(second, "hbm", "device:0")["records"])

        sealed = daemon.end(session["session"])
        # From the first snapshot on nothing is missing, at 50 Hz, but what the manifest says: on a busy machine the second
        # comes when some has made way again.
        tail = both[len(stamps) - 1:]
        gaps = [after - before for before, after in zip(tail, tail[1:]) if after - before > 60e6]
        self.assertEqual(len(gaps), len(sealed["pauses"][1:-1]), (gaps, sealed["pauses"]))
        self.assertEqual(self.stamps(directory), both, "what was not asked for is gone")
        # Of the host's samples a busy machine may miss some.
        self.assertEqual([kind for kind in sealed["kinds"] if kind["lost"] and kind["kind"] != "host-sys-cpu"], [])
        self.assertEqual(daemon.ctl("verify", directory).code, OK)
        self.assertEqual(prof_reader.check(directory), [])
        self.assertEqual({pause["reason"] for pause in own_folder.manifest(directory)["pauses"]},
                         {"flight recorder: not asked for"})
        exported = daemon.ctl("export", directory, "--format", "chrome,db", "--out", daemon.directory / "out")
        self.assertEqual(exported.code, OK, exported)

    def test_only_the_last_second(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        session = daemon.begin("--devices", "0", "--collect", "hbm", "--flight-recorder")
        self.elapsed(daemon, session, 3)
        self.snapshot(daemon, session, "--last", "1s")
        stamps = self.stamps(session["directory"])
        self.assertLess(stamps[-1] - stamps[0], 2e9)
        self.assertGreater(len(stamps), 10)

    def test_kinds_with_memory_of_their_own(self):
        """What writes much does not drive it out."""
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", config=LEAST)
        session = daemon.begin("--devices", "0", "--collect", KINDS, "--flight-recorder", "--buffer", "hbm=256KiB",
                               "--buffer", "host-sys-cpu=64KiB:first")
        info = self.elapsed(daemon, session, 5)
        self.assertTrue(0.5 * MIB < info["held_bytes"] <= MIB, info)
        taken = self.snapshot(daemon, session)
        stamps = self.stamps(session["directory"])
        # From the begin on; in what is left for all it would reach back a second and a half.
        self.assertGreater((stamps[-1] - stamps[0]) / 1e9, info["elapsed_s"] - 2)
        self.assertEqual(8 * len(stamps), self.kind(taken, "hbm", "device:0")["records"])
        sealed = daemon.end(session["session"])
        self.assertEqual(own_folder.manifest(session["directory"])["settings"]["buffers"], "hbm=262144 host-sys-cpu=65536:first")
        self.assertEqual(daemon.ctl("verify", session["directory"]).code, OK, sealed)

    def test_it_outlives_a_new_directory(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", config="store: {roll_after_s: 1}\n")
        session = daemon.begin("--devices", "0", "--collect", "hbm", "--flight-recorder")
        info = harness.wait_until(
            lambda: len((info := daemon.status(session["session"]))["directories"]) == 2 and info, "the next directory")
        info = self.elapsed(daemon, session, info["elapsed_s"] + 1)
        self.snapshot(daemon, session)
        # On a busy machine there may be a third by now.
        older, newer = (self.stamps(directory) for directory in info["directories"][:2])
        self.assertGreater(len(older), 100)
        self.assertGreater(len(newer), 10)
        # Each has a clock pair of its own, whose errors add up on a busy machine.
        self.assertLess(newer[0] - older[-1], 60e6, "the two overlap, or follow each other")
        daemon.end(session["session"])
        for directory in info["directories"]:
            self.assertEqual(daemon.ctl("verify", directory).code, OK, directory)
            self.assertEqual(prof_reader.check(directory), [])

    def test_it_is_written_when_the_job_crashes(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        for how in ("crashes", "ends"):
            with self.subTest(how=how):
                job = self.job(daemon)
                session = daemon.begin("--pid", job.pid, "--devices", "0", "--collect", "agent-counter,hbm,host-mem",
                                       "--flight-recorder", "--snapshot-on", "crash")
                job.order("mark 100")
                self.elapsed(daemon, session, 2)  # of 50 Hz: a busy machine may miss three quarters of its ticks
                if how == "crashes":
                    job.process.kill()
                else:
                    job.process.stdin.close()
                    job.process.stdin = open(os.devnull, "w", encoding="utf-8")
                job.process.wait()
                sealed = harness.wait_until(
                    lambda: (info := daemon.status(session["session"]))["state"] == "sealed" and info, "its end")
                for kind, unit in (("hbm", "device:0"), ("host-mem", f"pid:{job.pid}")):
                    self.assertEqual(self.kind(sealed, kind, unit)["records"] > 20, how == "crashes", kind)
                self.assertEqual(daemon.ctl("verify", sealed["directory"]).code, OK)

    def test_what_it_cannot_keep(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", config="limits: {rss_mb: 300}\n")
        job = self.workload()
        asked = daemon.ctl("start", "--pid", job.pid, "--collect", "host-mem,host-disk", "--flight-recorder", "--json")
        self.assertEqual(asked.code, PARTLY_STARTED, asked)
        disk = self.kind(asked.json, "host-disk", "host")
        self.assertEqual(disk["verdict"], "skipped")
        self.assertIn("as a whole", disk["reason"])
        daemon.begin("--devices", "0", "--collect", "hbm", "--flight-recorder")
        third = daemon.ctl("start", "--devices", "0", "--collect", "hbm", "--flight-recorder")
        self.assertEqual(third.code, BUSY, third)
        self.assertIn("limits.rss_mb", third.err)
        self.assertEqual(daemon.ctl("start", "--devices", "0", "--collect", "hbm").code, OK)
        refused = daemon.ctl("start", "--devices", "0", "--collect", "hbm", "--flight-recorder", "--snapshot-on", "exit")
        self.assertEqual(refused.code, BUSY, refused)

    def test_some_kinds_in_memory_and_others_on_disk(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        session = daemon.begin("--devices", "0", "--collect", "hbm,llc,host-sys-cpu,host-sys-mem", "--flight-recorder",
                               "--in-memory", "hbm,host-sys-cpu")

        def bytes_of(info, kind):
            return self.kind(info, kind, "host" if kind.startswith("host") else "device:0")["bytes"]

        info = harness.wait_until(lambda: (now := daemon.status(session["session"])) and bytes_of(now, "llc") > 0
                                  and bytes_of(now, "host-sys-mem") > 0 and now["held_bytes"] > 0 and now, "both")
        self.assertEqual((bytes_of(info, "hbm"), bytes_of(info, "host-sys-cpu")), (0, 0))
        written = self.snapshot(daemon, session)
        self.assertGreater(bytes_of(written, "hbm"), 0)
        self.assertGreater(bytes_of(written, "host-sys-cpu"), 0)
        ended = daemon.end(session["session"])
        self.assertEqual(daemon.ctl("verify", ended["directory"]).code, OK)
        job = self.job(daemon)
        for arguments, why in ((("--flight-recorder", "--in-memory", "qos"), "qos is not one of the kinds"),
                               (("--flight-recorder", "--in-memory", "hbm=5"), "belong to --collect"),
                               (("--flight-recorder", "--in-memory", "agent-mark"), "name agent-range, too"),
                               (("--in-memory", "hbm"), "add --flight-recorder"),
                               (("--buffer", "hbm=1MB"), "add --flight-recorder"),
                               (("--flight-recorder", "--buffer", "hbm"), "expected kinds and a size"),
                               (("--flight-recorder", "--buffer", "qos=1MB"), "qos is not one of the kinds"),
                               (("--flight-recorder", "--buffer", "hbm=1KB"), "at least 64KiB"),
                               (("--flight-recorder", "--buffer", "hbm=1TB"), "store.flight_recorder_bytes"),
                               (("--flight-recorder", "--buffer", "agent-mark=1MB"), "memory of its process"),
                               (("--flight-recorder", "--buffer", "hbm=1MB", "--buffer", "hbm=2MB"), "give it one")):
            refused = daemon.ctl("start", "--devices", "0", "--pid", job.pid, "--collect", "hbm,agent-mark,agent-range", *arguments)
            self.assertEqual(refused.code, harness.USAGE, refused)
            self.assertIn(why, refused.err)

    def test_control_files_only(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        session = daemon.begin("--devices", "0", "--collect", "hbm", "--flight-recorder")
        self.elapsed(daemon, session, 1)
        sealed = daemon.end(session["session"])
        self.assertEqual((self.slices(sealed["directory"]), sealed["bytes"], sealed["lost"]), ([], 0, 0))
        self.assertTrue(pathlib.Path(sealed["directory"], "device_0/info.json.0").exists())
        self.assertEqual(daemon.ctl("verify", sealed["directory"]).code, OK)


if __name__ == "__main__":
    unittest.main()
