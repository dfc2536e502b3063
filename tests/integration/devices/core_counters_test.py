#!/usr/bin/env python3
"""Counters that are read out by task: what is counted, what is on disk and what the export makes of it, on every chip that
has them, against what the simulator says it counted."""
import csv
import glob
import json
import os
import pathlib
import sqlite3
import struct
import tempfile
import time
import unittest
import zlib

import harness
import prof_reader
from harness import OK, PARTLY_STARTED, USAGE

CHIPS = ["310", "910", "310P", "910B", "310B", "950"]
HAS_L2, HAS_SOC = CHIPS[1:], ["910B", "950"]
# By chip: what is requests, hits and victims of the events that are counted, in the analyser's words.
CACHE = {"910": ("5b,59,5c,7d,7e,71,79,7c", "59", "5b", "5c"), "310P": ("78,79,77,71,6a,6c,74,62", "78,79", "6a", "71"),
         "950": ("00,81,82,83,74,75", "00", "00,-81,-82,-83,-74,-75", "74,75")}
CACHE["910B"] = CACHE["310B"] = ("f6,fb,fc,bf,90,91,9c,9d", "fb,fc", "90,91", "9c")
TRANSLATION = ("2,8a,8b,8c,8d", "8a", "2", "8c,8d")


def rates(formula, counts):
    """The two rates of a task's counters."""
    counted = formula[0].split(",")

    def total(events):
        return sum(counts[counted.index(event.strip("-"))] * (-1 if event[0] == "-" else 1) for event in events.split(","))
    requests, first, second = (total(events) for events in formula[1:])
    return round(first / requests, 6), round(second / requests, 6)


