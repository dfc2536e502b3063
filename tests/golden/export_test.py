#!/usr/bin/env python3
"""profctl export of the golden directories against what the vendor's analyser made of them: timeline and database."""

import collections
import decimal
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

import foreign_dir  # noqa: E402
from perfetto_reader import Trace  # noqa: E402

PROF = "PROF_000001_20231114221320000_00004000ABCDEFGH"
PROFCTL = os.path.join(os.environ.get("PROFD_BUILD_DIR", ""), "bin", "profctl")
STAMP = "20231114221320"
CHIPS = ("910b", "310p")


def export(chip, out, *options):
    """The folder of the output files."""
    env = dict(os.environ, TZ="UTC")
    done = subprocess.run([PROFCTL, "export", os.path.join(HERE, "data", chip, PROF), "--out", out, *options],
                          env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return out


def find(folder, pattern):
    (path,) = glob.glob(os.path.join(folder, "**", pattern), recursive=True)
    return path


def stamp_ns(text):
    return int(decimal.Decimal(str(text)) * 1000)


def key_of(event):
    """An event without how its numbers are written: stamps are text or numbers, no arguments are {} or missing, values
    have six decimals or as many as they need."""
    args = {name: f"{value:.7g}" if isinstance(value, (int, float)) else value
            for name, value in event.get("args", {}).items()}
    rest = {name: value for name, value in event.items() if name not in ("args", "ts", "dur")}
    if "ts" in event:
        rest["ts"] = stamp_ns(event["ts"])
    if "dur" in event:
        rest["dur"] = stamp_ns(event["dur"])
    return json.dumps([rest, args], sort_keys=True)


def events_of(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def vendor_events(chip):
    return events_of(find(os.path.join(HERE, "data", chip, "vendor"), "msprof_*.json"))


def process_names(events):
    return {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}


class Database:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        self.strings = dict(self.db.execute("select id, value from STRING_IDS"))
        self.tables = {name: sql for name, sql in
                       self.db.execute("select name, sql from sqlite_master where type = 'table'")}

    # Columns that hold numbers of STRING_IDS.
    TEXTS = {"HBM": ["type"], "LLC": ["mode"], "QOS": ["eventName"], "SIO": ["name"], "NPU_MEM": ["type"],
             "OSRT_API": ["name"], "TASK": ["taskType"], "CANN_API": ["name"],
             "COMPUTE_TASK_INFO": ["name", "taskType", "opType", "inputFormats", "inputDataTypes", "inputShapes",
                                   "outputFormats", "outputDataTypes", "outputShapes", "attrInfo", "opState",
                                   "hf32Eligible", "gridDim", "blockDim"]}

    def columns(self, table):
        return [(row[1], row[2], row[5]) for row in self.db.execute(f"pragma table_info({table})")]

    def rows(self, table):
        names = [column[0] for column in self.columns(table)]
        texts = [names.index(name) for name in self.TEXTS.get(table, [])]
        result = []
        for row in self.db.execute(f"select * from {table}"):
            row = list(row)
            for i in texts:
                row[i] = self.strings[row[i]]
            result.append(tuple(row))
        return result


def same_counters(test, trace, events):
    """What the timeline counts is in the Perfetto trace, too. Returns how many counters there are."""
    processes = process_names(events)
    expected = {}
    for event in events:
        if event["ph"] != "C":
            continue
        root = "Host" if event["pid"] & 31 == 31 else f"NPU {event['pid'] & 31}"
        args = {name: value for name, value in event["args"].items() if not name.endswith(" ID")}
        for name, value in args.items():
            # Dies and units of one moment are one event, whose arguments tell them apart.
            alone = len(args) == 1 and processes[event["pid"]] not in ("SIO", "Acc PMU") and not name.startswith("die ")
            leaf = event["name"] if alone else f"{event['name']} {name}"
            path = (root, processes[event["pid"]], leaf)
            expected.setdefault(path, []).append((stamp_ns(event["ts"]), value))
    test.assertLessEqual(set(expected), set(trace.counters))
    for path, points in expected.items():
        ours = sorted(trace.counters[path])
        test.assertEqual([stamp for stamp, _ in ours], [stamp for stamp, _ in sorted(points)], path)
        for (_, value), (_, other) in zip(ours, sorted(points)):
            # The older exporter rounds to three decimals, whole numbers of the newer one are cut off.
            test.assertTrue(abs(value - other) < 0.001 or other == int(value), (path, value, other))
    return len(expected)


class Golden(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.vendor, cls.right = {}, {}
        for chip in CHIPS:
            for kept, options in ((cls.vendor, ["--vendor-compatible"]), (cls.right, [])):
                out = os.path.join(cls.folder.name, chip + "-".join(options))
                os.mkdir(out)
                kept[chip] = export(chip, out, "--format", "chrome,db,perfetto", *options)

    def each_chip(self, check):
        for chip in CHIPS:
            with self.subTest(chip=chip):
                check(chip)

    def test_timeline_is_the_vendors(self):
        self.each_chip(self.check_timeline_is_the_vendors)

    def check_timeline_is_the_vendors(self, chip):
        theirs = collections.Counter(key_of(event) for event in vendor_events(chip) if event["ph"] != "M")
        ours = collections.Counter(key_of(event) for event in
                                   events_of(find(self.vendor[chip], f"msprof_{STAMP}.json"))
                                   if event["ph"] != "M")
        self.assertEqual(sorted((theirs - ours).elements())[:5], [])
        self.assertEqual(sorted((ours - theirs).elements())[:5], [])

    def test_names_of_processes_and_threads_are_the_vendors(self):
        self.each_chip(self.check_names_of_processes_and_threads_are_the_vendors)

    def check_names_of_processes_and_threads_are_the_vendors(self, chip):
        def names(events):  # which of the numbers a CPU's counter gets is nobody's choice there
            return [key_of(event) for event in events if event["ph"] == "M"
                    and not str(event["args"].get("name")).startswith(("CPU 0", "CPU 1", "CPU Avg"))]
        # The vendor writes some of them twice.
        theirs = set(names(vendor_events(chip)))
        ours = names(events_of(find(self.vendor[chip], "msprof_*.json")))
        self.assertEqual(sorted(theirs - set(ours)), [])
        self.assertEqual(sorted(set(ours) - theirs), [])
        self.assertEqual(len(ours), len(set(ours)))

    # Values of which ours are right by default, and the vendor's aren't; see docs/export.md.
    DIFFERENT = ("Hit Rate", "Throughput")

    def test_timeline_by_default(self):
        self.each_chip(self.check_timeline_by_default)

    def check_timeline_by_default(self, chip):
        theirs, ours = vendor_events(chip), events_of(find(self.right[chip], "msprof_*.json"))
        their_processes, our_processes = process_names(theirs), process_names(ours)
        # The first period of HBM and LLC has no length that is known, so no value either; the vendor says 0. DDR's began
        # with its channel, not with the collection. Of the Acc PMU the vendor shows the largest of all units.
        start = min(stamp_ns(event["ts"]) for event in theirs if "HBM" in event["name"] and event["ph"] == "C")
        skipped = lambda event: (event["name"].split("/")[-1] in self.DIFFERENT  # noqa: E731
                                 or event["name"].startswith("AI Core Freq")
                                 or event["name"].startswith("pthread_")  # the vendor moves them to the beginning
                                 or event["name"] in ("read_bandwidth", "read_ost", "write_bandwidth", "write_ost")
                                 or event["name"][:3] in ("HBM", "DDR") and stamp_ns(event["ts"]) == start)
        # What a task is comes from its node, even where the collection's level hides it from the vendor.
        def key(event):
            args = {name: value for name, value in event.get("args", {}).items() if name != "Task Type"}
            return key_of(dict(event, args=args))
        ours_set = {key(event) for event in ours}
        missing = [event for event in theirs if event["ph"] not in "M" and not skipped(event)
                   and key(event) not in ours_set]
        self.assertEqual(missing[:5], [])
        # What the vendor's analyser leaves out on a chip comes on top, nothing else.
        more = {name for name in our_processes.values() if name not in their_processes.values()}
        self.assertLessEqual(more, {"DDR", "AI Core Freq", "NIC", "RoCE", "QoS", "SIO", "Acc PMU",
                                    "Stars Soc Info", "Stars Chip Trans", "Ub", "Voltage Info"})
        for name in ("LLC 0 Read/Hit Rate", "LLC 0 Read/Throughput"):
            values = [event["args"] for event in ours if event["name"] == name]
            (value,) = set(values[-1].values())
            self.assertEqual(value, 50.0 if "Hit" in name else 600.0)
        copies = collections.Counter(key_of(event) for event in ours)
        self.assertEqual([key for key, count in copies.items() if count > 1], [])

    def test_database_is_the_vendors(self):
        self.each_chip(self.check_database_is_the_vendors)

    def check_database_is_the_vendors(self, chip):
        theirs = Database(os.path.join(HERE, "data", chip, "vendor", "msprof.db"))
        ours = Database(find(self.vendor[chip], f"msprof_{STAMP}.db"))
        self.assertEqual(sorted(ours.tables), sorted(theirs.tables))
        for table in theirs.tables:
            with self.subTest(table=table):
                self.assertEqual(ours.columns(table), theirs.columns(table))
                if table != "STRING_IDS":
                    self.same_rows(ours.rows(table), theirs.rows(table))
        self.assertLessEqual(set(theirs.strings.values()), set(ours.strings.values()))

    def same_rows(self, ours, theirs):
        def rounded(row):
            return tuple(round(value, 6) if isinstance(value, float) else value for value in row)
        ours, theirs = collections.Counter(map(rounded, ours)), collections.Counter(map(rounded, theirs))
        self.assertEqual(sorted((theirs - ours).elements(), key=str)[:3], sorted((ours - theirs).elements(), key=str)[:3])

    def test_database_by_default(self):
        self.each_chip(self.check_database_by_default)

    def check_database_by_default(self, chip):
        theirs = Database(os.path.join(HERE, "data", chip, "vendor", "msprof.db"))
        ours = Database(find(self.right[chip], "msprof_*.db"))
        self.assertLessEqual(set(theirs.tables), set(ours.tables))
        # No vendor's table of rows has fewer than there, but for HBM's and DDR's first period, which has no value.
        for table in theirs.tables:
            if table not in ("STRING_IDS", "AICORE_FREQ", "HBM", "DDR", "LLC"):
                with self.subTest(table=table):
                    self.assertGreaterEqual(len(ours.rows(table)), len(theirs.rows(table)))
        self.assertEqual(len(theirs.rows("HBM")) - len(ours.rows("HBM")), 8)
        if "DDR" in theirs.tables:
            self.assertEqual(len(theirs.rows("DDR")) - len(ours.rows("DDR")), 1)
        self.assertEqual(len(ours.rows("AICORE_FREQ")), 51)
        self.assertEqual({row[4] for row in ours.rows("LLC")} - {None}, {629145600})
        for table in ("DVPP", "OS_CPU_USAGE", "OS_MEMORY", "PROCESS_CPU_USAGE", "PROCESS_MEMORY"):
            self.assertGreater(len(ours.rows(table)), 0, table)

    def test_perfetto_says_what_the_timeline_says(self):
        self.each_chip(self.check_perfetto_says_what_the_timeline_says)

    def check_perfetto_says_what_the_timeline_says(self, chip):
        trace = Trace(find(self.right[chip], "msprof_*.perfetto-trace"))
        events = events_of(find(self.right[chip], "msprof_*.json"))
        self.assertGreater(same_counters(self, trace, events), 20)
        slices = collections.Counter((one["begin"], one["end"] - one["begin"]) for one in trace.slices)
        self.assertEqual(slices, collections.Counter((stamp_ns(event["ts"]), stamp_ns(event["dur"]))
                                                     for event in events if event["ph"] == "X"))
        begun = sorted(flow for one in trace.slices for flow in one["flows"])
        self.assertEqual(begun, sorted(flow for one in trace.slices for flow in one["ends"]))
        self.assertEqual(len(begun), len([event for event in events if event["ph"] == "s"]))
        self.assertGreater(len(slices), 0)

    def test_gzip(self):
        out = os.path.join(self.folder.name, "gzip")
        os.mkdir(out)
        export("310p", out, "--format", "chrome", "--gzip")
        self.assertEqual(events_of(find(out, "msprof_*.json.gz")), events_of(find(self.right["310p"], "msprof_*.json")))


class Chips(unittest.TestCase):
    """Directories of every chip: which exporter's numbers, and that the three outputs agree."""

    def test_every_chip(self):
        with tempfile.TemporaryDirectory() as folder:
            for chip in foreign_dir.CHIPS:
                with self.subTest(chip=chip):
                    self.check(foreign_dir.write(os.path.join(folder, str(chip)), chip, slices=2, devices=(0, 3)), 20)

    def test_newer_exporters_chips_when_no_cores_are_sampled(self):
        with tempfile.TemporaryDirectory() as folder:
            for chip in (5, 15):
                prof = foreign_dir.write(os.path.join(folder, str(chip)), chip, devices=(0, 3))
                for path in glob.glob(os.path.join(prof, "device_*", "sample.json")):
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
                    self.assertIn("sample-based", text)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text.replace("sample-based", "task-based"))
                for path in glob.glob(os.path.join(prof, "device_*", "data", "ffts_profile.data*")):
                    os.remove(path)  # records of the other mode
                with self.subTest(chip=chip):
                    self.check(prof, 24)

    def check(self, prof, hbm):
        out = os.path.join(os.path.dirname(prof), "out")
        done = subprocess.run([PROFCTL, "export", prof, "--out", out, "--format", "chrome,db,perfetto"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        events = events_of(find(out, "msprof_*.json"))
        self.assertGreater(same_counters(self, Trace(find(out, "msprof_*.perfetto-trace")), events), 10)
        processes = {}
        for event in events:
            if event["name"] in ("process_name", "process_sort_index"):
                processes.setdefault(event["pid"], []).append(*event["args"].values())
        self.assertEqual({len(names) for names in processes.values()}, {2}, "one name and one place each")
        self.assertLessEqual({event["pid"] for event in events}, set(processes))
        indices = {name: index for name, index in processes.values()}
        self.assertEqual(indices["HBM"], hbm)
        # The vendor's processes have its numbers; what it does not show has others, and stands behind.
        self.assertEqual(len({(pid >> 10, pid & 31, index) for pid, (_, index) in processes.items()}), len(processes))
        for pid, (_, index) in processes.items():
            self.assertTrue(index >= 32 or pid >> 5 & 31 == index, (pid, index))
        labels = {event["args"]["labels"] for event in events if event["name"] == "process_labels"}
        self.assertEqual(labels - {"CPU"}, {"NPU 0", "NPU 3"})
        # Each counter of HBM is a row, and has the row's value.
        database = Database(find(out, "msprof_*.db"))
        rows = collections.Counter((row[0], row[1], row[3], row[4], row[2]) for row in database.rows("HBM"))
        counters = collections.Counter()
        for event in events:
            if event["name"].startswith("HBM "):
                number, kind = event["name"][4:].split("/")
                (value,) = event["args"].values()
                close = [row for row in rows if row[:4] == (event["pid"] & 31, stamp_ns(event["ts"]), int(number),
                                                            kind.lower()) and abs(row[4] / 2**20 - value) < 0.001]
                counters.update(close[:1])
        self.assertEqual(rows, counters)
        self.assertGreater(sum(rows.values()), 100)


if __name__ == "__main__":
    unittest.main()
