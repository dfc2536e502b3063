#!/usr/bin/env python3
"""`profctl analyze` on jobs with planted faults, on the vendor's sample, and on what is torn, missing, doubled or hostile."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
import scenarios  # noqa: E402
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = str(harness.PROFCTL)
SLOW = [Fault("slow_compute", rank=2, factor=1.3)]


def profctl(*words):
    return subprocess.run([PROFCTL, *map(str, words)], capture_output=True, text=True, check=False)


class AnalyzeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-analyze-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def job(self, faults=(), ranks=None, **shape):
        """`ranks`: those that are recorded, of as many as `world` says."""
        size = {"ranks": shape.pop("world", 4), "tp": 2, "steps": 6, "layers": 2, **shape}
        make(Shape(**size), list(faults), self.folder, ranks)
        return self.folder

    @contextlib.contextmanager
    def case(self, what):
        """A test within a test, with a folder of its own."""
        whole = self.folder
        with self.subTest(what), tempfile.TemporaryDirectory(dir=whole) as folder:
            self.folder = pathlib.Path(folder)
            try:
                yield
            finally:
                self.folder = whole

    def database(self, rank):
        (path,) = self.folder.glob(f"*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db")
        return path

    def edit(self, rank, *statements):
        with sqlite3.connect(self.database(rank)) as db:
            for statement in statements:
                db.execute(statement)

    def verdict(self, *words, code=0):
        """`code`: None where there may be a loss, which analyze_damage_test.py looks at."""
        result = profctl("analyze", self.folder, "--json", *words)
        self.assertIn(result.returncode, (0, 7) if code is None else (code,), result.stderr + result.stdout[:2000])
        return json.loads(result.stdout)

    def told(self, verdict):
        return [finding for finding in verdict["findings"] if finding["severity"] != "info"]

    def test_planted_faults_are_found_and_healthy_jobs_are_left_alone(self):
        score = scenarios.run(PROFCTL, [1])
        print(score.text())
        figures = score.figures()
        self.assertGreaterEqual(figures["recall"], 95, score.text())
        self.assertGreaterEqual(figures["precision"], 95, score.text())
        self.assertGreaterEqual(figures["cause"], 90, score.text())
        self.assertLessEqual(figures["cost error, median"], 5, score.text())
        self.assertLessEqual(figures["cost error, p95"], 25, score.text())
        self.assertEqual(figures["alarms"], 0, score.text())

    def test_slow_steps_that_follow_each_other_have_no_period(self):
        for since, until, words in ((17, -1, ", those since step 17:"), (0, 7, ", those until step 6:"), (9, 15, ", steps 9-14:")):
            with self.case(words):
                self.job([Fault("extra_work", rank=-1, factor=1.5, since=since, until=until)], steps=24)
                (found,) = [finding for finding in self.verdict()["findings"] if finding["id"] == "step.jitter"]
                self.assertIn(words, found["title"])

    def test_kernels_that_are_slow_from_a_step_on_do_not_jitter(self):
        self.job([Fault("few_blocks", rank=-1, factor=1.5, since=12)], steps=24, world=8, tp=4, layers=4)
        ids = [finding["id"] for finding in self.verdict()["findings"]]
        self.assertIn("rank.own-history", ids)
        self.assertNotIn("kernel.jitter", ids)

    def test_a_slow_link_between_two_stages(self):
        self.job([Fault("slow_group", rank=-1, group="pp2up", factor=4)], world=8, tp=2, pp=4, micro=6)
        (found,) = [finding for finding in self.verdict()["findings"] if finding["id"] == "comm.slow-link"]
        self.assertEqual(found["where"]["ranks"], [2, 4])
        self.assertIn("between ranks 2 and 4: data take 4.0 x", found["title"])

    def test_one_slow_step_of_another_rank_makes_no_turns(self):
        slow = Fault("slow_compute", rank=3, factor=1.5, since=4, every=10)
        self.job([slow, Fault("slow_compute", rank=5, factor=1.2, step=20)], steps=42, world=8, tp=4)
        titles = [finding["title"] for finding in self.verdict()["findings"] if finding["id"] == "rank.late"]
        self.assertTrue(any("rank 3 (" in title for title in titles), titles)
        self.assertFalse([title for title in titles if "in turn" in title], titles)

    def test_costs_that_were_far_off(self):
        """Data that come sooner go on only when what holds up the kernels is over, too; a device waits also while data are on their
        way; kernels that a rank has few of jitter like the others."""
        for name in ("contention", "devices that wait", "kernels that jitter"):
            with self.subTest(name):
                score = scenarios.run(PROFCTL, [2, 3], [name])
                self.assertEqual(len(score.raw_errors), 2, score.text())
                self.assertLess(max(score.raw_errors), 13, score.text())

    def test_healthy_pipelines_of_many_shapes_are_left_alone(self):
        score = scenarios.run(PROFCTL, [1], of=lambda: scenarios.pipelines(24))
        self.assertEqual((score.alarmed, score.healthy), (0, 24), score.text())

    def test_what_a_schedule_costs_a_pipeline(self):
        """Batches one by one; and so few that no schedule keeps the stages busy, which is no fault of it."""
        for shape in (dict(pp=4, micro=6), dict(pp=4, micro=16, message=1.0), dict(pp=3, micro=9, message=8.0)):
            with self.subTest(shape=shape), tempfile.TemporaryDirectory() as folder:
                truth = make(Shape(ranks=shape["pp"], tp=1, steps=5, layers=2, **shape), [Fault("serial_pipeline", rank=-1)], folder)
                found = json.loads(profctl("analyze", folder, "--json").stdout)["findings"]
                (bubble,) = [one for one in found if one["id"] == "pipe.bubble" and one["severity"] != "info"]
                self.assertAlmostEqual(bubble["cost"]["ms_per_step"] / truth["faults"][0]["alone"], 1, delta=0.2)
        with tempfile.TemporaryDirectory() as folder:
            few = make(Shape(ranks=4, tp=1, pp=4, steps=5, layers=4, micro=4), [], folder)
            (bubble,) = json.loads(profctl("analyze", folder, "--json").stdout)["findings"]
        with tempfile.TemporaryDirectory() as folder:
            many = make(Shape(ranks=4, tp=1, pp=4, steps=5, layers=1, micro=16, message=1.0), [], folder)
        self.assertEqual((bubble["id"], bubble["severity"]), ("pipe.bubble", "info"))
        self.assertIn("4 batches for 4 stages: even the best schedule leaves them idle for 43 % of its time", bubble["title"])
        self.assertIn("16 smaller ones would save up to", bubble["title"])
        self.assertAlmostEqual(bubble["cost"]["ms_per_step"] / (few["step_ms"] - many["step_ms"]), 1, delta=0.2)

    def truth(self):
        return json.loads((self.folder / "truth.json").read_text(encoding="utf-8"))["faults"]

    def test_a_rank_with_much_more_to_do(self):
        """More kernels than ranks that are alike have: it is compared with them all the same, and costs what it has more."""
        for what, shape, count in (("an eighth", dict(kernels=24), 3), ("a quarter", {}, 3), ("half as many again", {}, 6),
                                   ("in a pipeline", dict(world=8, tp=4, pp=2, micro=4), 3)):
            with self.case(what):
                self.job([Fault("more_kernels", rank=2, count=count)], **{"tp": 4, **shape})
                (finding,) = self.told(self.verdict())
                self.assertEqual((finding["key"], [cause["id"] for cause in finding["cause"]]), ("rank.late/2/work", ["rank.work"]))
                self.assertAlmostEqual(finding["cost"]["ms_per_step"] / self.truth()[0]["alone"], 1, delta=0.1)

    def test_of_two_ranks_one_has_more_to_do(self):
        """Nobody is most: the finding names both. With kernels that the other one does not have, and with larger ones."""
        for what, shape, fault in (("more kernels", {}, Fault("more_kernels", rank=1, count=3)),
                                   ("half of four", dict(world=4), [Fault("more_kernels", rank=r, count=3) for r in (1, 3)]),
                                   ("larger kernels", {}, Fault("extra_work", rank=0, factor=1.4))):
            with self.case(what):
                faults = fault if isinstance(fault, list) else [fault]
                self.job(faults, **{"world": 2, "tp": 2, **shape})
                found = self.told(self.verdict())
                self.assertEqual({(one["id"], tuple(cause["id"] for cause in one["cause"])) for one in found}, {("rank.late", ("rank.work",))}, found)
                self.assertEqual({rank for one in found for rank in one["where"]["ranks"]}, {fault.rank for fault in faults})
                if len(faults) == 1:
                    (one,) = found
                    self.assertRegex(one["title"], rf"^rank {faults[0].rank} .* is late: it has \d+ % more work than rank {1 - faults[0].rank}$")
                    self.assertEqual((one["confidence"]["level"], one["confidence"]["weakest"]), ("medium", "peers"))
                    self.assertAlmostEqual(one["cost"]["ms_per_step"] / self.truth()[0]["alone"], 1, delta=0.1)

    def test_two_ranks_that_are_late_in_turn(self):
        """One cause moves between them. One slow spell of each is two."""
        for world in (2, 4):
            with self.case(f"{world} ranks"):
                self.job([Fault("slow_compute", rank=r, factor=1.4, since=1 + r, every=2) for r in (0, 1)], world=world, tp=world, steps=13)
                (late,) = self.told(self.verdict())
                self.assertEqual((late["key"], sorted(late["where"]["ranks"])), ("rank.late/in-turn", [0, 1]))
        with self.case("spells"):
            self.job([Fault("slow_compute", rank=0, factor=1.4, since=2, until=5), Fault("slow_compute", rank=1, factor=1.4, since=7, until=10)],
                     world=8, tp=4, steps=13)
            self.assertEqual([late["key"] for late in self.told(self.verdict())], ["rank.late/0/compute", "rank.late/1/compute"])

    def test_steps_that_are_meant_to_do_more_come_last(self):
        self.job([Fault("extra_work", rank=-1, factor=2.6, since=2, every=3), Fault("slow_compute", rank=2, factor=1.12)], steps=25)
        found = self.told(self.verdict())
        self.assertEqual([(one["id"], one["severity"]) for one in found], [("rank.late", "major"), ("step.jitter", "minor")])
        self.assertGreater(found[1]["cost"]["percent"], 10)
        self.assertIn("if they are meant to do more, there is nothing to gain", found[1]["do"][0]["text"])

    def test_parameters_that_nobody_fetches_ahead(self):
        sharded = dict(tp=1, layers=4, fsdp=3.0)
        with self.case("ahead"):
            self.job([], **sharded)
            self.assertEqual(self.told(self.verdict()), [])
        with self.case("late"):
            self.job([Fault("no_prefetch", rank=-1)], **sharded)
            (finding,) = self.told(self.verdict())
            self.assertEqual(finding["key"], "comm.prefetch")
            self.assertIn("for what 8 allGathers bring: none is fetched while those before are computed: dp group of ranks 0-3", finding["title"])
            self.assertAlmostEqual(finding["cost"]["ms_per_step"] / self.truth()[0]["alone"], 1, delta=0.25)

    def test_who_the_others_wait_for_at_the_end(self):
        """One finding names the rank, or those that wait for each other, and what it did last; no other one, and nothing is lost."""
        pipeline = dict(tp=1, pp=4, micro=6)
        for what, shape, fault, ranks, key, texts in (
                ("in a step", dict(tp=4), Fault("dies", rank=2, step=4, count=2), None, "comm.hang/2",
                 ("rank 2 never comes to the last allReduce of the tp group of ranks 0-3; the others wait ", "; the last that it ran is Cast")),
                ("before its first collective", dict(tp=4), Fault("dies", rank=2, step=0), None, "comm.hang/2",
                 ("rank 2 never comes to the last allReduce of the tp group of ranks 0-3; the others wait ", "; the last that it ran is Cast")),
                ("in a pipeline", pipeline, Fault("dies", rank=2, step=4, count=5), None, "comm.hang/2",
                 ("rank 2 never sends what rank ", " waits for in the pp group of ranks ", "; the others wait ", "; the last that it ran is ")),
                ("in a pipeline of two columns", dict(pipeline, world=8), Fault("dies", rank=4, step=4, count=5), None, "comm.hang/4",
                 ("rank 4 never ", "; the others wait ", "; the last that it ran is ")),
                ("and is not recorded", dict(tp=4), Fault("dies", rank=2, step=4, count=2), [0, 1, 3], "comm.hang/2",
                 ("rank 2, which is not recorded, never comes to the last allReduce of the tp group of ranks 0-3; ",)),
                ("in a pipeline, and is not recorded", pipeline, Fault("dies", rank=2, step=4, count=5), [0, 1, 3], "comm.hang/2",
                 ("rank 2, which is not recorded, never sends what rank ",)),
                ("messages in a circle", pipeline, Fault("receives_first", rank=1, step=4), None, "comm.order/1,2",
                 ("ranks 1,2 wait for each other for ever: rank 1 waits in its receive of the pp group of ranks 1,2 for rank 2, "
                  "rank 2 waits in its receive of the pp group of ranks 1,2 for rank 1",)),
                ("sends in a circle", dict(tp=4, ring=2.0), Fault("all_send_first", rank=-1, step=4), None, "comm.order/0-3",
                 ("ranks 0-3 wait for each other for ever: rank 0 waits in its send of the cp group of ranks 0,1 for rank 1, "
                  "rank 1 waits in its send of the cp group of ranks 1,2 for rank 2, ",)),
                ("sends of two to each other", dict(world=2, ring=2.0), Fault("all_send_first", rank=-1, step=4), None, "comm.order/0,1",
                 ("ranks 0,1 wait for each other for ever: rank 0 waits in its send of ",))):
            with self.case(what):
                self.job([fault], ranks, **shape)
                found = self.told(self.verdict())
                self.assertEqual([finding["key"] for finding in found], [key], found)
                for text in texts:
                    self.assertIn(text, found[0]["title"])

    def test_a_partner_that_is_not_recorded_and_left_nobody_in_its_group(self):
        self.job([Fault("slow_compute", rank=3, factor=1.5)], [0, 1, 2])
        (absent,) = [finding for finding in self.verdict()["findings"] if finding["id"] == "rank.absent"]
        (table,) = absent["evidence"]
        waits = {row[0]: row[2] for row in table["rows"]}
        self.assertGreater(max(waits.values()), 0.1, waits)

    def test_a_stop_behind_the_last_launch_has_a_name(self):
        for kind, cause in (("gc_behind", "host.gc"), ("save_behind", "step.checkpoint")):
            with self.case(kind):
                self.job([Fault(kind, rank=1, step=5, ms=20)])
                (finding,) = self.told(self.verdict())
                self.assertEqual([one["id"] for one in finding["cause"]], [cause])
                self.assertIn("rank 1 (host0, device 1): behind its last launch the host stops for 20.", finding["title"])

    def test_a_cause_that_many_ranks_share_is_one_finding(self):
        """It names them, and its cost counts once."""
        for fault, id_, words in ((Fault("aicpu", rank=-1, us=120, count=6), "kernel.aicpu", "ranks 0-7: NonZero runs on the AI CPU"),
                                  (Fault("gc", rank=-1, step=3, ms=20, count=1), "host.stall", "on all ranks the host stops for"),
                                  (Fault("save", rank=-1, ms=20, since=3, every=3, count=1), "host.stall", "on all ranks the host stops for")):
            with self.subTest(fault=fault.kind), tempfile.TemporaryDirectory() as folder:
                truth = make(Shape(ranks=8, tp=4, steps=9, layers=2), [fault], folder)
                verdict = json.loads(profctl("analyze", folder, "--json").stdout)
                (one,) = self.told(verdict)
                self.assertEqual((one["id"], one["where"]["ranks"]), (id_, list(range(8))), one["title"])
                self.assertTrue(one["title"].startswith(words), one["title"])
                got = one["cost"]["total_ms"] / verdict["job"]["steps"]["analysed"]
                self.assertAlmostEqual(got / truth["faults"][0]["alone"], 1, delta=0.1)

    def test_ranks_that_are_late_alike_are_one_finding(self):
        """Half of them; two of eight are told one by one."""
        shape = Shape(ranks=8, tp=4, steps=6, layers=2)
        make(shape, [Fault("slow_compute", rank=rank, factor=1.15) for rank in (1, 2, 5, 6)], self.folder)
        (late,) = self.told(self.verdict())
        self.assertEqual((late["key"], late["where"]["ranks"]), ("rank.late/many/compute", [1, 2, 5, 6]))
        self.assertRegex(late["title"], r"^ranks 1,2,5,6 are late, rank [1256] the most: its kernels take 1[3-7] % longer than on ranks")
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        make(shape, [Fault("slow_compute", rank=rank, factor=1.15) for rank in (1, 2)], self.folder)
        self.assertEqual({late["key"] for late in self.told(self.verdict())}, {"rank.late/1/compute", "rank.late/2/compute"})

    def test_work_that_is_unequal_by_chance_is_no_ranks_fault(self):
        truth = make(Shape(ranks=8, tp=4, steps=16, layers=2), [Fault("lengths", rank=-1, share=0.12)], self.folder)
        (uneven,) = self.told(self.verdict())
        self.assertEqual((uneven["key"], uneven["where"]["ranks"]), ("rank.late/uneven", list(range(8))))
        self.assertIn("ranks 0-7 compute for unequal times, another one the longest in each step", uneven["title"])
        self.assertLess(uneven["cost"]["ms_per_step"], 1.2 * truth["faults"][0]["alone"])

    def test_memory_that_a_rank_allocates_is_told_once(self):
        make(Shape(ranks=8, tp=4, steps=6, layers=2), [Fault("alloc", rank=1, ms=6, count=0)], self.folder)
        (alloc,) = self.told(self.verdict())
        self.assertEqual((alloc["id"], [cause["id"] for cause in alloc["cause"]]), ("host.stall", ["host.alloc"]))

    def test_what_some_steps_compute_more(self):
        for fault, words in ((Fault("conversions", rank=-1, us=300, since=2, every=3), "only brings data into another format"),
                             (Fault("extra_work", rank=-1, factor=1.4, since=2, every=3), "kernels have other shapes, most those of type "),
                             (Fault("slow_compute", rank=-1, factor=1.3, since=2, every=3), "the same kernels take 30 % longer")):
            with self.subTest(fault=fault.kind), tempfile.TemporaryDirectory() as folder:
                make(Shape(ranks=4, tp=2, steps=25, layers=2), [fault], folder)
                told = self.told(json.loads(profctl("analyze", folder, "--json").stdout))
                (one,) = [finding for finding in told if finding["id"] in ("step.jitter", "kernel.transpose")]
                self.assertIn(words, one["title"])

    def test_two_lines_for_a_finding_and_the_evidence_behind_it(self):
        self.job(SLOW)
        result = profctl("analyze", self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"^4 ranks, 2 nodes · steps 1-5 \(5\) without 0 \(first\) · [0-9.]+ ms/step")
        at = next(i for i, line in enumerate(lines) if line.startswith(" 1  "))
        self.assertRegex(lines[at], r"every step  rank 2 \(host1, device 0\) is late: its kernels take (29|30|31|32) % longer")
        self.assertIn("->", lines[at + 1])
        explained = profctl("analyze", self.folder, "--explain", 1)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("FlashAttentionScore", explained.stdout)
        self.assertIn("rank.compute", explained.stdout)
        self.assertEqual(profctl("analyze", self.folder, "--explain", 9).returncode, 3)

    def test_a_folder_of_text_alone(self):
        results = self.folder / "node_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        results.mkdir(parents=True)
        (results / "kernel_details.csv").touch()
        for given in (self.folder, results.parent):
            result = profctl("analyze", given)
            self.assertEqual(result.returncode, 3, result)
            self.assertIn("this folder of Ascend's PyTorch Profiler has tables as text only", result.stderr)
            self.assertNotIn("no *_ascend_pt folder", result.stderr)

    def test_a_folder_of_more_than_a_job(self):
        """Recordings that lie deeper than those of a job's nodes are counted, and read only if that is asked for."""
        for place in ("tom/monday/PROF_1", "ann/tuesday/PROF_2", "ann/tuesday/PROF_3"):
            data = self.folder / place / "device_0" / "data"
            data.mkdir(parents=True)
            (data / "stars_soc.data.0.slice_0").touch()
        asked = profctl("analyze", self.folder)
        self.assertEqual((asked.returncode, asked.stdout, asked.stderr.count("\n")), (2, "", 1), asked)
        self.assertIn("below it are 3 recordings in 2 folders; name those of one job; --recursive takes all", asked.stderr)
        self.assertEqual(profctl("report", self.folder, "-o", self.folder / "x.html").returncode, 2)
        for given in ([self.folder, "--recursive"], [self.folder / "ann"]):
            self.assertIn("nothing to analyse in it", profctl("analyze", *given).stderr)

    def test_exit_codes(self):
        self.job(SLOW)
        self.assertEqual(profctl("analyze", self.folder, "--fail-on", "1%").returncode, 10)
        self.assertEqual(profctl("analyze", self.folder, "--fail-on", "90%").returncode, 0)
        self.assertEqual(profctl("analyze").returncode, 2)
        self.assertEqual(profctl("analyze", self.folder, "--fail-on", "much").returncode, 2)
        self.assertEqual(profctl("analyze", self.folder, "--rules", "rank.lat").returncode, 2)
        wrong = profctl("analyze", self.folder, "--set", "comm.slow_ration=2")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean comm.slow_ratio?", wrong.stderr)
        self.assertEqual(profctl("analyze", self.folder / "nobody").returncode, 3)
        empty = self.folder / "empty"
        empty.mkdir()
        nothing = profctl("analyze", empty)
        self.assertEqual((nothing.returncode, nothing.stdout), (3, ""))
        self.assertIn("nothing to analyse", nothing.stderr)
        # A found cause is not hidden by a file that is torn.
        (self.folder / "msprof_1.db").write_bytes(b"torn")
        self.assertEqual(profctl("analyze", self.folder, "--fail-on", "1%").returncode, 10)
        self.assertEqual(profctl("analyze", self.folder).returncode, 7)

    def test_rules_settings_and_their_explanation(self):
        self.job(SLOW)
        self.assertEqual(self.told(self.verdict("--rules", "comm")), [])
        self.assertEqual(self.told(self.verdict("--rules", "-rank.compute")), [])
        self.assertEqual(len(self.told(self.verdict("--rules", "rank.late,host"))), 1)
        self.assertEqual(self.told(self.verdict("--set", "general.effect_percent=50")), [])
        listed = profctl("analyze", "--list").stdout
        for rule in ("rank.late", "comm.slow-group", "host.gc", "kernel.aicpu"):
            self.assertIn(rule + "\n", listed)
            self.assertIn("fires when", profctl("analyze", "--explain", rule).stdout)
        self.assertEqual(profctl("analyze", "--explain", "rank.nobody").returncode, 2)

    def test_the_page_has_every_rule_and_every_report(self):
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs/analyze.md").read_text(encoding="utf-8")
        listed, _, rest = profctl("analyze", "--list").stdout.partition("\nSettings")
        rest = rest[rest.index("\nReports"):]
        rules = re.findall(r"^(\S+)$", listed, re.M)
        self.assertEqual(re.findall(r"^\| `([a-z]+(?:\.[a-z-]+)?)` \|", page[page.index("## Rules"):page.index("## Reports")], re.M), rules)
        reports = page[page.index("## Reports"):page.index("## How it knows")]
        self.assertEqual(re.findall(r"^\| `([a-z0-9-]+)` \|", reports, re.M), re.findall(r"^  ([a-z0-9-]+)  \S", rest, re.M))

    def test_the_same_bytes_with_any_number_of_threads_and_nothing_is_written(self):
        self.job(SLOW + [Fault("gc", rank=1, step=3, ms=20, count=1)])
        before = sorted((str(path), path.stat().st_mtime_ns) for path in self.folder.rglob("*"))
        outputs = {profctl("analyze", self.folder, "--json", "--jobs", jobs).stdout for jobs in (1, 2, 5)}
        self.assertEqual(len(outputs), 1)
        self.assertEqual(before, sorted((str(path), path.stat().st_mtime_ns) for path in self.folder.rglob("*")))

    # What is missing or wrong: a result or a note, and never a new finding.

    def test_every_table_may_be_missing(self):
        self.job()
        with sqlite3.connect(self.database(1)) as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        whole = self.database(1).read_bytes()
        for table in tables:
            with self.subTest(table=table):
                self.database(1).write_bytes(whole)
                self.edit(1, f"DROP TABLE {table}")
                self.assertEqual(self.told(self.verdict(code=None)), [])
                self.database(1).write_bytes(whole)
                self.edit(1, f"DELETE FROM {table}")
                self.assertEqual(self.told(self.verdict(code=None)), [])

    def test_columns_may_be_missing_foreign_or_null(self):
        self.job()
        self.edit(1, "ALTER TABLE TASK ADD COLUMN depth INTEGER", "ALTER TABLE TASK DROP COLUMN globalPid",
                  "ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN inputShapes TO shapes")
        self.assertEqual(self.told(self.verdict(code=7)), [])
        self.edit(2, "UPDATE TASK SET startNs = NULL WHERE rowid % 7 = 0", "UPDATE TASK SET endNs = startNs - 5 WHERE rowid % 7 = 1")
        verdict = self.verdict(code=7)
        self.assertTrue(any("make no sense" in note["text"] for note in verdict["data"]["notes"]))

    def test_a_torn_database_costs_what_is_torn(self):
        self.job()
        data = bytearray(self.database(3).read_bytes())
        for page in range(5, len(data) // 4096, 9):
            data[page * 4096:(page + 1) * 4096] = bytes(4096)
        self.database(3).write_bytes(data)
        verdict = self.verdict(code=7)
        self.assertTrue(any("torn" in note["text"] for note in verdict["data"]["notes"]))
        self.assertEqual(verdict["job"]["ranks"], 4)
        self.database(3).write_bytes(data[:5000])
        self.assertIn(profctl("analyze", self.folder).returncode, (0, 7))

    def test_ranks_missing_and_doubled(self):
        self.job(ranks=[0])
        verdict = self.verdict()
        self.assertEqual(verdict["job"]["ranks"], 1)
        self.assertEqual(self.told(verdict), [])
        shutil.copytree(next(self.folder.glob("*_ascend_pt")), self.folder / "again_ascend_pt")
        verdict = self.verdict(code=7)
        self.assertEqual(verdict["job"]["ranks"], 1)
        self.assertTrue(any("another recording of rank 0" in note["text"] for note in verdict["data"]["notes"]))

    def test_clocks_of_nodes_apart(self):
        self.job(SLOW)
        usual = self.told(self.verdict())
        for rank in (2, 3):
            for table in ("TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API", "STEP_TIME"):
                self.edit(rank, f"UPDATE {table} SET startNs = startNs + 5000000, endNs = endNs + 5000000")
        apart = self.told(self.verdict())
        self.assertEqual([finding["key"] for finding in apart], [finding["key"] for finding in usual])
        for one, other in zip(apart, usual):
            self.assertAlmostEqual(one["cost"]["ms_per_step"], other["cost"]["ms_per_step"], delta=0.02)

    def test_clocks_of_ranks_of_one_node_apart(self):
        """What ends before it begins elsewhere was seen by another clock: aligned, with a note, and no finding is new."""
        pipeline = dict(world=8, tp=2, pp=4, micro=6)
        for what, shape, faults, far, by in (("ranks", {}, SLOW, (3,), 3_000_000), ("a stage", pipeline, [], (2, 3), 3_000_000),
                                             ("half of the stages", pipeline, [], (4, 5, 6, 7), 3_000_000),
                                             ("stages of one rank", dict(pipeline, world=4, tp=1), [], (1, 2), 3_000_000),
                                             ("ranks, by less than a collective takes", {}, SLOW, (3,), -150_000),
                                             ("a rank of eight, by less than a collective takes", dict(world=8, tp=4), [], (6,), 150_000)):
            with self.case(what):
                self.job(faults, nodes=1, **shape)
                usual = {finding["key"] for finding in self.verdict()["findings"]}
                for rank in far:
                    for table in ("TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API", "STEP_TIME"):
                        self.edit(rank, f"UPDATE {table} SET startNs = startNs + {by}, endNs = endNs + {by}")
                verdict = self.verdict()
                self.assertEqual({finding["key"] for finding in verdict["findings"]}, usual)
                self.assertEqual(len([note for note in verdict["data"]["notes"] if "the clocks of its ranks differ" in note["text"]]), 1)

    def test_times_twice_as_long_cost_twice_as_much(self):
        self.job(SLOW)
        usual = self.told(self.verdict())[0]
        for rank in range(4):
            for table in ("TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API", "STEP_TIME"):
                self.edit(rank, f"UPDATE {table} SET endNs = 1760000000000000000 + 2 * (endNs - 1760000000000000000), "
                                "startNs = 1760000000000000000 + 2 * (startNs - 1760000000000000000)")
        twice = self.told(self.verdict())[0]
        self.assertEqual(twice["key"], usual["key"])
        self.assertAlmostEqual(twice["cost"]["ms_per_step"] / usual["cost"]["ms_per_step"], 2, delta=0.06)

    def test_hostile_names(self):
        self.job(SLOW)
        self.edit(2, "UPDATE STRING_IDS SET value = '<script>alert(1)</script>' || char(10, 27, 7) || value WHERE value LIKE '%Attention%'",
                  f"INSERT INTO STRING_IDS VALUES(4000000000000, '{'x' * 1_000_000}')",
                  "UPDATE HOST_INFO SET hostName = 'a' || char(27) || '[2J'")
        result = profctl("analyze", self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("\x1b", result.stdout)
        json.loads(profctl("analyze", self.folder, "--json").stdout)

    def test_half_of_a_stream_lost_makes_no_new_finding(self):
        self.job()
        self.edit(1, "DELETE FROM COMMUNICATION_OP WHERE rowid % 2 = 0")
        self.assertEqual(self.told(self.verdict(code=7)), [])

    def test_what_is_lost_of_one_rank_makes_no_new_finding_beside_another_one(self):
        self.job(SLOW, layers=3)
        whole = self.database(1).read_bytes()
        usual = [finding["key"] for finding in self.told(self.verdict())]
        self.assertEqual(usual, ["rank.late/2/compute"])
        for lost in ("DELETE FROM COMMUNICATION_OP WHERE opId BETWEEN 15 AND 30", "DELETE FROM TASK WHERE rowid % 10 = 0",
                     "DELETE FROM STEP_TIME WHERE id % 2 = 0", "DELETE FROM CANN_API WHERE connectionId % 2 = 0"):
            with self.subTest(lost):
                self.database(1).write_bytes(whole)
                self.edit(1, lost)
                self.assertEqual([finding["key"] for finding in self.told(self.verdict(code=7))], usual)

    def test_no_step_in_common_is_one_line(self):
        self.job()
        self.edit(1, "UPDATE STEP_TIME SET id = id + 100")
        result = profctl("analyze", self.folder)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for said in ("no step in common", "rank 0 has 0-5 (", "rank 1 has 100-105 (", "name recordings of one run"):
            self.assertIn(said, result.stderr)

    def another_run(self, ranks, numbered):
        """The job again, an hour later: recordings of these ranks."""
        for rank in ranks:
            again = self.folder / (f"later{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT" if numbered else f"later{rank}")
            again.mkdir(parents=True)
            database = again / (f"ascend_pytorch_profiler_{rank}.db" if numbered else "msprof_1.db")
            shutil.copy(self.database(rank), database)
            with sqlite3.connect(database) as db:
                for table in ("TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API", "STEP_TIME"):
                    db.execute(f"UPDATE {table} SET startNs = startNs + 3600000000000, endNs = endNs + 3600000000000")

    def test_of_two_runs_of_the_same_devices_the_newer_counts(self):
        for numbered in (True, False):
            with self.subTest(numbered=numbered):
                self.job(SLOW)
                self.another_run(range(4), numbered)
                if not numbered:
                    for folder in list(self.folder.glob("host*_ascend_pt")):
                        (self.folder / folder.name[:5]).mkdir(exist_ok=True)
                        rank = len(list((self.folder / folder.name[:5]).iterdir()))
                        (path,) = folder.glob("ASCEND_PROFILER_OUTPUT/*.db")
                        path.rename(self.folder / folder.name[:5] / f"msprof_{rank}.db")
                        shutil.rmtree(folder)
                    for path in self.folder.rglob("*.db"):
                        with sqlite3.connect(path) as db:
                            db.execute("DROP TABLE RANK_DEVICE_MAP")
                verdict = self.verdict(code=7)
                self.assertEqual(verdict["job"]["ranks"], 4)
                left_out = [note["where"] for note in verdict["data"]["notes"] if "is newer: left out" in note["text"]]
                self.assertEqual(len(left_out), 4)
                self.assertFalse([where for where in left_out if "later" in where], left_out)
                self.assertEqual([finding["key"] for finding in self.told(verdict)], ["rank.late/2/compute"])
                shutil.rmtree(self.folder)
                self.folder.mkdir()

    def test_recordings_in_several_folders_are_said(self):
        self.job()
        self.assertEqual([note for note in self.verdict()["data"]["notes"] if "taken for one job" in note["text"]], [])
        (self.folder / "node1").mkdir()
        for folder in list(self.folder.glob("host1*_ascend_pt")) or sorted(self.folder.glob("*_ascend_pt"))[2:]:
            folder.rename(self.folder / "node1" / folder.name)
        verdict = self.verdict()
        self.assertEqual(verdict["job"]["ranks"], 4)
        notes = [note["text"] for note in verdict["data"]["notes"] if note["where"] == str(self.folder)]
        self.assertEqual(notes, ["4 recordings in 2 folders below it, taken for one job; if they are not, name those of one job"])
        # Folders that somebody names one by one are meant.
        named = profctl("analyze", self.folder / "node1", *sorted(self.folder.glob("*_ascend_pt")))
        self.assertEqual(named.returncode, 0, named.stderr)
        self.assertNotIn("taken for one job", named.stdout)

    def test_runs_of_other_devices_are_no_job(self):
        self.job()
        self.another_run([1], True)
        result = profctl("analyze", self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertRegex(result.stderr, r"recordings of 2 runs.*name one of them: 20\S+Z \S+host0_1000\S+; 20\S+Z \S+later1_ascend_pt")

    @unittest.skipUnless(os.path.isdir("/work/shared/samples/msprof-analyze-outputs"), "the sample is not there")
    def test_the_vendors_sample(self):
        result = profctl("analyze", "/work/shared/samples/msprof-analyze-outputs/synthetic/ascend_pt", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        job = json.loads(result.stdout)["job"]
        # As its StepTraceTime has the second step, us: 535.321050404715, 680.044572478961.
        self.assertAlmostEqual(job["compute_ms"], 0.535321, delta=2e-6)
        self.assertAlmostEqual(job["exposed_ms"], 0.680045, delta=2e-6)
        self.assertEqual(job["groups"][0]["absent"], 3)


if __name__ == "__main__":
    unittest.main()
