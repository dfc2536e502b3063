#!/usr/bin/env python3
"""Versions of what is installed beside the data."""
import json
import os
import pathlib
import tempfile
import unittest

import harness
import own_folder


class VersionsTest(harness.ProfdTest):
    def test_of_the_toolkit(self):
        with tempfile.TemporaryDirectory() as folder:
            info = pathlib.Path(folder, "share/info/runtime/version.info")
            info.parent.mkdir(parents=True)
            info.write_text("Version=8.5.0.2.220\nversion_dir=8.5.0\nhostile=\x1b[31m\n")
            os.chmod(folder, 0o755)
            daemon = self.profd(config=f"driver:\n  toolkit: {folder}\n")
            sealed = daemon.end(daemon.begin("--collect", "hbm", "--devices", "0")["session"])
        manifest = own_folder.manifest(sealed["directory"])
        self.assertEqual(manifest["settings"]["version_cann"], "8.5.0.2.220")
        self.assertNotIn("versions_note", manifest["settings"])
        self.assertIn("CANN 8.5.0.2.220\n", daemon.ctl("query", sealed["directory"]).out)
        (one,) = daemon.ctl("query", "--json", sealed["directory"]).json["directories"]
        self.assertEqual((one["versions"]["cann"], one["versions_note"]), ("8.5.0.2.220", ""))

    def test_main_memory_of_a_950(self):
        """Which events count it changed in CANN 9.2.0; the analyser of each names its own."""
        for version, first in (("9.1.0", "0x400,0x401"), ("9.2.0-beta.1", "0x400,0x401"), ("9.2.0", "0x422,0x423"),
                               ("10.0.RC1", "0x422,0x423")):
            with tempfile.TemporaryDirectory() as folder, self.subTest(version=version):
                info = pathlib.Path(folder, "share/info/runtime/version.info")
                info.parent.mkdir(parents=True)
                info.write_text(f"Version={version}\n")
                os.chmod(folder, 0o755)
                daemon = self.profd(sim="devices: 1\nchip: 950\n", config=f"driver:\n  toolkit: {folder}\n")
                session = daemon.begin("--collect", "aicore:Memory,aivector:Memory", "--devices", "0")["session"]
                daemon.let_run(session, 0.5)
                directory = pathlib.Path(daemon.end(session)["directory"])
                sample = json.loads((directory / "device_0" / "sample.json").read_text())
                for core in ("ai_core", "aiv"):
                    self.assertTrue(sample[f"{core}_profiling_events"].startswith(first + ",0x56f"), sample)
                    self.assertEqual(sample[f"{core}_metrics"], "Memory")
                self.assertEqual(daemon.ctl("export", directory).code, harness.OK)
                (table,) = directory.glob("mindstudio_profiler_output/ai_core_utilization_*.csv")
                self.assertIn("main_mem_read_bw(GB/s)", table.read_text().splitlines()[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
