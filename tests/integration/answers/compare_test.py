#!/usr/bin/env python3
"""`profctl compare` on jobs with and without a planted fault: the verdict, where the difference comes from against what the fault
costs in truth, and what is renumbered, torn, empty, hostile or of another size."""
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = str(harness.PROFCTL)
SAME, OTHER, DATA, HOST, STOPS = "the same kernels", "other kernels", "collectives", "the host between", "the host stops"


def profctl(*words):
    return subprocess.run([PROFCTL, *map(str, words)], capture_output=True, text=True, check=False)


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-compare-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def job(self, name, *faults, **shape):
        truth = make(Shape(**{"ranks": 4, "tp": 2, "steps": 8, "layers": 2, **shape}), list(faults), self.folder / name)
        return self.folder / name, truth

    def database(self, folder, rank):
        (path,) = folder.glob(f"*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db")
        return path

    def edit(self, folder, rank, *statements):
        with sqlite3.connect(self.database(folder, rank)) as db:
            for statement in statements:
                db.execute(statement)

    def compared(self, *words, code=0):
        result = profctl("compare", *words, "--json")
        self.assertEqual(result.returncode, code, result.stderr + result.stdout[:2000])
        comparison = json.loads(result.stdout)
        self.assert_adds_up(comparison)
        return comparison

    def assert_adds_up(self, comparison):
        """But for the rounding of each."""
        waterfall = comparison["waterfall"]
        falls = [fall["ms"] for fall in waterfall["falls"]]
        self.assertAlmostEqual(waterfall["base_ms"] + sum(falls), waterfall["new_ms"],
                               delta=1e-5 * (waterfall["base_ms"] + waterfall["new_ms"] + sum(map(abs, falls))))

    def fall(self, comparison, what):
        (ms,) = [fall["ms"] for fall in comparison["waterfall"]["falls"] if fall["what"].startswith(what)]
        return ms

    def test_where_the_difference_comes_from(self):
        faults = {
            SAME: (Fault("slow_compute", rank=2, factor=1.3), Fault("slow_compute", rank=-1, factor=1.2)),
            OTHER: (Fault("extra_work", rank=1, factor=1.5), Fault("extra_work", rank=-1, factor=1.5)),
            DATA: (Fault("slow_group", rank=-1, group="tp1", factor=3),),
            (HOST, STOPS): (Fault("launch_jitter", rank=3, us=40),),  # some of it is 50 us and more
            STOPS: (Fault("dataloader", rank=1, ms=2), Fault("host_stall", rank=2, step=4, ms=12)),
        }
        base, truth = self.job("base")
        number = 0
        for what, planted in faults.items():
            for fault in planted:
                with self.subTest(fault=fault):
                    number += 1
                    new, with_fault = self.job(f"new{number}", fault)
                    cost = with_fault["step_ms"] - truth["step_ms"]
                    for one, other, sign in ((base, new, 1), (new, base, -1)):
                        comparison = self.compared(one, other)
                        step = comparison["parts"]["step"]
                        self.assertAlmostEqual(step["change_ms"], sign * cost, delta=0.02 * cost + 0.01)
                        if fault.step < 0:
                            self.assertEqual(step["verdict"], "slower" if sign > 0 else "faster")
                        falls = comparison["waterfall"]["falls"]
                        found = sum(self.fall(comparison, one_of) for one_of in ([what] if isinstance(what, str) else what))
                        self.assertAlmostEqual(found, sign * cost, delta=0.1 * cost + 0.02, msg=falls)

    def test_what_is_hidden_costs_nothing(self):
        base, truth = self.job("base")
        for number, fault in enumerate((Fault("host_stall", rank=2, ms=0.4, count=3), Fault("launch_jitter", rank=0, us=3))):
            with self.subTest(fault=fault):
                new, with_fault = self.job(f"new{number}", fault)
                self.assertLess(abs(with_fault["step_ms"] - truth["step_ms"]), 0.02)
                comparison = self.compared(base, new)
                self.assertEqual(comparison["parts"]["step"]["verdict"], "noise")
                for fall in comparison["waterfall"]["falls"]:
                    self.assertLess(abs(fall["ms"]), 0.03, comparison["waterfall"])

    def test_noise_is_called_noise(self):
        folders = [self.job(f"seed{seed}", seed=seed)[0] for seed in range(1, 9)]
        verdicts = [self.compared(folders[i], folders[i + 1])["parts"]["step"]["verdict"] for i in range(7)]
        self.assertEqual(verdicts, ["noise"] * 7)
        comparison = self.compared(folders[0], folders[0])
        self.assertEqual({part["change_ms"] for part in comparison["parts"].values()}, {0})
        self.assertEqual({fall["ms"] for fall in comparison["waterfall"]["falls"]}, {0})
        self.assertEqual({row["verdict"] for row in comparison["kernels"] + comparison["collectives"]}, {"noise"})

    def test_what_a_person_reads(self):
        base, _ = self.job("base")
        new, _ = self.job("new", Fault("slow_compute", rank=2, factor=1.3))
        text = profctl("compare", base, new).stdout
        self.assertRegex(text, r"base: 4 ranks · steps 1-7 \(7\)")
        self.assertRegex(text, r"\nstep +\d.*  slower\n")
        self.assertRegex(text, r"\+\d\.\d+  the same kernels take longer or shorter\n")
        self.assertRegex(text, r"FlashAttentionScore \(4096,\d+\) .*us x ")
        self.assertRegex(text, r"  rank 2: compute \d+\.\d+ -> \d+\.\d+, waiting")
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 120, text)

    def test_exit_codes(self):
        base, _ = self.job("base")
        new, _ = self.job("new", Fault("slow_compute", rank=-1, factor=1.3))
        short, _ = self.job("short", steps=4)
        self.assertEqual(profctl("compare", base, new, "--fail-on", "5%").returncode, 10)
        self.assertEqual(profctl("compare", base, new).returncode, 0)
        self.assertEqual(profctl("compare", base, new, "--fail-on", "80%").returncode, 0)
        self.assertEqual(profctl("compare", new, base, "--fail-on", "5%").returncode, 0)
        self.assertEqual(profctl("compare", base, new, "--fail-on", "5%", "--min-change", "50%").returncode, 0)
        few = profctl("compare", base, short, "--fail-on", "5%")
        self.assertEqual(few.returncode, 7)
        self.assertIn("no verdict", few.stderr)
        self.assertEqual(profctl("compare", base, short).returncode, 0)
        self.assertEqual(self.compared(base, short)["parts"]["step"]["verdict"], "too few steps")
        for words in ([], [base], [base, new, "--fail-on", "much"], [base, new, "--top", "0"], [base, new, "--jobs", "x"]):
            self.assertEqual(profctl("compare", *words).returncode, 2, words)
        (self.folder / "empty").mkdir()
        for nothing in (self.folder / "empty", self.folder / "nobody"):
            for words in ((base, nothing), (nothing, base), (base, new, "--new", nothing)):
                result = profctl("compare", *words)
                self.assertEqual((result.returncode, result.stdout), (3, ""), words)
                self.assertIn(nothing.name, result.stderr)
        # Something that is torn is said; a found regression is not hidden by it.
        (new / "msprof_1.db").write_bytes(b"torn")
        self.assertEqual(profctl("compare", base, new).returncode, 7)
        self.assertEqual(profctl("compare", base, new, "--fail-on", "5%").returncode, 10)

    def test_without_steps_there_is_no_verdict(self):
        base, _ = self.job("base")
        new, _ = self.job("new")
        for rank in range(4):
            self.edit(new, rank, "DELETE FROM STEP_TIME")
        result = profctl("compare", base, new, "--fail-on", "5%")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertIn("windows", result.stdout)

    def test_runs_against_runs(self):
        base = [self.job(f"base{seed}", seed=seed)[0] for seed in range(1, 5)]
        new = [self.job(f"new{seed}", Fault("slow_compute", rank=-1, factor=1.2), seed=seed)[0] for seed in range(11, 14)]
        words = [base[0], new[0]]
        for path in base[1:]:
            words += ["--base", path]
        for path in new[1:]:
            words += ["--new", path]
        comparison = self.compared(*words, "--fail-on", "5%", code=10)
        self.assertEqual(comparison["sampled_by"], "run")
        self.assertEqual((comparison["base"]["runs"], comparison["new"]["runs"]), (4, 3))
        self.assertEqual(comparison["parts"]["step"]["verdict"], "slower")
        self.assertIn("slower", {row["verdict"] for row in comparison["kernels"]})
        self.assertGreater(self.fall(comparison, SAME), 0.3)
        # The order of runs does not matter, but for its numbers.
        turned = self.compared(base[3], new[2], "--base", base[0], "--base", base[1], "--base", base[2], "--new", new[1], "--new", new[0])
        self.assertEqual(turned["parts"], comparison["parts"])
        self.assertEqual(turned["waterfall"], comparison["waterfall"])
        # Two are too few: their steps are taken together.
        two = self.compared(base[0], new[0], "--new", new[1])
        self.assertEqual(two["sampled_by"], "step")
        self.assertEqual(two["new"]["runs"], 2)

    def test_ranks_by_their_places(self):
        base, _ = self.job("base")
        new, _ = self.job("new", Fault("slow_compute", rank=2, factor=1.3))
        # What was rank 2 is rank 1 now, and the other way round.
        renumber = {0: 0, 1: 2, 2: 1, 3: 3}
        for rank in range(4):
            groups = {f"10.0.0.1%eth0_60000_0_tp{rank // 2}": {"group_name": "tp",
                                                              "global_ranks": [renumber[rank // 2 * 2 + i] for i in range(2)]},
                      f"10.0.0.1%eth0_60000_0_dp{rank % 2}": {"group_name": "dp",
                                                             "global_ranks": [renumber[rank % 2 + 2 * i] for i in range(2)]}}
            with sqlite3.connect(self.database(new, rank)) as db:
                db.execute("UPDATE META_DATA SET value = ? WHERE name = 'parallel_group_info'", (json.dumps(groups),))
                db.execute("UPDATE RANK_DEVICE_MAP SET rankId = ?", (renumber[rank],))
        paths = {rank: self.database(new, rank) for rank in range(4)}
        for rank, path in paths.items():
            path.rename(path.parent / f"renumbered_{rank}")
        for rank, path in paths.items():
            (path.parent / f"renumbered_{rank}").rename(path.parent / f"ascend_pytorch_profiler_{renumber[rank]}.db")
            info = path.parent.parent / f"profiler_info_{rank}.json"
            info.unlink()
            (path.parent.parent / f"profiler_info_{renumber[rank]}.json").write_text(json.dumps({"rank_id": renumber[rank]}))
        comparison = self.compared(base, new)
        self.assertEqual({row["base_rank"]: row["new_rank"] for row in comparison["ranks"]}, renumber)
        slowest = comparison["ranks"][0]
        self.assertEqual((slowest["base_rank"], slowest["new_rank"]), (2, 1))
        self.assertGreater(slowest["new_compute_ms"], 1.2 * slowest["base_compute_ms"])

    def test_other_numbers_of_ranks_and_steps(self):
        small, _ = self.job("small")
        wide, _ = self.job("wide", ranks=8, tp=4, steps=10)
        for one, other in ((small, wide), (wide, small)):
            comparison = self.compared(one, other)
            self.assertTrue(any("different numbers of ranks" in remark for remark in comparison["remarks"]))
            self.assertEqual(comparison["parts"]["compute"]["verdict"], "noise")
        again, _ = self.job("again", steps=19, seed=2)
        comparison = self.compared(small, again)
        self.assertEqual(comparison["parts"]["step"]["verdict"], "noise")
        for fall in comparison["waterfall"]["falls"]:
            self.assertLess(abs(fall["ms"]), 0.06, comparison["waterfall"])

    def test_sends_and_receives(self):
        folders, steps = [], []
        for name, faults in (("base", []), ("new", [Fault("slow_group", rank=-1, group="tp0", factor=3)])):
            folder, truth = self.job(name, *faults, ranks=2)
            folders.append(folder)
            steps.append(truth["step_ms"])
            for rank, kind in enumerate(("send", "receive")):
                self.edit(folder, rank,
                          f"UPDATE STRING_IDS SET value = REPLACE(value, 'allReduce', '{kind}') WHERE value LIKE 'hcom_allReduce%'")
        comparison = self.compared(*folders)
        self.assertLess({row["type"] for row in comparison["collectives"]}, {"send", "receive"})
        self.assertAlmostEqual(self.fall(comparison, DATA), steps[1] - steps[0], delta=0.1 * (steps[1] - steps[0]))

    def test_other_shapes(self):
        base, _ = self.job("base")
        new, _ = self.job("new")
        for rank in range(4):
            self.edit(new, rank, "UPDATE STRING_IDS SET value = REPLACE(value, '4096,', '8192,')")
        comparison = self.compared(base, new)
        self.assertTrue(any(remark.startswith("the work differs: 100 %") for remark in comparison["remarks"]), comparison["remarks"])
        for row in comparison["kernels"]:
            self.assertEqual(row["new_shapes"][:5], "8192,", row)
            self.assertEqual(row["base_count"], row["new_count"])
        self.assertEqual(comparison["parts"]["step"]["verdict"], "noise")

    def test_the_same_bytes_with_any_number_of_threads(self):
        base, _ = self.job("base")
        new, _ = self.job("new", Fault("slow_compute", rank=2, factor=1.3))
        self.assertEqual(len({profctl("compare", base, new, "--json", "--jobs", jobs).stdout for jobs in (1, 2, 5)}), 1)

    def test_what_is_missing_torn_or_hostile(self):
        base, _ = self.job("base")
        new, _ = self.job("new")
        whole = self.database(new, 1).read_bytes()
        for statement, code in (("DELETE FROM CANN_API", 7), ("DELETE FROM COMMUNICATION_OP", 7), ("DELETE FROM COMPUTE_TASK_INFO", 7),
                                ("DELETE FROM META_DATA", 0), ("UPDATE TASK SET connectionId = 7", 0),
                                ("DELETE FROM TASK WHERE rowid > 40", 7)):
            with self.subTest(statement=statement):
                self.database(new, 1).write_bytes(whole)
                self.edit(new, 1, statement)
                for one, other in ((base, new), (new, base)):
                    self.compared(one, other, code=code)
        data = bytearray(whole)
        for page in range(5, len(data) // 4096, 9):
            data[page * 4096:(page + 1) * 4096] = bytes(4096)
        self.database(new, 1).write_bytes(data)
        self.compared(base, new, code=7)
        self.database(new, 1).write_bytes(whole)
        self.edit(new, 1, "UPDATE STRING_IDS SET value = '<script>' || char(10, 27, 7) || value WHERE value LIKE '%Attention%'",
                  f"INSERT INTO STRING_IDS VALUES(4000000000000, '{'x' * 1_000_000}')")
        self.compared(base, new)
        self.assertNotIn("\x1b", profctl("compare", base, new, "--min-change", "0%").stdout)


if __name__ == "__main__":
    unittest.main()
