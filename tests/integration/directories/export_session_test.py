#!/usr/bin/env python3
"""From the simulator through profd and `profctl export`: what comes out is what the simulator made, on every chip; and what
the strict reader finds with the vendor's formulas."""
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "golden"))
import decode_test  # noqa: E402

CHIPS = ["310", "910", "310P", "910B", "310B", "950"]
KINDS = ("hbm,ddr,llc,pcie,hccs,nic,roce,dvpp,npu-mem,npu-app-mem,npu-module-mem,qos,soc-profile,low-power,ub,tscpu,"
         "aicore,aivector")
MB = 2**20
decode_test.DUMP = os.path.join(os.environ.get("PROFD_BUILD_DIR", ""), "tests", "rows_dump")


class ExportTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        cls.daemon = harness.Profd(sim=f"devices:\n{devices}\nseed: 7\n")
        started = cls.daemon.begin("--collect", KINDS + ",host-sys-cpu,host-sys-mem", "--devices", "all")
        cls.daemon.let_run(started, 3)
        cls.directory = cls.daemon.end(started["session"])["directory"]
        cls.truth = cls.daemon.truth_lines()
        cls.out = tempfile.TemporaryDirectory(prefix="profd-export-")
        cls.result = cls.daemon.ctl("export", cls.directory, "--format", "chrome,perfetto,csv,db", "--out", cls.out.name,
                                    "--json")

    @classmethod
    def tearDownClass(cls):
        cls.out.cleanup()
        cls.daemon.close()

    def values(self, device, channel):
        return [line["values"] for line in self.truth if line.get("values") and line["device"] == device
                and line["channel"] == channel and not line.get("dropped")]

    def files(self, pattern):
        return glob.glob(os.path.join(self.out.name, pattern))

    def test_everything_is_exported(self):
        self.assertEqual(self.result.code, harness.OK, self.result)
        report = self.result.json["directories"][0]
        self.assertEqual((report["complete"], report["skipped"], report["left_out"]), (True, [], 0))
        self.assertEqual(len(self.files("mindstudio_profiler_output/msprof_*.json")), 1)
        self.assertEqual(len(self.files("mindstudio_profiler_output/*.perfetto-trace")), 1)
        self.assertGreater(len(self.files("mindstudio_profiler_output/*.csv")), 10)
        self.assertEqual([name for name in self.files("*") + self.files("*/.*") if "part" in name], [])

    def test_bandwidths_are_the_simulators(self):
        (path,) = self.files("msprof_*.db")
        db = sqlite3.connect(path)
        strings = {text: number for number, text in db.execute("select id, value from STRING_IDS")}
        seen = 0
        for device, chip in enumerate(CHIPS):
            truth = self.values(device, 1)
            if not truth:
                continue
            for way in ("read", "write"):
                for stack in range(4):
                    got = [row[0] for row in db.execute(
                        "select bandwidth from HBM where deviceId = ? and hbmId = ? and type = ? order by timestampNs",
                        (device, stack, strings[way]))]
                    wanted = [line[f"{way}_mb_s"][stack] for line in truth][1:]  # of the first period nobody knows its length
                    self.assertEqual(len(got), len(wanted), chip)
                    for ours, theirs in zip(got, wanted):
                        self.assertAlmostEqual(ours / MB, theirs, delta=1 + theirs * 1e-3, msg=chip)
            seen += 1
        self.assertGreaterEqual(seen, 3)

    def test_the_cache_moves_what_the_simulator_moved(self):
        (path,) = self.files("msprof_*.db")
        db = sqlite3.connect(path)
        seen = 0
        for device, chip in enumerate(CHIPS):
            truth = [line for line in self.values(device, 8) if "throughput_mb_s" in line]
            for llc, _ in enumerate(truth[0]["throughput_mb_s"] if truth else []):
                got = [row[0] for row in db.execute(
                    "select throughput from LLC where deviceId = ? and llcId = ? and throughput is not null order by timestampNs",
                    (device, llc))]
                wanted = [line["throughput_mb_s"][llc] for line in truth][1:]
                self.assertEqual(len(got), len(wanted), chip)
                for ours, theirs in zip(got, wanted):
                    self.assertAlmostEqual(ours / MB, theirs, delta=1 + theirs * 1e-3, msg=chip)
                seen += 1
        self.assertGreaterEqual(seen, 4)

    def test_the_timeline_has_the_same_points(self):
        (path,) = self.files("mindstudio_profiler_output/msprof_*.json")
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        for device, chip in enumerate(CHIPS):
            points = len(self.values(device, 1))
            if points:
                ours = [event for event in events if event["name"] == "HBM 2/Read" and event["pid"] & 31 == device]
                self.assertEqual(len(ours), points - 1, chip)

    def test_the_strict_reader_agrees(self):
        decode_test.DecodeTest("compare").compare(self.directory, 15)

    def test_parts(self):
        with tempfile.TemporaryDirectory() as out:
            result = self.daemon.ctl("export", self.directory, "--format", "db", "--out", out, "--kinds", "hbm", "--devices", "3",
                                     "--from", "+1s", "--to", "+2s", "--json")
            self.assertEqual(result.code, harness.OK, result)
            db = sqlite3.connect(glob.glob(out + "/msprof_*.db")[0])
            begin = db.execute("select startTimeNs from SESSION_TIME_INFO").fetchone()[0]
            rows = db.execute("select min(timestampNs), max(timestampNs), min(deviceId), max(deviceId) from HBM").fetchone()
            self.assertEqual(rows[2:], (3, 3))
            self.assertGreaterEqual(rows[0], begin + 10**9)
            self.assertLessEqual(rows[1], begin + 2 * 10**9)
            self.assertGreater(rows[1] - rows[0], 8 * 10**8)
            again = self.daemon.ctl("export", self.directory, "--format", "db", "--out", out, "--resume", "--json")
            self.assertEqual(again.json["directories"][0]["files"], [])

    def test_query(self):
        result = self.daemon.ctl("query", self.directory, "--json")
        self.assertEqual(result.code, harness.OK, result)
        kinds = {(kind["what"], kind["device"]): kind for kind in result.json["directories"][0]["kinds"]}
        hbm = kinds["hbm", 3]
        self.assertEqual((hbm["rows"], hbm["gaps"]), (8 * len(self.values(3, 1)), 0))
        self.assertAlmostEqual(hbm["rate_hz"], 50, delta=10)
        self.assertEqual(len(result.json["directories"][0]["devices"]), len(CHIPS))
        text = self.daemon.ctl("query", self.directory)
        self.assertIn("Ascend910B", text.out)
        dump = subprocess.run([decode_test.DUMP, self.directory], capture_output=True, text=True, check=True)
        self.assertEqual(dump.stdout.count("row\thbm\t3\t"), hbm["rows"])


if __name__ == "__main__":
    unittest.main()
