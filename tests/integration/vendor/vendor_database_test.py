#!/usr/bin/env python3
"""The database that the vendor's parser makes of a directory of profd's, against what the simulator generated: every value, and
every stamp to 0.1 ms, of the chips of which it makes one. Needs a checkout of it with its library (tests/support/vendor_tools.py)."""
import contextlib
import itertools
import json
import pathlib
import re
import sqlite3
import tempfile
import unittest

import agent_reader
import harness
import mspti_test
import vendor_tools
from chips_test import CHIPS
from vendor_tools import needs_library

MB = 1 << 20
WRAP = 2**32  # numbers of 32 bits
DELTA_NS = 100_000


def of_type(name):
    """Channel 52 brings records of several types."""
    return lambda line: line["channel"] == 52 and line["values"]["type"] == name


def of(channel):
    return lambda line: line["channel"] == channel


def by_number(values, scale):
    return {number: value * scale % WRAP for number, value in enumerate(values)}


def columns(table, stamp, *keys, key="'{}'", rest=""):
    """A query for rows of (stamp, key, value): a row for each of the columns."""
    return " UNION ALL ".join(f"SELECT {stamp}, {key.format(column)}, {column} FROM {table} {rest}" for column in keys)


# By table: the kind, which lines of the simulator's, how its rows are asked for (stamp, key, value), and the same values by key
# out of a sample, the one before and the seconds between the two. Faults of its own that docs/export.md names are in the numbers:
# throughput times 64, numbers that wrap.
SAMPLED = {
    "HBM": ("hbm", of(1), "SELECT timestampNs, lower(value) || hbmId, bandwidth FROM HBM JOIN STRING_IDS ON id = type",
            lambda of, *_: {f"{way}{unit}": mb * MB for way in ("read", "write") for unit, mb in enumerate(of[f"{way}_mb_s"])}),
    "DDR": ("ddr", of(7), columns("DDR", "timestampNs", "read", "write"),
            lambda of, *_: {"read": of["read_mb_s"] * MB, "write": of["write_mb_s"] * MB}),
    "LLC": ("llc", of(8),
            "SELECT timestampNs, llcId, throughput FROM LLC UNION ALL SELECT timestampNs, 100 + llcId, hitRate FROM LLC",
            lambda of, *_: {**{unit: mb * MB * 64 for unit, mb in enumerate(of["throughput_mb_s"])},
                           **{100 + unit: rate * 100 for unit, rate in enumerate(of["hit_rate"])}}),
    "PCIE": ("pcie", of(3), columns("PCIE", "timestampNs", "txPostMax", "rxCplMin"),
             lambda of, *_: {"txPostMax": of["tx_posted_bytes_us"][1] * 10**6 % WRAP,
                            "rxCplMin": of["rx_completion_bytes_us"][0] * 10**6 % WRAP}),
    "NIC": ("nic", of(4), columns("NIC", "timestampNs", "rxByteRate", "txPackets"),
            lambda of, *_: {"rxByteRate": of["rx_bytes_s"], "txPackets": of["tx_packets"] % WRAP}),
    "ROCE": ("roce", of(129), columns("ROCE", "timestampNs", "rxByteRate", "txPackets"),
             lambda of, *_: {"rxByteRate": of["rx_bytes_s"], "txPackets": of["tx_packets"] % WRAP}),
    "HCCS": ("hccs", of(9), columns("HCCS", "timestampNs", "txThroughput", "rxThroughput"),
             lambda of, before, seconds: {f"{way}Throughput": (of[f"{way}_bytes_total"] - before[f"{way}_bytes_total"]) / seconds
                                          for way in ("tx", "rx")}),
    "NPU_MEM": ("npu-mem", of(131), columns("NPU_MEM", "timestampNs", "hbm", "ddr",
                                            rest="JOIN STRING_IDS ON id = type WHERE value = 'device'"),
                lambda of, *_: {"hbm": of["hbm_bytes"], "ddr": of["ddr_bytes"]}),
    "NPU_MODULE_MEM": ("npu-module-mem", of(142), "SELECT timestampNs, moduleId, totalReserved FROM NPU_MODULE_MEM",
                       lambda of, *_: dict(zip(of["module"], of["bytes"]))),
    "QOS": ("qos", of(133),
            "SELECT timestampNs, dense_rank() OVER (ORDER BY eventName) - 1, bandwidth FROM QOS",
            lambda of, *_: by_number(of["mb_s"], MB)),
    "UB": ("ub", of(146), columns("UB", "timestampNs", "rxUdmaBind", "txUdmaBind", key="'{}' || portId"),
           lambda of, *_: {f"{way}UdmaBind{port}": mb for way in ("rx", "tx") for port, mb in enumerate(of[f"{way}_mb_s"])}),
    "ACC_PMU": ("soc-profile", of_type("acc_pmu"),
                columns("ACC_PMU", "timestampNs", "readBwLevel", "writeBwLevel", key="'{}' || accId"),
                lambda of, *_: {f"{way}BwLevel{unit}": of[f"unit_{way}_mb_s"] for way in ("read", "write") for unit in range(4)}),
    "SOC_BANDWIDTH_LEVEL": ("soc-profile", of_type("soc_info"),
                            columns("SOC_BANDWIDTH_LEVEL", "timestampNs", "l2BufferBwLevel", "mataBwLevel"),
                            lambda of, *_: {"l2BufferBwLevel": of["l2_level"], "mataBwLevel": of["mata_level"]}),
    "SIO": ("soc-profile", of_type("sio"),
            columns("SIO", "timestampNs", "rxReq", "rxRsp", "rxSnp", "rxDat", "txReq", "txRsp", "txSnp", "txDat",
                    rest="JOIN STRING_IDS ON id = name WHERE value IN ('die 0', 'D-DIE0')"),
            lambda of, _, seconds: {f"{way}{part}": of[f"die0_{way}_bytes"][number] / seconds for way in ("rx", "tx")
                                 for number, part in enumerate(("Req", "Rsp", "Snp", "Dat"))}),
}
# Tables of what the simulator tells nothing of, and the kind that fills them.
SAME_AS_OURS = {"SESSION_TIME_INFO": "host-cpu", "CPU_USAGE": "host-cpu", "HOST_MEM_USAGE": "host-mem", "HOST_DISK_USAGE": "host-disk",
                "HOST_NETWORK_USAGE": "host-network", "OSRT_API": "host-osrt", "NETDEV_STATS": "netdev",
                "SIO": "soc-profile"}
