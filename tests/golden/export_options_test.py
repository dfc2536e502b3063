#!/usr/bin/env python3
"""What profctl export and query say of what was asked for: ranges, devices and kinds that are not there, directories that
lie deep, control files without which nobody knows the time, damage and where it is."""

import csv
import glob
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

import foreign_dir  # noqa: E402

PROFCTL = os.path.join(os.environ.get("PROFD_BUILD_DIR", ""), "bin", "profctl")
NAME = "PROF_000001_20231114221320000_00004000ABCDEFGH"
GOLDEN = os.path.join(HERE, "data", "910b", NAME)
BEGIN_NS = 1_700_000_000 * 10**9


def rows(folder, table, columns="*"):
    (path,) = glob.glob(os.path.join(folder, "msprof_*.db"))
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as db:
        tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
        return db.execute(f"select {columns} from {table}").fetchall() if table in tables else []


class ExportOptions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="profd-options-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.prof = os.path.join(self.folder, "spool", NAME)
        shutil.copytree(GOLDEN, self.prof)
        self.out = os.path.join(self.folder, "out")

    def run_profctl(self, *arguments):
        return subprocess.run([PROFCTL, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              env=dict(os.environ, TZ="UTC"))

    def export(self, *options, where=None):
        return self.run_profctl("export", where or self.prof, "--out", self.out, *options)

    def files(self):
        """But README.txt, which is beside all timelines and tables."""
        return sorted(os.path.basename(path) for path in glob.glob(self.out + "/**", recursive=True)
                      if os.path.isfile(path) and os.path.basename(path) != "README.txt")

    def write(self, path, change):
        path = os.path.join(self.prof, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotEqual(text, change(text))
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text))

    def test_a_range_without_time_is_a_mistake(self):
        for options in (("--from", "+2s", "--to", "+1s"), ("--from", "+1s", "--to", "+1s"),
                        ("--from", "@1700000001", "--to", "@1700000000.5"),
                        ("--from", "+10s", "--to", "@1700000001")):
            with self.subTest(options=options):
                done = self.export(*options)
                self.assertEqual(done.returncode, 2, done)
                self.assertRegex(done.stderr, r"^profctl: .*--from is not before --to.*\n$")
                self.assertEqual(self.files(), [])

    def test_a_time_in_which_nothing_was_recorded(self):
        done = self.export("--from", "+1000s")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("nothing exported: no record between --from and --to; it begins 2023-11-14 22:13:20", done.stdout)
        self.assertNotIn("complete", done.stdout)
        self.assertEqual(self.files(), [])

    def test_what_comes_to_nothing_leaves_no_folder(self):
        for options, code in (((), 3), (("--format", "csv"), 3), (("--out", self.prof), 3),
                              (("--format", "collapsed", "--kinds", "host-cpu-profile"), 3)):
            there = sorted(os.listdir(self.prof))
            kinds = () if "--kinds" in options else ("--from", "+1000s")
            done = self.run_profctl("export", self.prof, *options, *kinds,
                                    *(() if "--out" in options else ("--out", self.out)))
            self.assertEqual(done.returncode, code, done)
            self.assertFalse(os.path.exists(self.out), options)
            self.assertEqual(sorted(os.listdir(self.prof)), there)
        os.mkdir(self.out)  # the user's own stays
        self.assertEqual(self.export("--from", "+1000s").returncode, 3)
        self.assertEqual(os.listdir(self.out), [])

    def test_an_empty_directory(self):
        empty = os.path.join(self.folder, "PROF_x")
        os.makedirs(os.path.join(empty, "device_0", "data"))
        os.makedirs(os.path.join(empty, "host"))
        done = self.export(where=empty)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertEqual(len(done.stderr.splitlines()), 1, done)
        self.assertIn(f"{empty}: there is nothing in it", done.stderr)
        self.assertFalse(os.path.exists(self.out))
        # One of two.
        done = self.export("--recursive", "--format", "db", where=self.folder)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("there is nothing in it", done.stderr)
        self.assertEqual(len(rows(os.path.join(self.out, NAME), "HBM")) > 0, True)

    def test_what_is_not_there_is_named(self):
        done = self.export("--devices", "0,7")
        self.assertEqual(done.returncode, 7, done)
        self.assertIn(f"{self.prof}: no device 7 in it, there are 0\n", done.stdout)
        self.assertRegex(done.stdout, ", NOT complete\n$")
        done = self.export("--kinds", "aicore")
        self.assertEqual(done.returncode, 3, done)
        self.assertRegex(done.stdout, "nothing exported: no kind aicore in it, there are api .*hbm .*task")
        done = self.export("--kinds", "aicore,hbm")
        self.assertEqual(done.returncode, 7, done)
        self.assertIn(f"{self.prof}: no kind aicore in it", done.stdout)
        self.assertRegex(done.stdout, ", NOT complete\n$")

    def test_nothing_in_one_of_several(self):
        other = os.path.join(self.folder, "spool", "other", NAME.replace("000001", "000002"))
        shutil.copytree(self.prof, other)
        os.remove(os.path.join(other, "device_0", "data", "hbm.data.0.slice_0"))
        done = self.export("--recursive", "--kinds", "hbm", "--format", "db", where=os.path.dirname(self.prof))
        self.assertEqual((done.returncode, done.stdout.count("nothing exported")), (0, 1), done)
        done = self.export("--recursive", "--kinds", "aicore", where=os.path.dirname(self.prof))
        self.assertEqual((done.returncode, done.stdout.count("nothing exported")), (3, 2), done)

    def test_lists_may_be_given_in_parts(self):
        done = self.export("--kinds", "hbm", "--kinds", "pcie", "--format", "csv", "--format", "db")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.files(), ["hbm_20231114221320.csv", "msprof_20231114221320.db", "pcie_20231114221320.csv"])

    def test_a_file_where_the_outputs_should_go(self):
        with open(self.out, "w", encoding="utf-8") as file:
            file.write("mine\n")
        for options in ((), ("--format", "db"), ("--format", "csv"), ("--per-device",)):
            done = self.export(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (options, done))
            self.assertRegex(done.stderr, rf"^profctl: {self.out}\b.* is a file: name a directory.*\n$")
        with open(self.out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine\n")

    def test_directories_below(self):
        deep = os.path.join(self.folder, "spool", "a", "b", "c", NAME)
        shutil.copytree(self.prof, deep)
        os.makedirs(os.path.join(self.folder, "spool", "src", "host"))  # is none
        done = self.run_profctl("query", "--json", os.path.join(self.folder, "spool"))
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual([one["directory"] for one in json.loads(done.stdout)["directories"]], [self.prof, deep])
        too_deep = os.path.join(self.folder, "deep", *"12345678")
        shutil.copytree(self.prof, os.path.join(too_deep, NAME))
        self.assertEqual(self.run_profctl("query", os.path.join(self.folder, "deep")).returncode, 2)
        self.assertEqual(self.run_profctl("query", os.path.join(self.folder, "deep", "1")).returncode, 0)

    def all_files(self):
        return {os.path.join(folder, file) for folder, _, files in os.walk(self.folder) for file in files}

    def test_a_folder_of_directories_is_exported_only_when_that_is_said(self):
        spool = os.path.join(self.folder, "spool")
        done = self.run_profctl("export", spool)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertRegex(done.stderr, rf"^profctl: {spool} is not a PROF directory; below it is 1 PROF directory: {self.prof}; .*--recursive.*\n$")
        shutil.copytree(self.prof, os.path.join(spool, "a", NAME))
        before = self.all_files()
        done = self.run_profctl("export", spool)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("below it are 2 PROF directories; --recursive", done.stderr)
        self.assertEqual(self.all_files(), before)
        done = self.run_profctl("export", "--recursive", "--format", "db", spool)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(len(self.all_files() - before), 2)

    def test_a_folder_of_a_framework_beside_directories(self):
        """All that --recursive would write into is counted."""
        spool = os.path.join(self.folder, "spool")
        for of in ("node_1_ascend_pt", "deeper"):
            shutil.copytree(self.prof, os.path.join(spool, of, NAME))
        done = self.run_profctl("export", spool)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("below it are 1 folder of Ascend's PyTorch Profiler and 2 PROF directories; --recursive exports all of them",
                      done.stderr)

    def test_a_dry_run_says_what_is_written(self):
        formats = "chrome,csv,db,perfetto"
        spool = os.path.join(self.folder, "spool")
        before = self.all_files()
        planned = self.run_profctl("export", "--dry-run", "--gzip", "--format", formats, spool)
        self.assertEqual(planned.returncode, 0, planned)
        self.assertEqual(self.all_files(), before)
        done = self.run_profctl("export", "--json", "--dry-run", "--gzip", "--format", formats, spool)
        (one,) = json.loads(done.stdout)["directories"]
        self.assertEqual(one, {"directory": self.prof, "files": planned.stdout.splitlines()})
        done = self.run_profctl("export", "--gzip", "--format", formats, self.prof)
        self.assertEqual(done.returncode, 0, done)
        written = self.all_files() - before
        tables = {path for path in written if path.endswith(".csv")}
        (folder,) = {os.path.dirname(path) for path in tables}
        self.assertEqual((written - tables) | {folder + "/*.csv"}, set(one["files"]))

    def test_the_vendors_export_takes_what_is_right_in_a_folder(self):
        spool = os.path.join(self.folder, "spool")
        deep = os.path.join(spool, "a", NAME)
        shutil.copytree(self.prof, deep)
        done = self.run_profctl("msprof", "--export=on", "--type=db", "--output=" + spool)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(len(glob.glob(self.prof + "/msprof_*.db")), 1)
        self.assertEqual(glob.glob(deep + "/msprof_*.db"), [])
        done = self.run_profctl("msprof", "--export=on", "--type=db", "--output=" + self.folder)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done)
        self.assertIn("is not a PROF directory and has none in it", done.stderr)

    def test_query_names_kinds_as_options_do(self):
        done = self.run_profctl("query", "--json", self.prof)
        kinds = {kind["kind"] for kind in json.loads(done.stdout)["directories"][0]["kinds"]}
        self.assertLessEqual({"hbm", "npu-app-mem", "npu-mem", "soc-profile", "host-sys-cpu", "dev-cpu", "host-pid-mem",
                              "tscpu", "ctrlcpu", "task", "api", "host-osrt", "host-pthread"}, kinds)
        text = self.run_profctl("query", self.prof).stdout
        self.assertIn("soc-profile (sio)", text)
        self.assertNotIn("host_cpu", text)
        for kind in kinds - {"overlap"}:  # is made of tasks
            self.assertEqual(self.export("--kinds", kind, "--format", "db").returncode, 0, kind)

    def test_network_without_a_known_speed(self):
        self.write("host/info.json", lambda text: text.replace('{"netCardName":"eth0","speed":10000}', ""))
        done = self.export()
        self.assertEqual(done.returncode, 0, done)
        points = rows(self.out, "HOST_PORT", "timestampNs, rx, tx")
        self.assertEqual(len(points), 49)
        self.assertEqual({(round(rx), round(tx)) for _, rx, tx in points}, {(62_500_000, 62_500_000)})
        (path,) = glob.glob(self.out + "/*/host_port_usage_*.csv")
        with open(path, encoding="utf-8", newline="") as file:
            (row,) = csv.DictReader(file)
        self.assertEqual(row, {"Device_id": "host", "Port": "eth0", "Peak Rx(KB/s)": "61035.156",
                               "Average Rx(KB/s)": "61035.156", "Peak Tx(KB/s)": "61035.156", "Average Tx(KB/s)": "61035.156"})
        (path,) = glob.glob(self.out + "/*/msprof_*.json")
        with open(path, encoding="utf-8") as file:
            events = [event["args"] for event in json.load(file) if event["name"] == "eth0"]
        self.assertEqual(len(events), 49)
        self.assertEqual(set(events[0]), {"Rx(MB/s)", "Tx(MB/s)"})
        self.assertIn("host-network", self.run_profctl("query", self.prof).stdout)

    def test_a_disk_that_does_nothing(self):
        self.write("host/data/host_disk.data.slice_0", lambda text: re.sub("[0-9.]+ K/s", "0.00 B/s", text))
        os.remove(os.path.join(self.prof, "host/data/host_disk.data.slice_0.done"))
        self.assertEqual(self.export("--format", "csv", "--kinds", "host-disk").returncode, 0)
        (path,) = glob.glob(self.out + "/*/host_disk_usage_*.csv")
        with open(path, encoding="utf-8", newline="") as file:
            (row,) = csv.DictReader(file)
        self.assertEqual(set(row.values()), {"host", "0.0"})

    def test_begin_is_known_from_another_side(self):
        self.assertEqual(self.export("--format", "db").returncode, 0)
        wanted = {table: sorted(rows(self.out, table)) for table in ("HOST_MEM_USAGE", "HBM", "CANN_API", "TASK")}
        for missing in ("host/start_info", "device_0/start_info.0"):
            with self.subTest(missing=missing):
                os.rename(os.path.join(self.prof, missing), os.path.join(self.folder, "kept"))
                done = self.export("--format", "db")
                os.rename(os.path.join(self.folder, "kept"), os.path.join(self.prof, missing))
                self.assertEqual(done.returncode, 7, done)
                self.assertIn(missing, done.stdout)
                for table, before in wanted.items():
                    self.assertGreater(len(before), 10)
                    self.assertEqual(sorted(rows(self.out, table)), before, table)

    def test_without_a_begin_nothing_gets_a_time(self):
        for path in ("host/start_info", "device_0/start_info.0"):
            os.remove(os.path.join(self.prof, path))
        done = self.export("--format", "db")
        self.assertEqual(done.returncode, 7, done)
        self.assertIn("host/data/host_mem.data: ", done.stdout)
        self.assertIn("stars_soc.data: ", done.stdout)
        self.assertIn("api_event.data: ", done.stdout)
        self.assertIn("its records have no time: start_info cannot be read", done.stdout)
        self.assertEqual(self.files(), ["msprof_20231114221320.db"])  # the stamp of its name
        for table in ("HOST_MEM_USAGE", "HBM", "CANN_API", "TASK", "HCCS", "OSRT_API"):
            self.assertEqual(rows(self.out, table), [], table)

    def test_a_damaged_line_is_named_with_its_place(self):
        path = os.path.join(self.prof, "device_0", "data", "nic.data.0.slice_0")
        with open(path, "rb") as file:
            lines = file.readlines()
        lines[3] = b"#" * (len(lines[3]) - 1) + b"\n"
        with open(path, "wb") as file:
            file.writelines(lines)
        done = self.export("--format", "db", "--json")
        self.assertEqual(done.returncode, 7, done)
        (skipped,) = json.loads(done.stdout)["directories"][0]["skipped"]
        self.assertEqual((skipped["stream"], skipped["offset"], skipped["bytes"], skipped["records"]),
                         ("device_0/data/nic.data.0.slice_0", sum(map(len, lines[:3])), len(lines[3]), 1))

    def test_a_damaged_name_is_named_with_its_place(self):
        path = os.path.join(self.prof, "host", "data", "unaging.additional.hash_dic.slice_0")
        with open(path, "ab") as file:
            offset = file.tell()
            file.write(b"no number:at all\n")
        os.remove(path + ".done")
        done = self.export("--format", "db", "--json")
        (skipped,) = json.loads(done.stdout)["directories"][0]["skipped"]
        self.assertEqual((skipped["stream"], skipped["offset"], skipped["bytes"]),
                         ("host/data/unaging.additional.hash_dic.slice_0", offset, 17))

    def test_a_timeline_in_parts(self):
        def events(pattern):
            found = []
            for path in glob.glob(self.out + "/*/" + pattern):
                with open(path, encoding="utf-8") as file:
                    found.append([event for event in json.load(file)])
            return found
        def content(parts):
            return sorted(json.dumps(event, sort_keys=True) for part in parts for event in part if event["ph"] != "M")
        self.assertEqual(self.export("--format", "chrome").returncode, 0)
        (whole,) = events("msprof_[0-9]*.json")
        self.assertEqual(self.export("--format", "chrome", "--split", "100ms").returncode, 0)
        self.assertEqual(len(events("msprof_slice_*.json")), 11)
        done = self.export("--format", "chrome,db", "--split", "250ms", "--json")
        self.assertEqual(done.returncode, 0, done)
        names = [f"msprof_slice_{number}_20231114221320.json" for number in range(5)]
        files = json.loads(done.stdout)["directories"][0]["files"]
        self.assertEqual([os.path.basename(path) for path in files], names + ["msprof_20231114221320.db"])
        self.assertEqual(self.files(), sorted([*names, "msprof_20231114221320.db", "msprof_20231114221320.json"]))
        parts = events("msprof_slice_*.json")
        self.assertEqual(content(parts), content([whole]))
        for part in parts:
            stamps = [float(event["ts"]) - BEGIN_NS / 1000 for event in part if event["ph"] not in "Mf"]
            self.assertEqual(len({int(stamp // 250_000) for stamp in stamps}), 1)
            named = {event["pid"] for event in part if event["name"] == "process_name"}
            self.assertLessEqual({event["pid"] for event in part}, named)
        for wrong in (("--split", "0s"), ("--split", "1ms"), ("--split", "x"), ("--split", "1s", "--format", "db")):
            done = self.export(*wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertRegex(done.stderr, "^profctl: .*--split.*\n$")

    def test_iterations(self):
        """Of a trained model, of one that only runs, and a step; between them records of other kinds and sizes."""
        def record(tag, us, index, model, kind=10):
            return struct.pack("<BBHIQQQHHHH", 0, kind, 40, 0, 145_000_000_000 + us * 50, index, model, 3, 4, tag, 0)
        timeline = struct.pack("<BBHIQ", 0, 5, 32, 0, 145_000_000_000) + bytes(16)
        stream = b"".join([
            record(0, 100, 1, 7), record(2, 1000, 1, 7), timeline, record(10000, 1100, 1, 7), record(10001, 1200, 1, 7),
            record(3, 2000, 1, 7), record(4, 2500, 1, 7), record(1, 2600, 1, 7), record(0, 3000, 1, 8),
            record(12, 3100, 1, 8, kind=12), record(2, 3500, 2, 7), record(3, 4000, 2, 7), record(1, 4100, 1, 8),
            record(4, 4600, 2, 7), record(60000, 5000, 9, 0xFFFFFFFF), record(60001, 7000, 9, 0xFFFFFFFF),
            record(2, 8000, 3, 7)])
        data = os.path.join(self.prof, "device_0", "data", "ts_track.data.0.slice_")
        for number, piece in enumerate((stream[:1000 // 8 * 8 - 104], stream[1000 // 8 * 8 - 104:])):  # cut in a record
            with open(data + str(number), "wb") as file:
                file.write(piece)
        done = self.export("--format", "csv,db,chrome,perfetto", "--kinds", "step-trace")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("note: 1 task, range or iteration is cut by the begin or the end of the recording", done.stdout)
        self.assertIn("ts_track.data: 2 records of the scheduler that are no steps of models, which the export does not use\n", done.stdout)
        notes = json.loads(self.export("--kinds", "step-trace", "--json").stdout)["directories"][0]["notes"]
        self.assertIn("device_0/data/ts_track.data: 1 iteration that has no end", notes)
        (path,) = glob.glob(self.out + "/*/step_trace_*.csv")
        with open(path, encoding="utf-8", newline="") as file:
            found = {(row["Model ID"], row["Iteration ID"]): list(row.values())[2:9] for row in csv.DictReader(file)}
        stamp = lambda us: f"{BEGIN_NS // 1000 + us}.000\t"  # noqa: E731
        self.assertEqual(found, {
            ("7", "1"): [stamp(1000), stamp(2000), stamp(2500), "1500.000", "1000.000", "500.000", "N/A"],
            ("7", "2"): [stamp(3500), stamp(4000), stamp(4600), "1100.000", "500.000", "600.000", "1000.000"],
            ("8", "1"): ["N/A", "N/A", stamp(4100), "1100.000", "N/A", "N/A", "N/A"],
            ("N/A", "9"): ["N/A", "N/A", stamp(7000), "2000.000", "N/A", "N/A", "N/A"]})
        spans = sorted((begin - BEGIN_NS, end - BEGIN_NS) for begin, end in
                       rows(self.out, "STEP_TIME", "startNs, endNs"))
        self.assertEqual(spans, [(1_000_000, 2_500_000), (3_000_000, 4_100_000), (3_500_000, 4_600_000),
                                 (5_000_000, 7_000_000)])
        # A thread a model, as the vendor's.
        (path,) = glob.glob(self.out + "/*/msprof_*.json")
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual({70_007: "Step Trace(Model ID:7)", 70_008: "Step Trace(Model ID:8)"},
                         {tid: name for tid, name in threads.items() if "Model ID:4294967295" not in name})
        self.assertEqual({event["tid"] for event in events if event["name"] == "Iteration 2"}, {70_007})
        # The vendor counts the iterations of the recording, whatever their numbers are.
        done = self.export("--format", "csv", "--kinds", "step-trace", "--vendor-compatible")
        self.assertEqual(done.returncode, 0, done)
        (path,) = glob.glob(self.out + "/*/step_trace_*.csv")
        with open(path, encoding="utf-8", newline="") as file:
            counted = [(row["Model ID"], row["Iteration ID"]) for row in csv.DictReader(file)]
        self.assertEqual(sorted(counted), [("7", "1"), ("7", "2"), ("8", "1"), ("N/A", "1")])
        done = self.run_profctl("query", "--json", self.prof)
        (steps,) = json.loads(done.stdout)["directories"][0]["steps"]
        self.assertEqual((steps["device"], steps["count"], steps["slowest"][0]),
                         (0, 4, {"number": 9, "duration_ns": 2_000_000, "edge": ""}))
        self.one_iteration()

    def one_iteration(self):
        """Only what lies within it: of tables, database and counters."""
        def stamps(*options):
            shutil.rmtree(self.out)
            done = self.export("--format", "db", *options)
            self.assertEqual(done.returncode, 0, done)
            return {table: sorted(ns - BEGIN_NS for (ns,) in rows(self.out, table, "timestampNs"))
                    for table in ("HBM", "NPU_MEM")}, sorted(
                        (begin - BEGIN_NS, end - BEGIN_NS) for begin, end in rows(self.out, "STEP_TIME", "startNs, endNs"))
        everything, _ = stamps()
        for options, begin, end in ((("--model", "7", "--iteration", "2"), 3_500_000, 4_600_000),
                                    (("--iteration", "2"), 3_500_000, 4_600_000),  # the smallest model
                                    (("--model", "8"), 3_000_000, 4_100_000),  # its first
                                    (("--model", "4294967295", "--iteration", "9"), 5_000_000, 7_000_000)):
            with self.subTest(options=options):
                found, spans = stamps(*options)
                self.assertIn((begin, end), spans)
                self.assertTrue(all(first <= end and last >= begin for first, last in spans), spans)
                for table, all_of_them in everything.items():
                    self.assertEqual(found[table], [ns for ns in all_of_them if begin <= ns <= end], table)
        for options, code, text in ((("--model", "9"), 3, "no iteration 1 of model 9; there are: model 7 1 to 2, "
                                                           "model 8 1 to 1, steps of programs (4294967295) 9 to 9"),
                                    (("--iteration", "3"), 3, "no iteration 3; there are: model 7 1 to 2"),
                                    (("--iteration", "x"), 2, "--iteration 'x'"), (("--model", "-1"), 2, "--model '-1'"),
                                    (("--model", "4294967296"), 2, "--model")):
            done = self.export(*options)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (code, 1), done)
            self.assertIn(text, done.stderr)

    def test_an_iteration_where_there_are_none(self):
        done = self.export("--iteration", "1")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("nobody recorded iterations", done.stderr)
        self.assertEqual(self.files(), [])

    def test_tables_as_json(self):
        self.assertEqual(self.export("--format", "csv,json").returncode, 0)
        tables = glob.glob(self.out + "/*/*.csv")
        self.assertGreater(len(tables), 20)
        self.assertEqual([name for name in self.files() if not name.endswith((".csv", ".json"))], [])
        for path in tables:
            with open(path, encoding="utf-8", newline="") as file, open(path[:-3] + "json", encoding="utf-8") as json_file:
                wanted, found = list(csv.DictReader(file)), json.load(json_file)
            self.assertEqual(len(found), len(wanted), path)
            for row, object_ in zip(wanted, found):
                self.assertEqual(list(object_), list(row))
                for name, value in object_.items():
                    text = row[name]
                    if isinstance(value, (int, float)):
                        self.assertEqual(float(text), value)
                    else:
                        self.assertEqual(text.rstrip("\t"), value or "", (path, name))
        (path,) = glob.glob(self.out + "/*/hbm_*.json")
        with open(path, encoding="utf-8") as file:
            self.assertIsInstance(json.load(file)[0]["Read(MB/s)"], float)

    def test_a_readme_says_what_the_files_are(self):
        self.assertEqual(self.export().returncode, 0)
        (path,) = glob.glob(self.out + "/*/README.txt")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name in os.listdir(os.path.dirname(path)):
            if name != "README.txt":
                self.assertRegex(text, rf"(?m)^{name}: [^\n]{{10,}}$")
        self.assertNotIn("docs/export.md", text, "a table that nobody has described")
        self.assertEqual(self.run_profctl("export", self.prof, "--format", "db", "--out", self.out + "/other").returncode, 0)
        self.assertEqual(glob.glob(self.out + "/other/*/README.txt"), [])

    def test_a_part_of_a_directory(self):
        """As the vendor's: PROF_…/device_<N>, PROF_…/host."""
        for part, kinds in (("device_0", {"hbm", "host-sys-cpu"}), ("host", {"host-sys-cpu"}), ("device_0/", {"hbm"})):
            done = self.run_profctl("query", "--json", os.path.join(self.prof, part))
            self.assertEqual(done.returncode, 0, done)
            (one,) = json.loads(done.stdout)["directories"]
            self.assertEqual(one["directory"], self.prof)
            found = {kind["kind"] for kind in one["kinds"]}
            self.assertLessEqual(kinds, found)
            self.assertEqual("hbm" in found, "hbm" in kinds)
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.export("--format", "db", where=os.path.join(self.prof, part))
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(len(rows(self.out, "HBM")) > 0, "hbm" in kinds)
            self.assertGreater(len(rows(self.out, "HOST_MEM_USAGE")), 0, "the host is always in")
        self.assertEqual(self.run_profctl("query", os.path.join(self.prof, "device_0", "data")).returncode, 2)
        self.assertEqual(self.run_profctl("query", os.path.join(self.prof, "device_7")).returncode, 3)

    def test_what_query_shows_can_be_exported(self):
        kinds = {kind["kind"] for kind in json.loads(self.run_profctl("query", "--json", self.prof).stdout)
                 ["directories"][0]["kinds"]}
        self.assertLessEqual({"task", "api", "hbm"}, kinds)
        done = self.export("--kinds", ",".join(sorted(kinds)), "--format", "db", "--json")
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("overlap", kinds)  # is worked out

    def test_the_same_damage_in_many_places_is_one_line_of_query(self):
        prof = foreign_dir.write(os.path.join(self.folder, "foreign"), 5, slices=1)
        path = os.path.join(prof, "device_0", "data", "hccs.data.0.slice_0")
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
        for number in range(len(lines) - 10, len(lines) - 1, 3):
            lines[number] = b"#" * len(lines[number])
        with open(path, "wb") as file:
            file.write(b"\n".join(lines))
        done = self.run_profctl("query", prof)
        self.assertEqual(done.returncode, 7, done)
        self.assertRegex(done.stdout, r"\nnot readable: device_0/data/hccs.data.0.slice_0: [^\n]+ \(3 places\)\n$")
        self.assertEqual(done.stdout.count("not readable"), 1, done)

    def test_places_are_right_in_every_slice(self):
        prof = foreign_dir.write(os.path.join(self.folder, "foreign"), 5, slices=3)
        for number in range(3):
            path = os.path.join(prof, "device_0", "data", f"hccs.data.0.slice_{number}")
            with open(path, "rb") as file:
                content = file.read()
            at = content.index(b"\n", len(content) // 2) + 1
            end = content.index(b"\n", at) + 1
            with open(path, "wb") as file:
                file.write(content[:at] + b"#" * (end - at - 1) + b"\n" + content[end:])
            done = self.export("--format", "db", "--json", where=prof)
            places = {(one["stream"], one["offset"], one["bytes"]) for one in
                      json.loads(done.stdout)["directories"][0]["skipped"]}
            self.assertIn((f"device_0/data/hccs.data.0.slice_{number}", at, end - at), places)


if __name__ == "__main__":
    unittest.main()
