#!/usr/bin/env python3
"""Collectives of a directory that CANN's own collector wrote, in our exports and in those of the vendor's parser: the same rows,
the same events. Needs a checkout of it with its library (tests/support/vendor_tools.py)."""
import csv
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import ai_cpu_collectives
import collectives
import harness
import vendor_tools
from vendor_tools import OUTPUT, needs_library

# Names in the place of numbers, which each has its own way to give.
QUERIES = (
    "SELECT n.value, startNs, endNs, connectionId > 0, g.value, relay, retry, dataType, a.value, count, t.value, deviceId, rankSize "
    "FROM COMMUNICATION_OP c JOIN STRING_IDS n ON n.id = opName JOIN STRING_IDS g ON g.id = groupName "
    "JOIN STRING_IDS a ON a.id = algType JOIN STRING_IDS t ON t.id = opType",
    "SELECT n.value, startNs, endNs, streamId, TASK.taskId, t.value, planeId, g.value, notifyId, rdmaType, srcRank, dstRank, transportType, "
    "size, dataType, linkType, isMaster, round(bandwidth / 1e6) FROM COMMUNICATION_TASK_INFO c JOIN TASK USING(globalTaskId) "
    "JOIN STRING_IDS n ON n.id = name JOIN STRING_IDS g ON g.id = groupName JOIN STRING_IDS t ON t.id = c.taskType",
    "SELECT n.value, startNs, endNs, streamId, TASK.taskId, t.value, o.value FROM COMPUTE_TASK_INFO c JOIN TASK USING(globalTaskId) "
    "JOIN STRING_IDS n ON n.id = name JOIN STRING_IDS t ON t.id = c.taskType JOIN STRING_IDS o ON o.id = opType",
    "SELECT count(*) FROM (SELECT DISTINCT c.opId FROM COMMUNICATION_TASK_INFO c JOIN COMMUNICATION_OP o USING(opId) WHERE o.opName = c.name)")


@needs_library
class VendorCollectivesTest(unittest.TestCase):
    maxDiff = None
    job_of = collectives.Job

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-vendor-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.job = self.job_of()
        self.directory = self.job.write(self.top / "PROF_000001_20231114221320000_00004000ABCDEFGH")
        self.theirs = self.top / "theirs" / self.directory.name
        shutil.copytree(self.directory, self.theirs)

    def export(self, form):
        done = subprocess.run([harness.PROFCTL, "export", self.directory, "--format", form, "--vendor-compatible", "--out", self.top / form],
                              capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, 0, done)
        return self.top / form

    def parse(self, what):
        run = vendor_tools.parse(self.theirs, "export", what)
        self.assertEqual((run.code, run.errors), (0, []), run)

    def test_database(self):
        self.parse("db")
        [theirs], [ours] = self.theirs.glob("msprof_*.db"), self.export("db").rglob("*.db")
        rows = []
        for path in (theirs, ours):
            db = sqlite3.connect(path)
            self.addCleanup(db.close)
            rows.append([sorted(db.execute(query).fetchall()) for query in QUERIES])
        for query, of_theirs, of_ours in zip(QUERIES, *rows):
            with self.subTest(query):
                self.assertEqual(of_ours, of_theirs)
        self.assertEqual(len(rows[0][1]), self.number_of_parts())

    def number_of_parts(self):
        return len(self.job.parts)

    def events(self, path):
        """Those of the process Communication: each with the name of its track, numbers as each prints them."""
        events = json.loads(path.read_text(encoding="utf-8"))
        [process] = {e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "Communication"}
        tracks, group = {}, ""
        order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index" and e["pid"] == process}
        names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == process}
        for tid, name in sorted(names.items(), key=lambda thread: order[thread[0]]):
            group = name if name.startswith("Group") else group
            tracks[tid] = (group, name)
        numbers = ("bandwidth(GB/s)", "duration estimated(us)")
        return sorted((e["name"], *tracks[e["tid"]], float(e["ts"]), float(e["dur"]),
                       sorted((key, str(round(float(value), 3)) if key in numbers else str(value)) for key, value in e["args"].items()
                              if key not in ("connection_id", "rdma type", "is master", "collective")))
                      for e in events if e["ph"] == "X" and e["pid"] == process)

    def test_timeline(self):
        self.parse("timeline")
        [theirs], [ours] = (self.theirs / OUTPUT).glob("msprof_*.json"), self.export("chrome").rglob("msprof_*.json")
        self.assertEqual(self.events(ours), self.events(theirs))

    def test_tables(self):
        self.parse("summary")
        ours = self.export("csv")
        for table in ("communication_statistic", "op_summary", "task_time", "op_statistic"):
            with self.subTest(table):
                [path], [of_ours] = (self.theirs / OUTPUT).glob(f"{table}_*.csv"), ours.rglob(f"{table}_*.csv")
                rows = []
                for file in (of_ours, path):
                    with file.open(encoding="utf-8", newline="") as text:
                        # It subtracts stamps of 51 bits as doubles: what is waited is off by a quarter of a microsecond.
                        rows.append(sorted([(key, re.sub(r"\s", "", value)) for key, value in row.items() if key != "Task Wait Time(us)"]
                                           for row in csv.DictReader(text)))
                self.assertEqual(*rows)


@needs_library
class VendorAiCpuCollectivesTest(VendorCollectivesTest):
    """Those that AI CPUs carry out, beside them."""
    job_of = ai_cpu_collectives.Job

    def number_of_parts(self):
        of_host = len(self.job.of_library)
        return of_host + sum(len(of["parts"]) for of in self.job.of_ai_cpus)


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.PARSER)