# What is another on a 950: QoS comes with its other samples of the chip, and so does the frequency.
SAMPLED_950 = {
    "QOS": ("qos", of_type("qos"), *SAMPLED["QOS"][2:]),
    "AICORE_FREQ": ("low-power", of_type("low_power"), "SELECT timestampNs, dieId, freq FROM AICORE_FREQ",
                    lambda of, *_: {0: of["aic_mhz"]}),
}
# Where a period is over the time since the one before, which there is none of: the first row has no value.
WITHOUT_FIRST = ("HBM", "DDR", "LLC")
# Which samples make a row, where not all do.
ROWS = {"SIO": slice(1, None), "HCCS": slice(1, -1)}
# Whose files its parser has no entry for on a chip (msconfig/data_parsers_config.py).
NOT_READ = {"310P": ("nic", "roce"), "310B": ("roce",), "950": ("nic", "roce", "hccs"), "910B": ("ddr",)}
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
                kinds = {kind for kind, *_ in SAMPLED.values()} - {*NOT_READ.get(chip, ())} | {"task", "low-power"}
                if chip == "950":
                    kinds.add("ccu-task")
                session = daemon.begin("--devices", device, "--collect", ",".join(sorted(kinds)))
                daemon.let_run(session, 2)
                session = daemon.end(session["session"])
                lines = [line for line in daemon.truth_lines() if line["device"] == device and line.get("values")]
                with self.database_of(session) as database:
                    self.same_samples(database, session, device, chip, lines)
                    if chip in ("910B", "310B"):
                        self.same_frequencies(database, session, device, lines)
                    self.same_tasks(database, chip, [line for line in lines if line["channel"] == LOGS[chip]])
                    if chip == "950":
                        self.same_missions(database, [line for line in lines if line["channel"] == 147])

    def test_counters_of_cores(self):
        """By period: cycles of every core, and how busy it was. By task: the cycles of each."""
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\n")
        by_period, by_task = "aicore,aivector", "task,aicore-task,aivector-task"
        for device, chip in enumerate(CHIPS):
            if chip == "310":
                continue
            with self.subTest(chip=chip):
                # By task it leaves out those of chips before STARS (UnifiedPmuProcessor).
                for kinds in (by_period, by_task) if chip in ("910B", "310B", "950") else (by_period,):
                    session = daemon.begin("--devices", device, "--collect", kinds)
                    daemon.let_run(session, 1.5)
                    session = daemon.end(session["session"])
                    lines = [line for line in daemon.truth_lines() if line["device"] == device and line.get("values")]
                    running = self.running_before(chip, [line for line in lines if line["channel"] == LOGS[chip]])
                    with self.database_of(session, running) as database:
                        if kinds == by_task:
                            self.same_cycles_of_tasks(database, chip, [line for line in lines if line["channel"] == 53])
                        else:
                            sampled = [line for line in lines if line["channel"] in (43, 54, 85)]
                            self.same_cycles(database, session, device, sampled)

    def test_what_is_in_no_story(self):
        """Of the host, of the card library, of what is made of tasks: the vendor's rows are those of our own export, which was
        written from the formats alone and is held against the host's own tools elsewhere (sysstat_test, device_ports_test)."""
        within = harness.tracefs()
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", within=within)
        job = self.workload()
        kinds = ["host-cpu", "host-mem", "host-disk", "netdev", "task", "soc-profile", *(["host-osrt"] if within else [])]
        if vendor_tools.knows_a_ports_speed():
            kinds.append("host-network")
        session = daemon.begin("--pid", job.pid, "--devices", "0", "--collect", ",".join(kinds))
        daemon.let_run(session, 2)
        session = daemon.end(session["session"])
        started = {one["kind"] for one in session["kinds"] if one["verdict"] == "started"}
        with tempfile.TemporaryDirectory() as out, self.database_of(session) as theirs:
            result = daemon.ctl("export", session["directory"], "--format", "db", "--vendor-compatible", "--out", out)
            self.assertEqual(result.code, harness.OK, result)
            (path,) = pathlib.Path(out).glob("**/msprof_*.db")
            with contextlib.closing(sqlite3.connect(path)) as ours:
                for table, kind in SAME_AS_OURS.items():
                    if kind in started:
                        with self.subTest(table=table):
                            self.same_rows(table, theirs, ours)
            # Of a log alone it knows no operator, and calls all of the time free; ours says nothing then.
            whole = theirs.execute("SELECT min(startNs), max(endNs), 3 FROM TASK").fetchall()
            self.assertEqual(theirs.execute("SELECT startNs, endNs, type FROM OVERLAP_ANALYSIS").fetchall(), whole)

    def same_rows(self, table, theirs, ours):
        columns = [row[1] for row in theirs.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
        stamps = [column for column in columns if column.endswith("Ns")]

        def rows(database):
            texts = dict(database.execute("SELECT id, value FROM STRING_IDS"))
            found = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            return sorted([texts[value] if column == "name" else value for column, value in zip(columns, row)] for row in found)

        their_rows, our_rows = rows(theirs), rows(ours)
        self.assertGreater(len(their_rows), 0)
        if table == "OSRT_API":  # it passes over calls that its list has no name of
            name = columns.index("name")
            known = {row[name] for row in their_rows}
            our_rows = [row for row in our_rows if row[name] in known]
        self.assertEqual(len(their_rows), len(our_rows), table)
        for their, our in zip(their_rows, our_rows):
            for column, one, other in zip(columns, their, our):
                if isinstance(other, str):
                    self.assertEqual(one, other)
                    continue
                delta = 2000 if column in stamps else max(abs(other) * 1e-6, 1e-3)
                self.assertAlmostEqual(one, other, delta=delta, msg=f"{table}.{column} of {their}, {our}")

    def same_cycles(self, database, session, device, lines):
        with open(pathlib.Path(session["directory"]) / f"device_{device}" / f"info.json.{device}", encoding="utf-8") as file:
            mhz = float(json.load(file)["DeviceInfo"][0]["aic_frequency"])
        made = {}
        for line in lines:
            for core, cycles in zip(line["values"]["core"], line["values"]["cycles"]):
                made.setdefault(core, []).append((line["host_raw_ns"] + self.to_wall, cycles))
        shown = {}
        for stamp, core, cycles, usage in database.execute(
                "SELECT timestampNs, coreId, totalCycle, usage FROM SAMPLE_PMU_TIMELINE ORDER BY timestampNs"):
            shown.setdefault(core, []).append((stamp, cycles, usage))
        self.assertEqual(set(shown), set(made))
        for core, rows in shown.items():
            self.assertEqual([cycles for _, cycles, _ in rows], [cycles for _, cycles in made[core]])
            for (stamp, *_), (at, _) in zip(rows, made[core]):
                self.assertAlmostEqual(stamp, at, delta=DELTA_NS)
            for (stamp, cycles, usage), (before, *_) in zip(rows[1:], rows):
                percent = cycles / mhz / (stamp - before) * 1e5
                self.assertAlmostEqual(usage, percent, delta=0.01 + percent / 1000)

    def same_cycles_of_tasks(self, database, chip, lines):
        made = {(line["values"]["stream"], line["values"]["task"]): line["values"]["cycles"] for line in lines}
        shown = {}
        for stream, task, cycles in database.execute(
                "SELECT streamId, taskId, sum(p.value) FROM TASK_PMU_INFO p JOIN STRING_IDS n ON n.id = p.name JOIN TASK "
                "USING (globalTaskId) WHERE n.value LIKE '%total_cycles' GROUP BY globalTaskId"):
            shown[(task & 0xFFFF, task >> 16) if chip == "950" else (stream, task)] = cycles
        self.assertGreater(len(shown), 50)
        self.assertLessEqual(shown.items(), made.items())

    def test_beside_agents(self):
        """A program that reports its kernels to its agent, and what is sampled meanwhile."""
        npus = "devices: 1\nchip: 910B\nscenario: {step_ms: 20}\n"
        daemon = self.profd(sim=npus)
        cann = mspti_test.Cann(self, daemon, node=npus)
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--devices", "0", "--collect",
                               "agent-kernel,agent-comm,agent-api,agent-range,hbm,llc,npu-mem,host-cpu,host-mem")
        self.assertEqual(cann.order("open 0"), "done")
        daemon.let_run(session, 1.5)
        self.assertEqual(cann.order("close 0"), "done")
        session = daemon.end(session["session"])
        self.assertGreater(cann.delivered()["kernel"], 100)
        with self.database_of(session) as database:
            self.same_samples(database, session, 0, "910B", [line for line in daemon.truth_lines() if line.get("values")])

    @staticmethod
    def running_before(chip, lines):
        """Numbers of tasks that the log has the end of alone. It calls their counters an error (pmu_association.cpp), of any
        collector that begins beside a running job."""
        begun, ended = ({(line["values"]["stream"], line["values"]["task"]) for line in lines if line["values"]["end"] == end}
                        for end in (False, True))
        return {task << 16 | stream if chip == "950" else task for stream, task in ended - begun}

    @contextlib.contextmanager
    def database_of(self, session, running=frozenset()):
        directory = pathlib.Path(session["directory"])
        run = vendor_tools.parse(directory, "export", "db")
        counted = re.compile(r"contextPmu has no matched log taskId is (\d+),")
        errors = [line for line in run.errors if not ((of := counted.search(line)) and int(of[1]) in running)]
        self.assertEqual((run.code, errors), (0, []), run)
        with open(directory / "host" / "start_info", encoding="utf-8") as file:
            info = json.load(file)
        self.begin_ns = int(info["collectionTimeBegin"]) * 1000
        self.to_wall = self.begin_ns - int(info["clockMonotonicRaw"])
        (path,) = directory.glob("msprof_*.db")
        with contextlib.closing(sqlite3.connect(path)) as database:
            yield database

    def same_samples(self, database, session, device, chip, lines):
        started = {one["kind"] for one in session["kinds"]
                   if one["unit"] == f"device:{device}" and one["verdict"] == "started"}
        unsure = {stream["file"].split(".")[0]: stream.get("shift_error_ns", 0)
                  for stream in agent_reader.manifest(session["directory"])["streams"] if stream["folder"] == f"device_{device}"}
        for table, (kind, ours, query, values) in {**SAMPLED, **(SAMPLED_950 if chip == "950" else {})}.items():
            made = [line for line in lines if ours(line)]
            if kind in started and (made or kind != "soc-profile"):  # of which a chip has some
                # What counts from its channel's start is as far off as nobody knows when that was, during the driver's call.
                delta = DELTA_NS + unsure.get(kind.replace("-", "_"), 0)
                self.same_values(database, table, query, made, values, delta)

    def same_values(self, database, table, query, lines, values, delta):
        found = {}
        for stamp, key, value in sorted(database.execute(query).fetchall()):
            found.setdefault(str(key), []).append((stamp, value))
        self.assertGreater(len(lines), 5, table)
        wanted = [(lines[0]["host_raw_ns"], {})]
        for before, line in itertools.pairwise(lines):
            seconds = (line["host_raw_ns"] - before["host_raw_ns"]) / 1e9
            by_key = values(line["values"], before["values"], seconds)
            wanted.append((line["host_raw_ns"], {str(key): value for key, value in by_key.items()}))
        self.assertEqual(set(found), set(wanted[-1][1]), table)
        if table not in (*WITHOUT_FIRST, *ROWS):
            wanted[0] = wanted[0][0], {str(key): value for key, value in values(lines[0]["values"], {}, 1).items()}
        wanted = wanted[ROWS.get(table, slice(None))]
        for key, rows in found.items():
            self.assertEqual(len(rows), len(wanted), f"{table} {key}")
            for row, ((stamp, got), (raw_ns, by_key)) in enumerate(zip(rows, wanted)):
                self.assertAlmostEqual(stamp, raw_ns + self.to_wall, delta=delta, msg=f"{table} {key}")
                if key in by_key:
                    self.assertAlmostEqual(got, by_key[key], delta=max(abs(by_key[key]) * 1e-3, 1), msg=f"{table} {key} {row}")

    def same_frequencies(self, database, session, device, lines):
        """Every change; what stands at the begin and the end of the device's recording is the frequency before them."""
        begin_ns, end_ns = (self.moment(session, device, which) for which in ("start_info", "end_info"))
        clock = [(line["stamp"], line["host_raw_ns"]) for line in lines if line["channel"] == 52]
        (ticks, raw_ns), (later_ticks, later_ns) = clock[0], clock[-1]
        changes = {}
        for line in lines:
            if line["channel"] == 132:
                for at, mhz in zip(line["values"]["ticks"], line["values"]["mhz"]):
                    changes[raw_ns + (at - ticks) * (later_ns - raw_ns) / (later_ticks - ticks) + self.to_wall] = mhz
        changes = {at: mhz for at, mhz in changes.items() if begin_ns < at < end_ns}
        rows = database.execute("SELECT DISTINCT timestampNs, freq FROM AICORE_FREQ WHERE timestampNs > ? AND timestampNs < ? "
                                "ORDER BY timestampNs", (begin_ns, end_ns)).fetchall()
        self.assertGreater(len(rows), 3)
        self.assertEqual([mhz for _, mhz in rows], list(changes.values()))
        for (stamp, _), at in zip(rows, changes):
            self.assertAlmostEqual(stamp, at, delta=DELTA_NS)

    @staticmethod
    def moment(session, device, which):
        path = pathlib.Path(session["directory"]) / f"device_{device}" / f"{which}.{device}"
        info = json.loads(path.read_text(encoding="utf-8"))
        return int(info["collectionTimeBegin"] or info["collectionTimeEnd"]) * 1000

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
