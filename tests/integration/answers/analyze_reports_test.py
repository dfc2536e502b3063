#!/usr/bin/env python3
"""`profctl analyze --report`: its tables against sums made here from the same databases, and against the vendor's analyser where
the environment names a checkout of it."""
import collections
import contextlib
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

import harness
import vendor_tools

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = str(harness.PROFCTL)
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

    def of_job(self, name, edit=None, faults=(), **shape):
        """A report of a job of its own."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-reports-"))
        self.addCleanup(shutil.rmtree, folder)
        make(Shape(**{**SHAPE, **shape}), list(faults), folder)
        if edit:
            for path in sorted(folder.glob("*/ASCEND_PROFILER_OUTPUT/*.db")):
                with sqlite3.connect(path) as db:
                    edit(db)
        result = profctl("analyze", folder, "--report", name, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)[name]

    def test_what_is_done_before_compiled_graphs(self):
        rows = self.of_job("graph", faults=[Fault("graph_head", rank=1, ms=3, count=0), Fault("graph_head", rank=1, ms=6, count=1, step=2)])
        steps = [row for row in rows if isinstance(row["step"], int)]
        self.assertEqual({row["rank"] for row in rows}, {1})
        for row in steps:
            ms, graphs = (9, 2) if row["step"] == 2 else (3, 1)
            self.assertEqual(row["graphs"], graphs)
            for column, part in (("head_ms", 1), ("python_ms", 0.6), ("lists_ms", 0.15), ("engine_ms", 0.25)):
                self.assertAlmostEqual(row[column], part * ms, delta=0.01, msg=column)
            self.assertAlmostEqual(row["of_median"], ms / 3, delta=0.01)
            self.assertEqual(row["longest_part"], "inputs in Python")
        self.assertEqual([(row["step"], round(row["head_ms"])) for row in rows if row not in steps], [("median", 3), ("most", 9)])

    def test_bandwidth(self):
        lengths, bytes_of = collections.defaultdict(list), {}
        for rank in range(4):
            for name, group, begin, end, count in self.rows(
                    rank, "SELECT a.value, b.value, startNs, endNs, count FROM COMMUNICATION_OP JOIN STRING_IDS a ON opName = a.id "
                          "JOIN STRING_IDS b ON groupName = b.id"):
                lengths[group, name].append(end - begin)
                bytes_of[group] = 2 * count  # FP16
        table = {row["group"]: row for row in self.report("bandwidth")}
        self.assertEqual(set(table), set(bytes_of))
        for group, row in table.items():
            # Of a collective what the last rank took: the shortest.
            shortest = [min(values) for (of, _), values in lengths.items() if of == group]
            self.assertEqual((row["ranks"], row["type"], row["count"], row["bytes"]), (2, "allReduce", len(shortest), bytes_of[group]))
            self.assertAlmostEqual(row["median_us"], statistics.median(shortest) / 1e3, places=3)
            self.assertAlmostEqual(row["gigabytes_per_s"], row["bytes"] / statistics.median(shortest), delta=1e-6)
            self.assertAlmostEqual(row["per_link_gigabytes_per_s"], row["gigabytes_per_s"], delta=1e-6)  # of two ranks

    def test_matrix(self):
        """Of a pipeline its messages; of collectives what their tasks say, ranks as their groups number them."""
        pairs = self.of_job("matrix", pp=2, ranks=4, micro=3)
        self.assertEqual({(row["from"], row["to"]) for row in pairs}, {(0, 2), (2, 0), (1, 3), (3, 1)})
        for row in pairs:
            self.assertEqual((row["count"], row["bytes"]), (3 * SHAPE["steps"], 3 * SHAPE["steps"] * 4_000_000))
            self.assertAlmostEqual(row["gigabytes_per_s"], row["bytes"] / row["ms"] / 1e6, delta=1e-6)

        def tasks(db):
            (group,) = db.execute("SELECT id FROM STRING_IDS WHERE value LIKE '%_dp1'").fetchone() or (None,)
            if group is None:
                return
            db.execute("INSERT INTO TASK SELECT startNs, startNs + 1000, deviceId, 0, 900000, globalPid, 0, 0, 9, 0, 0 FROM TASK LIMIT 1")
            db.execute("INSERT INTO COMMUNICATION_TASK_INFO(globalTaskId, groupName, srcRank, dstRank, transportType, size) "
                       "VALUES(900000, ?, 0, 1, 0, 64000)", (group,))

        links = [row for row in self.of_job("matrix", tasks)]
        # Group dp1 is of ranks 1 and 3; both say it.
        self.assertEqual([(row["from"], row["to"], row["transport"], row["count"], row["bytes"], row["ms"]) for row in links],
                         [(1, 3, "HCCS", 2, 128000, 0.002)])

    def test_pipeline(self):
        table = self.of_job("pipeline", pp=2, ranks=4, micro=3)
        one = [row for row in table if row["step"] == 2 and row["rank"] in (0, 2)]
        self.assertEqual([(row["stage"], row["batch"], row["what"]) for row in one if row["rank"] == 0],
                         [(0, 0, "forward"), (0, 1, "forward"), (0, 2, "forward and backward"), (0, 1, "backward"), (0, 2, "backward")])
        self.assertEqual([(row["stage"], row["batch"], row["what"]) for row in one if row["rank"] == 2],
                         [(1, batch, "forward and backward") for batch in range(3)])
        self.assertTrue(all(row["us"] > 0 for row in one))
        self.assertEqual(self.of_job("pipeline"), [])

    def test_modules_and_what_is_computed(self):
        """Kernels of the ranges that were around their launches; a range's operations are of all its kernels together."""
        def ranges(db):
            texts = {9001: "nn.Module: Layer_0", 9002: "nn.Module: Attention_0", 9003: "4000000-mm"}
            db.executemany("INSERT INTO STRING_IDS VALUES(?,?)", texts.items())
            calls = db.execute("SELECT startNs, endNs, globalTid FROM CANN_API WHERE connectionId IN (SELECT connectionId FROM TASK) "
                               "ORDER BY startNs").fetchall()
            for first, last, name in ((0, 9, 9001), (2, 5, 9002), (3, 4, 9003)):
                db.execute("INSERT INTO PYTORCH_API VALUES(?,?,?,77000000,?,-1,-1,-1,-1,-1,50001)",
                           (calls[first][0] - 10, calls[last][1] + 10, calls[0][2], name))
            # 4096 x 1024 by 1024 x 512.
            db.execute("UPDATE STRING_IDS SET value = '\"4096,1024;1024,512\"' WHERE value = '4096,1024'")

        table = [row for row in self.of_job("modules", ranges) if row["rank"] == 0]
        self.assertEqual([(row["module"], row["times"], row["kernels"]) for row in table], [("Layer_0", 1, 10), ("Layer_0/Attention_0", 1, 4)])
        self.assertGreater(table[0]["kernel_ms"], table[1]["kernel_ms"])
        table = [row for row in self.of_job("mfu", ranges) if row["rank"] == 0]
        (kernel,) = [row for row in table if row["of"] == "kernel"]
        self.assertAlmostEqual(kernel["gigaoperations"], kernel["count"] * 2 * 4096 * 1024 * 512 / 1e9)
        self.assertAlmostEqual(kernel["peak_tera_per_s"], 24 * 1800e6 * 8192 / 1e12)  # of info.json
        self.assertAlmostEqual(kernel["mfu"], kernel["gigaoperations"] / kernel["kernel_ms"] / kernel["peak_tera_per_s"], places=9)
        (own,) = [row for row in table if row["of"] == "range"]
        self.assertEqual((own["name"], own["count"], own["gigaoperations"]), ("4000000-mm", 1, 0.004))

    def cluster(self, **shape):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-cluster-"))
        self.addCleanup(shutil.rmtree, folder)
        make(Shape(**{**SHAPE, "pp": 2, "ranks": 8, "micro": 2, **shape}), [], folder / "job")
        for rank, path in enumerate(sorted(folder.glob("job/*/ASCEND_PROFILER_OUTPUT/*.db"))):
            with sqlite3.connect(path) as db:
                db.execute("INSERT INTO META_DATA VALUES('distributed_args', ?)", [json.dumps(
                    {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "data_parallel_size": 2, "world_size": 8, "rank": rank})])
        (folder / "out").mkdir()
        result = profctl("export", folder / "job", "--cluster-output", "--out", folder / "out")
        self.assertEqual(result.returncode, 0, result.stderr)
        for path in result.stdout.splitlines():
            self.assertTrue(os.path.getsize(path), path)
        steps = profctl("analyze", folder / "job", "--report", "steps", "--json")
        return folder / "out", {(row["rank"], row["step"]): row for row in json.loads(steps.stdout)["steps"]}

    def test_the_matrix_says_which_rank_of_a_group_it_is_of(self):
        """The vendor's analyser takes numbers of ranks within groups from rows `k-k` alone, where no framework tells of groups."""
        out, _ = self.cluster(links=1)
        told, of = {}, {}
        for folder in out.glob("*_ascend_pt"):
            rank = json.loads(next(folder.glob("profiler_info_*.json")).read_text())["rank_id"]
            groups = json.loads((folder / "profiler_metadata.json").read_text())["parallel_group_info"]
            told[rank] = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json").read_text())
            for name, group in groups.items():
                h1 = h2 = 0
                for char in name.encode():
                    h1, h2 = (h1 * 29 + char) % 2**32, (h2 * 131 + char) % 2**32
                of[str(h1 << 32 | h2)] = group["global_ranks"]
        known = {}
        for rank, steps in told.items():
            for kinds in steps.values():
                for name, links in [*kinds["p2p"].items(), *kinds["collective"].items()]:
                    group = name.split("@")[-1]
                    own = [link for link in links if len(set(link.split("-"))) == 1]
                    place = str(of[group].index(rank))
                    self.assertEqual(own, [f"{place}-{place}"], (rank, name))
                    self.assertEqual(links[own[0]]["Transport Type"], "LOCAL")
                    known.setdefault(group, {})[place] = rank
        links = [(group, link) for steps in told.values() for kinds in steps.values() for kind in kinds.values()
                 for group, of_group in ((name.split("@")[-1], of_name) for name, of_name in kind.items()) for link in of_group
                 if len(set(link.split("-"))) == 2]
        self.assertGreater(len(links), 16)
        for group, link in links:
            self.assertLessEqual(set(link.split("-")), set(known[group]))

    def test_what_analysers_of_many_ranks_read(self):
        out, steps = self.cluster()
        self.assertEqual(profctl("export", self.folder, "--cluster-output").returncode, 2)
        folders = {json.loads(next(folder.glob("profiler_info_*.json")).read_text())["rank_id"]: folder for folder in out.glob("*_ascend_pt")}
        self.assertEqual(set(folders), set(range(8)))
        for rank, folder in folders.items():
            results = folder / "ASCEND_PROFILER_OUTPUT"
            with open(results / "step_trace_time.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(len(rows), SHAPE["steps"])
            for row in rows:
                own = steps[rank, int(row["Step"])]
                self.assertEqual(float(row["Computing"]), own["computing_us"])
                self.assertEqual(float(row["Communication(Not Overlapped)"]), own["communication_not_overlapped_us"])
                self.assertEqual(float(row["Bubble"]), own["bubble_us"])
            told = json.loads((results / "communication.json").read_text())
            self.assertEqual(set(told), {f"step{step}" for step in range(SHAPE["steps"])})
            for of_step in told.values():
                self.assertIn("Total Op Info", of_step["collective"])
                for name, op in {**of_step["collective"], **of_step["p2p"]}.items():
                    times = op["Communication Time Info"]
                    self.assertAlmostEqual(times["Transit Time(ms)"] + times["Wait Time(ms)"], times["Elapse Time(ms)"], places=9, msg=name)
            matrix = json.loads((results / "communication_matrix.json").read_text())
            self.assertTrue(matrix["step1"]["p2p"])
            groups = json.loads((folder / "profiler_metadata.json").read_text())["parallel_group_info"]
            self.assertEqual({tuple(group["global_ranks"]) for group in groups.values() if group["group_name"] == "tp"},
                             {(rank // 2 * 2, rank // 2 * 2 + 1)})
        with contextlib.closing(sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertEqual([(key, json.loads(value)) for key, value in db.execute("SELECT * FROM ClusterBaseInfo")],
                             [("distributed_args", {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "data_parallel_size": 2, "world_size": 8})])
            for rank, step, computing, *place in db.execute('SELECT "index", step, computing, dp_index, pp_index, tp_index FROM '
                                                            "ClusterStepTraceTime WHERE type = 'rank'"):
                self.assertEqual(computing, steps[int(rank), int(step)]["computing_us"])
                self.assertEqual(place, [int(rank) % 4 // 2, int(rank) // 4, int(rank) % 2])
            stages = db.execute('SELECT step, "index", computing, free FROM ClusterStepTraceTime WHERE type = \'stage\'').fetchall()
            self.assertEqual({(int(step), ranks) for step, ranks, *_ in stages},
                             {(step, ranks) for step in range(SHAPE["steps"]) for ranks in ("(0,1,2,3)", "(4,5,6,7)")})
            for step, ranks, computing, free in stages:
                own = [steps[rank, int(step)] for rank in json.loads(f"[{ranks[1:-1]}]")]
                self.assertEqual((computing, free), (max(row["computing_us"] for row in own), max(row["free_us"] for row in own)))
            self.assertEqual(db.execute("SELECT count(*) FROM RankDeviceMap").fetchone(), (8,))
            totals = dict(db.execute("SELECT rank_id, sum(elapsed_time) FROM ClusterCommunicationTime WHERE hccl_op_name = 'Total Op Info' "
                                     "GROUP BY rank_id"))
            sums = dict(db.execute("SELECT rank_id, sum(elapsed_time) FROM ClusterCommunicationTime WHERE hccl_op_name <> 'Total Op Info' "
                                   "GROUP BY rank_id"))
            self.assertEqual({rank: round(ms, 6) for rank, ms in totals.items()}, {rank: round(ms, 6) for rank, ms in sums.items()})

    @vendor_tools.needs_analyze
    def test_the_vendors_analyser_reads_them(self):
        out, steps = self.cluster()
        with contextlib.closing(sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")) as db:
            places = {str(rank): list(map(str, place)) for rank, *place in db.execute(
                'SELECT "index", dp_index, pp_index, tp_index FROM ClusterStepTraceTime WHERE type = \'rank\'')}
            stages = {(step, ranks.replace(",", ", ")): computing for step, ranks, computing in db.execute(
                'SELECT step, "index", computing FROM ClusterStepTraceTime WHERE type = \'stage\'')}
        shutil.rmtree(out / "cluster_analysis_output")
        run = vendor_tools.analyze("cluster", "-m", "all", "-d", out, "-o", out, "--force")
        self.assertEqual((run.code, run.errors), (0, []), run)
        with open(next(out.rglob("cluster_step_trace_time.csv")), newline="", encoding="utf-8") as file:
            both = list(csv.DictReader(file))
        rows = [row for row in both if row["Type"] == "rank"]
        self.assertEqual({row["Index"]: [row[f"{of} Index"] for of in ("DP", "PP", "TP")] for row in rows}, places)
        theirs = {(row["Step"], row["Index"]): float(row["Computing"]) for row in both if row["Type"] == "stage"}
        self.assertEqual(set(theirs), set(stages))
        for key, computing in theirs.items():
            self.assertAlmostEqual(computing, stages[key], places=3)
        self.assertEqual(len(rows), len(steps))
        for row in rows:
            self.assertAlmostEqual(float(row["Computing"]), steps[int(row["Index"]), int(row["Step"])]["computing_us"], places=3)
        communication = json.loads(next(out.rglob("cluster_communication.json")).read_text())
        self.assertIn("(0, 1)", communication)
        total = next(name for name in communication["(0, 1)"]["step1"] if name.startswith("Total Op Info"))
        self.assertEqual(set(communication["(0, 1)"]["step1"][total]), {"0", "1"})
        matrix = json.loads(next(out.rglob("cluster_communication_matrix.json")).read_text())
        self.assertIn("0-4", json.dumps(matrix))  # from stage to stage, by the job's numbers
        groups = json.loads(next(out.rglob("communication_group.json")).read_text())
        self.assertIn([0, 1], groups["collective"])

    def test_all_of_them_in_each_form(self):
        listed = profctl("analyze", "--list").stdout
        names = ["steps", "summary", "stragglers", "overlap", "kernels", "kernels-by-shape", "experts", "collectives",
                 "collective-top", "groups", "bandwidth", "matrix", "p2p", "pipeline", "modules", "mfu", "api", "launches",
                 "gaps", "graph", "frequency", "host", "memory"]
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
