#!/usr/bin/env python3
"""A kernel that a program reports and the task of the device's log that it is: one row with what both know, everywhere;
and what analysers ask of the programs' databases: ranks, groups, names, types."""
import collections
import contextlib
import csv
import glob
import json
import os
import pathlib
import re
import sqlite3
import statistics
import time
import unittest

import agent_reader
import harness
import mspti_test

STORY = "seed: 11\nscenario: {step_ms: 20}\n"
NPUS = "devices: 2\nchip: 910B\n" + STORY
# Tables that analysers join, whatever is in them.
ANALYSED = ("TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "CANN_API", "MSTX_EVENTS", "PYTORCH_API", "CONNECTION_IDS")


def program(test, daemon, options="", labels=""):
    """One whose kernels are the tasks that the driver's side logs."""
    cann = mspti_test.Cann(test, daemon, options, node=NPUS, labels=labels)
    cann.load()
    return cann


class KernelsTest(harness.ProfdTest):
    def record(self, daemon, programs, kinds, seconds=1.0):
        pids = [word for cann in programs for word in ("--pid", cann.pid)]
        session = daemon.begin(*pids, "--collect", kinds, "--devices", "all")
        for device, cann in enumerate(programs):
            for opened in (0, 1) if len(programs) == 1 else (device,):
                self.assertEqual(cann.order(f"open {opened}"), "done")
        time.sleep(seconds)  # the simulated job works by the clock
        for device, cann in enumerate(programs):
            for opened in (0, 1) if len(programs) == 1 else (device,):
                self.assertEqual(cann.order(f"close {opened}"), "done")
        time.sleep(0.1)  # what the toolkit hands over last is on its way
        return daemon.end(session["session"])["directory"]

    def export(self, daemon, directory, formats="csv,db,chrome", code=harness.OK, *more):
        out = os.path.join(str(daemon.directory), f"out{len(os.listdir(daemon.directory))}")
        result = daemon.ctl("export", directory, "--format", formats, "--out", out, *more)
        self.assertEqual(result.code, code, result)
        return out

    @staticmethod
    def table(out, kind):
        (name,) = glob.glob(os.path.join(out, "*", kind + "_[0-9]*.csv"))
        with open(name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @staticmethod
    def database(out):
        (name,) = glob.glob(os.path.join(out, "msprof_*.db"))
        return sqlite3.connect(name)

    def test_shapes_of_operators(self):
        """Of each kernel those of its own launch: in the simulator the first dimension is its place in its step."""
        daemon = self.profd(sim=NPUS)
        cann = program(self, daemon)
        session = daemon.begin("--pid", cann.pid, "--collect", "aicore-task,agent-kernel,agent-api", "--devices", "all")
        self.assertEqual(cann.order("open 0"), "done")
        files = pathlib.Path(session["directory"])

        # Each record has 10 slots behind it, and no other one of the agent's has so many.
        tensors = re.compile(rb"\x15\x0a\x00\x00\x00\x00\x00\x00")
        harness.wait_until(lambda: sum(len(tensors.findall(file.read_bytes())) for file in files.glob(".profiler/*.lanes.*")) > 200,
                           "operators to tell of their tensors")
        time.sleep(0.3)  # the simulated job works by the clock
        self.assertEqual(cann.order("close 0"), "done")
        time.sleep(0.1)  # what the toolkit hands over last is on its way
        directory = daemon.end(session["session"])["directory"]
        out = self.export(daemon, directory)
        rows = [row for row in self.table(out, "op_summary") if row["Input Shapes"] not in ("", "N/A")]
        self.assertGreater(len(rows), 100)
        self.assertGreater(len({row["Input Shapes"] for row in rows}), 10)
        for row in rows:
            first = 1 + int(row["Op Name"].rsplit("_", 1)[1])
            self.assertEqual((row["Input Shapes"], row["Output Shapes"]),
                             (f'"{first},1024;1024,4096"', f'"{first},4096"'))
            self.assertEqual((row["Input Data Types"], row["Output Formats"]), ("FLOAT16;FLOAT16", "ND"))
        with contextlib.closing(self.database(out)) as database:
            (count,) = database.execute("select count(*) from COMPUTE_TASK_INFO c join STRING_IDS s "
                                        "on s.id = c.inputShapes where s.value like '%,1024;1024,4096%'").fetchone()
            self.assertEqual(count, len(rows))
        counted = self.table(self.export(daemon, directory, "csv", harness.OK, "--kinds", "aicore-task"), "op_summary")
        self.assertGreater(len(counted), 100)
        for row in counted:
            self.assertNotEqual((row["aic_total_cycles"], row["aiv_total_cycles"]), ("N/A", "N/A"))

    def analysed(self, daemon, directory, rows):
        """How busy pipes were, as the analysis has it, is the mean of the rows of an export."""
        lowest = ",".join(f"kernel.bound_{what}=0" for what in ("us", "percent", "room")) + ",general.min_cost_percent=0"
        result = daemon.ctl("analyze", directory, "--json", "--set", lowest)
        self.assertIn(result.code, (harness.OK, 7), result)
        (finding,) = [finding for finding in result.json["findings"] if finding["id"] == "kernel.bound"]
        (table,) = finding["evidence"]
        compared = 0
        for kernel in (dict(zip(table["columns"], row)) for row in table["rows"]):
            core = {"MatMul": "aic", "Adam": "aiv"}.get(kernel["type"])
            ratios = [float(row[f"{core}_{kernel['busiest_pipe']}_ratio"]) for row in rows
                      if (row["OP Type"], row["Input Shapes"]) == (kernel["type"], kernel["shapes"]) and row[f"{core}_total_cycles"] != "N/A"]
            if core and len(ratios) == kernel["count"]:  # else some of them were not counted
                self.assertAlmostEqual(kernel["busy"], statistics.mean(ratios), delta=0.003)
                compared += 1
        self.assertGreater(compared, 0, table)

    def test_one_row_with_name_and_counters(self):
        for offset in ("", ", clock: {device_offset_ns: 300000}"):
            with self.subTest(offset=offset):
                self.one_row(offset)

    def one_row(self, offset):
        daemon = self.profd(sim=NPUS)
        cann = program(self, daemon, offset)
        directory = self.record(daemon, [cann], "aicore-task,aivector-task,agent-kernel,agent-comm,agent-api")
        out = self.export(daemon, directory)
        kernels = cann.delivered()["kernel"]
        self.assertGreater(kernels, 500)
        rows = [row for row in self.table(out, "op_summary") if row["Task Type"] != "COMMUNICATION"]
        named = [row for row in rows if row["Op Name"] != "N/A"]
        self.assertEqual(len(named), kernels)
        self.analysed(daemon, directory, named)
        both = [row for row in named if row["aic_total_cycles"] != "N/A" or row["aiv_total_cycles"] != "N/A"]
        # Those that ran when one of the recordings began or ended are on one side only.
        self.assertGreater(len(both), kernels * 0.97)
        # Of each device: they are opened one after the other, and a busy machine takes its time between two orders.
        alone = 0
        for device in "01":
            starts, others = ([float(row["Task Start Time(us)"]) for row in rows if row["Device_id"] == device and
                               (row["Op Name"] != "N/A") == is_named] for is_named in (True, False))
            alone += sum(min(starts) <= start <= max(starts) for start in others)
        self.assertLess(alone, kernels * 0.03)
        self.no_two_at_once(rows)
        self.assertEqual({row["OP Type"] for row in named}, {"MatMul", "Adam"})
        self.assertEqual({(row["OP Type"], row["Task Type"]) for row in named},
                         {("MatMul", "AI_CORE"), ("Adam", "AI_VECTOR_CORE")})
        # Where nobody knows them they are empty: analysers take N/A for dynamic shapes, and for a shape.
        self.assertNotIn("OP State", rows[0])
        self.assertNotIn("N/A", {row["Input Shapes"] for row in rows})
        # MSPTI tells of no blocks: their number is not 0.
        self.assertEqual({(row["Block Num"], row["Mix Block Num"]) for row in self.table(out, "op_summary")}, {("N/A", "N/A")})
        # How long its cores were busy stands at each task, too.
        (timeline,) = glob.glob(os.path.join(out, "*", "msprof_[0-9]*.json"))
        with open(timeline, encoding="utf-8") as file:
            args = [event["args"] for event in json.load(file) if "Total Cycle" in event.get("args", {})]
        self.assertGreaterEqual(len(args), len(both))
        self.assertGreater(min(one["Total Cycle"] for one in args), 0)
        times = self.table(out, "task_time")
        self.assertEqual(sum(row["kernel_name"] != "N/A" and row["kernel_type"] in ("AI_CORE", "AI_VECTOR_CORE")
                             for row in times), kernels)
        # Sums are of each once: no stream of one device is busy longer than it was.
        busy = collections.Counter()
        for row in self.table(out, "op_statistic"):
            busy[row["Device_id"]] += int(row["Count"])
        self.assertEqual(sum(busy.values()), kernels)
        with self.database(out) as db:
            tasks = db.execute("SELECT count(*), count(DISTINCT globalTaskId) FROM COMPUTE_TASK_INFO").fetchone()
            self.assertEqual(tasks, (kernels, kernels))
            counted = db.execute("SELECT count(*) FROM COMPUTE_TASK_INFO c WHERE EXISTS "
                                 "(SELECT 1 FROM TASK_PMU_INFO p WHERE p.globalTaskId = c.globalTaskId)").fetchone()[0]
            self.assertEqual(counted, len(both))
            connected = db.execute("SELECT count(*) FROM COMPUTE_TASK_INFO c JOIN TASK t USING (globalTaskId) JOIN "
                                   "CANN_API a ON a.connectionId = t.connectionId").fetchone()[0]
            self.assertGreater(connected, kernels * 0.95)
            self.assertNotIn("opState", [row[1] for row in db.execute("PRAGMA table_info(COMPUTE_TASK_INFO)")])
        (path,) = glob.glob(os.path.join(out, "*", "msprof_*.json"))
        with open(path, encoding="utf-8") as file:
            events = [event for event in json.load(file) if event["ph"] == "X" and event["name"].startswith(("MatMul_", "Adam_"))]
        self.assertEqual(len(events), kernels)

    def test_counters_go_on_where_the_task_log_makes_way(self):
        daemon = self.profd(sim=NPUS)
        cann = mspti_test.Cann(self, daemon, preload=False, node=NPUS)
        session = daemon.begin("--pid", cann.pid, "--collect", "task,aicore-task,aivector-task,agent-kernel", "--devices", "0")
        harness.wait_until(lambda: sum(kind["records"] for kind in daemon.status(session["session"])["kinds"]
                                       if kind["kind"] in ("aicore-task", "aivector-task")) > 500,
                           "counters while the devices' log is all there is")
        cann.load()
        harness.wait_until(lambda: all("made way" in kind["reason"] for kind in daemon.status(session["session"])["kinds"]
                              if kind["kind"] == "task"), "the task log to make way")
        self.assertEqual(cann.order("open 0"), "done")
        time.sleep(1)  # the simulated job works by the clock
        self.assertEqual(cann.order("close 0"), "done")
        time.sleep(0.1)  # what the toolkit hands over last is on its way
        directory = daemon.end(session["session"])["directory"]
        rows = self.table(self.export(daemon, directory, "csv"), "op_summary")
        named = [row for row in rows if row["Op Name"] != "N/A"]
        counted = [row for row in rows if row["aic_total_cycles"] != "N/A" or row["aiv_total_cycles"] != "N/A"]
        self.assertGreater(len(named), 300)
        self.assertGreater(sum(row["Op Name"] == "N/A" for row in counted), 100, "those of the log")
        self.assertGreater(sum(row in counted for row in named), len(named) * 0.95)
        self.no_two_at_once(rows)

    def test_cann_comes_while_the_session_waits(self):
        daemon = self.profd(sim=NPUS)
        cann = mspti_test.Cann(self, daemon, preload=False, node=NPUS)
        session = daemon.begin("--pid", cann.pid, "--collect", "task,agent-kernel", "--devices", "all", "--delay", "1s")
        cann.load()
        def kinds(name):
            return [kind for kind in daemon.status(session["session"])["kinds"] if kind["kind"] == name]
        harness.wait_until(lambda: kinds("agent-kernel")[0]["verdict"] == "started" and
                           daemon.status(session["session"])["state"] == "running", "the kernels")
        # Before the log began, or as it did.
        harness.wait_until(lambda: all(kind["verdict"] == "skipped" or "made way" in kind["reason"] for kind in kinds("task")),
                           "the task log to make way")
        daemon.end(session["session"])

    def no_two_at_once(self, rows):
        streams = collections.defaultdict(list)
        for row in rows:
            begin = float(row["Task Start Time(us)"])
            streams[row["Device_id"], row["Stream ID"]].append((begin, begin + float(row["Task Duration(us)"])))
        for times in streams.values():
            times.sort()
            for (_, end), (begin, _) in zip(times, times[1:]):
                self.assertGreaterEqual(begin, end - 1)

    def test_what_query_says_is_in_there(self):
        daemon = self.profd(sim=NPUS)
        cann = program(self, daemon)
        directory = self.record(daemon, [cann], "aicore-task,agent-kernel", 0.5)
        found = daemon.ctl("query", directory, "--json")
        self.assertEqual(found.code, harness.OK, found)
        items = found.json["directories"][0]["kinds"]
        kernels = sum(item["rows"] for item in items if item["kind"] == "agent-kernel")
        self.assertEqual(kernels, cann.delivered()["kernel"])
        self.assertTrue(any(item["kind"] == "task" and item["rows"] > 0 for item in items))

    def test_ranks_groups_and_names(self):
        daemon = self.profd(sim=NPUS)
        programs = [program(self, daemon, labels=f"rank={rank}") for rank in (6, 7)]
        directory = self.record(daemon, programs, "agent-kernel,agent-comm,agent-range", 0.6)
        out = self.export(daemon, directory, "db,csv")
        with self.database(out) as db:
            self.assertEqual(sorted(db.execute("SELECT deviceId, rankId FROM RANK_DEVICE_MAP")), [(0, 6), (1, 7)])
            self.assertEqual(sorted(row[0] for row in db.execute("SELECT id FROM NPU_INFO")), [0, 1])
            meta = dict(db.execute("SELECT name, value FROM META_DATA"))
            self.assertEqual(json.loads(meta["parallel_group_info"])["group_world"]["global_ranks"], [6, 7])
            names = db.execute("SELECT DISTINCT n.value, t.value FROM COMMUNICATION_OP c JOIN STRING_IDS n ON n.id = c.opName "
                               "JOIN STRING_IDS t ON t.id = c.opType").fetchall()
            self.assertGreater(len(names), 3)
            for name, kind in names:
                self.assertRegex(name, r"^hcom_allReduce__662_\d+_1$")
                self.assertEqual(kind, "hcom_allReduce_")
            by_rank = [collections.Counter(db.execute("SELECT value FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opName WHERE deviceId = ?",
                                      (device,))) for device in (0, 1)]
            self.assertEqual(db.execute("SELECT DISTINCT rankSize FROM COMMUNICATION_OP").fetchall(), [(None,)], "nobody says how many")
            for of_rank in by_rank:
                self.assertEqual(set(of_rank.values()), {1}, "a number names one of them")
            self.assertGreater(len(by_rank[0] & by_rank[1]), 3, "on all ranks the same")
        self.assertEqual({row["OP Type"] for row in self.table(out, "communication_statistic")}, {"hcom_allReduce_"})
        queried = daemon.ctl("query", directory)
        self.assertEqual(queried.code, harness.OK, queried)

    def test_one_device_of_two(self):
        daemon = self.profd(sim=NPUS)
        cann = program(self, daemon, labels="rank=0")
        directory = self.record(daemon, [cann], "agent-kernel", 0.4)
        out = self.export(daemon, directory, "db", harness.OK, "--devices", "1")
        with self.database(out) as db:
            self.assertEqual(db.execute("SELECT deviceId, rankId FROM RANK_DEVICE_MAP").fetchall(), [(1, 1)])
            self.assertEqual(db.execute("SELECT DISTINCT deviceId FROM TASK").fetchall(), [(1,)])

    def test_how_many_ranks_a_whole_job_has(self):
        daemon = self.profd(sim=NPUS)
        programs = [program(self, daemon, labels=f"rank={rank},world_size=2") for rank in (0, 1)]
        directory = self.record(daemon, programs, "agent-kernel,agent-comm", 0.6)
        with self.database(self.export(daemon, directory, "db")) as db:
            self.assertEqual(db.execute("SELECT DISTINCT rankSize FROM COMMUNICATION_OP").fetchall(), [(2,)])

    def test_a_directory_for_each_device(self):
        daemon = self.profd(sim=NPUS)
        programs = [program(self, daemon, labels=f"rank={rank}") for rank in (6, 7)]
        directory = self.record(daemon, programs, "agent-kernel,agent-comm,agent-api,agent-mark", 0.6)
        out = daemon.directory / "ranks"
        result = daemon.ctl("export", directory, "--per-device", "--format", "db", "--out", out)
        self.assertEqual(result.code, harness.OK, result)
        self.assertEqual(len(list(out.iterdir())), 2)
        recorded = {agent.entry["pid"]: agent for agent in agent_reader.agents(directory)}
        for device, cann in enumerate(programs):
            (made,) = out.glob(f"PROF_{device:06}_*")
            self.assertEqual(made.name.split("_")[2:], os.path.basename(directory).split("_")[2:])
            info = json.loads((made / f"device_{device}" / f"info.json.{device}").read_text())
            self.assertEqual((info["rank_id"], info["devices"]), (device + 6, str(device)))
            self.assertEqual({path.name.split("_")[0] for path in made.iterdir()}, {"analyze", "device", "msprof"})  # no empty folder
            self.collectives_for_analysers(made, recorded[cann.pid].of("comm"))
            with self.database(made) as db:
                self.assertEqual(db.execute("SELECT rankId, deviceId FROM RANK_DEVICE_MAP").fetchall(), [(device + 6, device)])
                self.assertEqual(db.execute("SELECT hostUid FROM HOST_INFO").fetchall(), [(info["hostUid"],)])
                there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                self.assertLessEqual(set(ANALYSED), there)
                groups = db.execute("SELECT value FROM META_DATA WHERE name = 'parallel_group_info'").fetchone()[0]
                self.assertEqual(json.loads(groups)["group_world"]["global_ranks"], [6, 7])
                # What its program did, and nothing of the other one.
                for table, kind in (("COMPUTE_TASK_INFO", "kernel"), ("COMMUNICATION_OP", "comm"), ("CANN_API", "api")):
                    count = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                    self.assertEqual(count, len(recorded[cann.pid].of(kind)), table)
                self.assertNotIn("opState", [row[1] for row in db.execute("PRAGMA table_info(COMPUTE_TASK_INFO)")])

    def test_a_folder_for_each_rank_as_a_frameworks(self):
        daemon = self.profd(sim=NPUS)
        programs = [program(self, daemon, labels=f"rank={rank}") for rank in (6, 7)]
        directory = self.record(daemon, programs, "agent-kernel,agent-comm,agent-api", 0.6)
        out = daemon.directory / "job"
        result = daemon.ctl("export", directory, "--layout", "framework", "--out", out)
        self.assertEqual(result.code, harness.OK, result)
        self.assertIn("no steps are marked", result.err)
        folders = sorted(out.iterdir(), key=lambda folder: folder.name.split("_")[-4])
        self.assertEqual([folder.name.split("_")[-4:] for folder in folders],
                         [[rank, folder.name.split("_")[-3], "ascend", "pt"] for rank, folder in zip("67", folders)])
        for rank, folder in zip((6, 7), folders):
            results = folder / "ASCEND_PROFILER_OUTPUT"
            self.assertEqual(json.loads((folder / f"profiler_info_{rank}.json").read_text())["rank_id"], rank)
            self.assertTrue(list(folder.glob("PROF_*/device_*/info.json.*")))
            with contextlib.closing(sqlite3.connect(results / f"ascend_pytorch_profiler_{rank}.db")) as db:
                self.assertEqual(db.execute("SELECT rankId FROM RANK_DEVICE_MAP").fetchall(), [(rank,)])
            with contextlib.closing(sqlite3.connect(results / "analysis.db")) as db:
                self.assertGreater(db.execute("SELECT count(*) FROM CommAnalyzerTime").fetchone()[0], 3)
                self.assertEqual(db.execute("SELECT DISTINCT hccl_op_name FROM CommAnalyzerMatrix").fetchall(), [("hcom_allReduce-total",)])
            self.assertEqual({path for path in map(str, folder.rglob("*.db")) if path not in result.out}, set())
            # Kernels lie on the timeline, and each collective is told of by its name and the group's.
            events = json.loads((results / "trace_view.json").read_text())
            self.assertGreater(sum(event.get("ph") == "X" for event in events), 20)
            steps = json.loads((results / "communication.json").read_text())
            names = [name for step in steps.values() for name in step["collective"] if name != "Total Op Info"]
            self.assertTrue(names and all(re.fullmatch(r"hcom_allReduce__\d{3}_\d+_1@\d+", name) for name in names), names[:3])
            self.assertTrue((results / "step_trace_time.csv").read_text().startswith("Device_id,Step,Computing,"))
            self.assertTrue((results / "communication_matrix.json").is_file())
            self.assertIn(str(results / "communication.json"), result.out)
        # What is there is not mixed with another job's.
        self.assertEqual(daemon.ctl("export", directory, "--layout", "framework", "--out", out).code, harness.FAILED)
        for wrong in (["--layout", "frameworks", "--out", out], ["--layout", "framework"], ["--cluster-output", "--format", "csv", "--out", out],
                      ["--layout", "framework", "--format", "db", "--out", out], ["--layout", "framework", "--cluster-output", "--out", out]):
            self.assertEqual(daemon.ctl("export", directory, *wrong).code, harness.USAGE, wrong)

    def collectives_for_analysers(self, made, recorded):
        """analyze/communication_analyzer.db: of each collective how long it took and how much it moved."""
        with self.database(made) as db:
            types = db.execute("SELECT DISTINCT name FROM COMMUNICATION_OP JOIN ENUM_HCCL_DATA_TYPE e ON e.id = dataType").fetchall()
        self.assertEqual(types, [("FP16",)])
        with contextlib.closing(sqlite3.connect(made / "analyze" / "communication_analyzer.db")) as db:
            times = db.execute("SELECT elapse_time, transit_time + wait_time FROM CommAnalyzerTime").fetchall()
            self.assertGreater(len(times), len(recorded) / 2)  # those that are in a step of all ranks
            lasted = [(record["end_ns"] - record["begin_ns"]) / 1e6 for record in recorded]
            for elapsed, parts in times:
                self.assertAlmostEqual(elapsed, parts, delta=1e-6)
                self.assertTrue(min(lasted) * 0.999 <= elapsed <= max(lasted) * 1.001, elapsed)  # clocks: a part in 1000
            sizes = db.execute("SELECT DISTINCT transit_size FROM CommAnalyzerBandwidth").fetchall()
            self.assertEqual(sizes, [((1 << 20) * 2 / 1e6,)])  # MB: elements of two bytes
            ((own, other, way),) = db.execute("SELECT src_rank, dst_rank, transport_type FROM CommAnalyzerMatrix")
            self.assertEqual((own, way), (other, "LOCAL"))
            self.assertGreater(db.execute("SELECT count(*) FROM StepTraceTime WHERE computing > 0").fetchone()[0], 0)

    def test_per_device_needs_a_place_and_a_device(self):
        daemon = self.profd()
        session = daemon.begin("--collect", "host-sys-mem")
        directory = daemon.end(session["session"])["directory"]
        for out, why in (((), "say where with --out"),
                         (("--out", daemon.directory / "none"), "there is no device in it")):
            result = daemon.ctl("export", directory, "--per-device", *out)
            self.assertEqual(result.code, harness.USAGE, result)
            self.assertIn(why, result.err)

    def test_a_named_kind_that_brought_nothing(self):
        daemon = self.profd(sim=NPUS)
        session = daemon.begin("--collect", "hbm,llc,ub", "--devices", "0")  # a 910B has no UB
        daemon.let_run(session, 0.5)
        directory = daemon.end(session["session"])["directory"]
        for verb in (("export", "--format", "db", "--out", str(daemon.directory / "missing")), ("query",)):
            result = daemon.ctl(verb[0], directory, *verb[1:])
            self.assertEqual(result.code, 7, result)
            self.assertRegex(result.out, r"(?m)^(/.*: )?kind ub: was requested, but has no data: a 910B has no ub$")
        self.assertIn(", NOT complete", daemon.ctl("export", directory, "--format", "db").out)

    def test_a_job_without_operators_on_ai_cpus_lacks_nothing(self):
        daemon = self.profd(sim=NPUS)
        session = daemon.begin("--collect", "hbm,aicpu", "--devices", "0")
        daemon.let_run(session, 0.5)
        directory = daemon.end(session["session"])["directory"]
        result = daemon.ctl("export", directory, "--format", "db")
        self.assertEqual(result.code, 0, result)
        self.assertIn("note: kind aicpu: nothing ran on the AI CPUs, so it has no records", result.out)
        self.assertEqual(daemon.ctl("query", directory).code, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
