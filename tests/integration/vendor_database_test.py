#!/usr/bin/env python3
"""The database that the vendor's parser makes of a directory of profd's, against what the simulator generated: every value, and
every stamp to 0.1 ms, of the chips of which it makes one. Needs a checkout of it with its library (tests/support/vendor_tools.py)."""
import contextlib
import json
import pathlib
import sqlite3
import unittest

import harness
import mspti_test
import vendor_tools
from chips_test import CHIPS
from vendor_tools import needs_library

MB = 1 << 20
DELTA_NS = 100_000
# By table: the channel, how its rows are asked for (stamp, key, value), and the same values by key out of a sample of the
# simulator's. Faults of its own that docs/export.md names are in the numbers: throughput times 64, numbers of 32 bits.
SAMPLED = {
    "HBM": ("hbm", 1, "SELECT timestampNs, lower(value) || hbmId, bandwidth FROM HBM JOIN STRING_IDS ON id = type",
            lambda of: {f"{way}{unit}": mb * MB for way in ("read", "write") for unit, mb in enumerate(of[f"{way}_mb_s"])}),
    "DDR": ("ddr", 7, "SELECT timestampNs, 'read', read FROM DDR UNION ALL SELECT timestampNs, 'write', write FROM DDR",
            lambda of: {"read": of["read_mb_s"] * MB, "write": of["write_mb_s"] * MB}),
    "LLC": ("llc", 8, "SELECT timestampNs, llcId, throughput FROM LLC UNION ALL SELECT timestampNs, 100 + llcId, hitRate FROM LLC",
            lambda of: {**{unit: mb * MB * 64 for unit, mb in enumerate(of["throughput_mb_s"])},
                        **{100 + unit: rate * 100 for unit, rate in enumerate(of["hit_rate"])}}),
    "PCIE": ("pcie", 3, "SELECT timestampNs, 'tx', txPostMax FROM PCIE UNION ALL SELECT timestampNs, 'rx', rxCplMin FROM PCIE",
             lambda of: {"tx": of["tx_posted_bytes_us"][1] * 10**6 % 2**32, "rx": of["rx_completion_bytes_us"][0] * 10**6 % 2**32}),
    "NIC": ("nic", 4, "SELECT timestampNs, 'rx', rxByteRate FROM NIC UNION ALL SELECT timestampNs, 'tx', txPackets FROM NIC",
            lambda of: {"rx": of["rx_bytes_s"], "tx": of["tx_packets"] & 0xFFFFFFFF}),
    "ROCE": ("roce", 129, "SELECT timestampNs, 'rx', rxByteRate FROM ROCE UNION ALL SELECT timestampNs, 'tx', txPackets FROM ROCE",
             lambda of: {"rx": of["rx_bytes_s"], "tx": of["tx_packets"] & 0xFFFFFFFF}),
    "NPU_MEM": ("npu-mem", 131, "SELECT timestampNs, 'hbm', hbm FROM NPU_MEM JOIN STRING_IDS ON id = type WHERE value = 'device' "
                "UNION ALL SELECT timestampNs, 'ddr', ddr FROM NPU_MEM JOIN STRING_IDS ON id = type WHERE value = 'device'",
                lambda of: {"hbm": of["hbm_bytes"], "ddr": of["ddr_bytes"]}),
    "NPU_MODULE_MEM": ("npu-module-mem", 142, "SELECT timestampNs, moduleId, totalReserved FROM NPU_MODULE_MEM",
                       lambda of: dict(zip(of["module"], of["bytes"]))),
}
# Where a period is over the time since the one before, which there is none of.
WITHOUT_FIRST = ("HBM", "DDR", "LLC")
# Whose files its parser has no entry for on a chip (msconfig/data_parsers_config.py).
NOT_READ = {"310P": ("nic", "roce"), "310B": ("roce",), "950": ("nic", "roce"), "910B": ("ddr",)}
LOGS = {"910": 45, "310P": 45, "910B": 50, "310B": 50, "950": 50}


