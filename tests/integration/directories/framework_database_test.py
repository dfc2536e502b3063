#!/usr/bin/env python3
"""Folders of Ascend's PyTorch Profiler as databases (ascend_pytorch_profiler_<rank>.db, analysis.db) and as Perfetto's timeline."""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import ascend_pt
import harness
import perfetto_reader
from ascend_pt import MAIN, OTHER, PROF
from collectives import RAW, WALL

DATABASE = "ascend_pytorch_profiler_0.db"
STRINGS = "(SELECT value FROM STRING_IDS WHERE id = {})"


def export(folder, *words, code=harness.OK):
    done = subprocess.run([harness.PROFCTL, "export", folder, *words], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(os.environ, TZ="UTC"))
    assert done.returncode == code, done
    return done


def union(spans):
    """Their length together."""
    total, until = 0, -1
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


class FrameworkDatabaseTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-ascend-db-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def open(self, folder, name=DATABASE):
        path = folder.path / "ASCEND_PROFILER_OUTPUT" / name
        return self.enterContext(contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)))

    def rows(self, folder, sql, name=DATABASE):
        return self.open(folder, name).execute(sql).fetchall()

    def results(self, folder):
        return sorted(os.listdir(folder.path / "ASCEND_PROFILER_OUTPUT"))

    def test_operators_and_the_calls_that_they_made(self):
        folder, launches, _ = ascend_pt.with_device(self.top / "x_ascend_pt")
        (folder.path / "profiler_metadata.json").write_text(json.dumps({"loss": [1.5, "ü"]}), encoding="utf-8")
        done = export(folder.path, "--type", "db")
        self.assertIn(", complete", done.stdout)
        self.assertEqual(self.results(folder), ["analyse.done", "analysis.db", DATABASE])
        self.assertFalse(list((folder.path / PROF).glob("*.db")))  # it has become the folder's
        rows = self.rows(folder, f"""SELECT {STRINGS.format('p.name')}, p.startNs, p.endNs, p.globalTid, c.startNs, c.globalTid, p.type,
                                     {STRINGS.format('c.name')} FROM PYTORCH_API p LEFT JOIN CONNECTION_IDS i ON i.id = p.connectionId
                                     LEFT JOIN CANN_API c ON c.connectionId = i.connectionId ORDER BY p.startNs""")
        self.assertEqual(len(rows), len(launches) + 3)
        for name, begin, end, tid, call, call_tid, kind, call_name in rows:
            self.assertEqual(kind, 50001)
            self.assertIsInstance(begin, int)
            if name.startswith("aten::"):
                self.assertTrue(begin < call < end and tid == call_tid and call_name == "launch", rows)
            else:
                self.assertIsNone(call)
        self.assertEqual({tid & 0xFFFFFFFF for _, _, _, tid, *_ in rows}, {MAIN, OTHER})
        stack = self.rows(folder, f"""SELECT DISTINCT {STRINGS.format('c.stack')}, stackDepth FROM PYTORCH_CALLCHAINS c JOIN PYTORCH_API p
                                      ON p.callchainId = c.id WHERE {STRINGS.format('p.name')} LIKE 'outer%' ORDER BY stackDepth""")
        self.assertEqual(stack, [("a.py(1)", 0), ("b.py(2)", 1)])
        self.assertEqual(self.rows(folder, f"SELECT DISTINCT {STRINGS.format('inputShapes')}, {STRINGS.format('inputDtypes')} FROM "
                                           "PYTORCH_API WHERE inputShapes IS NOT NULL"), [("2,3;\r\n4;\r\n", "float;\r\nNone")])
        self.assertEqual(self.rows(folder, "SELECT * FROM RANK_DEVICE_MAP"), [(0, 0)])
        self.assertEqual(self.rows(folder, "SELECT value FROM META_DATA WHERE name = 'loss'"), [('[1.5, "\\u00fc"]',)])
        self.assertEqual([name for name, in self.rows(folder, "SELECT name FROM ENUM_API_TYPE WHERE id > 50000 ORDER BY id")],
                         ["op", "queue", "trace", "mstx"])
        self.assertEqual(self.rows(folder, "SELECT id, endNs - startNs FROM STEP_TIME"),
                         [(3, max(call[4] for call in launches) - min(call[3] for call in launches) + 10_000)])

    def test_steps_and_collectives(self):
        """StepTraceTime is what a few lines reckon of the tables; collectives are as their tasks were recorded."""
        folder, _, job = ascend_pt.with_device(self.top / "x_ascend_pt", export_type=("db",))
        export(folder.path)  # the job asked for a database
        self.assertEqual(self.results(folder), ["analyse.done", "analysis.db", DATABASE])
        computing = self.rows(folder, "SELECT startNs, endNs FROM COMPUTE_TASK_INFO JOIN TASK USING (globalTaskId)")
        carrying = self.rows(folder, "SELECT startNs, endNs FROM COMMUNICATION_OP")
        both, begin = computing + carrying, min(computing + carrying)[0]
        whole = max(end for _, end in both) - begin
        step = self.rows(folder, "SELECT startNs FROM STEP_TIME")[0][0]
        wanted = [union(computing), union(both) - union(computing), union(carrying) - union(both) + union(computing), union(carrying),
                  whole - union(both), whole, 0, union(both) - union(computing), begin - step]
        (found,) = self.rows(folder, "SELECT * FROM StepTraceTime", "analysis.db")
        self.assertEqual(found[:2], (0, "3"))
        for got, ns in zip(found[2:], wanted, strict=True):
            self.assertAlmostEqual(got, ns / 1000, 3)
        times = {row[0]: row[1:] for row in self.rows(folder, "SELECT hccl_op_name, start_timestamp, elapse_time, transit_time, "
                                                              "wait_time, synchronization_time, step, type FROM CommAnalyzerTime",
                                                      "analysis.db")}
        self.assertEqual(len(times), len(job.collectives))
        for number, op in enumerate(job.collectives):
            main = sorted((part for part in job.parts if part["of"] == number and part["master"]), key=lambda part: part["begin"])
            wait = [part["end"] - part["begin"] for part in main if part["name"] == "Notify_Wait"]
            carried = sum(part["end"] - part["begin"] for part in main if part["name"] in ("Memcpy", "Reduce_Inline") and part["transport"] == 0)
            start, elapsed, transit, waited, synchronized, name, sort = times[op["name"]]
            self.assertAlmostEqual(start, main[0]["begin"] / 1000, delta=0.3)  # as exact as a float of that size
            self.assertEqual((name, sort), ("step3", "collective"))
            for got, ns in ((elapsed, main[-1]["end"] - main[0]["begin"]), (transit, carried), (waited, sum(wait)), (synchronized, wait[0])):
                self.assertAlmostEqual(got, ns / 1e6, 6)
        sizes = dict(self.rows(folder, "SELECT hccl_op_name, sum(package_size * count) FROM CommAnalyzerBandwidth WHERE "
                                       "transport_type = 'HCCS' GROUP BY 1", "analysis.db"))
        for number, op in enumerate(job.collectives):
            of_link = [part["bytes"] for part in job.parts if part["of"] == number and part["link"] == 1 and part["transport"] == 0
                       and part["name"] in ("Memcpy", "Reduce_Inline")]
            self.assertAlmostEqual(float(sizes.get(op["name"], 0)), sum(of_link) / 1e6, 6)
        names = {name for name, in self.rows(folder, "SELECT DISTINCT hccl_op_name FROM CommAnalyzerMatrix", "analysis.db")}
        self.assertLessEqual({"allreduce-top1", "allreduce-total", "allgather-middle"}, names)

    def test_text_and_database_at_once_say_the_same_of_collectives(self):
        folder, _, job = ascend_pt.with_device(self.top / "x_ascend_pt")
        export(folder.path, "--format", "text,db")
        self.assertIn("trace_view.json", self.results(folder))
        text = json.loads((folder.path / "ASCEND_PROFILER_OUTPUT/communication.json").read_text(encoding="utf-8"))
        times = dict(self.rows(folder, "SELECT hccl_op_name || '@' || group_name, elapse_time FROM CommAnalyzerTime", "analysis.db"))
        of_text = {name: op["Communication Time Info"]["Elapse Time(ms)"] for name, op in text["step3"]["collective"].items()
                   if name != "Total Op Info"}
        self.assertEqual(times, of_text)
        self.assertEqual(len(times), len(job.collectives))

    def test_queue_memory_gc_and_python(self):
        folder = ascend_pt.Folder(self.top / "one_ascend_pt")
        folder.op("aten::empty", RAW, RAW + 10_000, 1, sequence=4)
        folder.op("autograd::empty", RAW + 20_000, RAW + 21_000, 3, sequence=4, forward=1)
        folder.queued("copy", 7, (RAW + 1000, RAW + 2000), (RAW + 3000, RAW + 9000), 1, 2)
        for at, kind in ((4000, 0), (6000, 1), (8000, 2)):
            folder.memory(0x1000, RAW + at, 4096, 4096, kind, 2)
        folder.memory(0x2000, RAW + 9000, 512, 512, 0, 1, component=1)
        folder.python([(RAW + 100, 1, 1, 0), (RAW + 900, 1, 1, 1)], {1: "train.py(3): run"})
        folder.gc(RAW + 500, RAW + 600)
        done = export(folder.write(), "--type=db")
        self.assertIn("has the framework's own tables alone", done.stdout)
        self.assertEqual(self.results(folder), ["analyse.done", DATABASE])
        calls = self.rows(folder, f"SELECT {STRINGS.format('name')}, startNs - {WALL}, endNs - {WALL}, type, connectionId FROM PYTORCH_API")
        self.assertEqual({call[:4] for call in calls},
                         {("train.py(3): run", 100, 900, 50003), ("Enqueue@copy", 1000, 2000, 50002), ("Dequeue@copy", 3000, 9000, 50002),
                          ("aten::empty", 0, 10_000, 50001), ("autograd::empty", 20_000, 21_000, 50001)})
        connections = {}
        for name, connection in self.rows(folder, f"SELECT {STRINGS.format('name')}, i.connectionId FROM PYTORCH_API p JOIN CONNECTION_IDS i "
                                                  "ON i.id = p.connectionId"):
            connections.setdefault(connection, set()).add(name)
        self.assertEqual(connections, {(5 << 28) + 7: {"Enqueue@copy", "Dequeue@copy"}, (5 << 28) + 8: {"aten::empty", "autograd::empty"}})
        self.assertEqual(self.rows(folder, f"SELECT {STRINGS.format('name')}, size, duration, activeDuration FROM OP_MEMORY"),
                         [("aten::empty", 4096, 2000, 4000), ("aten::empty", 512, None, None)])
        self.assertEqual(self.rows(folder, f"SELECT {STRINGS.format('component')}, totalAllocated FROM MEMORY_RECORD"),
                         [(name, 4096) for _ in range(3) for name in ("PTA", "PTA+GE")] + [("WORKSPACE", 512)])
        self.assertEqual(self.rows(folder, f"SELECT startNs - {WALL}, endNs - {WALL}, globalTid FROM GC_RECORD"), [(500, 600, 4242 << 32 | 4242)])

    def test_an_earlier_database_stands_in_for_slices_that_are_gone_and_stays(self):
        folder, launches, _ = ascend_pt.with_device(self.top / "x_ascend_pt")
        export(folder.path / PROF, "--format", "db")
        for file in folder.path.glob("PROF_*/*/data/*"):
            file.unlink()
        export(folder.path, "--type", "db")
        self.assertEqual(len(list((folder.path / PROF).glob("msprof_*.db"))), 1)
        self.assertEqual(self.rows(folder, "SELECT count(connectionId) FROM PYTORCH_API"), [(len(launches),)])

    def test_a_hostile_database_changes_nothing_else(self):
        """One with triggers, with views in place of tables, and one that is none."""
        folder, _, _ = ascend_pt.with_device(self.top / "x_ascend_pt")
        for file in folder.path.glob("PROF_*/*/data/*"):
            file.unlink()
        path = folder.path / PROF / "msprof_20260131120000.db"
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executescript("CREATE TABLE STRING_IDS (id INTEGER, value TEXT); CREATE TABLE hit (n);"
                                   f"INSERT INTO STRING_IDS VALUES ({2**63 - 1}, 'launch');"
                                   "CREATE TRIGGER t AFTER INSERT ON STRING_IDS BEGIN INSERT INTO hit VALUES (1); END;"
                                   "CREATE VIEW CANN_API AS SELECT 1 AS startNs;")
        export(folder.path, "--type", "db")
        self.assertEqual(self.rows(folder, "SELECT count(*) FROM hit"), [(0,)])
        self.assertEqual(self.rows(folder, "SELECT count(*) FROM PYTORCH_API WHERE name IS NULL"), [(0,)])
        before = self.results(folder)
        path.write_bytes(b"SQLite format 3\0" + bytes(4080))
        done = export(folder.path, "--type", "db", code=harness.FAILED)
        self.assertIn("file is not a database", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(self.results(folder), before)

    def test_perfetto_has_all_of_it_on_one_timeline(self):
        folder, launches, _ = ascend_pt.with_device(self.top / "x_ascend_pt")
        folder.queued("copy", 7, (RAW + 1000, RAW + 2000), (RAW + 3000, RAW + 9000), MAIN, 9)
        folder.write()
        done = export(folder.path, "--format", "perfetto")
        self.assertIn(", complete", done.stdout)
        self.assertEqual(self.results(folder), ["analyse.done", "trace_view.perfetto-trace"])
        trace = perfetto_reader.Trace(folder.path / "ASCEND_PROFILER_OUTPUT/trace_view.perfetto-trace")
        by_flow = {}
        for one in trace.slices:
            for flow in one["flows"] + one["ends"]:
                by_flow.setdefault(flow, []).append(one)
        operators = [one for one in trace.slices if one["name"].startswith("aten::op")]
        self.assertEqual(len(operators), len(launches))
        self.assertEqual(len({trace.path(one["track"]) for one in operators}), 2)
        kernels = 0
        for one in operators:
            self.assertEqual(len(one["flows"]), 1, one)
            partners = by_flow[one["flows"][0]]
            call = [other for other in partners if "CANN" in trace.path(other["track"])]
            self.assertEqual(len(call), 1)
            self.assertTrue(one["begin"] <= call[0]["begin"] and call[0]["end"] <= one["end"])
            kernels += any(trace.path(other["track"])[0] == "NPU 0" for other in partners)
        self.assertEqual(kernels, len(launches))
        ends = {one["name"]: one["flows"] for one in trace.slices if "@copy" in one["name"]}
        self.assertEqual(ends["Enqueue@copy"], ends["Dequeue@copy"])
        step = next(one for one in trace.slices if one["name"] == "ProfilerStep#3")
        self.assertEqual(step["begin"], WALL + min(call[3] for call in launches) - 5000 - RAW)
        outer = next(one for one in trace.slices if one["name"] == f"outer{OTHER}")
        self.assertEqual(outer["args"]["Call stack"], "a.py(1);b.py(2)")

    def test_perfetto_without_a_device(self):
        folder = ascend_pt.Folder(self.top / "one_ascend_pt")
        folder.op("aten::empty", RAW, RAW + 10_000, 1)
        folder.memory(0x1000, RAW + 4000, 4096, 4096, 0, 1)
        done = export(folder.write(), "--format", "perfetto")
        self.assertIn("has the framework's calls alone", done.stdout)
        trace = perfetto_reader.Trace(folder.path / "ASCEND_PROFILER_OUTPUT/trace_view.perfetto-trace")
        self.assertEqual([(one["name"], one["begin"] - WALL) for one in trace.slices], [("aten::empty", 0)])
        self.assertEqual([values for path, values in trace.counters.items() if "PTA allocated" in path[-1]], [[(WALL + 4000, 4096.0)]])


if __name__ == "__main__":
    unittest.main()
