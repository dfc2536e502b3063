#!/usr/bin/env python3
"""What CANN's modules reported to the agent, in our exports and in those of the vendor's parser, which reads the same directory:
the same rows. Needs a checkout of it (tests/support/vendor_tools.py), of collectives with its library."""
import collections
import contextlib
import csv
import decimal
import json
import shutil
import sqlite3
import unittest

import vendor_tools
from cann_reports import ReportingTest
from harness import OK, PARTIAL_LOSS
from vendor_collectives_test import QUERIES
from vendor_tools import OUTPUT, needs_library, needs_parser

# What it has where we have another word for the same, or more digits.
COLUMNS = ("Device_id", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type", "Block Num", "Mix Block Num",
           "HF32 Eligible", "Input Shapes",
           "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats")
ATTRIBUTES = ("SELECT n.value, a.value, count(*) FROM COMPUTE_TASK_INFO JOIN STRING_IDS n ON n.id = name JOIN STRING_IDS a ON a.id = attrInfo "
              "WHERE a.value NOT IN ('', 'N/A') GROUP BY 1, 2")


@needs_parser
class VendorReportsTest(ReportingTest):
    maxDiff = None

    def rows(self, directory, name):
        found = list(directory.glob(f"{OUTPUT}/{name}_*.csv"))
        self.assertEqual(len(found), 1, f"{name}: {list(directory.glob(f'{OUTPUT}/*'))}")
        with found[0].open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def record(self, chip, *options):
        """A program of each chip; the directory for the vendor's parser."""
        daemon = self.daemon_of(chip)
        result = self.msprof(*(options or ("--ascendcl=on", "--runtime-api=on", "--hccl=on", "--task-time=l2")))
        self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
        theirs = self.folder / "theirs" / self.directory.name
        shutil.copytree(self.directory, theirs, ignore=shutil.ignore_patterns("mindstudio_profiler_output", "msprof_*.db"))
        return daemon, theirs

    @staticmethod
    def is_same(ours, theirs):
        """Times of today in ns are beyond what a double holds exactly: the two may round apart."""
        def near(a, b):
            return a == b or (isinstance(a, int) and isinstance(b, int) and a > 1 << 53 and abs(a - b) <= 1)
        return len(ours) == len(theirs) and all(near(a, b) for a, b in zip(ours, theirs))

    @needs_library
    def test_the_same_parts_of_collectives_and_attributes(self):
        for chip in ("910B", "310B", "950"):
            with self.subTest(chip=chip):
                daemon, theirs = self.record(chip)
                run = vendor_tools.parse(theirs, "export", "db")
                self.assertEqual((run.code, run.errors), (0, []), run)
                ours = self.folder / "ours"
                self.assertEqual(daemon.ctl("export", self.directory, "--format", "db", "--vendor-compatible", "--out", ours).code, OK)
                [their], [our] = theirs.glob("msprof_*.db"), ours.rglob("msprof_*.db")
                rows = []
                for path in (their, our):
                    with contextlib.closing(sqlite3.connect(path)) as tables:
                        rows.append([sorted(tables.execute(query).fetchall()) for query in (*QUERIES[:2], ATTRIBUTES)])
                for query, of_theirs, of_ours in zip((*QUERIES[:2], ATTRIBUTES), *rows):
                    with self.subTest(query):
                        self.assertGreater(len(of_theirs), 40)
                        self.assertEqual(len(of_ours), len(of_theirs))
                        wrong = [pair for pair in zip(of_ours, of_theirs) if not self.is_same(*pair)]
                        self.assertEqual(wrong[:3], [], len(wrong))

    def test_the_same_memory_of_operators(self):
        for chip in ("910B", "310P", "950"):
            with self.subTest(chip=chip):
                daemon, theirs = self.record(chip, "--ascendcl=on", "--task-memory=on")
                for what in ("summary", "timeline", "db"):
                    run = vendor_tools.parse(theirs, "export", what)
                    self.assertEqual((run.code, run.errors), (0, []), run)
                ours = self.folder / "ours"
                self.assertEqual(daemon.ctl("export", self.directory, "--format", "csv", "--vendor-compatible", "--out", ours).code, OK)
                [exported] = ours.rglob(OUTPUT)
                for table in ("operator_memory", "memory_record"):
                    stamp = {"operator_memory": "Allocation Time(us)", "memory_record": "Timestamp(us)"}[table]
                    ours, other = (self.rows(directory, table) for directory in (exported.parent, theirs))
                    # It has all rows once more for each device.
                    other = [row for row in other if row["Device"] == f"NPU:{row['Device_id']}"]
                    self.assertGreater(len(other), 500)
                    of_ours, of_other = (collections.Counter(tuple(round(float(value), 2) if name == "Duration(us)" else value for name, value in row.items() if name != stamp)
                                                             for row in rows)
                                         for rows in (ours, other))
                    self.assertEqual((list((of_ours - of_other).elements())[:3], list((of_other - of_ours).elements())[:3]), ([], []), table)
                    for mine, its in zip(*(sorted(decimal.Decimal(row[stamp]) for row in rows) for rows in (ours, other))):
                        self.assertAlmostEqual(mine, its, delta=1)

    @needs_library
    def test_without_operators(self):
        for chip in ("910B", "310B", "950", "310P", "910"):
            with self.subTest(chip=chip):
                daemon, theirs = self.record(chip, "--ascendcl=on", "--task-time=l0")
                for what in ("db", "summary"):
                    run = vendor_tools.parse(theirs, "export", what)
                    self.assertEqual((run.code, run.errors), (0, []), run)
                ours = self.folder / "ours"
                self.assertEqual(daemon.ctl("export", self.directory, "--format", "csv", "--vendor-compatible", "--out", ours).code, OK)
                [path] = ours.rglob("op_summary_*.csv")
                with path.open(encoding="utf-8", newline="") as file:
                    of_ours = list(csv.DictReader(file))
                of_theirs = self.rows(theirs, "op_summary")
                self.assertGreater(len(of_theirs), 1000)
                self.assertEqual(len(of_ours), len(of_theirs))
                self.assertEqual({row["OP Type"] for row in of_theirs}, {row["OP Type"] for row in of_ours})
                self.check_cores(of_ours, of_theirs)

    def check_cores(self, ours, theirs):
        """Of all tasks together: rounding and clocks tell single ones apart."""
        def total(rows, column):
            return sum(float(row[column]) for row in rows if row[column] != "N/A")
        for column in theirs[0]:
            if column.endswith("_time(us)") or column == "cube_utilization(%)":
                self.assertAlmostEqual(total(ours, column), total(theirs, column), delta=1 + 0.001 * total(theirs, column), msg=column)
                self.assertEqual(sum(row[column] == "N/A" for row in ours), sum(row[column] == "N/A" for row in theirs), column)

    def test_the_same_operators_and_calls(self):
        for chip in ("310P", "910", "310", "910B", "310B", "950"):
            with self.subTest(chip=chip):
                daemon, theirs = self.record(chip)
                for what in ("summary", "timeline"):
                    run = vendor_tools.parse(theirs, "export", what)
                    self.assertEqual((run.code, run.errors), (0, []), run)

                def operators(rows):
                    """Without collectives, which have no stream there and other names where numbers run over."""
                    return collections.Counter(tuple(row[column] for column in COLUMNS if column in row) for row in rows
                                               if row["OP Type"] != "N/A" and not row["OP Type"].startswith("hcom_"))

                if chip == "310":  # it makes no table of its operators, and one of the calls of one iteration
                    continue
                compatible = self.folder / "compatible"
                self.assertEqual(daemon.ctl("export", self.directory, "--format", "csv", "--vendor-compatible", "--out", compatible).code, OK)
                [path] = compatible.rglob("op_summary_*.csv")
                with path.open(encoding="utf-8", newline="") as file:
                    self.check_cores(list(csv.DictReader(file)), self.rows(theirs, "op_summary"))
                tables = [self.rows(directory, "op_summary") for directory in (self.directory, theirs)]
                self.assertEqual(*(list(table[0]) for table in tables))  # columns
                ours, other = map(operators, tables)
                self.assertGreater(sum(other.values()), 3000)
                self.assertEqual((ours - other, other - ours), (collections.Counter(), collections.Counter()))

                def modes(directory):
                    """What AscendCL's calls say of themselves in the timeline."""
                    return {(event["name"], event["args"]["Mode"], event["args"]["id"])
                            for path in directory.glob(f"{OUTPUT}/msprof_*.json")
                            for event in json.loads(path.read_text(encoding="utf-8")) if event["name"].startswith("AscendCL@")}

                self.assertEqual(modes(self.directory), modes(theirs))

                def calls(rows):
                    """But of the communication library, whose calls it names after what they do."""
                    counts = collections.Counter()
                    for row in rows:
                        if row["Level"] != "communication":
                            counts[row["Level"], row["API Name"]] += int(row["Count"])
                    return counts

                # It has all calls of the host once more for each device.
                other = self.rows(theirs, "api_statistic")
                for device in {row["Device_id"] for row in other}:
                    self.assertEqual(calls(row for row in other if row["Device_id"] == device),
                                     calls(self.rows(self.directory, "api_statistic")))


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.PARSER)
