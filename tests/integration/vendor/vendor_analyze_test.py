#!/usr/bin/env python3
"""The vendor's analyser on exports of a job of four ranks: every recipe of `cluster`, the advisor, and what each must show of
what the job did. Needs a checkout of it (tests/support/vendor_tools.py)."""
import collections
import concurrent.futures
import itertools
import pathlib
import re
import sqlite3
import tempfile
import unittest

import agent_reader
import harness
import mspti_test
import vendor_tools
from vendor_tools import needs_analyze

RANKS = range(4)
NPUS = "devices: 4\nchip: 910B\nseed: 11\nscenario: {step_ms: 20}\n"
PROGRAMS = "agent-kernel,agent-comm,agent-api,agent-memory,agent-range,agent-mark,agent-step"
ON_STREAM = 6  # ranges on a stream of each program, inside its steps
# Recipes that can have nothing of a collector's databases (those that are no framework's), and what they say then: each as
# regular expressions of all its lines of errors.
# Debian 12's pandas is older than 2.2, which matrices of a collector's databases need.
OLD_PANDAS = "unexpected keyword argument 'include_groups'|Communication matrix data is None"
WITHOUT = {
    # What went from one rank to another nobody tells of a collective: they show who is which of the group.
    "communication_matrix": (OLD_PANDAS,),
    "communication_matrix_sum": (OLD_PANDAS,),
    # Copies of the device's log, which makes way for kernels that MSPTI tells; without any it ends in an error.
    "cluster_time_summary": ("Execute ClusterTimeSummary with exception: 'rank'",),
    # They say that they do not read a collector's.
    "slow_rank": (),
    "freq_analysis": (),
    "communication_bottleneck": ("Db file does not exist: .*ascend_pytorch_profiler_0.db",),
    "export_summary": (),
    # The roles of groups (dp, tp, pp, exp) only a framework knows.
    "computational_op_masking": (),
    "ep_load_balance": ("Mapper data is None",),
    # Tasks of collectives, which only the vendor's host side tells.
    "p2p_pairing": (),
    # Calls of a framework, and ranges with a part on the device.
    "module_statistic": ("Can not export (?:mstx range event|framework op to kernel mapper) from rank",),
    "operator_mfu": ("Can not export framework op to kernel mapper|No kernel data found",),
    "mstx2commop": (),
    "pp_chart": (),
    # They compare with something else that is named with an option.
    "calibrate_npu_gpu": ("Failed to exit context",),
    "cluster_time_compare_summary": ("Must specify the --bp parameter",),
}


def union(times):
    """How long at least one of them lasts."""
    total, reached = 0, 0
    for begin, end in sorted(times):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


class Job:
    """Four programs, each on a device of its own, recorded by one session and exported a directory for each device."""

    def __init__(self, test, kinds):
        self.daemon = test.profd(sim=NPUS)
        programs = []
        for rank in RANKS:
            programs.append(mspti_test.Cann(test, self.daemon, ", rates: {memcpy: 50}", node=NPUS, labels=f"rank={rank}"))
            programs[-1].load()
        pids = [word for program in programs for word in ("--pid", program.pid)]
        session = self.daemon.begin(*pids, "--devices", "all", "--collect", kinds)
        for rank in RANKS:
            test.assertEqual(programs[rank].order(f"open {rank}"), "done")
        for program in programs:
            program.tell("steps 6")
        for program in programs:
            test.assertEqual(program.hear(), "done")
        for program in programs:
            test.assertEqual(program.order(f"mstx {ON_STREAM}"), "done")
        for rank in RANKS:
            test.assertEqual(programs[rank].order(f"close {rank}"), "done")
        self.directory = self.daemon.end(session["session"])["directory"]
        by_pid = {agent.entry["pid"]: agent for agent in agent_reader.agents(self.directory)}
        self.records = [by_pid[program.pid] for program in programs]

    def export(self, formats):
        out = pathlib.Path(tempfile.mkdtemp(prefix="ranks-", dir=self.daemon.directory))
        asked = ("--format", formats) if formats else ()
        result = self.daemon.ctl("export", self.directory, "--per-device", *asked, "--out", out)
        return out, result

    def times(self, rank, kind):
        return [(record["begin_ns"], record["end_ns"]) for record in self.records[rank].of(kind)]


