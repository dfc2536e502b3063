#!/usr/bin/env python3
"""`profctl analyze --report`: its tables against sums made here from the same databases, and against the vendor's analyser where
the environment names a checkout of it."""
import collections
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import unittest

import vendor_tools

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = os.path.join(os.environ["PROFD_BUILD_DIR"], "bin", "profctl")
SHAPE = dict(ranks=4, tp=2, steps=4, layers=2, seed=5)
SPREAD = ("count", "mean_ns", "std_ns", "min_ns", "q1_ns", "median_ns", "q3_ns", "max_ns", "sum_ns")
VENDORS = ("Count", "MeanNs", "StdNs", "MinNs", "Q1Ns", "MedianNs", "Q3Ns", "MaxNs", "SumNs")


def profctl(*words):
    return subprocess.run([PROFCTL, *map(str, words)], capture_output=True, text=True, check=False)


def union(intervals):
    total, reached = 0, 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


class AnalyzeReportsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-reports-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        make(Shape(**SHAPE), [Fault("dataloader", rank=1, step=2, ms=25)], cls.folder)

    def rows(self, rank, query):
        (path,) = self.folder.glob(f"*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db")
        with sqlite3.connect(path) as db:
            return db.execute(query).fetchall()

    def report(self, *names):
        result = profctl("analyze", self.folder, "--report", ",".join(names), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        tables = json.loads(result.stdout)
        self.assertEqual(list(tables), list(names))
        return tables[names[0]] if len(names) == 1 else tables

    def same(self, row, lengths):
        quartiles = statistics.quantiles(lengths, n=4, method="inclusive")
        expected = (len(lengths), statistics.mean(lengths), statistics.stdev(lengths), min(lengths), *quartiles, max(lengths),
                    sum(lengths))
        for name, value in zip(SPREAD, expected):
            self.assertAlmostEqual(row[name], value, delta=1e-6 * max(1, value), msg=f"{row} {name}")

    def test_kernels(self):
        lengths = collections.defaultdict(list)
        for rank in range(4):
            for kind, begin, end in self.rows(rank, "SELECT value, startNs, endNs FROM TASK JOIN COMPUTE_TASK_INFO USING(globalTaskId) "
                                                    "JOIN STRING_IDS ON opType = id"):
                lengths["all", kind].append(end - begin)
                lengths[rank, kind].append(end - begin)
        table = self.report("kernels")
        self.assertEqual({(row["rank"], row["type"]) for row in table}, set(lengths))
        for row in table:
            self.same(row, lengths[row["rank"], row["type"]])
        by_shape = self.report("kernels-by-shape")
        self.assertEqual(sum(row["count"] for row in by_shape), sum(row["count"] for row in table if row["rank"] == "all"))

    def test_collectives_and_groups(self):
        lengths, named, groups = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(set)
        for rank in range(4):
            for name, group, begin, end in self.rows(
                    rank, "SELECT a.value, b.value, startNs, endNs FROM COMMUNICATION_OP JOIN STRING_IDS a ON opName = a.id "
                          "JOIN STRING_IDS b ON groupName = b.id"):
                lengths["all"].append(end - begin)
                lengths[rank].append(end - begin)
                named[name, group].append((end - begin, rank))
                groups[group].add(rank)
        for row in self.report("collectives"):
            self.assertEqual(row["type"], "allReduce")
            self.same(row, lengths[row["rank"]])
        top = self.report("collective-top")
        means = [row["mean_ns"] for row in top]
        self.assertEqual(means, sorted(means, reverse=True))
        for row in top:
            self.assertEqual(row["max_rank"], max(named[row["name"], row["group"]])[1])
            self.assertEqual(row["min_rank"], min(named[row["name"], row["group"]])[1])
        self.assertEqual({row["group"]: set(map(int, row["ranks"].split())) for row in self.report("groups")}, groups)

    def test_steps(self):
        table = {(row["rank"], row["step"]): row for row in self.report("steps")}
        self.assertEqual(len(table), 16)
        for rank in range(4):
            calls = self.rows(rank, "SELECT id, connectionId FROM CANN_API c JOIN STEP_TIME s ON c.startNs >= s.startNs AND c.startNs < s.endNs")
            step_of = {connection: step for step, connection in calls}
            kernels, transfers = collections.defaultdict(list), collections.defaultdict(list)
            for into, query in ((kernels, "SELECT connectionId, startNs, endNs FROM TASK"),
                                (transfers, "SELECT connectionId, startNs, endNs FROM COMMUNICATION_OP")):
                for connection, begin, end in self.rows(rank, query):
                    into[step_of[connection]].append((begin, end))
            for step, begin, end in self.rows(rank, "SELECT id, startNs, endNs FROM STEP_TIME"):
                row = table[rank, step]
                computing, communication = union(kernels[step]), union(transfers[step])
                both = union(kernels[step] + transfers[step])
                self.assertAlmostEqual(row["computing_us"], computing / 1e3, places=3)
                self.assertAlmostEqual(row["communication_us"], communication / 1e3, places=3)
                self.assertAlmostEqual(row["overlapped_us"], (computing + communication - both) / 1e3, places=3)
                self.assertAlmostEqual(row["communication_not_overlapped_us"], (both - computing) / 1e3, places=3)
                self.assertAlmostEqual(row["free_us"], (end - begin - both) / 1e3, places=3)
        hidden = collections.defaultdict(float)
        for row in self.report("overlap"):
            self.assertIn(row["role"], ("tp", "dp"))
            hidden[row["rank"], row["step"]] += row["communication_us"] - row["not_overlapped_us"]
        for key, row in table.items():
            self.assertLessEqual(row["overlapped_us"], hidden[key] + 0.01)

    def test_calls(self):
        lengths = collections.defaultdict(list)
        for rank in range(4):
            for name, begin, end in self.rows(rank, "SELECT value, startNs, endNs FROM CANN_API JOIN STRING_IDS ON name = id"):
                lengths["all", name].append(end - begin)
                lengths[rank, name].append(end - begin)
        table = self.report("api")
        self.assertEqual({(row["rank"], row["name"]) for row in table}, set(lengths))
        for row in table:
            self.same(row, lengths[row["rank"], row["name"]])

    def test_gaps_say_what_the_host_did(self):
        gaps = [row for row in self.report("gaps") if row["rank"] == 1]
        self.assertEqual(len(gaps), 10)
        self.assertGreater(gaps[0]["us"], 20_000)
        self.assertEqual((gaps[0]["step"], gaps[0]["host"]), (2, "it waits for the data loader"))

    def test_all_of_them_in_each_form(self):
        listed = profctl("analyze", "--list").stdout
        names = ["steps", "summary", "stragglers", "overlap", "kernels", "kernels-by-shape", "experts", "collectives",
                 "collective-top", "groups", "p2p", "api", "launches", "gaps", "frequency", "host", "memory"]
        for name in names:
            self.assertIn(f"\n  {name}  ", listed)
        tables = self.report(*names)
        out = self.folder / "csv"
        out.mkdir()
        written = profctl("analyze", self.folder, "--report", ",".join(names), "--csv", out)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(written.stdout.splitlines(), [f"{out}/{name}.csv" for name in names])
        for name in names:
            with open(out / f"{name}.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(len(rows), len(tables[name]), name)
            for row, told in zip(rows, tables[name]):
                self.assertEqual(list(row), list(told))
                for column, value in told.items():
                    self.assertEqual(float(row[column]) if isinstance(value, float) else row[column],
                                     value if isinstance(value, float) else str(value))
        shown = profctl("analyze", self.folder, "--report", "steps,frequency")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("computing_us", shown.stdout)
        self.assertIn("rated_mhz", shown.stdout)

    def test_what_is_wrong_is_one_line(self):
        for words, part in ((("--report", "step"), "--list"), (("--csv", "/tmp"), "--report"), (("--report", ","), "--report")):
            result = profctl("analyze", self.folder, *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
            self.assertIn(part, result.stderr)
        self.assertNotEqual(profctl("analyze", self.folder, "--report", "steps", "--csv", self.folder / "nobody").returncode, 0)

    # The vendor's own recipes on the same databases.

    def vendors(self, recipe, *tables):
        out = pathlib.Path(tempfile.mkdtemp(prefix="vendor-", dir=self.folder))
        run = vendor_tools.analyze("cluster", "-m", recipe, "-d", self.folder, "-o", out, "--force")
        (path,) = list(out.rglob("cluster_analysis.db")) or self.fail(run)
        self.addCleanup(shutil.rmtree, out)
        with sqlite3.connect(path) as db:
            db.row_factory = sqlite3.Row
            return [[dict(row) for row in db.execute(f"SELECT * FROM {table}")] for table in tables]

    def same_spread(self, own, other):
        for name, theirs in zip(SPREAD, VENDORS):
            value = other[theirs] or 0  # of a single one it has no deviation
            self.assertAlmostEqual(own[name], value, delta=1e-6 * max(1, value), msg=f"{own} {other}")

    @vendor_tools.needs_analyze
    def test_as_the_vendor_counts_kernels_and_collectives(self):
        everywhere, per_rank, by_name = self.vendors("compute_op_sum", "ComputeOpAllRankStats", "ComputeOpPerRankStatsByOpType",
                                                     "ComputeOpPerRankStatsByOpName")
        own = {(row["rank"], row["type"]): row for row in self.report("kernels")}
        self.assertEqual(len(own), len(everywhere) + len(per_rank))
        for row in everywhere:
            self.same_spread(own["all", row["OpType"]], row)
        for row in per_rank:
            self.same_spread(own[row["Rank"], row["OpType"]], row)
        own = {(row["rank"], row["name"], row["shapes"]): row for row in self.report("kernels-by-shape")}
        self.assertEqual(len(own), len(by_name))
        for row in by_name:
            self.same_spread(own[row["Rank"], row["OpName"], row["InputShapes"]], row)
        everywhere, per_rank = self.vendors("hccl_sum", "HcclAllRankStats", "HcclPerRankStats")
        own = {row["rank"]: row for row in self.report("collectives")}
        self.same_spread(own["all"], everywhere[0])
        for row in per_rank:
            self.same_spread(own[row["Rank"]], row)

    @vendor_tools.needs_analyze
    def test_as_the_vendor_counts_calls(self):
        (per_rank,) = self.vendors("cann_api_sum", "CannApiSumRank")
        own = {(row["rank"], row["name"]): row for row in self.report("api")}
        self.assertTrue(per_rank)
        for row in per_rank:
            mine = own[row["rank"], row["name"]]
            for column, theirs in (("count", "totalCount"), ("sum_ns", "totalTimeNs"), ("median_ns", "medNs"), ("q1_ns", "Q1Ns"),
                                   ("q3_ns", "Q3Ns"), ("min_ns", "minNs"), ("max_ns", "maxNs")):
                # It rounds to a tenth.
                self.assertAlmostEqual(mine[column], row[theirs], delta=0.051, msg=f"{column} {mine} {row}")

    @vendor_tools.needs_analyze
    def test_as_the_vendor_masks_communication(self):
        (theirs,) = self.vendors("computational_op_masking", "ComputationalOperatorMaskingLinearity")
        self.assertTrue(theirs)
        own = collections.defaultdict(list)
        for row in self.report("overlap"):
            own[row["step"], row["role"]].append((row["communication_us"] * 1e3, row["not_overlapped_us"] * 1e3))
        for row in theirs:
            if "+" in row["parallelType"]:
                continue  # of several roles together
            self.assertTrue(any(abs(all_ - row["totalCommunicationOperatorTime"]) <= 2 for all_, _ in
                                own[row["stepId"], row["parallelType"]]), row)


if __name__ == "__main__":
    unittest.main()
