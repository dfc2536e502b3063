#!/usr/bin/env python3
"""What CANN's own collector records of operators beside their tasks, in our exports and in those of the vendor's parser: the same
rows. Needs a checkout of it with its library (tests/support/vendor_tools.py)."""
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import collectives
import harness
import operators
import vendor_tools
from vendor_tools import OUTPUT, needs_library

TASKS = ("SELECT deviceId, streamId, taskId, contextId, startNs, endNs, modelId, connectionId > 0, t.value FROM TASK "
         "JOIN STRING_IDS t ON t.id = taskType")
OPERATORS = ("SELECT streamId, taskId, contextId, n.value, t.value, o.value, blockNum, mixBlockNum FROM COMPUTE_TASK_INFO c JOIN TASK USING(globalTaskId) "
             "JOIN STRING_IDS n ON n.id = name JOIN STRING_IDS t ON t.id = c.taskType JOIN STRING_IDS o ON o.id = opType")
# The thread: of the process it has that of info.json, whichever the record names (docs/export.md).
MARKS = "SELECT message.value, startNs, endNs, globalTid & 0xffffffff FROM MSTX_EVENTS m JOIN STRING_IDS message ON message.id = m.message"
# But of kernels that no operator's call launched (captured ones, those of wide streams): they have none, and it gives those the attributes of the row before (docs/export.md).
ATTRIBUTES = ("SELECT n.value, a.value, count(*) FROM COMPUTE_TASK_INFO c JOIN TASK USING(globalTaskId) JOIN STRING_IDS n ON n.id = name "
              "JOIN STRING_IDS a ON a.id = attrInfo WHERE a.value != '' AND a.value != 'N/A' AND streamId != 13 AND streamId < 2048 GROUP BY 1, 2")
COPIES = "SELECT streamId, taskId, size, memcpyOperation FROM MEMCPY_INFO JOIN TASK USING(globalTaskId)"
MEMORY = ("SELECT n.value, addr, t.value, size, timestampNs, globalTid, totalAllocate, totalReserve, c.value, deviceId FROM NPU_OP_MEM "
          "JOIN STRING_IDS n ON n.id = operatorName JOIN STRING_IDS t ON t.id = type JOIN STRING_IDS c ON c.id = component")


