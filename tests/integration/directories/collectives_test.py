#!/usr/bin/env python3
"""Collectives of a directory that CANN's own collector wrote: each as a whole and its parts, in every output; across windows of
calls, with sub tasks, and damaged."""
import collections
import csv
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import collectives
import harness


class CollectivesTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-collectives-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def export(self, directory, form):
        out = self.top / form
        done = subprocess.run([harness.PROFCTL, "export", directory, "--format", form, "--out", out], capture_output=True, text=True,
                              timeout=300, check=False, env=dict(os.environ, TZ="UTC"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return out

    def database(self, directory):
        [path] = self.export(directory, "db").rglob("*.db")
        db = sqlite3.connect(path)
        self.addCleanup(db.close)
        return db

    def of_whole(self, db):
        return db.execute("SELECT n.value, g.value, c.count, c.relay, c.retry, startNs, endNs, d.name, a.value, rankSize FROM COMMUNICATION_OP c "
                          "JOIN STRING_IDS n ON n.id = opName JOIN STRING_IDS g ON g.id = groupName JOIN STRING_IDS a ON a.id = algType "
                          "JOIN ENUM_HCCL_DATA_TYPE d ON d.id = dataType ORDER BY startNs").fetchall()

    def of_parts(self, db):
        return db.execute("SELECT n.value, k.value, g.value, planeId, notifyId, srcRank, dstRank, t.name, size, l.name, r.name, isMaster, "
                          "streamId, taskId, TASK.startNs, TASK.endNs, o.opName = p.name, bandwidth FROM COMMUNICATION_TASK_INFO p "
                          "JOIN TASK USING(globalTaskId) JOIN COMMUNICATION_OP o USING(opId) JOIN STRING_IDS n ON n.id = p.name "
                          "JOIN STRING_IDS k ON k.id = p.taskType JOIN STRING_IDS g ON g.id = p.groupName "
                          "JOIN ENUM_HCCL_TRANSPORT_TYPE t ON t.id = transportType JOIN ENUM_HCCL_LINK_TYPE l ON l.id = linkType "
                          "JOIN ENUM_HCCL_RDMA_TYPE r ON r.id = rdmaType ORDER BY TASK.startNs, streamId").fetchall()

    def check_database(self, job, directory):
        db = self.database(directory)
        self.assertEqual(self.of_whole(db),
                         sorted(((c["name"], c["group"], c["count"], c["relay"], c["retry"], c["begin"], c["end"], "FP32",
                                  "MESH-RING-NHR", 8) for c in job.collectives), key=lambda row: row[5]))
        wanted = sorted(((job.collectives[p["of"]]["name"], p["name"], p["group"], p["plane"], p["notify"], p["local"], p["remote"],
                          collectives.TRANSPORT[p["transport"]], p["bytes"], collectives.LINK[p["link"]], "RDMA_SEND_NOTIFY", p["master"],
                          p["stream"], p["task"], p["begin"], p["end"], 1) for p in job.parts), key=lambda row: (row[14], row[12]))
        parts = self.of_parts(db)
        self.assertEqual([part[:-1] for part in parts], wanted)
        for part in parts:
            self.assertAlmostEqual(part[-1], part[8] * 1e9 / (part[15] - part[14]), delta=1e-6 * part[-1])
        return db

    def test_database(self):
        job = collectives.Job()
        db = self.check_database(job, job.write(self.top / "PROF_1"))
        operators = db.execute("SELECT n.value, t.value, count(*) FROM COMPUTE_TASK_INFO c JOIN STRING_IDS n ON n.id = name JOIN "
                               "STRING_IDS t ON t.id = taskType GROUP BY 1, 2 ORDER BY 1").fetchall()
        reduced = sum(part["name"] == "Reduce_Inline" for part in job.parts)
        self.assertEqual(operators, [("MatMul_1", "AI_CORE", job.kernels), ("Reduce_Inline", "COMMUNICATION", reduced)])

    def test_timeline_and_tables(self):
        job = collectives.Job(8)
        directory = job.write(self.top / "PROF_1")
        [path] = self.export(directory, "chrome").rglob("msprof_*.json")
        events = json.loads(path.read_text(encoding="utf-8"))
        [process] = [e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "Communication"]
        threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == process}
        order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index" and e["pid"] == process}
        self.assertEqual([threads[tid] for tid in sorted(threads, key=order.get)],
                         [name for group in collectives.GROUPS for name in (f"Group {group} Communication", "Plane 0", "Plane 1")])
        spans = [e for e in events if e["pid"] == process and e["ph"] == "X"]
        self.assertEqual(len(spans), len(job.collectives) + len(job.parts))
        planes = collections.Counter(threads[e["tid"]] for e in spans)
        self.assertEqual((planes["Plane 0"], planes["Plane 1"]), (len(job.parts) // 2,) * 2)
        part = next(p for p in job.parts if p["name"] == "RDMASend")
        [event] = [e for e in spans if e["name"] == "RDMASend" and e["args"]["notify_id"] == str(part["notify"])]
        self.assertEqual({key: event["args"][key] for key in ("duration estimated(us)", "stream id", "task id", "task type", "src rank",
                                                              "dst rank", "transport type", "size(Byte)", "data type", "link type")},
                         {"duration estimated(us)": part["estimated"], "stream id": part["stream"], "task id": part["task"],
                          "task type": "RDMASend", "src rank": 1, "dst rank": 2, "transport type": "RDMA", "size(Byte)": part["bytes"],
                          "data type": "FP32", "link type": "ROCE"})
        tables = self.export(directory, "csv")
        [path] = tables.rglob("communication_statistic_*.csv")
        with path.open(encoding="utf-8", newline="") as file:
            counts = {row["OP Type"]: int(row["Count"]) for row in csv.DictReader(file)}
        self.assertEqual(counts, dict(collections.Counter(c["name"].split("__")[0] + "_" for c in job.collectives)))
        [path] = tables.rglob("op_summary_*.csv")
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(collections.Counter(row["Task Type"] for row in rows),
                         {"COMMUNICATION": len(job.collectives), "AI_CORE": job.kernels})
        # A launch tells it itself, since a later CANN; before that the operator.
        self.assertEqual({(row["Block Num"], row["Mix Block Num"]) for row in rows if row["Task Type"] == "AI_CORE"}, {("24", "48")})

    def test_more_calls_than_are_looked_at_together(self):
        job = collectives.Job(900)
        self.assertGreater(len(job.calls), 3 * 8192)
        self.check_database(job, job.write(self.top / "PROF_1"))

    def test_a_call_that_says_nothing_of_its_collective(self):
        """hccl_op_info is of level 1 only: group and ranks are told by the parts."""
        job = collectives.Job(6)
        job.ops = []
        wholes = self.of_whole(self.database(job.write(self.top / "PROF_1")))
        self.assertEqual([row[:3] for row in wholes],
                         [(c["name"], c["group"], 0) for c in sorted(job.collectives, key=lambda c: c["begin"])])

    def test_parts_that_are_not_told(self):
        """Level 0: what is known of a collective is its time."""
        job = collectives.Job(6)
        job.of_library, job.ops = [], []
        wholes = self.of_whole(self.database(job.write(self.top / "PROF_1")))
        self.assertEqual(sorted(row[5:7] for row in wholes), sorted((c["begin"], c["end"]) for c in job.collectives))
        self.assertEqual({(row[1], row[0].split("__")[1].split("_")[0]) for row in wholes}, {("N/A", "N/A")})


if __name__ == "__main__":
    unittest.main()
