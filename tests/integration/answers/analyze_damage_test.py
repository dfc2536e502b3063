#!/usr/bin/env python3
"""`profctl analyze` on damaged databases of ranks: whatever happens to one of them, there is no finding that the whole job does not
have, no number that cannot be, and a note where something was lost."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
import damage  # noqa: E402
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = str(harness.PROFCTL)
SHAPES = {"pairs": dict(ranks=4, tp=2, steps=6, layers=2), "one group": dict(ranks=4, tp=4, steps=6, layers=2)}
PIPELINE = dict(ranks=4, tp=1, pp=4, micro=8, steps=6, layers=2, message=1.0)
FAULTS = {"healthy": [], "slow": [Fault("slow_compute", rank=2, factor=1.3)]}
DAMAGED = (1, 2)  # ranks; the second one is the slow one
OK, LOST = 0, 7


class DamageTest(unittest.TestCase):
    jobs = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-damage-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for shape, size in SHAPES.items():
            for fault, planted in FAULTS.items():
                if (shape, fault) == ("one group", "healthy"):
                    continue
                folder = cls.folder / f"{shape} {fault}"
                make(Shape(**size), list(planted), folder)
                code, verdict = cls.analyse(folder)
                cls.jobs[folder] = {finding["key"] for finding in verdict["findings"]}, verdict
                assert code == OK and cls.jobs[folder][0] == ({"rank.late/2/compute"} if planted else set()), verdict

    def pipeline(self):
        """A job that the tests of all damages do without."""
        folder = self.folder / "pipeline"
        make(Shape(**PIPELINE), [], folder)
        self.addCleanup(shutil.rmtree, folder)
        code, verdict = self.analyse(folder)
        self.assertEqual((code, verdict["findings"]), (OK, []))
        self.jobs[folder] = set(), verdict
        self.addCleanup(self.jobs.pop, folder)

    @staticmethod
    def analyse(folder):
        result = subprocess.run([PROFCTL, "analyze", str(folder), "--json", "--jobs", "1"], capture_output=True, text=True, check=False)
        if result.returncode not in (OK, LOST):
            raise AssertionError(f"code {result.returncode}: {result.stderr[-2000:]}")
        return result.returncode, json.loads(result.stdout)

    @staticmethod
    def database(folder, rank):
        (path,) = folder.glob(f"host*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db")
        return path

    def check(self, folder, what, loses=False, new=()):
        """`loses`: it must be noted. `new`: what may be found beyond what the whole job has."""
        usual, whole = self.jobs[folder]
        code, verdict = self.analyse(folder)
        found = {finding["key"]: finding["title"] for finding in verdict["findings"]}
        self.assertEqual({key: title for key, title in found.items() if key not in usual and key not in new}, {},
                         (folder.name, what, verdict["data"]["notes"]))
        for figure, most in (("mean", 1.5), ("p50", 1.5), ("p95", 1.5)):
            self.assertLess(verdict["job"]["step_ms"][figure], most * whole["job"]["step_ms"][figure], (folder.name, what))
        for finding in verdict["findings"]:
            for percent in re.findall(r"([0-9.]+) %", finding["title"]):
                self.assertLess(float(percent), 100, (folder.name, what, finding["title"]))
            self.assertLess(finding["cost"].get("percent") or 0, 100, (folder.name, what))
        lost = [note["text"] for note in verdict["data"]["notes"] if note["lost"]]
        self.assertEqual(code, LOST if lost else OK)
        if loses:
            self.assertTrue(lost, (folder.name, what, verdict["data"]["notes"]))
        return lost

    def each(self, damages, only=""):
        """`damages(path)`: what, whether it must be noted, and a function that does it to a database. `only`: to these jobs."""
        for folder in (folder for folder in self.jobs if only in folder.name):
            for rank in DAMAGED:
                path = self.database(folder, rank)
                whole = path.read_bytes()
                for what, loses, do in damages(path):
                    with self.subTest(job=folder.name, rank=rank, damage=what):
                        do(path)
                        try:
                            lost = self.check(folder, what, loses)
                            for note in lost:
                                self.assertIn(f"rank {rank}", note)
                        finally:
                            path.write_bytes(whole)

    def test_tables_emptied_and_dropped(self):
        def damages(path):
            for table in damage.tables(path):
                if damage.rows(path, table) > 0:
                    yield f"empty {table}", table in damage.CORE, lambda p, t=table: damage.empty(p, t)
                    yield f"drop {table}", table in damage.CORE, lambda p, t=table: damage.drop(p, t)

        self.each(damages)

    def test_half_of_the_rows(self):
        def damages(path):
            for table in damage.tables(path):
                for how in ("any", "every", "first", "last") if damage.rows(path, table) > 2 else ():
                    yield f"half of {table}: {how}", table in damage.CORE, lambda p, t=table, h=how: damage.halve(p, t, h, 1)

        self.each(damages, only="slow")

    def test_columns_of_another_version(self):
        def damages(path):
            for table in damage.tables(path):
                for column in damage.columns(path, table) if damage.rows(path, table) > 0 else ():
                    yield f"{table}.{column}", False, lambda p, t=table, c=column: damage.lose_column(p, t, c)

        self.each(damages, only="slow")

    def test_flipped_bytes(self):
        def damages(path):
            for count in (1, 4, 16, 64, 256):
                for seed in range(4):
                    yield f"{count} bits, {seed}", False, lambda p, n=count, s=seed: damage.flip(p, n, s)
                    yield f"{count} bytes, {seed}", False, lambda p, n=count, s=seed: damage.scramble(p, n, s)

        self.each(damages)

    def test_kernels_lost_while_recording(self):
        """No row and no number tells of them; that they were launched does."""
        self.pipeline()
        shares = {"globalTaskId % 3 = 1": True, "globalTaskId % 14 = 5": True, "opType = (SELECT opType FROM COMPUTE_TASK_INFO LIMIT 1)": True,
                  "globalTaskId > (SELECT max(globalTaskId) FROM COMPUTE_TASK_INFO) / 2": True}

        def damages(path):
            for which, loses in shares.items():
                yield f"kernels lost: {which}", loses, lambda p, w=which: damage.lose_kernels(p, w)

        self.each(damages)

    def test_times_that_cannot_be(self):
        self.pipeline()
        hour = 3_600_000_000_000

        def damages(path):
            for every, times in ((11, 1000), (50, 300), (1, 1000)):
                yield f"every {every}th task {times} times as long", True, lambda p, e=every, t=times: damage.lengthen(p, e, t)
            for tables in (("TASK",), ("TASK", "COMMUNICATION_OP")):
                for ns in (hour, -hour):
                    yield f"{tables} moved by {ns} ns", True, lambda p, t=tables, n=ns: damage.move(p, t, n)

        self.each(damages)

    def test_times_of_a_single_rank_that_cannot_be(self):
        """No other rank tells what is right: a note, no finding and no figure that cannot be."""
        folder = self.folder / "single"
        self.addCleanup(shutil.rmtree, folder)
        make(Shape(ranks=4, tp=2, steps=6, layers=2), [], folder, [1])
        path = self.database(folder, 1)
        whole = path.read_bytes()
        code, usual = self.analyse(folder)
        self.assertEqual(code, OK)
        hour = 3_600_000_000_000
        for what, do in (("lengths times 1000", lambda: damage.lengthen(path, 1, 1000)), ("some lengths times 1000", lambda: damage.lengthen(path, 11, 1000)),
                         ("few lengths times 300", lambda: damage.lengthen(path, 50, 300)), ("tasks an hour later", lambda: damage.move(path, ("TASK",), hour)),
                         ("tasks an hour earlier", lambda: damage.move(path, ("TASK",), -hour)),
                         ("device an hour later", lambda: damage.move(path, ("TASK", "COMMUNICATION_OP"), hour)),
                         ("device an hour earlier", lambda: damage.move(path, ("TASK", "COMMUNICATION_OP"), -hour))):
            with self.subTest(what):
                path.write_bytes(whole)
                do()
                code, verdict = self.analyse(folder)
                self.assertEqual((code, [one["title"] for one in verdict["findings"]]), (LOST, []))
                (note,) = [note["text"] for note in verdict["data"]["notes"] if note["lost"]]
                self.assertRegex(note, r"^rank 1: .*: nothing is said of it$")
                for figure in ("mean", "p50", "p95"):
                    self.assertAlmostEqual(verdict["job"]["step_ms"][figure] / usual["job"]["step_ms"][figure], 1, delta=0.5)
                for figure in ("compute_ms", "exposed_ms", "idle_ms"):
                    self.assertLessEqual(verdict["job"][figure] or 0, 1.5 * usual["job"]["step_ms"]["mean"], figure)

    def test_files_cut_off(self):
        def damages(path):
            size = path.stat().st_size
            for left in (0, 50, 400, 4096, 5000, size // 10, size // 4, size // 2, 3 * size // 4, size - 4096, size - 1):
                yield f"{left} of {size} bytes", True, lambda p, n=left: damage.cut(p, n)

        self.each(damages)

    def test_ranks_missing_and_doubled(self):
        for folder, (usual, _) in self.jobs.items():
            for rank in DAMAGED:
                with self.subTest(job=folder.name, rank=rank):
                    own, away = self.database(folder, rank).parents[1], self.folder / "away"
                    own.rename(away)
                    try:
                        self.check(folder, "missing", new={"rank.absent"})
                    finally:
                        away.rename(own)
                    again = folder / "again_ascend_pt"
                    shutil.copytree(own, again)
                    try:
                        self.check(folder, "doubled", loses=True)
                        (copy,) = again.glob("*/*.db")
                        damage.halve(copy, "TASK", "last", 1)
                        lost = self.check(folder, "doubled, half of it lost", loses=True)
                        self.assertEqual(len(lost), 1, lost)
                        self.assertEqual({finding["key"] for finding in self.analyse(folder)[1]["findings"]}, usual)
                    finally:
                        shutil.rmtree(again)


if __name__ == "__main__":
    unittest.main()
