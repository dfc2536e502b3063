#!/usr/bin/env python3
"""The vendor's own parser on directories as profd leaves them: nothing is renamed, added or taken away. Needs a checkout of
it (tests/support/vendor_tools.py); what always runs is prof_rules.check_folders, its walk over a directory in own words."""
import contextlib
import csv
import decimal
import json
import os
import pathlib
import re
import shutil
import sqlite3
import tempfile
import time
import unittest

import harness
import os_calls
import prof_reader
import vendor_tools
from chips_test import CHIPS, KINDS
from vendor_tools import OUTPUT, needs_parser

HOST = "host-cpu,host-mem,host-sys-cpu,host-sys-mem,host-disk,host-pid-cpu,host-pid-mem"
# Each chip has one of them at least.
MEMORY = "npu-mem,hbm,ddr"
# Its commands, in the order of a user who looks into a directory.
COMMANDS = (("export", "timeline"), ("export", "summary"), ("export", "db"), ("query",),
            ("analyze", "--rule", "communication,communication_matrix"), ("import",))
# Lines of errors that directories of its own collector give, too.
KNOWN = re.compile("|".join((
    # With --npu-events its collector writes the events of all groups there (platform.cpp:440); this reader takes at most 8.
    r"Option --L2_cache_events number should less than 8",
    # Names of kernels on AI CPUs are asked of the host's operators, which are not there at level l0 (viewer/aicpu_viewer.py).
    r"no such table: ge_summary",
    # Of a 910 it takes the tasks of AI CPUs from the scheduler's notes, and complains of a log without any if what the AI CPUs
    # reported has been read by then (mscalculate/ascend_task/device_task_collector.py, _gather_ai_cpu_device_tasks_from_ts).
    r"no such table: AiCpuFromTs|no aicpu device task get from ai_cpu.db.AiCpuFromTs",
)))


# Of a directory as a kill has left it, its collector's too: nobody wrote its end (csrc/domain/services/environment/context.cpp, LoadJsonData).
WITHOUT_END = re.compile(r"The number of end_info in \S+ is invalid, file num is: 0")
DELTA_NS = 100_000
# The channel of each chip's task log.
LOGS = {"310": 44, "910": 45, "310P": 45, "910B": 50, "310B": 50, "950": 50}
# What its collector records of a 950 and its parser has no entry for (msconfig/data_parsers_config.py): it ends in an error.
NOT_PARSED = {"950": ("hccs", "nic", "roce")}


if vendor_tools.knows_a_ports_speed():
    HOST += ",host-network"


