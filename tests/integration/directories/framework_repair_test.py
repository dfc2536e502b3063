#!/usr/bin/env python3
"""Folders of jobs that were killed: what --repair saves; and exports that are killed themselves: results are whole or not there."""
import contextlib
import csv
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import tempfile
import time
import unittest

import ascend_pt
import harness
import perfetto_reader
from collectives import RAW

RESULTS = "ASCEND_PROFILER_OUTPUT"


def export(folder, *words, code=harness.OK):
    done = subprocess.run([harness.PROFCTL, "export", folder, *words], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(os.environ, TZ="UTC"))
    assert done.returncode == code, done
    return done


class FrameworkRepairTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-ascend-repair-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def killed(self, name="node1_4242_20260131120000123_ascend_pt"):
        """No end, no PROF directory, the last record torn."""
        folder = ascend_pt.Folder(self.top / name)
        folder.info = {}
        for number in range(3):
            folder.op(f"op{number}", RAW + number * 1000, RAW + number * 1000 + 500, 1)
        folder.files["torch.op_range"][-1] = folder.files["torch.op_range"][-1][:-3]
        return folder

    def trace(self, folder):
        return json.loads((folder.path / RESULTS / "trace_view.json").read_text(encoding="utf-8"))

    def test_a_killed_job(self):
        folder = self.killed()
        folder.write()
        export(folder.path, code=harness.PARTIAL_LOSS)
        done = export(folder.path, "--repair")
        self.assertIn("the end of a record is not there", done.stdout)
        self.assertIn(", repaired", done.stdout)
        self.assertIn("its clock is that of the folder's name", done.stdout)
        events = [event for event in self.trace(folder) if event["ph"] == "X"]
        self.assertEqual([event["name"] for event in events], ["op0", "op1"])
        self.assertEqual(events[0]["ts"], "1769860800123000.000")  # 2026-01-31 12:00:00.123, when the first record was made
        self.assertEqual(events[1]["ts"], "1769860800123001.000")

    def test_without_profiler_info(self):
        """Whether stamps are ns or counts is what they look like."""
        folder, launches, _ = ascend_pt.with_device(self.top / "x_ascend_pt")
        export(folder.path, "--format", "csv")
        wanted = (folder.path / RESULTS / "operator_details.csv").read_bytes()
        (folder.path / "profiler_info_0.json").unlink()
        done = export(folder.path, "--repair", "--format", "csv")
        self.assertIn("profiler_info.json: is not there", done.stdout)
        self.assertEqual((folder.path / RESULTS / "operator_details.csv").read_bytes(), wanted)
        with open(folder.path / RESULTS / "kernel_details.csv", newline="", encoding="utf-8") as file:
            self.assertGreaterEqual(len(list(csv.DictReader(file))), len(launches))

    def test_a_timeline_that_analyse_left_cut(self):
        folder = self.top / "x_ascend_pt"
        (folder / RESULTS).mkdir(parents=True)
        (folder / "FRAMEWORK").mkdir()
        events = [{"ph": "X", "name": f"op{number}", "pid": 1, "tid": 1, "ts": "1.000", "dur": 1.0} for number in range(3)]
        text = json.dumps(events)
        for cut in (text[:-1], text[:-1] + ", ", text[:-20]):
            (folder / RESULTS / "trace_view.json").write_text(cut, encoding="utf-8")
            done = export(folder, "--repair")
            self.assertIn("trace_view.json", done.stdout)
            left = json.loads((folder / RESULTS / "trace_view.json").read_text(encoding="utf-8"))
            self.assertEqual(left, events if len(cut) >= len(text) - 1 else events[:2])

    def test_of_a_prof_directory_it_is_refused(self):
        folder, _, _ = ascend_pt.with_device(self.top / "x_ascend_pt")
        done = export(folder.path / ascend_pt.PROF, "--repair", code=harness.USAGE)
        self.assertIn("profctl repair", done.stderr)

    def whole(self, path):
        if path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".db":
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        elif path.suffix == ".csv":
            self.assertTrue(path.read_bytes().endswith(b"\r\n"), path)
        elif path.suffix == ".perfetto-trace":
            self.assertTrue(perfetto_reader.Trace(path).slices)

    def results(self, folder):
        return [file for file in (folder.path / RESULTS).iterdir() if not file.name.endswith(".part")]

    def test_killed_exports(self):
        """Killed a moment after so many results are there, from none to all but one."""
        folder, _, _ = ascend_pt.with_device(self.top / "x_ascend_pt", each=60)
        words = [harness.PROFCTL, "export", folder.path, "--format", "text,db,perfetto"]
        begin = time.monotonic()
        subprocess.run(words, check=True, capture_output=True)
        lasts = time.monotonic() - begin
        wanted = sorted(os.listdir(folder.path / RESULTS))
        dice = random.Random(4)
        for number in range(25):
            for file in (folder.path / RESULTS).iterdir():
                file.unlink()
            there = number % len(wanted)
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and len(self.results(folder)) < there:
                    pass
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(dice.uniform(0, lasts / len(wanted)))
                process.kill()
            left = self.results(folder)
            self.assertGreaterEqual(len(left), there)
            for file in left:
                self.whole(file)
        subprocess.run(words, check=True, capture_output=True)
        self.assertEqual(sorted(os.listdir(folder.path / RESULTS)), wanted)  # nothing is left of the killed ones


if __name__ == "__main__":
    unittest.main()