@needs_library
class VendorOperatorsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-vendor-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.job = collectives.Job(8)
        self.memory = operators.add_memory(self.job)
        self.loads, self.fused = operators.add_models(self.job)
        self.sub_tasks = operators.add_sub_tasks(self.job)
        self.copies = operators.add_copies(self.job)
        self.markers = operators.add_markers(self.job)
        operators.add_attributes(self.job, of_nobody=False)  # it takes them for the operator's, whatever their name
        self.captured = operators.add_captures(self.job)
        self.wide = operators.add_wide_streams(self.job)
        self.logic = operators.add_logic_streams(self.job)
        self.static = operators.add_static_memory(self.job)
        self.directory = self.job.write(self.top / "PROF_000001_20231114221320000_00004000ABCDEFGH")
        operators.add_queues(self.directory)
        self.theirs = self.top / "theirs" / self.directory.name
        shutil.copytree(self.directory, self.theirs)

    def export(self, form):
        done = subprocess.run([harness.PROFCTL, "export", self.directory, "--format", form, "--vendor-compatible", "--out", self.top / form],
                              capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, 0, done)
        return self.top / form

    def test_messages_of_older_drivers(self):
        shutil.rmtree(self.theirs)
        for file in self.directory.glob("device_0/data/aicpu.data*"):
            file.unlink()
        kernels, queues = operators.add_messages(self.directory)
        shutil.copytree(self.directory, self.theirs)
        self.parse("summary")
        ours = self.export("csv")
        for table, count in (("aicpu", kernels), ("dp", queues)):
            with self.subTest(table):
                rows = self.rows_of(table, ours)
                self.assertEqual(*rows)
                self.assertEqual(len(rows[0]), len(count))

    def rows_of(self, table, ours):
        [path], [of_ours] = (self.theirs / OUTPUT).glob(f"{table}_2*.csv"), ours.rglob(f"{table}_2*.csv")
        rows = []
        for file in (of_ours, path):
            with file.open(encoding="utf-8", newline="") as text:
                rows.append([{key: value.strip() for key, value in row.items() if not self.is_its_own(key, table)}
                             for row in csv.DictReader(text)])
        return rows

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
            rows.append([sorted(db.execute(query).fetchall()) for query in (MEMORY, TASKS, OPERATORS, COPIES, MARKS, ATTRIBUTES)])
        for of_theirs, of_ours in zip(*rows):
            self.assertEqual(of_ours, of_theirs)
        self.assertEqual(len(rows[0][0]), len(self.memory))
        self.assertEqual({row[6] for row in rows[0][1]}, {5, 7, 9, 2**32 - 1})
        self.assertEqual({row[:2]: (row[3], row[5], row[6]) for row in rows[0][2] if row[0] == 13},
                         {task: of[:3] for task, of in self.captured.items()})

        self.assertEqual({row[:4] for row in rows[0][2] if row[2] != 2**32 - 1}, {sub[:4] for sub in self.sub_tasks})

        self.assertEqual({row[1:3] for row in rows[0][1] if row[1] > 2047}, set(self.wide))

        self.assertEqual(rows[0][3], sorted((*task, *copy) for task, copy in self.copies.items()))

    def copies_of(self, path):
        events = json.loads(path.read_text(encoding="utf-8"))
        return sorted((args["Physic Stream Id"], args["Task Id"], args["Model Id"], args["size(B)"], args["operation"],
                       round(args["bandwidth(GB/s)"], 6)) for args in (event.get("args", {}) for event in events) if "operation" in args)

    def test_timeline(self):
        self.parse("timeline")
        # Beside it, it leaves the marks alone in msprof_tx_*.json.
        [theirs], [ours] = (self.theirs / OUTPUT).glob("msprof_[0-9]*.json"), self.export("chrome").rglob("msprof_*.json")
        self.assertEqual(self.copies_of(ours), self.copies_of(theirs))
        self.assertEqual(len(self.copies_of(ours)), len(self.copies))
        self.assertEqual(self.threads_of(ours), self.threads_of(theirs))
        self.assertEqual(dict(self.threads_of(ours)) | self.logic, dict(self.threads_of(ours)))

    def threads_of(self, path):
        events = json.loads(path.read_text(encoding="utf-8"))
        return sorted({(event["args"]["Physic Stream Id"], event["tid"]) for event in events if "Physic Stream Id" in event.get("args", {})})

    @staticmethod
    def plain(key, value):
        """Of sizes it prints 15 digits, of memory no operator without a name."""
        if key == "Name" and value.isdigit():
            return ""
        return round(float(value), 5) if "(KB)" in key or key in ("Start Time(us)", "End Time(us)") else value.strip()

    @staticmethod
    def is_its_own(key, table):
        """It subtracts stamps of 51 bits as doubles, and takes times of queues for those of another clock (docs/export.md)."""
        return key == "Task Wait Time(us)" or key == "Timestamp(us)" and table == "dp"

    @staticmethod
    def tells_no_graph(key, row):
        """Its table has no model where only the kernel's name is known (docs/export.md); its database has the graph."""
        return key == "Model ID" and row.get("Op Name") == "my_kernel"

    def test_tables(self):
        self.parse("summary")
        ours = self.export("csv")
        for table in ("memory_record", "operator_memory", "fusion_op", "op_summary", "static_op_mem", "dp", "aicpu_mi"):
            with self.subTest(table):
                [path], [of_ours] = (self.theirs / OUTPUT).glob(f"{table}_2*.csv"), ours.rglob(f"{table}_2*.csv")
                rows = []
                for file in (of_ours, path):
                    with file.open(encoding="utf-8", newline="") as text:
                        # Where a table has no order of its own.
                        order = list if "memory" in table else sorted
                        rows.append(order([(key, self.plain(key, value)) for key, value in row.items()
                                           if not self.is_its_own(key, table) and not self.tells_no_graph(key, row)]
                                          for row in csv.DictReader(text)))
                self.assertEqual(*rows)


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.PARSER)