class ByTask(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        late = "late_channels: {delay_s: 0, ids: [143, 144]}"  # which come with the device's processes
        cls.daemon = harness.Profd(sim=f"devices:\n{devices}\nseed: 7\n{late}\n")
        cls.out = tempfile.TemporaryDirectory(prefix="profd-counters-")

    @classmethod
    def tearDownClass(cls):
        cls.out.cleanup()
        cls.daemon.close()

    def recorded(self, *arguments):
        """A session's kinds, and its tables by name."""
        started = self.daemon.begin(*arguments)
        # Channels that come with the device's processes do so when profd has seen them.
        begun = harness.wait_until(lambda: (now := self.daemon.status(started["session"])) and
                                   all(kind["verdict"] != "pending" for kind in now["kinds"]) and now, "all channels")
        self.daemon.let_run(started, begun["elapsed_s"] + 1.5)
        self.session = self.daemon.end(started["session"])
        self.directory = self.session["directory"]
        return self.tables_of()

    def tables_of(self, *options):
        """The tables of the latest session, by name."""
        out = os.path.join(self.out.name, str(len(os.listdir(self.out.name))))
        result = self.daemon.ctl("export", self.directory, "--format", "csv", "--out", out, "--json", *options)
        self.assertEqual(result.json["directories"][0]["skipped"], [])
        self.assertEqual(result.code, OK, result)
        tables = {}
        for path in glob.glob(os.path.join(out, "mindstudio_profiler_output", "*.csv")):
            with open(path, encoding="utf-8", newline="") as file:
                tables[os.path.basename(path).rsplit("_", 1)[0]] = list(csv.DictReader(file))
        return tables

    def truth(self, device, channel):
        """What was counted in the latest session, task by task."""
        return [line["values"] for line in self.truth_lines(device, channel)]

    def truth_lines(self, device, channel):
        lines = [line for line in self.daemon.truth_lines() if line["device"] == device and line.get("channel") == channel]
        begin = max(at for at, line in enumerate(lines) if line.get("event") == "start")
        return [line for line in lines[begin:] if line.get("values")]

    def sample(self, device):
        with open(os.path.join(self.directory, f"device_{device}", "sample.json"), encoding="utf-8") as file:
            return json.load(file)

    def rows(self, table, device, *columns):
        return [tuple(row[column] for column in ("Stream Id", "Task Id", *columns)) for row in table
                if row["Device_id"] == str(device)]

    def same_rates(self, got, formula, truth, unit):
        wanted = [(str(task["stream"]), str(task["task"]), *rates(formula, task[unit])) for task in truth]
        self.assertGreater(len(wanted), 20)
        self.assertEqual([(stream, task, float(first), float(second)) for stream, task, first, second in got], wanted)

    def test_hits_of_the_cache_and_of_the_translation(self):
        tables = self.recorded("--collect", "l2", "--devices", "all")
        for device, chip in enumerate(CHIPS):
            with self.subTest(chip=chip):
                verdict = self.kind(self.session, "l2", f"device:{device}")
                self.assertEqual(verdict["verdict"], "started" if chip in HAS_L2 else "skipped", verdict)
                if chip not in HAS_L2:
                    self.assertEqual(self.rows(tables["l2_cache"], device), [])
                    continue
                truth = self.truth(device, 134 if chip in HAS_SOC else 47)
                got = self.rows(tables["l2_cache"], device, "Hit Rate", "Victim Rate")
                self.same_rates(got, CACHE[chip], truth, "ha" if chip in HAS_SOC else "count")
                translated = self.rows(tables["soc_pmu"], device, "TLB Miss Rate", "TLB Hit Rate")
                if tables["soc_pmu"]:
                    self.assertEqual(list(tables["soc_pmu"][0])[:5],
                                     ["Device_id", "Stream Id", "Task Id", "TLB Hit Rate", "TLB Miss Rate"])
                if chip in HAS_SOC:
                    self.same_rates(translated, TRANSLATION, truth, "smmu")
                else:
                    self.assertEqual(translated, [])
                # The analyser looks for just these texts.
                sample = self.sample(device)
                self.assertEqual(sample["l2CacheTaskProfiling"], "on")
                self.assertEqual(sample["l2CacheTaskProfilingEvents"],
                                 ",".join("0x" + event for event in CACHE[chip][0].split(",")))
                soc = f"HA:{sample['l2CacheTaskProfilingEvents']};SMMU:0x2,0x8a,0x8b,0x8c,0x8d;SMMU_DFX:"
                self.assertEqual(sample["npuEvents"], soc if chip in HAS_SOC else "")
        self.assertEqual({row["Op Name"] for row in tables["l2_cache"]}, {"N/A"})
        # The vendor's table has no hit rates of chips with such a log.
        hidden = self.tables_of("--vendor-compatible")["l2_cache"]
        for device, chip in enumerate(CHIPS):
            if chip in HAS_L2:
                rates = {rate for *_, rate in self.rows(hidden, device, "Hit Rate")}
                self.assertEqual(rates == {"N/A"}, chip in ("910B", "310B", "950"), chip)

    def test_records_as_the_analyser_reads_them(self):
        self.recorded("--collect", "l2", "--devices", "1,3,5")
        for device, channel, layout, fields in ((1, 47, "4H8Q", (1, 2)), (3, 134, "8B4H8Q", (9, 10)), (5, 134, "6B3HI8Q", (8, 9))):
            file = "l2_cache.data" if channel == 47 else "socpmu.data"
            data = b"".join(pathlib.Path(path).read_bytes() for path in
                            glob.glob(os.path.join(self.directory, f"device_{device}", "data", f"{file}.{device}.slice_?")))
            records = list(struct.iter_unpack("=" + layout, data))
            units = 1 if channel == 47 else 2
            tasks = [tuple(record[field] for field in fields) for record in records[::units]]
            self.assertEqual(tasks, [(task["stream"], task["task"]) for task in self.truth(device, channel)])
            if channel == 134:
                types = [record[11 if device == 3 else 6] for record in records]
                self.assertEqual(types, [1, 2] * len(tasks))

    def test_events_by_number(self):
        tables = self.recorded("--collect", "soc-pmu:HA:0x2,0x3;SMMU:0x10", "--devices", "3,5")
        self.assertEqual(set(tables), {"soc_pmu_events"})
        for device in (3, 5):
            wanted = [(str(task["stream"]), str(task["task"]), unit, event, str(count)) for task in self.truth(device, 134)
                      for unit, events in (("HA", ("0x2", "0x3")), ("SMMU", ("0x10",)))
                      for event, count in zip(events, task[unit.lower()])]
            got = self.rows(tables["soc_pmu_events"], device, "Unit", "Event", "Count")
            self.assertEqual(sorted(got), sorted(wanted))
            self.assertEqual(self.sample(device)["npuEvents"], "HA:0x02,0x03;SMMU:0x10")

    def test_kernels_of_ai_cpus(self):
        """In the vendor's columns; both channels fill one file."""
        table = self.recorded("--collect", "aicpu", "--devices", "all")["aicpu"]
        self.assertEqual(list(table[0]), ["Device_id", "Timestamp(us)", "Node", "Compute_time(us)", "Memcpy_time(us)",
                                          "Task_time(us)", "Dispatch_time(us)", "Total_time(us)", "Stream ID", "Task ID"])
        devices = prof_reader.ProfDir(self.directory).devices
        for device, chip in enumerate(CHIPS):
            rows = sorted((row for row in table if row["Device_id"] == str(device)), key=lambda row: float(row["Timestamp(us)"]))
            if chip == "310":
                self.assertEqual(rows, [])
                continue
            with self.subTest(chip=chip):
                truth = sorted((of for channel in (143, 144) for of in self.truth(device, channel)), key=lambda of: of["begin_ns"])
                self.assertGreater(len(truth), 5)
                self.assertEqual(len(rows), len(truth))
                for row, of in zip(rows, truth):
                    self.assertEqual((row["Stream ID"], row["Task ID"]), (str(of["stream"]), str(of["task"])))
                    self.assertEqual(row["Node"], "N/A")
                    begin_us = devices[device].raw_to_wall(of["begin_ns"]) / 1000
                    self.assertAlmostEqual(float(row["Timestamp(us)"]), begin_us, delta=100)
                    for column, us in (("Compute", of["compute_us"]), ("Memcpy", of["copy_us"]), ("Dispatch", of["dispatch_us"]),
                                       ("Task", of["run_ns"] / 1000), ("Total", of["total_ns"] / 1000)):
                        self.assertAlmostEqual(float(row[f"{column}_time(us)"]), us, delta=0.2, msg=column)

    def test_events_that_cannot_be_counted(self):
        for events in ("HA:0x100", "SMMU:0x809", "NOC:0x1", "HA:0x1;HA:0x2"):
            with self.subTest(events=events):
                result = self.daemon.ctl("start", "--collect", f"soc-pmu:{events}", "--devices", "3")
                self.assertEqual(result.code, USAGE, result)
                self.assertEqual(len(result.err.strip().splitlines()), 1, result)
                self.assertIn(f"'{events}': a 910B counts HA (or MATA)", result.err)

    def test_what_a_chip_has_not(self):
        result = self.daemon.ctl("start", "--collect", "soc-pmu,l2", "--devices", "0,1", "--json")
        self.assertEqual(result.code, PARTLY_STARTED, result)
        reasons = {(entry["kind"], entry["unit"]): entry["reason"] for entry in result.json["kinds"]}
        self.assertEqual(reasons["soc-pmu", "device:0"], "a 310 has no soc-pmu")
        self.assertEqual(reasons["soc-pmu", "device:1"], "a 910 has no soc-pmu")
        self.assertEqual(reasons["l2", "device:0"], "a 310 has no l2")
        self.daemon.end(result.json["session"])

    def test_a_second_session_shares_or_is_refused(self):
        first = self.daemon.begin("--collect", "l2", "--devices", "3")
        second = self.daemon.begin("--collect", "soc-pmu", "--devices", "3")
        self.assertEqual(self.kind(second, "soc-pmu", "device:3")["verdict"], "started")
        third = self.daemon.ctl("start", "--collect", "soc-pmu:HA:0x1", "--devices", "3")
        self.assertNotEqual(third.code, OK, third)
        self.assertIn(first["session"], third.err)
        for session in (first, second):
            self.daemon.end(session["session"])

    def counted(self, device, *channels):
        """Of the latest session: cycles and counters by stream and task, in the order of the tasks."""
        found = {}
        for channel in channels:
            for values in self.truth(device, channel):
                found.setdefault((str(values["stream"]), str(values["task"])), []).append((values["cycles"], values["count"]))
        return found

    def same_counters(self, table, device, core, truth, metric, place):
        """The columns of one kind of core are what the device counted for that task; "": of whichever ran."""
        of = core and f"{core}_"
        rows = [row for row in table if row["Device_id"] == str(device) and row[f"{of}total_cycles"] != "N/A"]
        self.assertGreater(len(rows), 5)
        seen = {}
        for row in rows:
            task = int(row["Task ID"])  # of a 950: with the stream
            ids = row["Stream ID"], str(task >> 16 if device == 5 else task)
            cycles, counts = truth[ids][seen.setdefault(ids, 0)]
            seen[ids] += 1
            self.assertEqual(int(row[f"{of}total_cycles"]), cycles)
            if row[of + metric] != "N/A" or core:  # else that kind of core has none
                self.assertAlmostEqual(float(row[of + metric]), sum(counts[at] for at in place) / cycles, 5)
        return rows

    def test_cores_by_task(self):
        tables = self.recorded("--collect", "aicore-task,aivector-task,task", "--devices", "all")
        for device, chip in enumerate(CHIPS):
            with self.subTest(chip=chip):
                self.assertEqual(self.kind(self.session, "aicore-task", f"device:{device}")["verdict"], "started")
                stars = chip in ("910B", "310B", "950")
                self.assertEqual(self.kind(self.session, "aivector-task", f"device:{device}")["verdict"],
                                 "started" if stars else "skipped")
                sample = self.sample(device)
                self.assertEqual((sample["ai_core_profiling"], sample["ai_core_profiling_mode"]), ("on", "task-based"))
                file = "ffts_profile" if stars else "aicore"
                data = b"".join(pathlib.Path(path).read_bytes() for path in
                                glob.glob(os.path.join(self.directory, f"device_{device}", "data", f"{file}.data.*.slice_?")))
                self.assertEqual(len(data), (112 if chip == "310" else 128) * len(self.truth(device, 53 if stars else 43)))
        self.assertEqual(self.daemon.ctl("verify", self.directory).code, OK)
        # One table has columns for one set of counters: those of the first device.
        only = self.recorded("--collect", "aicore-task,aivector-task:ArithmeticUtilization,task", "--devices", "3")
        truth = self.counted(3, 53)
        self.same_counters(only["op_summary"], 3, "aic", truth, "mac_ratio", (0, 1))
        self.same_counters(only["op_summary"], 3, "aic", truth, "fixpipe_ratio", (5,))
        self.same_counters(only["op_summary"], 3, "aiv", truth, "vec_fp32_ratio", (2,))
        row = only["op_summary"][0]
        self.assertEqual(list(row)[-4:], ["aiv_vec_int32_ratio", "aiv_vec_misc_ratio", "aiv_vector_fops", "cube_utilization(%)"])
        for row in only["op_summary"]:
            if row["aicore_time(us)"] != "N/A":
                self.assertAlmostEqual(float(row["aic_mac_time(us)"]), float(row["aicore_time(us)"]) * float(row["aic_mac_ratio"]), 2)
        self.assertNotIn("op_summary", self.recorded("--collect", "task", "--devices", "3"), "nothing is known of operators")
        self.assertTrue(tables["op_summary"])

    def test_what_is_counted_is_logged(self):
        """Counters end before the log does, and begin after it: a task with counters that the log lacks has no place in time, and
        the vendor's parser calls it an error."""
        for device, log, counters in ((1, 45, 43), (3, 50, 53), (5, 50, 53)):
            self.recorded("--collect", "aicore-task,task", "--devices", str(device))
            lines = [line for line in self.daemon.truth_lines() if line["device"] == device and line.get("channel") in (log, counters)]
            events = [(line["event"], line["channel"]) for line in lines if line.get("event") in ("start", "stop")]
            self.assertEqual(events[-4:], [("start", log), ("start", counters), ("stop", counters), ("stop", log)], CHIPS[device])

    def test_cores_by_task_of_older_chips(self):
        """One set of columns, as the vendor's, for the core that ran."""
        pipes = [name for pipe in ("vec", "mac", "scalar", "mte1", "mte2", "mte3") for name in (f"{pipe}_time(us)", f"{pipe}_ratio")]
        columns = ["aicore_time(us)", "total_cycles", *pipes, "icache_miss_rate", "memory_bound", "cube_utilization(%)"]
        for device, kinds, shown in ((1, "aicore-task", columns), (4, "aicore-task:PipeUtilization,aivector-task:PipeUtilization", columns)):
            with self.subTest(CHIPS[device]):
                tables = self.recorded("--collect", f"{kinds},task", "--devices", str(device))
                self.assertEqual(list(tables["op_summary"][0])[-len(shown):], shown)
                stars = device == 4
                rows = self.same_counters(tables["op_summary"], device, "", self.counted(device, 53 if stars else 43),
                                          *(("mte2_ratio", (4,)) if stars else ("vec_ratio", (0,))))
                # A 310B's AI cores have no vector pipe, its vector cores none for cubes.
                both = {(row["vec_ratio"] == "N/A", row["mac_ratio"] == "N/A") for row in rows}
                self.assertTrue(both <= ({(True, False), (False, True)} if stars else {(False, False)}), both)

    def test_cores_by_task_on_a_950(self):
        tables = self.recorded("--collect", "aicore-task,task", "--devices", "5")
        self.same_counters(tables["op_summary"], 5, "aic", self.counted(5, 53), "mac_ratio", (1,))
        # A 950 tells how long its cores were busy.
        rows = [row for row in tables["op_summary"] if row["aicore_time(us)"] != "N/A"]
        self.assertGreater(len(rows), 10)
        for row in rows:
            self.assertAlmostEqual(float(row["aicore_time(us)"]), float(row["Task Duration(us)"]), delta=0.01)

    def test_tasks_of_a_310(self):
        """Its firmware logs them, and the counters, in records of its own: both are found, the one with the other."""
        tables = self.recorded("--collect", "aicore-task,task", "--devices", "0")
        truth = self.counted(0, 43)
        self.same_counters(tables["op_summary"], 0, "", truth, "vec_ratio", (0,))
        self.assertEqual(len([row for row in tables["op_summary"] if row["total_cycles"] != "N/A"]),
                         sum(map(len, truth.values())) - self.cut_at_begin(tables, truth))
        for row in tables["op_summary"]:  # its record says how many blocks there were
            if row["total_cycles"] != "N/A":
                self.assertAlmostEqual(float(row["aicore_time(us)"]), int(row["total_cycles"]) / 680 / 2, 2)
                self.assertEqual(row["Block Num"], "2")
        begun, tasks = {}, {}
        for line in self.truth_lines(0, 44):
            ids = str(line["values"]["stream"]), str(line["values"]["task"])
            if not line["values"]["end"]:
                begun[ids] = line["host_raw_ns"]
            elif ids in begun:
                tasks[ids] = line["host_raw_ns"] - begun[ids]
        self.assertGreater(len(tasks), 100)
        found = {(row["stream_id"], row["task_id"]): row for row in tables["task_time"]}
        self.assertEqual(set(found), set(tasks))
        for ids, row in found.items():
            self.assertAlmostEqual(float(row["task_time(us)"]), tasks[ids] / 1000, delta=0.2)
        self.assertEqual({row["kernel_type"] for row in found.values()}, {"AI_CORE", "AI_CPU", "L2 SDMA memory copy task"})
        self.assertIn("step_trace", tables, "the same file's key points")

    @staticmethod
    def cut_at_begin(tables, truth):
        """How many were counted of tasks that had begun before they were logged."""
        found = {(row["stream_id"], row["task_id"]) for row in tables["task_time"]}
        return sum(len(counts) for ids, counts in truth.items() if ids not in found)

    def test_cores_by_task_without_a_task_log(self):
        tables = self.recorded("--collect", "aicore-task", "--devices", "3")
        truth = self.counted(3, 53)
        self.same_counters(tables["op_summary"], 3, "aic", truth, "scalar_ratio", (2,))
        out = os.path.join(self.out.name, "db")
        self.assertEqual(self.daemon.ctl("export", self.directory, "--format", "db", "--out", out).code, OK)
        (path,) = glob.glob(os.path.join(out, "msprof_*.db"))
        connection = sqlite3.connect(path)
        rows = connection.execute("SELECT streamId, taskId, n.value, i.value FROM TASK_PMU_INFO i JOIN STRING_IDS n ON i.name = n.id "
                                  "JOIN TASK t ON i.globalTaskId = t.globalTaskId WHERE n.value = 'aic_total_cycles' "
                                  "ORDER BY t.startNs").fetchall()
        connection.close()
        wanted = sorted(cycles for counts in truth.values() for cycles, _ in counts)
        self.assertEqual(sorted(row[3] for row in rows), wanted)

    def test_by_task_and_by_time_are_one_file(self):
        result = self.daemon.ctl("start", "--collect", "aicore,aicore-task", "--devices", "3", "--json")
        self.assertEqual(result.code, PARTLY_STARTED, result)
        self.assertEqual(self.kind(result.json, "aicore", "device:3")["verdict"], "started")
        self.assertEqual(self.kind(result.json, "aicore-task", "device:3")["reason"],
                         "aicore goes into the same file: ask for one of the two")
        self.daemon.end(result.json["session"])

    def test_what_a_kill_leaves_of_counters_by_task(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nseed: 7\n")
        started = daemon.begin("--collect", "aicore-task,task")
        daemon.let_run(started, 1)
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.ctl("verify", started["directory"]).code, OK)
        data = pathlib.Path(started["directory"], "device_0/data/ffts_profile.data.0.slice_0").read_bytes()
        self.assertEqual(len(data) % 128, 0)
        self.assertGreater(len(data), 0)

    def test_collective_units(self):
        tables = self.recorded("--collect", "ccu,ccu-task", "--devices", "3,5")
        self.assertEqual(self.kind(self.session, "ccu", "device:3")["reason"], "a 910B has no ccu")
        for die, (missions, channels) in enumerate(((147, 148), (149, 151))):
            truth = self.truth(5, missions)
            self.assertGreater(len(truth), 5)
            wanted = {(str(task["task"] << 16 | task["stream"]), str(task["instruction"])) for task in truth}
            self.assertTrue(wanted <= {(row["Task Id"], row["Instruction ID"]) for row in tables["ccu_mission"]})
            for task in truth:  # ticks of 1 GHz; of every other instruction a row for each of seven ranks
                rows = [row for row in tables["ccu_mission"] if row["Task Id"] == str(task["task"] << 16 | task["stream"])]
                self.assertIn(len(rows), (1, 2, 7, 14), "of one die, or of both")
                self.assertEqual({float(row["Instruction Duration(us)"]) for row in rows}, {task["ticks"] / 1000})
                self.assertEqual({row["Notify Instruction ID"] == "N/A" for row in rows}, {len(rows) < 3})
            of_die = [row for row in tables["ccu_channel"] if int(row["Channel Id"]) // 128 == die]
            averages = [float(row["Avg Bandwidth(MB/s)"]) for row in of_die]
            # Ticks of 1 GHz that 4 KiB took.
            wanted = [4096 / (ticks / 1e9) / 2**20 for task in self.truth(5, channels) for ticks in task["average"]]
            self.assertEqual(len(averages), len(wanted))
            for got, of_truth in zip(averages, wanted):
                self.assertAlmostEqual(got, of_truth, delta=0.001)
            for row in of_die:
                self.assertAlmostEqual(float(row["Max Bandwidth(MB/s)"]) / float(row["Avg Bandwidth(MB/s)"]), 2, places=4)
            self.assertEqual(max(int(row["Channel Id"]) for row in of_die), 128 * die + 125)

    def test_pending_without_a_job(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nfaults:\n  - {call: start, ret: 115, channel: 134, while: $DIR/fault}\n")
        daemon.begin_fault()
        started = daemon.begin("--collect", "l2")
        self.assertEqual(self.kind(started, "l2", "device:0")["verdict"], "pending", started)
        daemon.end_fault()
        harness.wait_until(lambda: self.kind(daemon.status(started["session"]), "l2", "device:0")["verdict"] == "started",
                           "the start that finds a job")
        daemon.end(started["session"])

    def test_what_works_by_now_has_no_reason_of_before(self):
        """Two kinds of one channel."""
        daemon = self.profd(sim="devices: 1\nchip: 910B\nfaults:\n  - {call: start, ret: 115, channel: 53, while: $DIR/fault}\n")
        daemon.begin_fault()
        started = daemon.begin("--collect", "aicore-task,aivector-task")
        for kind in ("aicore-task", "aivector-task"):
            self.assertEqual(self.kind(started, kind, "device:0")["verdict"], "pending", started)
        daemon.end_fault()
        for kind in ("aicore-task", "aivector-task"):
            now = harness.wait_until(lambda: (lambda of: of["verdict"] == "started" and of)(  # pylint: disable=undefined-loop-variable
                self.kind(daemon.status(started["session"]), kind, "device:0")), "the start that finds a job")
            self.assertEqual(now["reason"], "", now)
        daemon.end(started["session"])


class Instructions(harness.ProfdTest):
    """A channel per core, and how often it tells is said in clocks of the core."""
    GROUPS = [f"instr.group_{group}_{core}" for group in range(25) for core in ("aic", "aiv0", "aiv1")]
    GROUPS_950 = [f"instr.biu_perf_group{group}_{core}" for group in range(6) for core in ("aic", "aiv0", "aiv1")]

    def recorded(self, daemon, *arguments):
        started = daemon.begin(*arguments)
        daemon.let_run(started, 1)
        return started, daemon.end(started["session"])

    def files(self, session, device):
        """By name without device and slice: the bytes."""
        files = {}
        for path in sorted(glob.glob(os.path.join(session["directory"], f"device_{device}", "data", "*.slice_?"))):
            name = os.path.basename(path).rsplit(".", 2)[0]
            files[name] = files.get(name, b"") + pathlib.Path(path).read_bytes()
        return files

    def test_every_core_has_its_file(self):
        # 93 channels: a disk that stands still for a moment takes many chunks, and nothing may get lost here.
        daemon = self.profd(sim="devices:\n  - {chip: 910B}\n  - {chip: 950}\n", config="store:\n  device_chunks: 1280\n")
        started, session = self.recorded(daemon, "--collect", "instr", "--devices", "all")
        hz = [self.kind(started, "instr", f"device:{device}")["effective_hz"] for device in (0, 1)]
        self.assertEqual(hz, [1800e6 / 1000, 800e6 / 16])
        stops = {(line["device"], line["channel"]): line for line in daemon.truth_lines() if line.get("event") == "stop"}
        channels = [*range(11, 43), *range(55, 85), *range(86, 99)]
        self.assertEqual(sorted(stops), [(0, channel) for channel in channels] + [(1, channel) for channel in channels[:18]])
        for device, names in ((0, self.GROUPS), (1, self.GROUPS_950)):
            files = self.files(session, device)
            self.assertEqual(sorted(files), sorted(names))
            for channel, name in zip(channels, names):
                stop = stops[device, channel]
                self.assertGreater(stop["generated_bytes"], 0)
                self.assertEqual(zlib.crc32(files[name]), stop["crc32"], name)
            self.assertEqual(self.kind(session, "instr", f"device:{device}")["lost"], 0)
        sample = json.loads(pathlib.Path(session["directory"], "device_0", "sample.json").read_bytes())
        self.assertEqual((sample["instrProfiling"], sample["instrProfilingFreq"]), ("on", 1000))
        self.assertEqual(daemon.ctl("verify", session["directory"]).code, OK)

    def counters(self, daemon, session):
        """What the timeline has of each counter, in time."""
        with tempfile.TemporaryDirectory() as out:
            result = daemon.ctl("export", session["directory"], "--format", "chrome", "--out", out, "--json")
            self.assertEqual((result.code, result.json["directories"][0]["skipped"]), (OK, []), result)
            (path,) = glob.glob(os.path.join(out, "mindstudio_profiler_output", "msprof_*.json"))
            with open(path, encoding="utf-8") as file:
                events = json.load(file)
        counters = {}
        for event in events:
            if event["ph"] == "C":
                counters.setdefault(event["name"], []).append((float(event["ts"]), event["args"]))
        return counters

    def test_how_busy_the_pipes_were(self):
        daemon = self.profd(sim="devices:\n  - {chip: 910B}\n")
        _, session = self.recorded(daemon, "--collect", "instr:cycles:2000")
        counters, files = self.counters(daemon, session), self.files(session, 0)
        for name, track, size in (("instr.group_0_aic", "Group0-aic", 96), ("instr.group_24_aiv1", "Group24-aiv1", 64)):
            data = files[name]
            records = [data[at:at + size] for at in range(0, len(data), size)]
            for place, pipe in enumerate(("Vector", "Scalar", "Cube", "Mte1", "Mte2", "Mte3")):
                if pipe == ("Vector" if size == 96 else "Cube"):
                    self.assertNotIn(f"{track} {pipe}", counters)
                    continue
                # An AI core's record has eight bytes of what its bus did in front of each eight of these.
                counts = []
                for record in records:
                    cycles = b"".join(record[at:at + 8] for at in (40, 56, 72, 88)) if size == 96 else record[32:]
                    three = cycles[place // 2 * 3:place // 2 * 3 + 3]
                    counts.append(int.from_bytes(three, "little") >> (place % 2 * 12) & 0xFFF)
                wanted = [(after - before) % 4096 / 2000 * 100 for before, after in zip(counts, counts[1:])]
                got = [args["Busy(%)"] for _, args in counters[f"{track} {pipe}"]]
                self.assertGreater(len(got), 50)
                self.assertEqual(len(got), len(wanted))
                for one, other in zip(got, wanted):
                    self.assertAlmostEqual(one, other, 6)
        self.assertEqual(len(counters["biu_group7 Latency"]), len(files["instr.group_7_aic"]) // 96)

    def test_what_the_pipes_of_a_950_did(self):
        daemon = self.profd(sim="devices:\n  - {chip: 950}\n")
        _, session = self.recorded(daemon, "--collect", "instr")
        counters, data = self.counters(daemon, session), self.files(session, 0)["instr.biu_perf_group5_aiv1"]
        states, pipes, changes = 0, ("SU", "VEC", "CUBE", "MTE1", "MTE2", "MTE3", "FIXP"), {}
        for _, control in struct.iter_unpack("<HH", data):
            if control >> 12 != 15:
                continue
            for place, pipe in enumerate(pipes):
                if (control ^ states) >> place & 1:
                    changes.setdefault(pipe, []).append(100 * (control >> place & 1))
            states = control & 0x7F
        for pipe in pipes:
            got = [args["Busy(%)"] for _, args in counters[f"Group5-aiv1 {pipe}"]]
            self.assertGreater(len(got), 100)
            self.assertEqual(got, changes[pipe], pipe)

    def test_clocks_between_samples(self):
        daemon = self.profd(sim="devices:\n  - {chip: 910B}\n")
        started, session = self.recorded(daemon, "--collect", "instr:cycles:3000")
        self.assertEqual(self.kind(started, "instr", "device:0")["effective_hz"], 1800e6 / 3000)
        payloads = {line["user_data"] for line in daemon.truth_lines() if line.get("event") == "start"}
        self.assertEqual(payloads, {"b80b000000000000"})
        self.assertEqual(self.kind(session, "instr", "device:0")["verdict"], "started")
        refused = daemon.ctl("start", "--collect", "instr:cycles:100")
        self.assertEqual((refused.code, len(refused.err.strip().splitlines())), (USAGE, 1), refused)
        self.assertIn("every 300 to 30000 core clocks", refused.err)

    def test_data_lost_on_the_device_is_no_failure(self):
        daemon = self.profd(sim="devices:\n  - {chip: 950}\napi_version: 0x07241a\nfaults:\n  - {name: biu_loss}\n")
        started = daemon.begin("--collect", "instr")
        daemon.let_run(started, 1)
        stopped = daemon.ctl("stop", started["session"], "--json").json
        kind = self.kind(stopped, "instr", "device:0")
        self.assertEqual(kind["verdict"], "started", kind)
        self.assertIn("lost on the device", kind["reason"])
        self.assertEqual(len(self.files(stopped, 0)), 18)


if __name__ == "__main__":
    unittest.main(verbosity=2)