class VendorParserTest(harness.ProfdTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-vendor-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def begin(self, daemon, *arguments):
        return daemon.begin("--pid", self.workload().pid, "--devices", "all", *arguments)

    def parse(self, directory, *words, but=None):
        run = vendor_tools.parse(directory, *words)
        errors = [line for line in run.errors if not KNOWN.search(line) and not (but and but.search(line))]
        self.assertEqual((run.code, errors), (0, []), run)
        return run

    def outputs(self, directory):
        """What it made of the directory, by kind: {"msprof": [path], "host_mem_usage": [path], …}"""
        made = {}
        for path in sorted((pathlib.Path(directory) / OUTPUT).iterdir()):
            made.setdefault(path.stem.rsplit("_", 1)[0], []).append(path)
        return made

    def opens(self, directory, summaries=("host_mem_usage",), but=None):
        """On a copy: timeline and the summaries are there, without an error."""
        copy = self.top / "copy" / pathlib.Path(directory).name
        shutil.copytree(directory, copy)
        self.assertEqual(prof_reader.check(str(copy), modes=False), [])
        self.parse(copy, "export", "timeline", but=but)
        self.parse(copy, "export", "summary", but=but)
        made = self.outputs(copy)
        for kind in ("msprof", *summaries):
            self.assertIn(kind, made)
        shutil.rmtree(copy)

    @needs_parser
    def test_every_chip_with_everything_on(self):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\n")
        job = self.job(daemon)
        for device, chip in enumerate(CHIPS):
            kinds = ",".join(kind for kind in KINDS.split(",") if kind not in NOT_PARSED.get(chip, ()))
            session = daemon.begin("--pid", job.pid, "--devices", device, "--collect", f"{kinds},{HOST},agent-range,agent-mark")
            job.order("mark 100")
            daemon.let_run(session, 2)
            directory = daemon.end(session["session"])["directory"]
            with self.subTest(chip=chip):
                self.opens(directory)
                for words in COMMANDS:
                    run = self.parse(directory, *words)
                    if words == ("query",):
                        self.assertIn(f"device_{device}", run.said)
                if vendor_tools.HAS_LIBRARY and chip != "310":  # of which it makes no database (ExportDBScene)
                    self.assertTrue(list(pathlib.Path(directory).glob("msprof_*.db")))

    @needs_parser
    def test_calls_and_sampled_cores(self):
        """Each call that its list has a name of is in its database, at its time; cores of a 910B are in its timeline."""
        within = harness.tracefs()
        if within is None:
            self.skipTest("the kernel has no tracefs")
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", within=within)
        session = self.begin(daemon, "--collect", "host-osrt,aicore,aivector")
        (calls,) = [kind for kind in session["kinds"] if kind["kind"] == "host-osrt"]
        if calls["verdict"] != "started":
            self.skipTest(calls["reason"])
        daemon.let_run(session, 2)
        directory = pathlib.Path(daemon.end(session["session"])["directory"])
        self.parse(directory, "export", "timeline")
        with contextlib.closing(sqlite3.connect(directory / "host" / "sqlite" / "host_runtime_api.db")) as database:
            rows = database.execute("select * from Syscall").fetchall()
        theirs = sorted((int(tid), name, begin, end) for _, _, tid, name, _, _, _, begin, end in rows)
        names = {name for _, name, _, _ in theirs}
        ours = sorted(call for call in os_calls.syscalls(directory) if call[1] in names)
        self.assertGreater(len(ours), 10)
        self.assertEqual([call[:2] for call in theirs], [call[:2] for call in ours])
        for their, our in zip(theirs, ours):
            self.assertAlmostEqual(their[2], our[2], delta=1)  # ns
            self.assertAlmostEqual(their[3], our[3], delta=1)
        (timeline,) = self.outputs(directory)["msprof"]
        with open(timeline, encoding="utf-8") as file:
            processes = {event["args"]["name"] for event in json.load(file) if event["name"] == "process_name"}
        self.assertLessEqual({"AI Core Utilization", "OS Runtime API"}, processes)

    @needs_parser
    def test_logs_and_counters_of_tasks(self):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\n")
        for device, chip in enumerate(CHIPS):
            session = daemon.begin("--devices", device, "--collect", "task,aicore-task,aivector-task,aicpu,host-sys-cpu")
            daemon.let_run(session, 1.5)
            directory = pathlib.Path(daemon.end(session["session"])["directory"])
            with self.subTest(chip=chip):
                for words in COMMANDS:
                    self.parse(directory, *words)
                begun, ended = self.logged(daemon, device, directory, LOGS[chip])
                shown = self.tasks_shown(directory, chip)
                self.assertLessEqual(set(shown), set(ended))
                if chip == "310":  # of which it shows the first iteration alone
                    self.assertGreater(len(shown), 20)
                else:
                    self.assertGreater(len(shown), 50)
                    self.assertLessEqual(set(begun) & set(ended), set(shown))
                for ids, (begin_ns, end_ns) in shown.items():
                    self.assertAlmostEqual(end_ns, ended[ids], delta=DELTA_NS)
                    if ids in begun:
                        self.assertAlmostEqual(begin_ns, begun[ids], delta=DELTA_NS)
                    else:  # of which the log has the end only; it makes one that began with the device, long before
                        self.assertLess(begin_ns, min(begun.values()))

    def tasks_shown(self, directory, chip):
        """The tasks of its timeline, by stream (of a 950 it does not know them) and id: begin and end."""
        tasks = {}
        for path in self.outputs(directory)["msprof"]:
            with open(path, encoding="utf-8") as file:
                events = json.load(file)
            for event in events:
                if event["ph"] == "X" and "Task Id" in event["args"]:
                    task = event["args"]["Task Id"]
                    ids = (task & 0xFFFF, task >> 16) if chip == "950" else (event["args"]["Physic Stream Id"], task)
                    begin_ns = round(decimal.Decimal(event["ts"]) * 1000)
                    tasks[ids] = begin_ns, begin_ns + event["dur"] * 1000
        return tasks

    def logged(self, daemon, device, directory, channel):
        """When the same tasks began and ended by the simulator: by stream and id, each."""
        with open(directory / "host" / "start_info", encoding="utf-8") as file:
            info = json.load(file)
        to_wall = int(info["collectionTimeBegin"]) * 1000 - int(info["clockMonotonicRaw"])
        begun, ended = {}, {}
        for line in daemon.truth_lines():
            if line["device"] == device and line.get("channel") == channel and line.get("values"):
                of = line["values"]
                (ended if of["end"] else begun)[of["stream"], of["task"]] = line["host_raw_ns"] + to_wall
        return begun, ended

    @needs_parser
    def test_kernels_of_ai_cpus(self):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\nlate_channels: {{delay_s: 0, ids: [143]}}\n")
        for device, chip in enumerate(CHIPS):
            if chip == "310":  # which has no channel for them
                continue
            with self.subTest(chip=chip):
                session = daemon.begin("--devices", device, "--collect", "task,aicpu")
                daemon.let_run(session, 1.5)
                directory = pathlib.Path(daemon.end(session["session"])["directory"])
                self.parse(directory, "export", "summary")
                truth = [line["values"] for line in daemon.truth_lines()
                         if line["device"] == device and line["channel"] == 143 and line.get("values")]
                (path,) = self.outputs(directory)["aicpu"]
                with open(path, encoding="utf-8", newline="") as file:
                    rows = list(csv.DictReader(file))
                self.assertGreater(len(rows), 5)
                # It leaves out what began before the collection (viewer/aicpu_viewer.py, match_aicpu_with_ge_summary), and what
                # ended after the last iteration (msparser/aicpu/aicpu_bin_data_parser.py, check_task_before_max_iter); one begins
                # every 100 ms.
                first = [of["task"] for of in truth].index(int(rows[0]["Task ID"]))
                self.assertLessEqual(first, 1)
                self.assertIn(len(truth) - first - len(rows), (0, 1, 2))
                truth = truth[first:]
                for row, of in zip(rows, truth):
                    self.assertEqual((row["Stream ID"], row["Task ID"]), (str(of["stream"]), str(of["task"])))
                    for column, us in (("Compute", of["compute_us"]), ("Memcpy", of["copy_us"]), ("Dispatch", of["dispatch_us"]),
                                       ("Task", of["run_ns"] / 1000), ("Total", of["total_ns"] / 1000)):
                        self.assertAlmostEqual(float(row[f"{column}_time(us)"]), us, delta=0.3, msg=column)

    def on_every_chip(self, config=""):
        """A daemon with a session on a device of each chip: chip → what `start` said."""
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\n", config=config)
        pid = self.workload().pid
        return daemon, {chip: daemon.begin("--pid", pid, "--devices", device, "--collect", f"{MEMORY},{HOST}")
                        for device, chip in enumerate(CHIPS)}

    @needs_parser
    def test_rolled_moved_fetched(self):
        daemon, sessions = self.on_every_chip("store:\n  roll_after_s: 2\n")
        for session in sessions.values():
            harness.wait_until(lambda of=session: len(daemon.status(of["session"])["directories"]) >= 2, "it to roll")
        time.sleep(1)  # data in the new directories, too
        rolled = {chip: daemon.end(session["session"])["directories"] for chip, session in sessions.items()}
        for chip, session in sessions.items():
            for directory in rolled[chip]:
                with self.subTest(chip=chip, rolled=directory):
                    self.opens(directory)
            with self.subTest(chip=chip):
                fetched, moved = self.top / chip / "fetched", self.top / chip / "moved"
                moved.mkdir(parents=True)
                self.assertEqual(daemon.ctl("fetch", session["session"], "--out", fetched).code, harness.OK)
                self.opens(next(fetched.glob("PROF_*")))
                self.assertEqual(daemon.ctl("mv", session["session"], moved).code, harness.OK)
                self.opens(next(moved.glob("PROF_*")))

    @needs_parser
    def test_interrupted(self):
        daemon, sessions = self.on_every_chip()
        for session in sessions.values():
            harness.wait_until(lambda of=session: daemon.status(of["session"])["bytes"] > 20_000, "data")
        daemon.kill()
        for chip, session in sessions.items():
            with self.subTest(chip=chip, left="as it was"):
                self.opens(session["directory"], but=WITHOUT_END)
        daemon.start()
        harness.wait_until(lambda: len(daemon.ctl("list", "--json").json["sessions"]) == len(sessions), "the past sessions")
        for chip, session in sessions.items():
            with self.subTest(chip=chip):
                self.opens(session["directory"])

    @needs_parser
    def test_aged(self):
        """Of a kind of large records, which the parser is done with soon."""
        for chip in CHIPS:
            with self.subTest(chip=chip):
                daemon = self.profd(sim=f"devices: 1\nchip: {chip}\nmode: flood\nrate_mb_s: 60\n")
                session = self.begin(daemon, "--collect", f"tscpu,{HOST}", "--storage-limit", "200MB")["session"]
                harness.wait_until(lambda: daemon.status(session)["aged_bytes"] > 0, "slices to age")
                directory = daemon.end(session)["directory"]
                daemon.stop()
                self.opens(directory)
                daemon.close()

    @needs_parser
    def test_a_host_without_devices(self):
        """Its library has errors of such a directory, unless the host's sample.json says that cores are sampled."""
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        session = daemon.begin("--pid", self.workload().pid, "--collect", HOST)
        daemon.let_run(session, 1)
        directory = daemon.end(session["session"])["directory"]
        for words in COMMANDS[:3]:
            self.parse(directory, *words)
        self.assertIn("host_mem_usage", self.outputs(directory))

    @needs_parser
    def test_a_parent_of_directories(self):
        """The vendor's export takes a folder of PROF directories, too."""
        daemon = self.profd(sim="devices: 1\nchip: 310P\n")
        for _ in range(2):
            session = self.begin(daemon, "--collect", f"npu-mem,{HOST}", "--output", self.top)
            daemon.let_run(session, 1)
            daemon.end(session["session"])
        self.parse(self.top, "export", "summary")
        for directory in self.top.glob("PROF_*"):
            self.assertIn("host_mem_usage", self.outputs(directory))


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.PARSER)
