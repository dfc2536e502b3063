#!/usr/bin/env python3
"""Damaged PROF directories: never a crash, never a value that the whole directory does not have, every loss reported."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

import foreign_dir  # noqa: E402

DUMP, PROFCTL = (sys.argv.pop(1), sys.argv.pop(1)) if len(sys.argv) > 2 else ("", "")
CHIPS = (5, 15, 4)
CONTROL = ("info.json.0", "sample.json", "start_info.0", "end_info.0", "host_start.log.0", "dev_start.log.0")


def dump(path):
    """({(series, device, wall, keys…): values}, lines of what was skipped)"""
    run = subprocess.run([DUMP, path], capture_output=True, text=True, timeout=300)
    if run.returncode not in (0, 1):
        raise AssertionError(f"rows_dump died: {run.returncode} {run.stderr[-2000:]}")
    rows = {}
    for line in run.stdout.splitlines():
        kind, series, device, wall, *rest = line.split("\t")
        if kind == "row":
            rows.setdefault((series, device, int(wall)), []).append(tuple(map(float, rest)))
    return rows, [line for line in run.stderr.splitlines() if line.startswith("skipped")]


def covered(ours, whole):
    """Is a row one of the whole directory's, but for values that can't be known any more?"""
    return any(len(ours) == len(theirs) and all(math.isnan(a) or math.isclose(a, b, rel_tol=1e-12) for a, b in zip(ours, theirs)) for theirs in whole)


class DamageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="profd-damage-")
        cls.whole = {}
        for chip in CHIPS:
            path = foreign_dir.write(os.path.join(cls.folder, str(chip)), chip, slices=3)
            cls.whole[chip] = (path, dump(path))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def damaged(self, chip, change):
        """What is read of a copy of the directory, once `change` was at its data folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as copy:
            path = os.path.join(copy, "PROF")
            shutil.copytree(self.whole[chip][0], path)
            change(os.path.join(path, "device_0"))
            return dump(path)

    def files(self, chip):
        data = os.path.join(self.whole[chip][0], "device_0", "data")
        return sorted({name.rsplit(".slice_", 1)[0] for name in os.listdir(data)})

    def assert_subset(self, rows, chip, what):
        whole = self.whole[chip][1][0]
        for key, values in rows.items():
            for value in values:
                self.assertTrue(covered(value, whole.get(key, [])), f"{what}: {key} {value}: {whole.get(key)}")

    def each(self):
        return [(chip, file) for chip in CHIPS for file in self.files(chip)]

    def test_whole(self):
        for chip in CHIPS:
            rows, skipped = self.whole[chip][1]
            self.assertEqual(skipped, [])
            self.assertGreater(len(rows), 300)

    def test_truncated(self):
        for chip, file in self.each():
            with self.subTest(chip=chip, file=file):
                def cut(side):
                    path = os.path.join(side, "data", file + ".slice_2")
                    os.truncate(path, os.path.getsize(path) - 5)
                rows, skipped = self.damaged(chip, cut)
                self.assert_subset(rows, chip, file)
                self.assertTrue(skipped)
                self.assertGreater(len(rows), len(self.whole[chip][1][0]) * 0.85)

    def test_slice_missing(self):
        for chip, file in self.each():
            with self.subTest(chip=chip, file=file):
                rows, skipped = self.damaged(chip, lambda side: os.remove(os.path.join(side, "data", file + ".slice_1")))
                self.assert_subset(rows, chip, file)
                self.assertTrue(skipped)

    def test_slice_of_zeros(self):
        for chip, file in self.each():
            with self.subTest(chip=chip, file=file):
                def blank(side):
                    path = os.path.join(side, "data", file + ".slice_1")
                    size = os.path.getsize(path)
                    with open(path, "wb") as out:
                        out.write(b"\0" * size)
                if file.startswith("lpm"):
                    continue  # where nothing changed, a record is all zeros
                # A record that is half in the slice keeps a half, and may pass for one.
                rows, skipped = self.damaged(chip, blank)
                self.assertTrue(skipped)
                self.assertGreater(len(rows), len(self.whole[chip][1][0]) * 0.85)

    def test_swapped(self):
        for chip in CHIPS:
            files = self.files(chip)
            for one, other in zip(files, files[1:]):
                with self.subTest(chip=chip, one=one, other=other):
                    def swap(side):
                        for number in range(3):
                            a, b = (os.path.join(side, "data", f"{name}.slice_{number}") for name in (one, other))
                            os.rename(a, a + "x"), os.rename(b, a), os.rename(a + "x", b)
                    same = {one.rsplit(".", 1)[0], other.rsplit(".", 1)[0]}
                    rows, skipped = self.damaged(chip, swap)
                    alike = ({"npu_mem.app", "npu_mem.data"}, {"aiVectorCore.data", "aicore.data"},
                             {"hbm.data", "llc.data"})
                    if same in alike:
                        continue
                    named = {name for name in same if any(f"/{name}" in line for line in skipped)}
                    self.assertTrue(named)
                    if named != same:  # what is not named is right
                        self.assert_subset(rows, chip, same)

    def test_flipped(self):
        dice = random.Random(7)
        for chip, file in self.each():
            with self.subTest(chip=chip, file=file):
                for _ in range(4):
                    def flip(side):
                        path = os.path.join(side, "data", f"{file}.slice_{dice.randrange(3)}")
                        with open(path, "r+b") as data:
                            content = bytearray(data.read())
                            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
                            data.seek(0)
                            data.write(content)
                    rows, _ = self.damaged(chip, flip)
                    self.assertGreater(len(rows), len(self.whole[chip][1][0]) * 0.85)

    def test_control_files(self):
        """Without, or with half of them, rows that are there are right ones, or the loss is named."""
        for chip in CHIPS:
            for name in CONTROL:
                for half in (False, True):
                    with self.subTest(chip=chip, name=name, half=half):
                        def change(side):
                            path = os.path.join(side, name)
                            os.truncate(path, os.path.getsize(path) // 2) if half else os.remove(path)
                        rows, skipped = self.damaged(chip, change)
                        if name == "end_info.0" and not half:
                            self.assert_subset(rows, chip, name)
                            self.assertEqual((len(rows), skipped), (len(self.whole[chip][1][0]), []))
                        else:
                            self.assertTrue(skipped)

    def test_exit_codes(self):
        path = self.whole[5][0]
        export = lambda where, *options: subprocess.run(
            [PROFCTL, "--json", "export", where, "--out", os.path.join(self.folder, "out"), *options],
            capture_output=True, text=True, timeout=300)
        good = export(path)
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertTrue(json.loads(good.stdout)["directories"][0]["complete"])
        with tempfile.TemporaryDirectory(dir=self.folder) as copy:
            torn = os.path.join(copy, "PROF")
            shutil.copytree(path, torn)
            os.truncate(os.path.join(torn, "device_0", "data", "hbm.data.0.slice_2"), 100)
            bad = export(torn)
        self.assertEqual(bad.returncode, 7)
        report = json.loads(bad.stdout)["directories"][0]
        self.assertEqual({entry["stream"] for entry in report["skipped"]}, {"device_0/data/hbm.data.0.slice_2"})
        self.assertEqual(export("/nonexistent").returncode, 3)
        self.assertEqual(export(path, "--format", "pdf").returncode, 2)
        self.assertEqual(export(self.folder + "/out").returncode, 2)


if __name__ == "__main__":
    unittest.main()
