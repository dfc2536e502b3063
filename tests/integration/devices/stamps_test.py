#!/usr/bin/env python3
"""Kinds that count time from the start of their channel: what is on disk counts from the directory's pair of clocks, so that
every reader finds each sample when the simulator made it, to 0.1 ms (and what the driver's call that starts a channel took)."""
import contextlib
import glob
import json
import sqlite3
import tempfile
import unittest

import agent_reader
import harness
import prof_reader
import vendor_tools

CHIPS = ["910", "310P", "910B", "310B", "950"]
KINDS = "hbm,ddr,llc,npu-mem,npu-app-mem,ub"
CHANNELS = {"hbm.data": 1, "ddr.data": 7, "llc.data": 8, "npu_mem.app": 130, "npu_mem.data": 131, "ub.data": 146}
TABLES = {"HBM": "hbm.data", "DDR": "ddr.data", "LLC": "llc.data", "UB": "ub.data"}
CLOSE_NS = 100_000


class StampsTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        cls.daemon = harness.Profd(sim=f"devices:\n{devices}\nseed: 7\n")
        first = cls.daemon.begin("--collect", KINDS, "--devices", "all")["session"]
        cls.daemon.let_run(first, 1)
        joined = cls.daemon.begin("--collect", KINDS, "--devices", "all")["session"]
        cls.daemon.let_run(joined, 1)
        cls.directories = [cls.daemon.end(session)["directory"] for session in (first, joined)]
        cls.truth = cls.daemon.truth_lines()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def made(self, device, file):
        return [line["host_raw_ns"] for line in self.truth
                if line.get("values") and line["device"] == device and line["channel"] == CHANNELS[file]]

    @staticmethod
    def streams(directory):
        """{(device, file): what the manifest says}"""
        result = {}
        for stream in agent_reader.manifest(directory)["streams"]:
            file = stream["file"].rsplit(".", 1)[0]
            if file in CHANNELS:
                result[int(stream["folder"].removeprefix("device_")), file] = stream
        return result

    def close(self, stamps, made, stream, what):
        """Each of the stamps (host raw) is one at which a sample was made."""
        self.assertGreater(len(stamps), 5, what)
        most = CLOSE_NS + stream["shift_error_ns"]
        for stamp in stamps:
            self.assertLessEqual(min(abs(stamp - moment) for moment in made), most, what)

    def test_what_was_added_is_recorded(self):
        for directory in self.directories:
            streams = self.streams(directory)
            self.assertGreaterEqual(len(streams), 12)
            for place, stream in streams.items():
                self.assertGreater(stream["shift_error_ns"], 0, place)
        # A channel is started after the clocks were paired, and had run when the second session came.
        for place, stream in self.streams(self.directories[0]).items():
            self.assertGreater(stream["shift_us"], 0, place)
        for place, stream in self.streams(self.directories[1]).items():
            self.assertLess(stream["shift_us"], 0, place)

    def test_a_reader_with_the_vendors_formulas(self):
        for directory in self.directories:
            prof = prof_reader.ProfDir(directory)
            for (device, file), stream in self.streams(directory).items():
                side = prof.devices[device]
                stamps = sorted({wall - side.wall_minus_raw for wall, _ in side.samples(file)})
                self.close(stamps, self.made(device, file), stream, (CHIPS[device], file))

    def test_export(self):
        for directory in self.directories:
            side = prof_reader.ProfDir(directory).devices
            with tempfile.TemporaryDirectory() as out:
                result = self.daemon.ctl("export", directory, "--format", "db", "--out", out)
                self.assertEqual(result.code, harness.OK, result)
                self.check_tables(out, directory, side)

    def check_tables(self, out, directory, side):
        with contextlib.closing(sqlite3.connect(glob.glob(f"{out}/msprof_*.db")[0])) as db:
            for (device, file), stream in self.streams(directory).items():
                for table in (name for name, of in TABLES.items() if of == file):
                    rows = db.execute(f"select distinct timestampNs from {table} where deviceId = ?", (device,))
                    self.close([row[0] - side[device].wall_minus_raw for row in rows], self.made(device, file), stream,
                               (CHIPS[device], table))

    def check_tasks(self, out, device, side, one_number):
        """Every task whose begin and end are in the log is in the table TASK, when it was. `one_number`: its stream is in the
        task's id, and the stream's own number is what the host has told, so none."""
        moments = {}
        for line in self.truth:
            if line["device"] == device and line["channel"] == 50 and "values" in line:
                values = line["values"]
                task = (0xFFFF, values["task"] << 16 | values["stream"]) if one_number else (values["stream"], values["task"])
                moments.setdefault(task, {})[values["end"]] = line["host_raw_ns"]
        made = {task: at for task, at in moments.items() if len(at) == 2}
        with contextlib.closing(sqlite3.connect(glob.glob(f"{out}/msprof_*.db")[0])) as db:
            rows = db.execute("select streamId, taskId, startNs, endNs from TASK where deviceId = ?", (device,)).fetchall()
        found = {(stream, task): [ns - side.wall_minus_raw for ns in times] for stream, task, *times in rows}
        self.assertEqual(len(found), len(rows))
        self.assertGreater(len(made), 20)
        self.assertEqual(set(found), set(made))
        for task, (begin, end) in found.items():
            self.assertAlmostEqual(begin, made[task][0], delta=CLOSE_NS)
            self.assertAlmostEqual(end, made[task][1], delta=CLOSE_NS)

    @vendor_tools.needs_parser
    def test_the_vendors_parser(self):
        events = {"910B": {"hbm.data": "HBM 0/Read", "llc.data": "LLC 0 Read/Throughput", "npu_mem.data": "Device/HBM"},
                  "950": {"hbm.data": "HBM 0/Read", "llc.data": "LLC 0 Read/Throughput", "ub.data": "UB Port001"}}
        for chip, names in events.items():
            device = CHIPS.index(chip)
            session = self.daemon.begin("--collect", KINDS, "--devices", str(device))["session"]
            self.daemon.let_run(session, 1)
            directory = self.daemon.end(session)["directory"]
            self.__class__.truth = self.daemon.truth_lines()
            side = prof_reader.ProfDir(directory).devices[device]
            run = vendor_tools.parse(directory, "export", "timeline")
            self.assertEqual(run.code, 0, run)
            (path,) = glob.glob(f"{directory}/{vendor_tools.OUTPUT}/msprof_*.json")
            with open(path, encoding="utf-8") as file:
                timeline = json.load(file)
            for file, name in names.items():
                stamps = [round(float(event["ts"]) * 1000) - side.wall_minus_raw for event in timeline
                          if event["name"] == name]
                self.close(stamps, self.made(device, file), self.streams(directory)[device, file], (chip, name))

    @vendor_tools.needs_library
    def test_the_vendors_library(self):
        """Its database: samples of the channels, and of a log without the host's side every task."""
        for chip in ("910B", "950"):
            device = CHIPS.index(chip)
            session = self.daemon.begin("--collect", KINDS + ",task", "--devices", str(device))["session"]
            self.daemon.let_run(session, 1)
            directory = self.daemon.end(session)["directory"]
            self.__class__.truth = self.daemon.truth_lines()
            side = prof_reader.ProfDir(directory).devices
            run = vendor_tools.parse(directory, "export", "db")
            self.assertEqual((run.code, run.errors), (0, []), run)
            self.check_tables(directory, directory, side)
            self.check_tasks(directory, device, side[device], chip == "950")


if __name__ == "__main__":
    unittest.main(verbosity=2)