@needs_library
class VendorDatabase(harness.ProfdTest):
    def test_every_chip(self):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\n")
        for device, chip in enumerate(CHIPS):
            if chip == "310":  # of which it makes no database (ExportDBScene)
                continue
            with self.subTest(chip=chip):
                kinds = [kind for kind, *_ in SAMPLED.values() if kind not in NOT_READ.get(chip, ())]
                if chip == "950":
                    kinds.append("ccu-task")
                session = daemon.begin("--devices", device, "--collect", ",".join([*kinds, "task"]))
                daemon.let_run(session, 2)
                session = daemon.end(session["session"])
                lines = [line for line in daemon.truth_lines() if line["device"] == device and line.get("values")]
                with self.database_of(session) as database:
                    self.same_samples(database, session, device, lines)
                    self.same_tasks(database, chip, [line for line in lines if line["channel"] == LOGS[chip]])
                    if chip == "950":
                        self.same_missions(database, [line for line in lines if line["channel"] == 147])

    def test_beside_agents(self):
        """A program that reports its kernels to its agent, and what is sampled meanwhile."""
        npus = "devices: 1\nchip: 910\nscenario: {step_ms: 20}\n"
        daemon = self.profd(sim=npus)
        cann = mspti_test.Cann(self, daemon, node=npus)
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--devices", "0", "--collect",
                               "agent-kernel,agent-comm,agent-api,agent-range,hbm,ddr,llc,npu-mem,host-cpu,host-mem")
        self.assertEqual(cann.order("open 0"), "done")
        daemon.let_run(session, 1.5)
        self.assertEqual(cann.order("close 0"), "done")
        session = daemon.end(session["session"])
        self.assertGreater(cann.delivered()["kernel"], 100)
        with self.database_of(session) as database:
            self.same_samples(database, session, 0, [line for line in daemon.truth_lines() if line.get("values")])

    @contextlib.contextmanager
    def database_of(self, session):
        directory = pathlib.Path(session["directory"])
        run = vendor_tools.parse(directory, "export", "db")
        self.assertEqual((run.code, run.errors), (0, []), run)
        with open(directory / "host" / "start_info", encoding="utf-8") as file:
            info = json.load(file)
        self.begin_ns = int(info["collectionTimeBegin"]) * 1000
        self.to_wall = self.begin_ns - int(info["clockMonotonicRaw"])
        (path,) = directory.glob("msprof_*.db")
        with contextlib.closing(sqlite3.connect(path)) as database:
            yield database

    def same_samples(self, database, session, device, lines):
        for table, (kind, channel, query, values) in SAMPLED.items():
            unit = [one for one in session["kinds"] if (one["kind"], one["unit"]) == (kind, f"device:{device}")]
            if unit and unit[0]["verdict"] == "started":
                self.same_values(database, table, query, [line for line in lines if line["channel"] == channel], values)

    def same_values(self, database, table, query, lines, values):
        found = {}
        for stamp, key, value in sorted(database.execute(query).fetchall()):
            found.setdefault(key, []).append((stamp, value))
        self.assertGreater(len(lines), 5, table)
        self.assertEqual(set(map(str, found)), set(map(str, values(lines[0]["values"]))), table)
        for key, rows in found.items():
            self.assertEqual(len(rows), len(lines), f"{table} {key}")
            for row, (got, line) in enumerate(zip(rows, lines)):
                self.assertAlmostEqual(got[0], line["host_raw_ns"] + self.to_wall, delta=DELTA_NS, msg=f"{table} {key}")
                if row > 0 or table not in WITHOUT_FIRST:
                    wanted = values(line["values"])[key]
                    self.assertAlmostEqual(got[1], wanted, delta=max(abs(wanted) * 1e-3, 1), msg=f"{table} {key} {row}")

    def same_tasks(self, database, chip, lines):
        begun, logged = {}, {}
        for line in lines:
            ids = line["values"]["stream"], line["values"]["task"]
            if not line["values"]["end"]:
                begun[ids] = line["host_raw_ns"] + self.to_wall
            elif ids in begun:
                logged[ids] = begun[ids], line["host_raw_ns"] + self.to_wall
        shown = {}
        for begin, end, stream, task in database.execute("SELECT startNs, endNs, streamId, taskId FROM TASK"):
            # Of a task whose begin was not recorded the older chips' parser makes one that began with the device.
            if begin < self.begin_ns:
                continue
            # The ids of a 950 are in the task's number; it does not know its streams.
            shown[(task & 0xFFFF, task >> 16) if chip == "950" else (stream, task)] = begin, end
        self.assertGreater(len(shown), 50)
        self.assertEqual(set(shown) - set(logged), set())
        for ids, times in shown.items():
            for got, wanted in zip(times, logged[ids]):
                self.assertAlmostEqual(got, wanted, delta=DELTA_NS, msg=f"task {ids}")

    def same_missions(self, database, lines):
        """It makes one of both dies, and leaves out what began before the collection; those that wait for ranks begin with
        their task, the others are as long as it."""
        ends = {(line["values"]["task"] << 16 | line["values"]["stream"]): line for line in lines
                if line["host_raw_ns"] + self.to_wall - line["values"]["ticks"] >= self.begin_ns}
        rows = database.execute("SELECT n.value, startNs, endNs, a.value FROM CCU JOIN STRING_IDS n ON n.id = name "
                                "JOIN STRING_IDS a ON a.id = args").fetchall()
        self.assertEqual(len(rows), len(ends))
        self.assertEqual({name for name, *_ in rows}, {"Wait", "LoopGroup"})
        for name, begin, end, arguments in rows:
            line = ends[self.argument(arguments, "Task Id")]
            ends_at = line["host_raw_ns"] + self.to_wall
            begins_at = ends_at - line["values"]["ticks"]  # of 1 GHz
            self.assertAlmostEqual(begin, begins_at, delta=DELTA_NS)
            if name == "LoopGroup":
                self.assertAlmostEqual(end, ends_at, delta=DELTA_NS)
                self.assertEqual(self.argument(arguments, "Instruction ID"), line["values"]["instruction"])
            else:
                self.assertEqual(self.argument(arguments, "Notify Instruction ID"), line["values"]["instruction"] + 1)

    @staticmethod
    def argument(text, name):
        return dict(zip(*[iter(json.loads(text))] * 2))[name]  # names and values in turn


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.PARSER)
