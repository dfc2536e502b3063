#!/usr/bin/env python3
"""Folders of MindSpore's profiler (*_ascend_ms): names, flows, steps and kernels; both layouts of its records; damaged."""
import contextlib
import csv
import json
import os
import pathlib
import sqlite3
import struct
import subprocess
import tempfile
import unittest

import ascend_pt
import collectives
import harness
from ascend_pt import MAIN, OTHER, PROF
from collectives import RAW

LAUNCH = {"module": 4, "event": 4}  # Kernel, KernelLaunch


def export(folder, *words, code=harness.OK):
    done = subprocess.run([harness.PROFCTL, "export", folder, *words], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(os.environ, TZ="UTC"))
    assert done.returncode == code, done
    return done


class MindSporeFolderTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-ascend-ms-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def trace(self, folder):
        return json.loads((folder.path / "ASCEND_PROFILER_OUTPUT/trace_view.json").read_text(encoding="utf-8"))

    def table(self, folder, name):
        with open(folder.path / "ASCEND_PROFILER_OUTPUT" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def with_device(self, **of_folder):
        folder = ascend_pt.MindSpore(self.top / "node_1_ascend_ms", **of_folder)
        job = collectives.Job(8)
        launches = [call for call in job.calls if call[0] == collectives.NODE]
        begin, end = min(call[3] for call in launches) - 5000, max(call[4] for call in launches) + 5000
        folder.range(begin, end, MAIN, "PythonProfilerStep", "ProfilerStep#2", module=5, event=53)
        for thread in (MAIN, OTHER):
            for number, call in enumerate(call for call in launches if call[2] == thread):
                folder.range(call[3] - 10, call[4] + 10, thread, f"op{number}", f"Default/op{number}", **LAUNCH)
        folder.shape("MatMul", "1,2;3,4;")
        folder.write()
        job.write(folder.path / PROF)
        return folder, launches

    def test_operators_and_what_they_launched(self):
        folder, launches = self.with_device()
        done = export(folder.path)
        self.assertIn(", complete", done.stdout)
        trace = self.trace(folder)
        operators = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in trace if event.get("cat") == "cpu_op"}
        arrows = [event for event in trace if event.get("name") == "mindspore_to_npu" and event["ph"] == "s"]
        self.assertGreaterEqual(len(arrows), len(launches))
        for event in arrows:
            self.assertRegex(operators[event["pid"], event["tid"], event["ts"]], r"^Kernel::KernelLaunch::Default/op\d+$")
        self.assertEqual([event["args"]["name"] for event in trace if event["name"] == "process_name"][0], "MindSpore")
        kernels = self.table(folder, "kernel_details.csv")
        self.assertEqual({row["Step ID"] for row in kernels}, {"2"})
        self.assertNotIn("Device_id", kernels[0])
        for row in kernels:
            self.assertRegex(row["Name"], r"^Kernel::KernelLaunch::Default/op\d+/\w")
        (step,) = self.table(folder, "step_trace_time.csv")
        self.assertEqual(next(iter(step)), "Step")
        self.assertEqual(self.table(folder, "operator_details.csv"), [{"Name": "MatMul", "Input Shapes": "1,2;3,4;"}])
        self.assertTrue((folder.path / "ASCEND_PROFILER_OUTPUT/communication.json").exists())

    def alone(self, folder):
        """Without a PROF directory nothing says where its clock lies."""
        self.assertIn("where its clock lies on the wall clock", export(folder.path, code=harness.PARTIAL_LOSS).stdout)

    def test_names_flows_and_functions_of_python(self):
        folder = ascend_pt.MindSpore(self.top / "a_ascend_ms")
        folder.range(RAW + 100, RAW + 200, 1, "flow", "flow", flow=7)
        folder.range(RAW + 300, RAW + 900, 2, "Add", "Default/Add", module=3, event=32, flow=7, custom="a:b;c:d")
        folder.range(RAW + 1000, RAW + 1100, 1, "x", "y", graph=("Graph", "Run"))
        folder.range(RAW + 1200, RAW + 1300, 1, "", "", stage=7, is_stage=True)
        folder.range(RAW + 1400, RAW + 1500, 1, "z", "z", module=99, event=999)
        folder.range(RAW + 1600, RAW + 1700, 1, "train.py(3): run", is_python=True)
        folder.write()
        self.alone(folder)
        trace = self.trace(folder)
        names = {event["name"]: event for event in trace if event["ph"] == "X"}
        self.assertEqual(set(names), {"PynativeFramework::PyNativeLaunchTask::Default/Add", "Graph::Run::x", "CompileGradGraph",
                                      "Default::Default::z", "train.py(3): run"})
        self.assertEqual(names["train.py(3): run"]["cat"], "python_function")
        self.assertEqual(names["PynativeFramework::PyNativeLaunchTask::Default/Add"]["args"], {"custom_info": "a:b;c:d"})
        flow = [(event["ph"], event["tid"], event["ts"]) for event in trace if event["name"] == "mindspore_to_self"]
        self.assertEqual(flow, [("s", 1, f"{RAW // 1000}.100"), ("f", 2, f"{RAW // 1000}.300")])

    def test_an_older_release(self):
        folder = ascend_pt.MindSpore(self.top / "a_ascend_ms")
        folder.old(RAW, RAW + 500, 1, "KernelLaunch::Default/MatMul")
        folder.write()
        self.alone(folder)
        (event,) = [event for event in self.trace(folder) if event["ph"] == "X"]
        self.assertEqual((event["name"], event["dur"], event["args"]), ("KernelLaunch::Default/MatMul", 0.5, {"Input Dims": "1,2;\r\n"}))

    def test_database_and_perfetto(self):
        folder, launches = self.with_device()
        export(folder.path, "--format", "db,perfetto")
        results = folder.path / "ASCEND_PROFILER_OUTPUT"
        self.assertEqual(sorted(os.listdir(results)), ["analyse.done", "analysis.db", "ascend_mindspore_profiler_0.db",
                                                       "communication_analyzer.db", "trace_view.perfetto-trace"])
        with contextlib.closing(sqlite3.connect(results / "ascend_mindspore_profiler_0.db")) as database:
            self.assertEqual(database.execute("SELECT count(connectionId) FROM PYTORCH_API").fetchone(), (len(launches),))

    def test_damaged(self):
        folder = ascend_pt.MindSpore(self.top / "a_ascend_ms")
        for number in range(3):
            folder.range(RAW + number * 100, RAW + number * 100 + 50, 1, f"op{number}", f"op{number}")
        whole = list(folder.ranges)
        for why, last in {"the end of a record is not there": whole[2][:-3], "a record says that it has 4294967301 bytes": struct.pack("<HI", 1, 2**32 - 1) + whole[2][6:],
                          "1 record left out: what they say cannot be": struct.pack("<HI", 1, 10) + bytes(10)}.items():
            with self.subTest(why):
                folder.ranges = [*whole[:2], last]
                folder.write()
                self.assertIn(why, export(folder.path, code=harness.PARTIAL_LOSS).stdout)
                self.assertEqual(sum(event["ph"] == "X" for event in self.trace(folder)), 2)


if __name__ == "__main__":
    unittest.main()
