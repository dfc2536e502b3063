#!/usr/bin/env python3
"""Folders of Ascend's PyTorch Profiler (*_ascend_pt): what its analyse() makes of them; and damaged."""
import csv
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import ascend_pt
import collectives
import harness
from ascend_pt import MAIN, OTHER
from collectives import RAW, WALL

SAMPLES = pathlib.Path("/work/shared/samples/ascend-pt")


def export(folder, *words, code=harness.OK):
    done = subprocess.run([harness.PROFCTL, "export", folder, *words], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(os.environ, TZ="UTC"))
    assert done.returncode == code, done
    return done


def table(folder, name):
    with open(folder / "ASCEND_PROFILER_OUTPUT" / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@unittest.skipUnless(SAMPLES.is_dir(), "the sample is not there")
class SampleTest(unittest.TestCase):
    """The vendor's analyse() made ASCEND_PROFILER_OUTPUT of what is beside it."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-ascend-pt-")
        self.addCleanup(holder.cleanup)
        self.out = pathlib.Path(holder.name) / "out"
        self.folder = next(SAMPLES.glob("*_ascend_pt"))

    def same(self, *words):
        done = export(self.folder, "--out", self.out, *words)
        self.assertIn(", complete", done.stdout)
        self.assertIn("not made: stacks, memory timelines", done.stdout)
        truth, made = self.folder / "ASCEND_PROFILER_OUTPUT", self.out / "ASCEND_PROFILER_OUTPUT"
        self.assertEqual(sorted(os.listdir(made)), sorted(os.listdir(truth)))
        for file in truth.iterdir():
            if file.suffix == ".json":
                yield file.name, json.loads(file.read_text(encoding="utf-8")), json.loads((made / file.name).read_text(encoding="utf-8"))
            else:
                yield file.name, file.read_bytes(), (made / file.name).read_bytes()

    def test_vendor_compatible(self):
        for name, wanted, made in self.same("--vendor-compatible"):
            self.assertEqual(made, wanted, name)

    def test_right(self):
        """Nothing in it is of what the vendor gets wrong, but the bandwidth that it reckons and drops."""
        for name, wanted, made in self.same():
            if name == "communication.json":
                for step in made.values():
                    for of_class in step.values():
                        for sums in of_class["Total Op Info"]["Communication Bandwidth Info"].values():
                            ms = sums["Transit Time(ms)"]
                            self.assertAlmostEqual(sums.pop("Bandwidth(GB/s)"), sums["Transit Size(MB)"] / ms if ms else 0, 4)
            self.assertEqual(made, wanted, name)


class FolderTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-ascend-pt-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def job(self, name="node1_4242_20260131120000123_ascend_pt", rank=0):
        return ascend_pt.with_device(self.top / name, rank)[:2]

    def test_operators_and_what_they_launched(self):
        folder, launches = self.job()
        done = export(folder.path)
        self.assertIn(", complete", done.stdout)
        rows = table(folder.path, "operator_details.csv")
        self.assertEqual(len(rows), len(launches) + 2)
        kernels = table(folder.path, "kernel_details.csv")
        self.assertTrue(kernels)
        self.assertEqual({row["Step Id"] for row in kernels}, {"3"})
        trace = json.loads((folder.path / "ASCEND_PROFILER_OUTPUT/trace_view.json").read_text(encoding="utf-8"))
        begins = [event for event in trace if event.get("name") == "torch_to_npu" and event["ph"] == "s"]
        ends = [event for event in trace if event.get("name") == "torch_to_npu" and event["ph"] == "f"]
        arrows = [event for event in trace if event.get("cat") == "HostToDevice" and event["ph"] == "f"]
        self.assertEqual(len(begins), len(arrows))
        device = {(event["pid"], event["tid"], event["ts"]) for event in trace if event["ph"] == "X" and event.get("cat") != "cpu_op"}
        operators = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in trace if event.get("cat") == "cpu_op"}
        for event in ends:
            self.assertIn((event["pid"], event["tid"], event["ts"]), device)
        for event in begins:  # the innermost, on the launch's own thread
            self.assertTrue(operators[event["pid"], event["tid"], event["ts"]].startswith("aten::op"), event)
        by_name = {row["Name"]: row for row in rows}
        for thread in (MAIN, OTHER):
            outer = by_name[f"outer{thread}"]
            self.assertEqual(outer["Input Shapes"], "2,3;\r\n4;\r\n")
            self.assertEqual(float(outer["Device Self Duration(us)"]), 0)
            self.assertGreater(float(outer["Device Total Duration(us)"]), 0)
        total = sum(float(row["Device Self Duration(us)"]) for row in rows)
        self.assertAlmostEqual(total, sum(float(by_name[f"outer{thread}"]["Device Total Duration(us)"]) for thread in (MAIN, OTHER)), 2)
        step = table(folder.path, "step_trace_time.csv")
        self.assertEqual([(row["Step"], row["Device_id"]) for row in step], [("3", "0")])
        self.assertAlmostEqual(float(step[0]["Computing"]), sum(event["dur"] for event in trace if event["name"] == "Computing"), 2)
        self.assertTrue((folder.path / "ASCEND_PROFILER_OUTPUT/analyse.done").exists())

    def test_threads_have_trees_of_their_own(self):
        """The vendor takes an operator for a part of any other that runs at the moment."""
        folder = ascend_pt.Folder(self.top / "one_ascend_pt", rank=-1)
        folder.op("forward", RAW, RAW + 100_000, 1)
        folder.op("backward", RAW + 10_000, RAW + 30_000, 2)
        folder.write()
        for words, self_us in (((), 100.0), (("--vendor-compatible",), 80.0)):
            export(folder.path, *words)
            rows = {row["Name"]: float(row["Host Self Duration(us)"]) for row in table(folder.path, "operator_details.csv")}
            self.assertEqual(rows, {"forward": self_us, "backward": 20.0})

    def test_python_gc_queue_and_memory(self):
        folder = ascend_pt.Folder(self.top / "one_ascend_pt")
        folder.op("aten::empty", RAW, RAW + 10_000, 1)
        folder.queued("copy", 7, (RAW + 1000, RAW + 2000), (RAW + 3000, RAW + 9000), 1, 2)
        for at, kind in ((4000, 0), (6000, 1), (8000, 2)):
            folder.memory(0x1000, RAW + at, 4096, 4096, kind, 2)
        folder.python([(RAW + 100, 1, 1, 0), (RAW + 200, 1, 2, 2), (RAW + 300, 1, 2, 3), (RAW + 900, 1, 3, 0)],
                      {1: "train.py(3): run", 2: "len", 3: "Linear######0x7f"})
        folder.gc(RAW + 500, RAW + 600)
        folder.write()
        export(folder.path)
        trace = json.loads((folder.path / "ASCEND_PROFILER_OUTPUT/trace_view.json").read_text(encoding="utf-8"))
        python = {event["name"]: (event["dur"], event["args"]) for event in trace if event.get("cat") == "python_function"}
        self.assertEqual(python, {"len": (0.1, {"Python id": 1, "Python parent id": 0}),
                                  "nn.Module: Linear_0": (0.0, {"Python id": 3, "Python parent id": 0, "Python module id": 0}),
                                  "train.py(3): run": (0.8, {"Python id": 0, "Python parent id": 0})})
        self.assertEqual([(event["ts"], event["dur"]) for event in trace if event.get("cat") == "GC"], [(f"{(WALL + 500) // 1000}.500", 0.1)])
        self.assertIn("Enqueue@copy", [event["name"] for event in trace])
        held = table(folder.path, "operator_memory.csv")
        self.assertEqual([(row["Name"], row["Size(KB)"], row["Duration(us)"], row["Active Duration(us)"]) for row in held],
                         [("aten::empty", "4.0", "2.000\t", "4.000\t")])

    def test_damaged_records_are_counted(self):
        folder = ascend_pt.Folder(self.top / "one_ascend_pt")
        for number in range(4):
            folder.op(f"op{number}", RAW + number * 1000, RAW + number * 1000 + 500, 1)
        rows = folder.files["torch.op_range"]
        damaged = {"the end of a record is not there": rows[3][:-3], "a record says that it has 4294967301 bytes": struct.pack("<HI", 1, 2**32 - 1) + rows[3][6:],
                   "1 record left out: what they say cannot be": struct.pack("<HI", 1, 10) + bytes(10),
                   "the last field is cut": struct.pack("<HI", 1, len(rows[3]) - 6) + rows[3][6:64] + struct.pack("<HI", 2, 2**31) + rows[3][70:]}
        for number, (why, last) in enumerate(damaged.items()):
            with self.subTest(why):
                folder.path = self.top / f"{number}_ascend_pt"
                folder.files["torch.op_range"] = [*rows[:3], last]
                done = export(folder.write(), code=harness.PARTIAL_LOSS)
                self.assertIn(why.replace("the last", "their last"), done.stdout)
                self.assertIn("NOT complete", done.stdout)
                self.assertEqual([row["Name"] for row in table(folder.path, "operator_details.csv")][:3], ["op0", "op1", "op2"])

    def test_an_earlier_export_stands_in_for_slices_that_are_gone(self):
        """Its timeline is cut as analyse() leaves one now and then: without the bracket at its end."""
        folder, _ = self.job()
        export(folder.path)
        before = {file.name: file.read_bytes() for file in (folder.path / "ASCEND_PROFILER_OUTPUT").iterdir()}
        prof = next(folder.path.glob("PROF_*"))
        for file in prof.glob("*/data/*"):
            file.unlink()
        timeline = next((prof / "mindstudio_profiler_output").glob("msprof_*.json"))
        text = timeline.read_text(encoding="utf-8").rstrip()
        self.assertTrue(text.endswith("]"))
        timeline.write_text(text[:-1], encoding="utf-8")
        done = export(folder.path)
        self.assertIn("ends without its closing bracket; all events that are whole are used", done.stdout)
        self.assertEqual({file.name: file.read_bytes() for file in (folder.path / "ASCEND_PROFILER_OUTPUT").iterdir()}, before)
        timeline.write_text(text[:len(text) // 2], encoding="utf-8")
        done = export(folder.path, code=harness.PARTIAL_LOSS)
        self.assertIn("an event is cut", done.stdout)
        json.loads((folder.path / "ASCEND_PROFILER_OUTPUT/trace_view.json").read_text(encoding="utf-8"))

    def test_all_ranks_of_a_folder(self):
        paths = [self.job(f"node1_{pid}_20260131120000123_ascend_pt", rank)[0].path for rank, pid in enumerate((4242, 4243))]
        done = export(self.top, code=harness.USAGE)
        self.assertIn("below it are 2 folders of Ascend's PyTorch Profiler; --recursive exports all of them", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        planned = export(self.top, "--dry-run").stdout
        self.assertEqual(planned.count("trace_view.json"), 2)
        collectives.Job(4).write(self.top / "PROF_1")  # one that is in none of them
        export(self.top, "--recursive", "--out", self.top / "out")
        self.assertTrue(list((self.top / "out/PROF_1/mindstudio_profiler_output").glob("op_summary_*.csv")))
        for path in paths:
            self.assertTrue(table(self.top / "out" / path.name, "kernel_details.csv"))
            self.assertFalse((path / "ASCEND_PROFILER_OUTPUT").exists())

    def test_what_it_cannot_do_is_refused(self):
        folder, _ = self.job()
        for words in (("--from", "+1s"), ("--devices", "0"), ("--layout", "framework", "--out", "x"), ("--resume",)):
            done = export(folder.path, *words, code=harness.USAGE)
            self.assertIn(f"is exported without {words[0]}", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        done = export(folder.path, "--format", "csv,pprof", code=harness.USAGE)
        self.assertIn("--format pprof: of ", done.stderr)
        export(next(folder.path.glob("PROF_*")), "--format", "db")  # that alone goes on as ever


if __name__ == "__main__":
    unittest.main()
