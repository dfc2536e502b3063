#!/usr/bin/env python3
"""profctl export --format csv of the golden directories against the vendor's own tables: the same files, lines and
digits with --vendor-compatible, and without it exactly the differences that docs/export.md lists."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROF = "PROF_000001_20231114221320000_00004000ABCDEFGH"
PROFCTL = os.path.join(os.environ.get("PROFD_BUILD_DIR", ""), "bin", "profctl")
CHIPS = ("910b", "310p")

# The vendor's order of rows that it does not sort, or of which the sort keys are equal.
UNORDERED = {"npu_mem", "process_cpu_usage", "process_mem", "ts_cpu_pmu_events"}


def run(directory, out, *options, status=0):
    done = subprocess.run([PROFCTL, "export", directory, "--format", "csv", "--out", out, *options],
                          env=dict(os.environ, TZ="UTC"), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


def kinds(folder):
    """{kind: text} of <kind>_<stamp>.csv."""
    found = {}
    for path in glob.glob(os.path.join(folder, "mindstudio_profiler_output", "*.csv")):
        with open(path, encoding="utf-8", newline="") as file:
            found[os.path.basename(path).rsplit("_", 1)[0]] = file.read().replace("\r\n", "\n")
    return found


class CsvExport(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def ours(self, chip, *options):
        run(os.path.join(HERE, "data", chip, PROF), self.folder, *options)
        return kinds(self.folder)

    def vendors(self, chip):
        return kinds(os.path.join(HERE, "data", chip, "vendor"))

    def rows(self, text, device="0"):
        lines = [line.split(",") for line in text.splitlines()]
        return [[cell.strip() for cell in row[1:]] for row in lines[1:] if row[0] == device]

    def test_vendor_compatible_is_the_vendors_to_the_digit(self):
        for chip in CHIPS:
            with self.subTest(chip=chip):
                ours, theirs = self.ours(chip, "--vendor-compatible"), self.vendors(chip)
                self.assertEqual(sorted(ours), sorted(theirs))
                for kind, text in theirs.items():
                    with self.subTest(kind=kind):
                        a, b = ours[kind].splitlines(), text.splitlines()
                        self.assertEqual(a[0], b[0])
                        if kind in UNORDERED:
                            a, b = sorted(a), sorted(b)
                        self.assertEqual(a, b)
            shutil.rmtree(os.path.join(self.folder, "mindstudio_profiler_output"))

    def test_default_differs_where_the_vendor_is_wrong_only(self):
        extra = {"910b": {"ddr", "op_statistic", "ub"}, "310p": {"dvpp", "nic", "roce", "ub"}}
        wrong = {"hbm", "host_network_usage", "llc_read_write", "nic", "roce", "os_runtime_statistic", "op_summary",
                 "task_time"}
        for chip in CHIPS:
            with self.subTest(chip=chip):
                ours, theirs = self.ours(chip), self.vendors(chip)
                self.assertEqual(set(ours) - set(theirs), extra[chip])
                self.assertEqual(set(theirs) - set(ours), set())
                for kind, text in theirs.items():
                    self.assertEqual(ours[kind].splitlines()[0], text.splitlines()[0])
                    same = sorted(ours[kind].splitlines()) == sorted(text.splitlines())
                    self.assertEqual(same, kind not in wrong, kind)
            shutil.rmtree(os.path.join(self.folder, "mindstudio_profiler_output"))

    def test_right_values(self):
        """The load that the golden directories were made with (their .expected.json)."""
        ours = self.ours("910b")
        hbm = self.rows(ours["hbm"])
        self.assertEqual(hbm, [["Average", "2500.000", "1250.000"]] +
                         [[str(i), f"{1000 * (i + 1)}.0", f"{500 * (i + 1)}.0"] for i in range(4)])
        self.assertEqual(self.rows(ours["llc_read_write"])[0], ["read", "Average", "50.0", "600.0"])
        (nic,) = self.rows(ours["nic"])
        # 62.5 and 125 MB/s of a port of 100 Gb/s (of 2^20), 1000 and 2000 packets per 20 ms.
        self.assertEqual(nic[1:], ["12500.0", "0.477", "50000.0", "0.0", "0.0", "0.954", "100000.0", "0.0", "0.0", "0"])
        self.assertEqual(nic[0], "1700000000020000.000")
        first = self.rows(ours["op_summary"])[0]
        self.assertEqual(first[3:7] + first[10:13], ["MatMul_0", "MatMul", "dynamic", "AI_CORE", "20", "0", "NO"])
        self.assertEqual(self.rows(ours["op_statistic"]),
                         [["MatMul", "AI_CORE", "20", "10000", "500", "500", "500", "100"]])
        self.assertEqual([row[2:4] for row in self.rows(ours["os_runtime_statistic"], "host")],
                         [["openat", "71.42857142857143"], ["pthread_create", "28.57142857142857"]])
        (network,) = self.rows(ours["host_network_usage"], "host")
        self.assertEqual(network, ["1220703.125", "122070.3125", "152587.890625"])

    def test_a_second_export_replaces_the_first(self):
        first = self.ours("310p")
        again = self.ours("310p")
        self.assertEqual(first, again)
        left = os.listdir(os.path.join(self.folder, "mindstudio_profiler_output"))
        self.assertEqual([name for name in left if not name.endswith("_20231114221320.csv")], ["README.txt"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
