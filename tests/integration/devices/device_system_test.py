#!/usr/bin/env python3
"""What the device's own system tells: CPUs, memory, processes and what its CPUs run. From the vendor's process on the device,
which profd starts, over its packets to the vendor's files and every format of the export."""
import csv
import glob
import json
import os
import pathlib
import sqlite3
import struct
import tempfile
import unittest

import harness
import own_folder
from harness import OK, PARTLY_STARTED, UNAVAILABLE

ALL = "dev-cpu,dev-mem,dev-pid-cpu,dev-pid-mem,ctrlcpu"
PROCESSES = {"101": "slogd", "202": "aicpu_scheduler", "303": "adprof"}


class DeviceSystemTest(harness.ProfdTest):
    def collected(self, daemon, *arguments, seconds=2.5):
        started = daemon.begin(*arguments)
        # The process on the device is there when profd has seen its channel.
        begun = harness.wait_until(lambda: (now := daemon.status(started["session"])) and
                                   all(kind["verdict"] != "pending" for kind in now["kinds"]) and now, "the process")
        daemon.let_run(started, begun["elapsed_s"] + seconds)
        return daemon.end(started["session"])

    def files(self, session, device=0):
        """Contents of the device's streams by name, slices joined."""
        found = {}
        for path in sorted(glob.glob(os.path.join(session["directory"], f"device_{device}/data/*.slice_*"))):
            if not path.endswith(".done"):
                name = os.path.basename(path).rsplit(".slice_", 1)[0]
                found[name] = found.get(name, "") + pathlib.Path(path).read_text(encoding="latin-1")
        return found

    def started_with(self, daemon):
        return [line["arguments"] for line in daemon.truth_lines() if line.get("event") == "process"]

    def ended(self, daemon):
        return sum(line.get("event") == "process_end" for line in daemon.truth_lines())

    def test_everything_in_the_vendors_files(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nseed: 3\n")
        session = self.collected(daemon, "--collect", ALL)
        kinds = {entry["kind"]: entry for entry in session["kinds"]}
        for kind in ALL.split(","):
            self.assertEqual((kinds[kind]["verdict"], kinds[kind]["lost"]), ("started", 0), kinds[kind])
            self.assertGreater(kinds[kind]["records"], 5)
        self.assertEqual((kinds["dev-cpu"]["effective_hz"], kinds["ctrlcpu"]["effective_hz"]), (10, 50))
        files = self.files(session)
        self.assertEqual(set(files), {"SystemCpuUsage.data.0", "Memory.data.0", "ai_ctrl_cpu.data.0",
                                      *(f"{pid}-{what}.data.0" for pid in PROCESSES for what in ("CpuUsage", "Memory"))})
        truth = [line["values"] for line in daemon.truth_lines() if line.get("channel") == 145 and line.get("values")]
        self.assertEqual(files["Memory.data.0"].count("TimeStamp:"), kinds["dev-mem"]["records"])
        self.assertEqual([int(line.split()[1]) for line in files["Memory.data.0"].splitlines() if line.startswith("MemFree:")],
                         [values["free_kb"] for values in truth if "free_kb" in values])
        self.assertEqual(sum(files[f"{pid}-CpuUsage.data.0"].count("ProcessName:") for pid in PROCESSES),
                         kinds["dev-pid-cpu"]["records"])
        self.assertEqual(files["ai_ctrl_cpu.data.0"].count("\n\n"), sum(values.get("cpu_samples", 0) for values in truth))
        for text in files.values():
            self.assertTrue(text.endswith("\n\n"), "whole blocks")
        # The vendor's process, told as the vendor's collector tells it; it ends with the session.
        (arguments,) = self.started_with(daemon)
        self.assertEqual(arguments, ["adprof", f"host_pid:{daemon.process.pid}", "dev_id:0", "profiling_period:-1",
                                     "cpu_profiling:on", "aiCtrlCpuProfiling:on", "ai_ctrl_cpu_profiling_events:0x8,0x11",
                                     "cpu_sampling_interval:20", "hscb:off", "sys_profiling:on", "sys_sampling_interval:100",
                                     "pid_profiling:on", "pid_sampling_interval:100"])
        (start,) = [line for line in daemon.truth_lines() if line.get("event") == "start"]
        self.assertEqual((start["channel"], start["period_ms"], start["user_data"]), (145, 40, ""))
        self.assertEqual(self.ended(daemon), 1)
        sample = json.loads(pathlib.Path(session["directory"], "device_0/sample.json").read_text(encoding="utf-8"))
        self.assertEqual((sample["sys_profiling"], sample["sys_sampling_interval"], sample["pid_profiling"],
                          sample["cpu_profiling"], sample["aiCtrlCpuProfiling"], sample["ai_ctrl_cpu_profiling_events"]),
                         ("on", 100, "on", "on", "on", "0x8,0x11"))
        manifest = own_folder.manifest(session["directory"])
        streams = {stream["file"]: stream for stream in manifest["streams"]}
        self.assertEqual((streams["202-Memory.data.0"]["kind"], streams["202-Memory.data.0"]["unit"]), ("dev-pid-mem", "device:0"))
        self.assertEqual(daemon.ctl("verify", session["directory"]).code, OK)
        self.export(daemon, session)

    def export(self, daemon, session):
        with tempfile.TemporaryDirectory(prefix="profd-system-") as out:
            done = daemon.ctl("export", session["directory"], "--format", "csv,db,chrome", "--out", out, "--json")
            self.assertEqual((done.code, done.json["directories"][0]["skipped"]), (OK, []), done)
            tables = {}
            for path in glob.glob(os.path.join(out, "mindstudio_profiler_output", "*.csv")):
                with open(path, encoding="utf-8", newline="") as file:
                    tables[os.path.basename(path).rsplit("_", 1)[0]] = list(csv.DictReader(file))
            self.assertEqual({row["Cpu Type"].lower().replace(" ", "") for row in tables["cpu_usage"]}, {"ctrlcpu", "aicpu"})
            for row in tables["cpu_usage"]:
                self.assertAlmostEqual(float(row["User(%)"]), 20, delta=1)
            self.assertEqual({row["PID"]: row["Name"] for row in tables["process_cpu_usage"]}, PROCESSES)
            busy = {row["PID"]: float(row["CPU(%)"]) for row in tables["process_cpu_usage"]}
            self.assertAlmostEqual(busy["202"], 31 / 8, delta=0.3)
            self.assertEqual({row["PID"]: row["Size(pages)"] for row in tables["process_mem"]},
                             {"101": "2100", "202": "64000", "303": "900"})
            self.assertEqual(len(tables["sys_mem"]), 1)
            self.assertEqual([row["Function"] for row in tables["ai_cpu_top_function"]], ["RunKernel"])
            self.assertEqual([row["Function"] for row in tables["ctrl_cpu_top_function"]], ["schedule"])
            (path,) = glob.glob(os.path.join(out, "msprof_*.db"))
            connection = sqlite3.connect(path)
            counted = [connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
                       for table in ("OS_CPU_USAGE", "OS_MEMORY", "PROCESS_CPU_USAGE", "PROCESS_MEMORY", "CPU_PMU_EVENTS")]
            connection.close()
            self.assertNotIn(0, counted)
            self.assertEqual(daemon.ctl("export", session["directory"], "--format", "csv", "--out", os.path.join(out, "some"),
                                        "--kinds", "dev-pid-mem").code, OK)
            names = os.listdir(os.path.join(out, "some", "mindstudio_profiler_output"))
            self.assertEqual([name.rsplit("_", 1)[0] for name in names if name.endswith(".csv")], ["process_mem"])

    def test_sessions_share_the_process(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        first = daemon.begin("--collect", "dev-cpu,dev-mem,dev-pid-cpu")
        harness.wait_until(lambda: daemon.status(first["session"])["kinds"][0]["records"] > 2, "the first blocks")
        second = daemon.begin("--collect", "dev-mem")
        refused = daemon.ctl("start", "--collect", "ctrlcpu")
        self.assertNotEqual(refused.code, OK)
        self.assertIn(first["session"], refused.err)
        harness.wait_until(lambda: daemon.status(second["session"])["kinds"][0]["records"] > 2, "blocks of the second")
        second = daemon.end(second["session"])
        self.assertEqual(self.ended(daemon), 0)
        first = daemon.end(first["session"])
        self.assertEqual((len(self.started_with(daemon)), self.ended(daemon)), (1, 1))
        self.assertEqual(set(self.files(second)), {"Memory.data.0"})
        self.assertTrue(self.files(second)["Memory.data.0"].startswith("TimeStamp:"))
        for session in (first, second):
            self.assertEqual([entry["lost"] for entry in session["kinds"]], [0] * len(session["kinds"]))
            self.assertEqual(daemon.ctl("verify", session["directory"]).code, OK)

    def test_a_long_session_goes_on_in_a_new_directory(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", config="store:\n  roll_after_s: 2\n")
        started = daemon.begin("--collect", "dev-cpu,dev-pid-cpu")
        spool = os.path.dirname(started["directory"])
        harness.wait_until(lambda: len(glob.glob(os.path.join(spool, "PROF_*", "device_0", "data", "*.slice_0"))) >= 8,
                           "files in a second directory")
        session = daemon.end(started["session"])
        self.assertEqual([entry["lost"] for entry in session["kinds"]], [0, 0])
        directories = sorted(glob.glob(os.path.join(spool, "PROF_*")))
        self.assertGreater(len(directories), 1)
        for directory in directories:
            self.assertEqual(daemon.ctl("verify", directory).code, OK)
            for text in self.files({"directory": directory}).values():
                self.assertTrue(text.startswith("TimeStamp:") and text.endswith("\n\n"), "whole blocks")
        self.assertEqual((len(self.started_with(daemon)), self.ended(daemon)), (1, 1))

    def test_what_a_kill_leaves(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        started = daemon.begin("--collect", ALL)
        harness.wait_until(lambda: len(self.files(started)) == 9, "all files")
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.ctl("verify", started["directory"]).code, OK)
        for text in self.files(started).values():
            self.assertTrue(text.endswith("\n\n"), "whole blocks")

    def test_how_devices_reach_each_other(self):
        daemon = self.profd(sim="devices: 3\nchip: 910B\n")
        shown = daemon.ctl("devices", "--all")
        self.assertEqual(shown.code, OK, shown)
        self.assertRegex(shown.out, r"\nLINKS +0 +1 +2 +PCI *\n")
        self.assertRegex(shown.out, r"\ndevice 1 +HCCS +X +HCCS +0000:c2:00\.0 *\n")
        self.assertRegex(daemon.ctl("devices").out, r"\n +1 +HCCS to 0,2 +0000:c2:00\.0 *\n")
        device = daemon.ctl("devices", "--json").json["devices"][1]
        self.assertEqual(device["links"], [{"device": 0, "kind": "HCCS"}, {"device": 2, "kind": "HCCS"}])
        self.assertEqual((device["pci_address"], device["numa_node"], device["cpus"]), ("0000:c2:00.0", None, ""))

    def test_one_system_of_two_devices_is_collected_once(self):
        daemon = self.profd(sim="devices: 4\nchip: 950\n")
        started = daemon.ctl("start", "--collect", "dev-mem,hbm", "--devices", "all", "--json")
        self.assertEqual(started.code, PARTLY_STARTED, started)
        verdicts = {entry["unit"]: entry for entry in started.json["kinds"] if entry["kind"] == "dev-mem"}
        self.assertEqual([verdicts[f"device:{device}"]["verdict"] == "skipped" for device in range(4)], [False, True, False, True])
        self.assertIn("device 0, too: it is collected there", verdicts["device:1"]["reason"])
        other = daemon.ctl("start", "--collect", "dev-cpu", "--devices", "1")
        self.assertNotEqual(other.code, OK)
        self.assertIn("run by the same system", other.err)
        harness.wait_until(lambda: all(kind["records"] for kind in daemon.status(started.json["session"])["kinds"]
                                       if kind["kind"] == "dev-mem" and kind["verdict"] != "skipped"), "blocks of both systems")
        session = daemon.end(started.json["session"])
        self.assertIn("Memory.data.2", self.files(session, 2))
        self.assertEqual(len(self.started_with(daemon)), 2)

    def test_a_node_without_the_toolkit(self):
        with tempfile.TemporaryDirectory(prefix="profd-hal-") as folder:
            alone = os.path.join(folder, "libascend_hal.so")
            os.symlink(harness.HAL, alone)
            daemon = self.profd(sim="devices: 1\nchip: 910B\n", hal=alone, config=f"driver:\n  toolkit: {folder}/none\n")
            started = daemon.ctl("start", "--collect", "hbm,dev-cpu", "--json")
            self.assertEqual(started.code, PARTLY_STARTED, started)
            verdict = self.kind(started.json, "dev-cpu", "device:0")
            self.assertEqual(verdict["verdict"], "skipped")
            self.assertIn("libtsdclient.so", verdict["reason"])
            self.assertIn("driver.toolkit", verdict["reason"])
            daemon.end(started.json["session"])
            # A toolkit elsewhere, by its setting.
            os.makedirs(os.path.join(folder, "cann", "lib64"))
            os.symlink(harness.HAL.parent / "libtsdclient.so", os.path.join(folder, "cann", "lib64", "libtsdclient.so"))
            daemon = self.profd(sim="devices: 1\nchip: 910B\n", hal=alone, config=f"driver:\n  toolkit: {folder}/cann\n")
            session = self.collected(daemon, "--collect", "dev-cpu", seconds=1.5)
            self.assertGreater(self.kind(session, "dev-cpu", "device:0")["records"], 2)

    def test_devices_without_the_process(self):
        for setting, why in (("capable: false", "has no process that samples its system"), ("ret: 31", "TsdProcessOpen says 31")):
            daemon = self.profd(sim=f"devices: 1\nchip: 910B\ndevice_process: {{{setting}}}\n")
            refused = daemon.ctl("start", "--collect", "dev-cpu,dev-pid-cpu")
            self.assertEqual(refused.code, UNAVAILABLE if "ret" in setting else refused.code, refused)
            self.assertNotEqual(refused.code, OK)
            self.assertIn(why, refused.err)
            started = daemon.begin("--collect", "hbm,dev-cpu")
            self.assertEqual(self.kind(started, "dev-cpu", "device:0")["verdict"], "failed")
            self.assertIn(why, self.kind(started, "dev-cpu", "device:0")["reason"])
            daemon.end(started["session"])

    def test_chips_that_have_it_another_way(self):
        daemon = self.profd(sim="devices:\n  - {chip: 310}\n  - {chip: 310B}\n  - {chip: 910B}\n")
        started = daemon.ctl("start", "--collect", "dev-cpu", "--devices", "all", "--json")
        for device in (0, 1):
            self.assertIn("message link", self.kind(started.json, "dev-cpu", f"device:{device}")["reason"])
        daemon.end(started.json["session"])
        old = self.profd(sim="devices: 1\nchip: 910B\napi_version: 0x072315\n")
        refused = old.ctl("start", "--collect", "dev-cpu")
        self.assertIn("too old", refused.err)

    def test_packets_of_anybody(self):
        """Recorded bytes instead of the process's: names and sizes that nobody may write."""
        def packet(name, text, size=None):
            return (struct.pack("<IIIIB3xiQq", 0x5A5A5A5A, 0x100, 1, 1200, 0, 0, len(text) if size is None else size, -1)
                    + text.ljust(1032, b"\0") + name.ljust(64, b"\0") + bytes(80))
        block = b"TimeStamp:5000000000\nIndex:1\nDataLen:9\nMemFree:1\n\n"
        with tempfile.TemporaryDirectory(prefix="profd-packets-") as folder:
            path = os.path.join(folder, "bytes")
            pathlib.Path(path).write_bytes(
                packet(b"../../../../tmp/evil", block) + packet(b"/etc/evil", block) + packet(b"Memory.data", block)
                + b"rubbish" * 100 + packet(b"Memory.data", block) * 4 + packet(b"Memory.data", b"", 1 << 40)
                + packet(b"Memory.data", block) * 4)
            daemon = self.profd(sim=f"devices: 1\nchip: 910B\nreplay: {{145: {path}}}\n")
            session = self.collected(daemon, "--collect", "dev-mem", seconds=2)
            entry = self.kind(session, "dev-mem", "device:0")
            files = self.files(session)
            self.assertEqual(files, {"Memory.data.0": block.decode() * 9}, entry)
            self.assertEqual(entry["records"], 9)
            self.assertGreaterEqual(entry["lost"], 4)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [pathlib.Path(path)])

    def test_the_vendors_options(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        started = daemon.begin("--sys-profiling=on", "--sys-sampling-freq=5", "--sys-pid-profiling=on", "--sys-cpu-profiling=on",
                               "--sys-devices=0")
        kinds = {entry["kind"]: entry for entry in started["kinds"]}
        self.assertEqual(set(kinds), {*ALL.split(","), "tscpu"})
        self.assertEqual((kinds["dev-cpu"]["effective_hz"], kinds["dev-pid-mem"]["effective_hz"]), (5, 10))
        daemon.end(started["session"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
