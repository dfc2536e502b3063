#!/usr/bin/env python3
"""profd is killed while it records; the next one mends what was left, and `profctl verify` finds it clean, as it finds every
damage that is done by hand."""
import json
import os
import pathlib
import shutil
import time
import unittest

import harness
import own_folder
import prof_reader

GOLDEN = harness.ROOT / "tests" / "golden" / "data"


def slices(directory, pattern):
    return sorted(path for path in pathlib.Path(directory).glob(pattern) if not path.name.endswith(".done"))


class VerifyTest(harness.ProfdTest):
    def clean(self, daemon, directory):
        result = daemon.ctl("verify", directory, "--json")
        self.assertEqual((result.code, result.json["directories"][0]["findings"]), (harness.OK, []), result)
        self.assertTrue(result.json["ok"])
        return result.json["directories"][0]

    def findings(self, daemon, directory):
        result = daemon.ctl("verify", directory, "--json")
        self.assertEqual(result.code, harness.FAILED, result)
        return [(finding["file"], finding["offset"], finding["what"]) for finding in result.json["directories"][0]["findings"]]

    def record(self, daemon, *arguments, seconds=0.6):
        work = self.workload()
        session = daemon.begin("--pid", work.pid, "--devices", "all", *arguments)
        daemon.let_run(session, seconds)
        return session

    def on_disk(self, session, *patterns):
        """Waits until there is something in slices of each: a busy machine may take longer than a session has run."""
        harness.wait_until(lambda: all(any(path.stat().st_size for path in slices(session["directory"], pattern))
                                       for pattern in patterns), patterns)

    def mark(self, job, count):
        self.assertEqual(job.order(f"mark {count}"), "done")

    # --- what profd writes

    def test_sealed(self):
        daemon = self.profd(config="store:\n  slice_bytes: 65536\n")
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--devices", "all")
        self.mark(job, 20000)
        daemon.let_run(session, 1)
        sealed = daemon.end(session["session"])
        report = self.clean(daemon, sealed["directory"])
        self.assertEqual((report["state"], report["session"], report["by_profd"]), ("sealed", session["session"], True))
        text = daemon.ctl("verify", sealed["directory"])
        # The simulator's cores are slower than they might be at times, and other tests' profd are collectors.
        lines = [line for line in text.out.splitlines() if not line.startswith("perturbed: ")]
        self.assertEqual((text.code, len(lines)), (harness.OK, 1), text)
        self.assertIn("nothing is wrong", text.out)
        folder = daemon.ctl("verify", daemon.spool)
        self.assertEqual((folder.code, folder.out), (harness.OK, text.out), "a folder of such is as good")

    def test_killed_and_recovered(self):
        daemon = self.profd(config="store:\n  slice_bytes: 65536\n")
        job = self.job(daemon)
        started = daemon.begin("--pid", job.pid, "--devices", "all")
        self.mark(job, 20000)
        daemon.let_run(started, 1)
        directory = started["directory"]
        self.on_disk(started, "device_0/data/hbm.data.*", "device_1/data/hbm.data.*", own_folder.OWN_FOLDER + "/*.lanes.*")
        harness.wait_until(lambda: own_folder.manifest(directory)["agents"], "the manifest to name the agent")
        daemon.kill()
        self.assertIn("not sealed", self.findings(daemon, directory)[0][2])
        last = max(path.stat().st_mtime_ns for path in slices(directory, "**/*.slice_*"))
        daemon.start()
        harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the past sessions")
        report = self.clean(daemon, directory)
        self.assertEqual((report["state"], report["end_reason"]), ("sealed", "interrupted"))
        self.assertEqual(prof_reader.check(directory, sealed=True), [])
        listed = daemon.ctl("list", "--json").json["sessions"][0]
        self.assertEqual((listed["state"], listed["end_reason"]), ("sealed", "interrupted"))
        for kind, unit in (("hbm", "device:0"), ("hbm", "device:1")):
            found = self.kind(listed, kind, unit)
            on_disk = sum(path.stat().st_size for path in slices(directory, f"device_{unit[-1]}/data/hbm.data.*"))
            self.assertEqual((found["bytes"], found["records"]), (on_disk, on_disk // 24))
        manifest = own_folder.manifest(directory)
        self.assertEqual([agent["end"] for agent in manifest["agents"]], ["interrupted"])
        self.assertGreater(sum(lane["records"] for lane in manifest["agents"][0]["lanes"]), 0)
        end = json.loads((pathlib.Path(directory) / "host" / "end_info").read_text())
        self.assertEqual(int(end["collectionTimeEnd"]), last // 1000)

    def test_torn_tails_and_hostile_files(self):
        daemon = self.profd()
        started = self.record(daemon)
        self.on_disk(started, "device_0/data/hbm.data.*", "host/data/host_mem.data.*", "device_1/data/hbm.data.*")
        daemon.kill()
        directory = pathlib.Path(started["directory"])
        torn = {}
        for path, tail in ((slices(directory, "device_0/data/hbm.data.*")[-1], b"\1" * 7),
                           (slices(directory, "host/data/host_mem.data.*")[-1], b"12345 1"),
                           (slices(directory, "device_1/data/hbm.data.*")[-1], bytes(24 * 40))):
            torn[path] = path.read_bytes()
            path.write_bytes(torn[path] + tail)
        outside = daemon.directory / "outside"
        outside.write_text("precious")
        data = directory / "device_0" / "data"
        (data / "hbm.data.0.slice_9").symlink_to(outside)
        os.mkfifo(data / "nic.data.0.slice_7")
        (data / "qos.data.0.slice_7").mkdir()
        daemon.start()
        harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the past sessions")
        for path, content in torn.items():
            self.assertEqual(path.read_bytes(), content, path)
        self.assertEqual(outside.read_text(), "precious")
        log = daemon.log.read_text()
        for name in ("hbm.data.0.slice_9", "nic.data.0.slice_7", "qos.data.0.slice_7"):
            self.assertIn(name, log)
        (data / "hbm.data.0.slice_9").unlink()
        (data / "nic.data.0.slice_7").unlink()
        (data / "qos.data.0.slice_7").rmdir()
        self.clean(daemon, directory)

    def test_outside_of_the_spool_nobody_mends(self):
        daemon = self.profd()
        output = daemon.directory / "out"
        output.mkdir()
        started = self.record(daemon, "--output", output)
        daemon.kill()
        daemon.start()
        time.sleep(0.3)  # recovery must not touch it: there is no event of what does not happen
        self.assertIn("not sealed", self.findings(daemon, started["directory"])[0][2])

    def test_a_session_that_goes_on_follows_the_recovered_one(self):
        daemon = self.profd()
        started = daemon.begin("--collect", "hbm", "--resume", "--duration", "1h")
        daemon.let_run(started, 0.5)
        daemon.kill()
        daemon.start()

        def goes_on():
            sessions = daemon.ctl("list", "--json").json["sessions"]
            return [s for s in sessions if s["session"] == started["session"] and s["state"] == "running"]

        running = harness.wait_until(goes_on, "the session to go on")[0]
        self.clean(daemon, started["directory"])
        self.assertEqual(running["directories"][0], started["directory"])
        sealed = daemon.end(started["session"])
        self.clean(daemon, sealed["directory"])

    # --- what is done to it

    def test_finds_what_is_wrong(self):
        daemon = self.profd(config="store:\n  slice_bytes: 65536\n")
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--devices", "0", "--collect", "hbm,pcie,host-mem,agent-counter")
        self.mark(job, 20000)
        daemon.let_run(session, 1)
        good = pathlib.Path(daemon.end(session["session"])["directory"])
        self.clean(daemon, good)
        bad = daemon.directory / good.name

        def damage(change):
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(good, bad)
            change(bad)
            return self.findings(daemon, bad)

        def patch(name, offset, content):
            def change(directory):
                with open(directory / name, "r+b") as file:
                    file.seek(offset)
                    file.write(content)

            return change

        hbm = "device_0/data/hbm.data.0.slice_0"
        found = damage(patch(hbm, 24 * 16, bytes(48)))
        self.assertIn((hbm, 384, "2 records of zeros: never written"), found)
        self.assertEqual([file for file, _, _ in damage(lambda d: (d / hbm).unlink())][0], hbm + ".done")
        self.assertIn((hbm, None, "has no .done marker"), damage(lambda d: (d / (hbm + ".done")).unlink()))
        found = damage(lambda d: os.truncate(d / hbm, (d / hbm).stat().st_size - 1))
        self.assertTrue(any("no whole record" in what for _, _, what in found), found)
        self.assertTrue(any(file == own_folder.MANIFEST and "records" in what for file, _, what in found), found)
        lanes = slices(good, own_folder.OWN_FOLDER + "/*.lanes.slice_0")[0].relative_to(good)
        found = damage(patch(lanes, 200, b"\xff\xff\xff\xff"))
        self.assertIn((str(lanes), 0), [(file, offset) for file, offset, _ in found])
        for name in ("device_0/info.json.0", "device_0/start_info.0", "host/sample.json", "host/host_start.log",
                     own_folder.MANIFEST, "device_0/dev_start.log.0"):
            self.assertIn(name, [file for file, _, _ in damage(patch(name, 0, b"\0?"))], name)
        self.assertIn(("host/end_info", None, "is missing"), damage(lambda d: (d / "host/end_info").unlink()))

        def link(directory):
            (directory / hbm).unlink()
            (directory / hbm).symlink_to("/etc/passwd")

        self.assertIn((hbm, None, "is a symbolic link"), damage(link))

    def test_a_damaged_info_file_is_no_damage_of_others(self):
        daemon = self.profd()
        session = daemon.begin("--devices", "all")
        harness.wait_until(lambda: all(kind["records"] > 0 for kind in daemon.status(session["session"])["kinds"]
                                       if kind["kind"] in ("dvpp", "llc", "npu-module-mem", "hbm")), "records")
        directory = pathlib.Path(daemon.end(session["session"])["directory"])
        self.clean(daemon, directory)
        info = directory / "device_1" / "info.json.1"
        whole = info.read_bytes()
        for content in (whole[:100].ljust(len(whole)), None):  # as long as before, for its marker
            info.unlink()
            if content is not None:
                info.write_bytes(content)
            result = daemon.ctl("verify", directory, "--json")
            self.assertEqual(result.code, harness.FAILED, result)
            report = result.json["directories"][0]
            about = [finding for finding in report["findings"] if not finding["file"].endswith(".done")]
            self.assertEqual([finding["file"] for finding in about], ["device_1/info.json.1"], report)
            self.assertIn("by size only", about[0]["what"])
            self.assertIn("dvpp.data", report["unchecked"])
            self.assertNotIn("hbm.data", report["unchecked"])
            exported = daemon.ctl("export", directory, "--out", daemon.directory / "out", "--format", "chrome")
            self.assertEqual(exported.code, harness.PARTIAL_LOSS, exported)
            self.assertNotIn("outside of the collection", exported.out)
            for file, words in (("npu_module_mem", "info.json cannot be read"), ("dvpp", "depends on the chip"),
                                ("info.json.1", "")):
                lines = [line for line in exported.out.splitlines() if f"/{file}" in line]
                self.assertNotEqual(lines, [], exported)
                for line in lines:
                    self.assertIn(words, line)
        info.write_bytes(whole)
        self.clean(daemon, directory)

    def test_exit_codes(self):
        daemon = self.profd()
        self.assertEqual(daemon.ctl("verify", daemon.directory / "nothing").code, harness.NOT_FOUND)
        self.assertEqual(daemon.ctl("verify", daemon.directory).code, harness.USAGE)
        self.assertEqual(daemon.ctl("verify", daemon.log).code, harness.USAGE)
        self.assertEqual(daemon.ctl("verify").code, harness.USAGE)

    def test_the_vendors(self):
        """Hand-made ones; the size of sample.json was changed after its marker."""
        daemon = self.profd()
        for directory in sorted(GOLDEN.glob("*/PROF_*")):
            if not directory.is_dir():
                continue
            result = daemon.ctl("verify", directory, "--json")
            left = [finding for finding in result.json["directories"][0]["findings"]
                    if not finding["file"].endswith("sample.json.done")]
            self.assertEqual(left, [], result)


if __name__ == "__main__":
    unittest.main(verbosity=2)
