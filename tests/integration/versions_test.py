#!/usr/bin/env python3
"""Versions of what is installed beside the data."""
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
