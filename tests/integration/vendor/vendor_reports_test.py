#!/usr/bin/env python3
"""What CANN's modules reported to the agent on chips that MSPTI does not know, in our exports and in those of the vendor's parser,
which reads the same directory: the same rows. Needs a checkout of it (tests/support/vendor_tools.py)."""
import collections
import csv
import shutil
import unittest

import vendor_tools
from cann_reports import ReportingTest
from harness import OK, PARTIAL_LOSS
from vendor_tools import OUTPUT, needs_parser

# What it has where we have another word for the same, or more digits.
COLUMNS = ("Device_id", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type", "Block Num", "Input Shapes",
           "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats")


@needs_parser
class VendorReportsTest(ReportingTest):
    maxDiff = None

    def rows(self, directory, name):
        found = list(directory.glob(f"{OUTPUT}/{name}_*.csv"))
        self.assertEqual(len(found), 1, f"{name}: {list(directory.glob(f'{OUTPUT}/*'))}")
        with found[0].open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_the_same_operators_and_calls(self):
        for chip in ("310P", "910", "310"):
            with self.subTest(chip=chip):
                self.daemon_of(chip)
                result = self.msprof("--ascendcl=on", "--runtime-api=on", "--hccl=on")
                self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
                theirs = self.folder / "theirs" / self.directory.name
                shutil.copytree(self.directory, theirs, ignore=shutil.ignore_patterns("mindstudio_profiler_output", "msprof_*.db"))
                for what in ("summary", "timeline"):
                    run = vendor_tools.parse(theirs, "export", what)
                    self.assertEqual((run.code, run.errors), (0, []), run)

                def operators(rows):
                    """Without collectives, which have no stream there and other names where numbers run over."""
                    return collections.Counter(tuple(row[column] for column in COLUMNS) for row in rows
                                               if row["OP Type"] != "N/A" and not row["OP Type"].startswith("hcom_"))

                if chip == "310":  # it makes no table of its operators, and one of the calls of one iteration
                    continue
                ours, other = (operators(self.rows(directory, "op_summary")) for directory in (self.directory, theirs))
                self.assertGreater(sum(other.values()), 3000)
                self.assertEqual((ours - other, other - ours), (collections.Counter(), collections.Counter()))

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
