#!/usr/bin/env python3
"""Collectives that AI CPUs carry out, of a directory that CANN's own collector wrote: what their kernels report in aicpu.data
makes tasks of the device parts of them; of the library's collectives, and of those in operators."""
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import ai_cpu_collectives
import harness


class AiCpuCollectivesTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-collectives-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def export(self, job, form):
        directory = job.write(self.top / "PROF_1")
        done = subprocess.run([harness.PROFCTL, "export", directory, "--format", form, "--out", self.top / form], capture_output=True,
                              text=True, timeout=300, check=False, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, 0, done)
        return self.top / form, done.stdout

    def database(self, job):
        out, said = self.export(job, "db")
        [path] = out.rglob("*.db")
        db = sqlite3.connect(path)
        self.addCleanup(db.close)
        return db, said

    def wholes(self, db):
        return db.execute("SELECT n.value, g.value, count, relay, retry, startNs, endNs FROM COMMUNICATION_OP "
                          "JOIN STRING_IDS n ON n.id = opName JOIN STRING_IDS g ON g.id = groupName ORDER BY startNs, 1").fetchall()

    def parts(self, db):
        return db.execute("SELECT n.value, t.value, g.value, planeId, notifyId, dstRank, streamId, TASK.taskId, startNs, endNs, isMaster "
                          "FROM COMMUNICATION_TASK_INFO p JOIN TASK USING(globalTaskId) JOIN STRING_IDS n ON n.id = p.name "
                          "JOIN STRING_IDS t ON t.id = p.taskType JOIN STRING_IDS g ON g.id = p.groupName "
                          "WHERE streamId >= 40 ORDER BY startNs, streamId").fetchall()

    def expected(self, job):
        return sorted(((of["name"], part["name"], of["group"], part["plane"], part["notify"], part["remote"], part["stream"], part["task"],
                        part["begin"], part["end"], part["master"]) for of in job.of_ai_cpus for part in of["parts"]),
                      key=lambda row: (row[8], row[6]))

    def test_database(self):
        job = ai_cpu_collectives.Job()
        db, said = self.database(job)
        self.assertEqual([row for row in self.wholes(db) if row[5] >= job.of_ai_cpus[0]["begin"]],
                         sorted(((of["name"], of["group"], of["count"], of["relay"], of["retry"], of["begin"], of["end"])
                                 for of in job.of_ai_cpus), key=lambda row: (row[5], row[0])))
        self.assertEqual(self.parts(db), self.expected(job))
        # Every task is there once, the kernels that only carry out apart from what computes.
        [tasks] = db.execute("SELECT count(*), count(DISTINCT streamId << 32 | taskId) FROM TASK WHERE streamId >= 30").fetchall()
        self.assertEqual(tasks, (sum(len(of["parts"]) for of in job.of_ai_cpus) + 12 * 4, ) * 2)
        kernels = db.execute("SELECT n.value, count(*) FROM COMMUNICATION_SCHEDULE_TASK_INFO JOIN STRING_IDS n ON n.id = name "
                             "GROUP BY 1 ORDER BY 1").fetchall()
        self.assertEqual(kernels, [("MatmulAllReduceAicpuKernel", 12), ("hcom_allReduce_AicpuKernel", 12)])
        names = {name for name, in db.execute("SELECT DISTINCT n.value FROM COMPUTE_TASK_INFO JOIN STRING_IDS n ON n.id = name")}
        self.assertEqual(names & {name for name, _ in kernels}, set())
        self.assertNotIn("not read", said)
        self.assertNotIn("that no call of the host is known for", said)

    def test_timeline(self):
        job = ai_cpu_collectives.Job()
        out, _ = self.export(job, "chrome")
        [path] = out.rglob("msprof_*.json")
        events = json.loads(path.read_text(encoding="utf-8"))
        [process] = [e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "Communication"]
        threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == process}
        tracks = {}
        for event in events:
            if event["pid"] == process and event["ph"] == "X":
                tracks.setdefault(threads[event["tid"]], []).append(event["name"])
        self.assertEqual(sorted(tracks["Group 10.0.0.1%eth0_60000_1 Aicpu Communication"]),
                         sorted(of["name"] for of in job.of_ai_cpus if of["group"].endswith("Aicpu")))

    def test_whose_tasks_nobody_tells_of(self):
        """Reports of parts that are not there leave tasks that are not known, and say so; none is lost."""
        job = ai_cpu_collectives.Job()
        job.reports = [report for report in job.reports if report[1][4:8] != ai_cpu_collectives.PARTS.to_bytes(4, "little")]
        db, _ = self.database(job)
        self.assertEqual(self.parts(db), [])
        [(count,)] = db.execute("SELECT count(*) FROM TASK WHERE streamId >= 40").fetchall()
        self.assertEqual(count, sum(len(of["parts"]) for of in job.of_ai_cpus))

    def test_without_kernels(self):
        """The log lost them: the tasks stay, and a note counts them."""
        job = ai_cpu_collectives.Job()
        job.log = [entry for entry in job.log if entry[2] not in (31, 33)]
        db, said = self.database(job)
        self.assertEqual(self.parts(db), [])
        self.assertIn("tasks of no kernel that carries one out", said)


if __name__ == "__main__":
    unittest.main()