class VendorAnalyzeTest(harness.ProfdTest):
    def rows(self, db, query, *values):
        with sqlite3.connect(db) as connection:
            return connection.execute(query, values).fetchall()

    # Each has data, and this is what it must show of it.

    def all(self, job, db):
        rows = self.rows(db, 'SELECT "index", computing, communication, overlapped, communication_not_overlapped FROM '
                             "ClusterStepTraceTime WHERE type = 'rank'")
        self.assertEqual(sorted(int(row[0]) for row in rows), list(RANKS))
        for rank, *shown in rows:
            kernels, comms = job.times(int(rank), "kernel"), job.times(int(rank), "comm")
            computing, communication = union(kernels), union(comms)
            overlapped = computing + communication - union(kernels + comms)
            for us, ns in zip(shown, (computing, communication, overlapped, communication - overlapped)):
                self.assertAlmostEqual(us, ns / 1000, delta=1 + ns / 1e6)  # clocks: a part in 1000
        self.assertEqual(sorted(self.rows(db, "SELECT rankId, deviceId FROM RankDeviceMap")), [(r, r) for r in RANKS])

    def communication_group_map(self, job, db):
        self.assertEqual(self.rows(db, "SELECT type, rank_set, group_id FROM CommunicationGroupMapping"),
                         [("collective", "(0,1,2,3)", "group_world")])

    def communication_time_sum(self, job, db):
        """Of the steps that all ranks have: how long each took, and how many bytes it moved."""
        self.communication_group_map(job, db)
        for rank in RANKS:
            rows = self.rows(db, "SELECT elapsed_time, transit_time + wait_time FROM ClusterCommunicationTime WHERE rank_id = ? AND "
                                 "hccl_op_name LIKE 'hcom_%'", rank)
            self.assertGreater(len(rows), 20)
            lasted = [(end - begin) / 1e6 for begin, end in job.times(rank, "comm")]
            for elapsed, parts in rows:
                self.assertAlmostEqual(elapsed, parts, delta=1e-6)
                self.assertTrue(min(lasted) * 0.999 <= elapsed <= max(lasted) * 1.001, elapsed)  # clocks: a part in 1000
        sizes = self.rows(db, "SELECT DISTINCT transit_size FROM ClusterCommunicationBandwidth WHERE hccl_op_name LIKE 'hcom_%'")
        self.assertEqual(sizes, [((1 << 20) * 2 / 1e6,)])  # MB

    communication_time = communication_time_sum  # the same, as a mode of its own

    def cann_api_sum(self, job, db):
        for rank in RANKS:
            ((calls,),) = self.rows(db, "SELECT sum(totalCount) FROM CannApiSumRank WHERE rank = ?", rank)
            self.assertEqual(calls, len(job.records[rank].of("api")))

    def compute_op_sum(self, job, db):
        for rank in RANKS:
            shown = {(kind, task): count for kind, task, count in self.rows(
                db, "SELECT OpType, TaskType, Count FROM ComputeOpPerRankStatsByOpType WHERE Rank = ?", rank)}
            did = collections.Counter(record["name"].split("_")[0] for record in job.records[rank].of("kernel"))
            self.assertEqual(shown, {("MatMul", "AI_CORE"): did["MatMul"], ("Adam", "AI_VECTOR_CORE"): did["Adam"]})
            ((by_name,),) = self.rows(db, "SELECT sum(Count) FROM ComputeOpPerRankStatsByOpName WHERE Rank = ?", rank)
            self.assertEqual(by_name, sum(did.values()))

    def hccl_sum(self, job, db):
        for rank in RANKS:
            self.assertEqual(self.rows(db, "SELECT OpType, Count FROM HcclPerRankStats WHERE Rank = ?", rank),
                             [("hcom_allReduce_", len(job.records[rank].of("comm")))])
        ((group, ranks),) = self.rows(db, "SELECT GroupName, Ranks FROM HcclGroupNameMap")
        self.assertEqual((group, sorted(map(int, ranks.split(";")))), ("group_world", list(RANKS)))

    def free_analysis(self, job, db):
        for rank in RANKS:
            times = sorted(job.times(rank, "kernel") + job.times(rank, "comm"))
            ends = itertools.accumulate((end for _, end in times), max)
            gaps = sorted((begin - end for (begin, _), end in zip(times[1:], ends) if begin > end), reverse=True)[:10]
            shown = self.rows(db, 'SELECT "duration(us)" FROM FreeAnalysis WHERE rankId = ? ORDER BY 1 DESC', rank)
            self.assertEqual(len(shown), len(gaps))
            for (us,), ns in zip(shown, gaps):
                self.assertAlmostEqual(float(us), ns / 1000, delta=1 + ns / 1e6)

    def mstx_sum(self, job, db):
        """Ranges on a stream, with the time that the device took."""
        for table in ("MSTXAllCannStats", "MSTXAllDeviceStats"):
            counts = dict(self.rows(db, f"SELECT Name, sum(Count) FROM {table} GROUP BY Name"))
            self.assertEqual(sum(counts.values()), ON_STREAM * len(RANKS), counts)
        ((least,),) = self.rows(db, "SELECT min(MinNs) FROM MSTXAllDeviceStats")
        self.assertGreater(least, 1_000_000)  # each lasts 2 ms

    def slow_link(self, job, db):
        """All links are equally fast."""
        self.assertIsNone(db)

    HAS = ("all", "communication_group_map", "communication_time", "communication_time_sum", "cann_api_sum", "compute_op_sum",
           "hccl_sum", "free_analysis", "mstx_sum", "slow_link")
    # The analyser's own fault: what is not slow is an empty list to it, which it then cannot write.
    FAULTS = {"slow_link": "Unknown dump data type: <class 'list'>",
              # Of what WITHOUT has; this one does all of them.
              "all": OLD_PANDAS}

    @needs_analyze
    def test_every_recipe(self):
        job = Job(self, PROGRAMS + ",low-power")
        recipes = sorted(folder.name for folder in
                         (vendor_tools.ANALYZE / "msprof_analyze/cluster_analyse/recipes").iterdir()
                         if folder.is_dir() and folder.name != "__pycache__")
        recipes += ["all", "communication_time", "communication_matrix"]
        self.assertEqual(sorted(recipes), sorted([*self.HAS, *WITHOUT]))  # a new one is to be looked at
        data, result = job.export("db")
        self.assertEqual(result.code, harness.OK, result)
        outs = {recipe: pathlib.Path(tempfile.mkdtemp(prefix=f"{recipe}-", dir=job.daemon.directory)) for recipe in recipes}

        def run(recipe):
            return vendor_tools.analyze("cluster", "-m", recipe, "-d", data, "-o", outs[recipe])

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = dict(zip(recipes, pool.map(run, recipes)))
        for recipe in recipes:
            with self.subTest(recipe=recipe):
                known = "|".join([*WITHOUT.get(recipe, ()), self.FAULTS.get(recipe, "")]).strip("|") or "(?!)"
                errors = [line for line in runs[recipe].errors if not re.search(known, line)]
                self.assertEqual(errors, [], runs[recipe])
                if recipe in self.HAS:
                    made = list(outs[recipe].rglob("cluster_analysis.db"))
                    getattr(self, recipe)(job, made[0] if made else None)

    @needs_analyze
    def test_recipes_that_want_a_frameworks_directory(self):
        """Of the same job in a framework's layout: those that say of a collector's that they do not read it, and the matrix."""
        job = Job(self, PROGRAMS + ",low-power")
        data = job.daemon.directory / "framework"
        result = job.daemon.ctl("export", job.directory, "--layout", "framework", "--out", data)
        self.assertEqual(result.code, harness.OK, result)
        wanted = {
            "freq_analysis": ("SELECT count(*) FROM AbnormalFrequencyRanks", [(len(RANKS),)]),  # all slow down now and then
            "communication_bottleneck": ("SELECT count(*) FROM CommunicationBottleneck", [(10,)]),  # the ten longest
            "communication_matrix_sum": ("SELECT DISTINCT src_rank, dst_rank FROM ClusterCommunicationMatrix WHERE transport_type = 'LOCAL' "
                                         "ORDER BY 1", [(rank, rank) for rank in RANKS]),
            "slow_rank": (None, None)}  # none is
        for recipe, (query, rows) in wanted.items():
            with self.subTest(recipe=recipe):
                out = job.daemon.directory / f"framework-{recipe}"
                out.mkdir()
                run = vendor_tools.analyze("cluster", "-m", recipe, "-d", data, "-o", out)
                self.assertEqual((run.code, run.errors), (0, []), run)
                made = list(out.rglob("cluster_analysis.db"))
                if query is not None:
                    self.assertEqual(self.rows(made[0], query), rows)

    @needs_analyze
    def test_the_advisor_finds_nothing_that_is_not_there(self):
        job = Job(self, PROGRAMS + ",aicore-task,aivector-task,low-power")
        # Of tables the advisor says of every job without states of operators that all of them are dynamic. And the
        # simulator's kernels have gaps between them, as those have that the host is too slow for; their counters come near
        # none of a core's limits, which it says of operators with shapes (ai_core_performance_checker.py).
        always = {"csv,chrome": {"Operator Dynamic Shape Issues", "Fusible Operator Analysis", "Cube Operator Perf Analysis",
                                 "Vector Operator Perf Analysis"}, "": set()}
        for formats, known in always.items():
            with self.subTest(formats=formats):
                data, result = job.export(formats)
                self.assertEqual(result.code, harness.OK, result)
                (rank,) = data.glob("PROF_000002_*")
                run = vendor_tools.analyze("advisor", "all", "-d", rank, "-o", data, "-l", "en")
                self.assertEqual((run.code, run.errors), (0, []), run)
                found = set(re.findall(r"^\| \d+ +\| (.*?) +\|", run.said, re.M))
                self.assertLessEqual(found, known, run.said)


    @needs_analyze
    def test_compare_reads_frameworks_directories_only(self):
        job = Job(self, PROGRAMS)
        (one, _), (other, _) = job.export("chrome,db"), job.export("chrome,db")
        ranks = [next(data.glob("PROF_000001_*")) for data in (one, other)]
        run = vendor_tools.analyze("compare", "-d", ranks[0], "-bp", ranks[1], "-o", one)
        self.assertEqual(len(run.errors), 1, run)
        self.assertIn("not collected by PyTorch or Mindspore", run.errors[0])
        # It goes by the name: as a framework's, our database has what it wants.
        for rank in ranks:
            (db,) = rank.glob("msprof_*.db")
            db.rename(rank / "ascend_pytorch_profiler_1.db")
        run = vendor_tools.analyze("compare", "-d", ranks[0], "-bp", ranks[1], "-o", one)
        self.assertEqual(run.errors, [], run)
        self.assertTrue(list(one.glob("**/performance_comparison_result*.xlsx")), run)


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.ANALYZE)
