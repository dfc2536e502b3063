#!/usr/bin/env python3
"""msprof as programs call it that were written for the vendor's (client/shim): names, order of files, exit codes."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import collectives
import harness

SHIM = pathlib.Path(__file__).resolve().parents[3] / "client/shim"


def install(top):
    """As the package does it; the folder for PATH."""
    (top / "bin").mkdir(parents=True)
    (top / "bin/profctl").symlink_to(harness.PROFCTL)
    tools = top / "lib/profd/tools/profiler"
    for name, folder in (("msprof", tools / "bin"), ("msprof.py", tools / "profiler_tool/analysis/msprof")):
        folder.mkdir(parents=True)
        shutil.copy2(SHIM / name, folder)
    return tools / "bin"


class MsprofShimTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-shim-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.path = install(self.top / "usr")
        self.prof = collectives.Job(8).write(self.top / "PROF_1")

    def run_it(self, *words, program=None):
        return subprocess.run([program or self.path / "msprof", *words], capture_output=True, text=True, timeout=300, check=False,
                              env=dict(os.environ, TZ="UTC"))

    def test_what_torch_npu_looks_for(self):
        path = os.path.realpath(self.path / "msprof")
        self.assertTrue(os.path.exists(os.path.join(path.split("tools", maxsplit=1)[0], "tools/profiler/profiler_tool/analysis/msprof/msprof.py")))
        link = self.top / "msprof"
        link.symlink_to(harness.PROFCTL)
        for program in (None, link):
            done = self.run_it("--help", program=program)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn("--type", done.stdout)
            self.assertIn("text(which will also export the database)", done.stdout)

    def test_export_and_analyze(self):
        done = self.run_it("--export=on", f"--output={self.prof}")
        self.assertEqual(done.returncode, 0, done)
        tables = list((self.prof / "mindstudio_profiler_output").glob("*.csv"))
        before = [*(self.prof / "mindstudio_profiler_output").glob("msprof_*.json"), *self.prof.glob("msprof_*.db")]
        self.assertTrue(tables)
        self.assertEqual(len(before), 2)
        self.assertLessEqual(max(file.stat().st_ctime_ns for file in before), min(file.stat().st_ctime_ns for file in tables))
        done = self.run_it("--analyze=on", f"--output={self.prof}")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(sorted(os.listdir(self.prof / "analyze")), ["communication.json", "communication_analyzer.db", "communication_matrix.json"])
        times = json.loads((self.prof / "analyze/communication.json").read_text(encoding="utf-8"))
        self.assertEqual(len(times), 16)

    def test_the_database_alone(self):
        done = self.run_it("--export=on", "--type=db", f"--output={self.prof}")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(len(list(self.prof.glob("msprof_*.db"))), 1)
        self.assertFalse(list(self.prof.glob("*/*.csv")))

    def test_a_torn_recording_is_no_failure(self):
        """Callers take any code but 0 for one, and throw all away."""
        file = next(self.prof.glob("device_0/data/stars_soc*.slice_1"))
        file.write_bytes(file.read_bytes()[:-7])
        done = self.run_it("--export=on", f"--output={self.prof}")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("NOT complete", done.stdout)
        self.assertEqual(subprocess.run([harness.PROFCTL, "msprof", "--export=on", f"--output={self.prof}"], check=False,
                                        capture_output=True).returncode, harness.PARTIAL_LOSS)

    def test_msprof_py(self):
        script = self.path.parent / "profiler_tool/analysis/msprof/msprof.py"
        done = self.run_it("export", "db", "-dir", self.prof, program=script)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(len(list(self.prof.glob("msprof_*.db"))), 1)


if __name__ == "__main__":
    unittest.main()
