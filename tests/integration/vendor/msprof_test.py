#!/usr/bin/env python3
"""The vendor's words: what its collector starts on a device for a command line, profd starts for the same, with the same
bytes; results are where they were asked for."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import harness
import own_folder
from harness import FAILED, NOT_FOUND, OK, PARTIAL_LOSS, PARTLY_STARTED, USAGE

# What the vendor's collector starts on a 910B, seen from it: channel → payload. Channel 52, which it always starts, too, is
# left out where every switch in it is off.
SOC_MEMORY, SOC_LINKS = "1 14 1 14 0 0 0 0", "0 0 0 0 1 14 1 14"
MEMORY = {1: "14 ffffffff 2 0 1", 8: "14 1", 130: "14 0 0 0", 131: "14 0 1 0", 142: "14 1 0 0",
          133: "14 3 30201 0 0 0 0", 52: SOC_MEMORY + " 0 0 0 0 0 0"}
LINKS = {3: "", 9: "", 52: SOC_LINKS + " 0 0 0 0 0 0"}
MEDIA = {channel: "" for channel in (6, 135, 136, 137, 138, 139, 140, 141)}
TASKS = {44: "14 0 0 0 0 0 1 86000001 1", 50: "1 0 0 0 0 0 1 0 0 0 0"}
CORES = {54: "3 a a ffffff 8 4170416 3020009 303000c 550054 a a ffffffff 8 a0008 b0009 d000c 550054 0"}
# With a program, counters by task and what the cores' power management does are on by themselves.
BY_TASK = "ffffff 8 4170416 3020009 303000c 550054", "ffffffff 8 a0008 b0009 d000c 550054 0"
PROGRAM = {**TASKS, 53: f"3 9 0 {BY_TASK[0]} 9 0 {BY_TASK[1]}", 132: "64 1"}
# A program that goes on once it is being recorded: its first argument is where.
WAITS = ("import os, pathlib, sys, time\n"
         "end = time.time() + 50\n"
         f"while time.time() < end and not list(pathlib.Path(sys.argv[1]).glob('PROF_*/{own_folder.MANIFEST}')): time.sleep(0.01)\n"
         "time.sleep(0.3)\n")
# … that loads CANN when the devices' tasks are being recorded and works until its kernels are on disk.
LOADS_LATE = ("import ctypes, json, os, pathlib, sys, time\n"
              "end = time.time() + 30\n"
              "def logged(device):\n"
              "    return list(pathlib.Path(sys.argv[1]).glob(f'PROF_*/device_{device}/data/stars_soc.data.{device}.slice_0'))\n"
              "while time.time() < end and not (logged(0) and logged(1)): time.sleep(0.01)\n"
              "ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libprofapi.so')\n"
              "def stored():\n"
              f"    for manifest in pathlib.Path(sys.argv[1]).glob('PROF_*/{own_folder.MANIFEST}'):\n"
              "        kinds = json.loads(manifest.read_text())['kinds']\n"
              "        if any(kind['kind'] == 'agent-kernel' and kind['records'] for kind in kinds): return True\n"
              "end = time.time() + 40\n"
              "while time.time() < end and not stored(): time.sleep(0.05)\n")


def words(user_data):
    """Payload as hex words, as the tables have them."""
    data = bytes.fromhex(user_data)
    return " ".join(f"{int.from_bytes(data[at:at + 4], 'little'):x}" for at in range(0, len(data), 4))


class MsprofTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Profd()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = pathlib.Path(folder.name, "made", "on_the_way")

    def msprof(self, *arguments, **options):
        done = subprocess.run([str(harness.RUN), "msprof", *map(str, arguments)], text=True, capture_output=True,
                              timeout=harness.PATIENCE_S, check=False,
                              **{"stdin": subprocess.DEVNULL, "env": self.daemon.environment, **options})
        return harness.Result(done.returncode, done.stdout, done.stderr)

    def went(self, result, code=OK):
        """A machine that is too busy loses samples, which the exit code says."""
        self.assertIn(result.code, (code, PARTIAL_LOSS), result)
        if code == OK:
            self.assertNotIn("was requested, but has no data", result.out + result.err)

    def started(self, device, *arguments, code=OK):
        """Channel → (period in ms, payload) of what a system collection of this command line starts."""
        before = len(self.daemon.truth_lines())
        result = self.msprof(f"--output={self.output}", "--sys-period=1", f"--sys-devices={device}", *arguments)
        self.went(result, code)
        self.directory = self.saved(result)
        lines = [line for line in self.daemon.truth_lines()[before:] if line.get("event") == "start"]
        self.assertEqual({line["device"] for line in lines}, {device})
        return {line["channel"]: (line["period_ms"], words(line["user_data"])) for line in lines}

    def saved(self, result):
        """The one directory it says the data is in."""
        self.assertIn("Profiling finished.", result.out)
        found = re.findall(r"^Process profiling data complete\. Data is saved in (.*)$", result.out, re.MULTILINE)
        self.assertEqual(len(found), 1, result)
        directory = pathlib.Path(found[0])
        self.assertTrue(directory.name.startswith("PROF_"))
        self.assertEqual(self.daemon.ctl("verify", directory).code, OK)
        return directory

    def payloads(self, started):
        return {channel: payload for channel, (_, payload) in started.items()}

    def names(self, pattern):
        return {path.name.split("_2")[0] for path in self.directory.glob(pattern)}

    def test_memory(self):
        started = self.started(1, "--sys-hardware-mem=on")
        self.assertEqual(self.payloads(started), MEMORY)
        self.assertEqual({channel: period for channel, (period, _) in started.items()},
                         {1: 20, 8: 20, 130: 20, 131: 20, 142: 20, 133: 100, 52: 0})
        self.assertEqual(self.directory.parent, self.output)
        self.assertEqual(self.output.parent.stat().st_mode & 0o777, 0o750)
        data = {path.name for path in (self.directory / "device_1" / "data").iterdir()}
        for name in ("hbm.data.1.slice_0", "llc.data.1.slice_0", "qos.data.1.slice_0", "stars_soc_profile.data.1.slice_0"):
            self.assertIn(name, data)
        self.assertTrue({"hbm", "llc_read_write", "npu_mem"} <= self.names("mindstudio_profiler_output/*.csv"))
        self.assertTrue(list(self.directory.glob("msprof_*.db")))

    def test_rates_and_modes(self):
        started = self.started(0, "--sys-hardware-mem=on", "--sys-hardware-mem-freq=100", "--llc-profiling=write", "--type=db")
        self.assertEqual(started[1], (10, "a ffffffff 2 0 1"))
        self.assertEqual(started[8], (10, "a 2"))
        self.assertEqual(started[133], (100, "a 3 30201 0 0 0 0"))
        self.assertEqual(started[52], (0, "1 14 1 a 0 0 0 0 0 0 0 0 0 0"))
        self.assertTrue(list(self.directory.glob("msprof_*.db")))
        self.assertEqual(self.names("mindstudio_profiler_output/*.csv"), set())
        sample = json.loads((self.directory / "device_0" / "sample.json").read_text())
        self.assertEqual((sample["profMode"], sample["hardware_mem"], sample["interconnection_profiling"]), ("system", "on", "off"))

    def test_links_ports_and_media(self):
        started = self.started(0, "--sys-interconnection-profiling=on", "--sys-io-profiling=on", "--sys-io-sampling-freq=1",
                               "--dvpp-profiling=on")
        self.assertEqual(self.payloads(started), {**LINKS, 4: "", 129: "", **MEDIA})
        self.assertEqual([started[channel][0] for channel in (3, 9, 4, 129, 135)], [20, 20, 1000, 1000, 20])

    def test_memory_and_links_together(self):
        started = self.started(0, "--sys-hardware-mem=on", "--sys-interconnection-profiling=on")
        self.assertEqual(self.payloads(started), {**MEMORY, **LINKS, 52: "1 14 1 14 1 14 1 14 0 0 0 0 0 0"})

    def test_cores_and_cpus(self):
        started = self.started(0, "--ai-core=on", "--aic-mode=sample-based", "--aic-metrics=PipeUtilization",
                               "--sys-cpu-profiling=on", "--sys-cpu-freq=50")
        self.assertEqual(self.payloads(started), {**CORES, 10: "14 2 8 11", 145: ""})

    def test_the_devices_own_system(self):
        started = self.started(1, "--sys-profiling=on", "--sys-pid-profiling=on", "--sys-pid-sampling-freq=5")
        self.assertEqual(started, {145: (40, "")})
        (process,) = [line for line in self.daemon.truth_lines() if line.get("event") == "process" and line["device"] == 1]
        self.assertEqual(process["arguments"][2:], ["dev_id:1", "profiling_period:-1", "sys_profiling:on", "sys_sampling_interval:100",
                                                    "pid_profiling:on", "pid_sampling_interval:200"])
        names = {path.name for path in (self.directory / "device_1" / "data").iterdir()}
        for name in ("SystemCpuUsage.data.1.slice_0", "Memory.data.1.slice_0", "202-Memory.data.1.slice_0"):
            self.assertIn(name, names)

    def test_counters_by_number(self):
        started = self.started(1, "--ai-core=on", "--aic-metrics=Custom:0x8,10", "--aic-freq=50")
        self.assertEqual(self.payloads(started), {54: "3 a 14 ffffff 2 a0008 0 0 0 a 14 ffffffff 2 a0008 0 0 0 0"})
        sample = json.loads((self.directory / "device_1" / "sample.json").read_text())
        self.assertEqual((sample["ai_core_profiling_events"], sample["ai_core_metrics"]), ("0x8,0xa", "Custom:0x8,0xa"))

    def test_events_of_the_chip(self):
        started = self.started(0, "--npu-events=HA:0x2,0x3;SMMU:0x10")
        self.assertEqual(self.payloads(started), {134: "340000 140001 2 30002 0 0 0 140002 1 10 0 0 0"})
        self.assertEqual(self.payloads(self.started(1, "--npu-events=0x2")), {134: "1c0000 140001 1 2 0 0 0"})

    def test_instruction_profiling(self):
        started = self.started(1, "--instr-profiling=on", "--instr-profiling-freq=500")
        self.assertEqual(self.payloads(started),
                         {channel: "1f4 0" for channel in (*range(11, 43), *range(55, 85), *range(86, 99))})

    def of_a_program(self, *arguments, quiet=True):
        """Channel → payload of what is started on device 0 for a program."""
        before = len(self.daemon.truth_lines())
        result = self.msprof(f"--output={self.output}", *(["--ascendcl=off"] if quiet else []), "--type=db", *arguments,
                             sys.executable, "-c", WAITS, str(self.output))
        self.went(result)
        self.directory = self.saved(result)
        return {line["channel"]: words(line["user_data"]) for line in self.daemon.truth_lines()[before:]
                if line.get("event") == "start" and line["device"] == 0}

    def test_cores_of_a_program_by_task(self):
        self.assertEqual(self.of_a_program(), PROGRAM)
        sample = json.loads((self.directory / "device_0" / "sample.json").read_text())
        self.assertEqual((sample["ai_core_profiling_mode"], sample["aiv_profiling_mode"]), ("task-based", "task-based"))
        for key, value in {"profMode": "", "prof_level": "level1", "stars_acsq_task": "on", "ts_keypoint": "on", "ts_memcpy": "on",
                           "runtimeTrace": "on", "ai_core_profiling": "on", "aiv_profiling": "on", "ai_core_lpm": "on",
                           "hwts_log": "", "app": pathlib.Path(sys.executable).name}.items():
            self.assertEqual(sample[key], value, key)
        self.assertEqual(self.of_a_program("--ai-core=off"), TASKS)
        self.assertEqual(self.of_a_program("--ai-core=on", "--aic-mode=sample-based"), {**TASKS, **CORES})

    def test_a_program_with_cann(self):
        """Everything on the device is as without."""
        with tempfile.TemporaryDirectory() as folder:
            libraries = pathlib.Path(folder, "lib64")
            libraries.mkdir()
            for name in ("libmspti.so", "libprofapi.so"):
                (libraries / name).symlink_to(harness.PLAIN_BUILD / "sim" / name)
            pathlib.Path(folder, "sim.yaml").write_text("mspti: {auto: true}\n")
            for memory in ("off", "on"):
                started = self.of_a_program(f"--environment=ASCEND_HOME_PATH={folder};PROFD_SIM_CONFIG={folder}/sim.yaml;"
                                            f"LD_PRELOAD={libraries}/libprofapi.so", f"--task-memory={memory}")
                self.assertEqual(started, PROGRAM)
                kinds = {kind["kind"]: kind for kind in own_folder.manifest(self.directory)["kinds"]}
                self.assertNotIn("made way", kinds["task"]["reason"])
                self.assertEqual(kinds["agent-kernel"]["verdict"], "started")
                for copy in ("device_0", "host"):
                    sample = json.loads((self.directory / copy / "sample.json").read_text())
                    self.assertEqual((sample["profMode"], sample["prof_level"], sample["stars_acsq_task"]), ("", "level1", "on"))

    def test_firmware_of_the_scheduler(self):
        self.assertEqual(self.of_a_program("--task-tsfw=on"), {**PROGRAM, 44: "14 0 0 0 0 0 1 87000001 1"})

    def test_blocks_of_tasks(self):
        self.assertEqual(self.of_a_program("--task-block=all"),
                         {**PROGRAM, 50: "1 0 0 0 0 0 1 1 0 0 0", 53: f"3 d 0 {BY_TASK[0]} d 0 {BY_TASK[1]}"})

    def test_instructions_of_a_program(self):
        """What is on by itself with a program gives way to what excludes it."""
        started = self.of_a_program("--instr-profiling=on", quiet=False)
        self.assertEqual(set(started), {*range(11, 43), *range(55, 85), *range(86, 99)})

    def test_hits_of_the_cache(self):
        result = self.msprof(f"--output={self.output}", "--l2=on", "--task-time=off", "--ascendcl=off", "--type=db",
                             sys.executable, "-c", WAITS, str(self.output))
        self.went(result)
        sample = json.loads((self.saved(result) / "device_0" / "sample.json").read_text())
        self.assertEqual(sample["l2CacheTaskProfilingEvents"], "0xf6,0xfb,0xfc,0xbf,0x90,0x91,0x9c,0x9d")
        self.assertTrue(list((self.saved(result) / "device_0" / "data").glob("socpmu.data.0.slice_0")))

    def test_beginnings_of_names_and_values_apart(self):
        started = self.started(0, "--dvpp-p", "on", "--sys-hardware-mem", "off")
        self.assertEqual(self.payloads(started), MEDIA)

    def test_a_device_that_is_not_there(self):
        result = self.msprof(f"--output={self.output}", "--sys-period=1", "--sys-devices=0,9", "--dvpp-profiling=on")
        self.went(result)
        self.assertIn("left out: 9", result.err)
        self.assertEqual([path.name for path in self.saved(result).glob("device_*")], ["device_0"])
        result = self.msprof(f"--output={self.output}", "--sys-period=1", "--sys-devices=9", "--dvpp-profiling=on")
        self.assertEqual(result.code, NOT_FOUND, result)

    def test_what_cannot_be_had_is_said(self):
        started = self.started(0, "--host-sys=cpu,numa", f"--host-sys-pid={os.getpid()}", "--dvpp-profiling=on",
                               code=PARTLY_STARTED)
        self.assertEqual(self.payloads(started), MEDIA)

    def test_of_a_running_process(self):
        job = self.workload()
        result = self.msprof(f"--output={self.output}", "--sys-period=1", "--host-sys=cpu,mem,disk,network",
                             f"--host-sys-pid={job.pid}")
        self.went(result)
        self.directory = self.saved(result)
        names = {path.name for path in (self.directory / "host" / "data").iterdir()}
        for name in ("host_cpu.data.slice_0", "host_mem.data.slice_0", "host_network.data.slice_0"):
            self.assertIn(name, names)

    def test_of_the_host(self):
        result = self.msprof(f"--output={self.output}", "--sys-period=1", "--host-sys-usage=cpu,mem", "--host-sys-usage-freq=10",
                             f"--host-sys-pid={os.getpid()}")
        self.went(result)
        self.directory = self.saved(result)
        self.assertTrue(list(self.directory.glob(f"host/data/{os.getpid()}-CpuUsage.data.slice_0")))

    def test_a_program(self):
        """With its arguments, environment and exit status; system data beside it."""
        before = len(self.daemon.truth_lines())
        script = WAITS + "print(os.environ['K'], sys.argv[2:]); sys.exit(int(os.environ['K2']))"
        result = self.msprof(f"--output={self.output}", "--environment=K=V;K2=3", "--sys-hardware-mem=on", "--host-sys=cpu",
                             sys.executable, "-c", script, self.output, "--json", "x")
        self.assertEqual(result.code, 3, result)
        self.assertIn("V ['--json', 'x']", result.out)
        self.directory = self.saved(result)
        self.assertTrue((self.directory / "host/data/host_cpu.data.slice_0").exists())
        self.assertTrue((self.directory / "device_0/data/hbm.data.0.slice_0").exists())
        payloads = {(line["device"], line["channel"]): words(line["user_data"]) for line in self.daemon.truth_lines()[before:]
                    if line.get("event") == "start"}
        self.assertEqual({channel: payloads[0, channel] for channel in MEMORY}, MEMORY)
        self.assertEqual({channel: payloads[1, channel] for channel in TASKS}, TASKS)

    def test_a_result_in_a_folder_that_is_numbered(self):
        """As of profctl start."""
        for number in (1, 2):
            self.went(self.msprof(f"--output={self.output}/run-%n", "--sys-period=1", "--sys-devices=0", "--sys-hardware-mem=on", "--type=db"))
            self.assertTrue(list((self.output / f"run-{number}").glob("PROF_*")))
        self.went(self.msprof(f"--output={self.output}/run-%n", "--host-sys=cpu", "--type=db", sys.executable, "-c", WAITS,
                              f"{self.output}/run-3"))
        self.assertTrue(list((self.output / "run-3").glob("PROF_*")))
        self.assertEqual(list(self.output.glob("*%*")), [])

    def test_no_table_of_tasks_where_they_are_off(self):
        """Counters by task, on by themselves, tell of tasks, too. Where the program is known to have launched none, they are
        other programs'."""
        script = WAITS + "time.sleep(0.5)\n"
        for option, made in (("--task-time=off", False), ("--task-time=on", True)):
            output = self.output / option.strip("-")
            result = self.msprof(f"--output={output}", option, sys.executable, "-c", script, output)
            self.went(result, 8 if made else OK)  # the program has no CANN to tell of its kernels
            tables = {path.name.rsplit("_", 1)[0] for path in self.saved(result).glob("mindstudio_profiler_output/*.csv")}
            self.assertEqual(("task_time" in tables, "op_summary" in tables), (made, not made), tables)

    def test_an_application_with_quotes(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "app.py")
            program.write_text(f"#!{sys.executable}\n{WAITS}print(sys.argv[2:])\n")
            program.chmod(0o755)
            result = self.msprof(f'--application={program} {folder} p1 "p 2"', "--host-sys=cpu,mem")
            self.went(result)
            self.assertIn("['p1', 'p 2']", result.out)
            self.assertEqual(self.saved(result).parent, pathlib.Path(folder), "beside the application")

    def test_marks_of_a_program(self):
        """The agent is in it: what the program says is on disk, and the export has it."""
        script = WAITS + ("import profd\nend = time.time() + 0.5\nwhile time.time() < end:\n"
                          "    with profd.range('a range of mine'): time.sleep(0.01)\n")
        result = self.msprof(f"--output={self.output}", "--msproftx=on", sys.executable, "-c", script, self.output)
        self.went(result)
        directory = self.saved(result)
        self.assertTrue(list(own_folder.own_folder(directory).glob("agent_*.lanes.slice_0")))
        timeline, = directory.glob("mindstudio_profiler_output/msprof_*.json")
        self.assertIn("a range of mine", timeline.read_text())

    def test_a_program_of_half_a_second_that_says_nothing(self):
        """Nobody waits for it to be a second old, as with what a shell starts: then none of them would be recorded. A busy machine
        may make one too late."""
        def recorded():
            result = self.msprof(f"--output={self.output}", "--host-sys=cpu", "sleep", "0.7")
            return None if result.code == FAILED and "ended before" in result.err else result

        result = harness.wait_until(recorded, "one that is recorded")
        self.went(result)
        self.assertTrue((self.saved(result) / "host/data/host_cpu.data.slice_0").exists())

    def test_what_of_the_options_is_not_recorded_is_said(self):
        result = self.msprof(f"--output={self.output}", "--task-memory=on", sys.executable, "-c", WAITS, str(self.output))
        self.went(result, PARTLY_STARTED)
        self.assertRegex(result.err, "--ascendcl.*--task-memory: .*CANN is not loaded yet")

    def agent_kinds(self, directory):
        manifest = own_folder.manifest(directory)
        return {kind["kind"]: kind for kind in manifest["kinds"] if kind["unit"].startswith("pid:")}

    def cann(self):
        """A toolkit of its own, whose devices work from the moment it is loaded: the environment of a program that does so."""
        home = pathlib.Path(tempfile.mkdtemp(prefix="cann-", dir=self.daemon.directory))
        (home / "lib64").mkdir()
        for name in ("libmspti.so", "libprofapi.so"):
            (home / "lib64" / name).symlink_to(harness.PLAIN_BUILD / "sim" / name)
        (home / "sim.yaml").write_text("devices: 2\nchip: 910B\nscenario: {step_ms: 20}\nmspti: {auto: true, disable_ms: 0}\n")
        program = home / "train.py"
        # Goes on until its kernels are on disk.
        program.write_text(LOADS_LATE)
        return dict(self.daemon.environment, ASCEND_HOME_PATH=str(home), PROFD_SIM_CONFIG=str(home / "sim.yaml")), program

    def test_a_program_that_loads_cann_late(self):
        """As every Python job does. As it is, behind a shell that becomes it, and behind one that waits for it."""
        environment, program = self.cann()
        became, waits, run = (program.parent / name for name in ("became.sh", "waits.sh", "run.sh"))
        became.write_text(f'exec {sys.executable} {program} "$@"\n')
        waits.write_text(f'{sys.executable} {program} "$@"\ntrue\n')
        run.write_text(f'exec {harness.RUN} run -- bash {became} "$@"\n')
        for command in ([sys.executable, program], ["bash", became], ["bash", run], ["bash", waits]):
            with self.subTest(command=command):
                output = self.output / pathlib.Path(command[1]).stem
                runtime = command[1] == waits
                result = self.msprof(f"--output={output}", *(["--runtime-api=on"] if runtime else []), *command, output, env=environment)
                self.went(result)
                self.assertNotIn("nothing could be started", result.err)
                # A child of the shell comes when it loads CANN: nobody knows what it reported before. So may others, if they are slow.
                self.assertRegex(result.err, "--ascendcl.*: CANN was loaded " +
                                 ("before: what it did before the recording" if command[1] == waits else
                                  r"(up to \d+ ms before: what it did in that time|before: what it did before the recording)") +
                                 " is missing")
                directory = self.saved(result)
                [calls] = directory.glob("mindstudio_profiler_output/api_statistic_*.csv")
                with calls.open(encoding="utf-8", newline="") as file:
                    self.assertEqual({row["Level"] for row in csv.DictReader(file)},
                                     {"acl", "node", "model", "communication"} | ({"runtime"} if runtime else set()))
                kinds = self.agent_kinds(directory)
                for kind in ("agent-kernel", "agent-api"):
                    self.assertEqual(kinds[kind]["verdict"], "started", kinds)
                    self.assertGreater(kinds[kind]["records"], 0, kinds)
                self.assertEqual(own_folder.manifest(directory)["degraded"], [])
                # The name of what it became, not of the shell before.
                if command[1] != waits:
                    query = self.daemon.ctl("query", directory).out
                    self.assertRegex(query, r"process \d+ python3")
                # The task log goes on.
                tasks = [kind for kind in own_folder.manifest(directory)["kinds"]
                         if kind["kind"] == "task"]
                self.assertEqual([(kind["verdict"], kind["reason"]) for kind in tasks], [("started", "")] * 2, tasks)

    def test_memory_of_a_program(self):
        """The graph engine reports it; the task log goes on."""
        environment, program = self.cann()
        result = self.msprof(f"--output={self.output}", "--task-memory=on", sys.executable, program, self.output, env=environment)
        self.went(result)
        directory = self.saved(result)
        memory = self.agent_kinds(directory)["agent-memory"]
        tasks = [kind for kind in own_folder.manifest(directory)["kinds"] if kind["kind"] == "task"]
        self.assertEqual([kind["verdict"] for kind in tasks], ["started"] * 2, tasks)
        for kind in tasks:
            self.assertNotIn("made way", kind["reason"])
        self.assertEqual(memory["verdict"], "started", memory)
        self.assertGreater(memory["records"], 0)

    def test_a_program_that_never_loads_cann(self):
        result = self.msprof(f"--output={self.output}", "--host-sys=cpu", sys.executable, "-c", WAITS, str(self.output))
        self.went(result)
        directory = self.saved(result)
        self.assertTrue((directory / "host/data/host_cpu.data.slice_0").exists())
        self.assertIn("CANN is not loaded yet", result.err)
        kinds = self.agent_kinds(directory)
        self.assertEqual(kinds["agent-kernel"]["verdict"], "skipped", kinds)
        tasks = [kind for kind in own_folder.manifest(directory)["kinds"] if kind["kind"] == "task"]
        self.assertEqual([(kind["verdict"], kind["reason"]) for kind in tasks], [("started", "")] * 2)

    def test_a_refused_line_runs_no_program(self):
        for refused in ("--sys-lp=on", "--llc-profiling=capacity", "--sys-hardware-mem-freq=1001", "--sys-devices=7",
                        "--aic-metrics=PipelineExecuteUtilization"):
            with self.subTest(refused=refused):
                result = self.msprof(f"--output={self.output}", refused, "sh", "-c", "echo RAN")
                self.assertIn(result.code, (USAGE, NOT_FOUND), result)
                self.assertNotIn("RAN", result.out)
                self.assertFalse(self.output.exists())

    def test_off_is_always_right(self):
        result = self.msprof(f"--output={self.output}", "--sys-lp=off", "--host-sys=cpu", sys.executable, "-c", WAITS, str(self.output))
        self.went(result)

    def interrupted(self, send, *arguments):
        profctl = subprocess.Popen([str(harness.RUN), "msprof", f"--output={self.output}", *arguments],
                                   env=self.daemon.environment, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(profctl.kill)
        harness.wait_until(lambda: any(path.stat().st_size for path in self.output.glob("PROF_*/host/data/host_cpu.data.slice_0")),
                           "samples")
        send(profctl)
        out, err = profctl.communicate(timeout=harness.PATIENCE_S)
        return harness.Result(profctl.returncode, out, err)

    def test_an_interrupt_ends_the_recording_and_its_results_are_made(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                # A terminal's reaches both, and the program dies of it.
                result = self.interrupted(lambda profctl, sent=number: os.killpg(profctl.pid, sent), "--host-sys=cpu", "sleep", "60")
                self.assertEqual(result.code, 128 + number, result)
                directory = self.saved(result)
                self.assertTrue(list((directory / "mindstudio_profiler_output").iterdir()))
                shutil.rmtree(self.output)
        # Whoever interrupts only profctl means both.
        result = self.interrupted(lambda profctl: profctl.send_signal(signal.SIGINT), "--host-sys=cpu", "sleep", "60")
        self.assertEqual(result.code, 128 + signal.SIGINT, result)
        self.saved(result)

    def test_programs_that_hardly_begin(self):
        """The program begins when its recording has."""
        for seconds in ("0", "0.01", "0.05"):
            result = self.msprof(f"--output={self.output}", "--host-sys=cpu", "--sys-hardware-mem=on", "sleep", seconds)
            self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
            directory = self.saved(result)
            started = {kind["kind"] for kind in own_folder.manifest(directory)["kinds"] if kind["verdict"] == "started"}
            self.assertIn("hbm", started)
            shutil.rmtree(self.output)

    def test_a_program_that_is_not_there(self):
        self.assertEqual(self.msprof(f"--output={self.output}", "/no/such/program").code, NOT_FOUND)
        self.assertFalse(self.output.exists(), "what was made for it")

    def test_a_program_that_ends_before_its_delay(self):
        """Nothing went wrong, and nothing stays."""
        script = f"until ls -d {self.output}/PROF_* >/dev/null 2>&1; do sleep 0.05; done"  # it waits for its delay
        result = self.msprof(f"--output={self.output}", "--delay=30", "--host-sys=cpu", "sh", "-c", script)
        self.assertEqual(result.code, OK, result)
        self.assertEqual(result.err, "profctl: nothing is collected: the program ended before --delay was over\n")
        self.assertFalse(self.output.exists())

    def test_what_was_lost_is_said(self):
        """Ticks that a profd which stands still misses, once there are samples on disk."""
        profd = self.daemon.process.pid
        script = (f"until ls {self.output}/PROF_*/host/data/host_cpu* >/dev/null 2>&1; do sleep 0.05; done; "
                  f"kill -STOP {profd}; sleep 0.5; kill -CONT {profd}; sleep 0.3")
        alone = ("--ascendcl=off", "--task-time=off", "--ai-core=off")
        result = self.msprof(f"--output={self.output}", "--host-sys=cpu", *alone, "sh", "-c", script)
        self.assertEqual(result.code, PARTIAL_LOSS, result)
        self.assertRegex(result.err, r"lost: host-cpu of pid:\d+ \d+ of \d+")

    def test_results(self):
        self.started(0, "--sys-hardware-mem=on", "--type=db")
        result = self.msprof("--export=on", f"--output={self.output}", "--summary-format=csv")
        self.assertEqual(result.code, OK, result)
        self.assertIn("hbm", self.names("mindstudio_profiler_output/*.csv"))
        result = self.msprof("--export=on", f"--output={self.output}", "--summary-format=json")
        self.assertEqual(result.code, OK, result)
        self.assertTrue({"hbm", "msprof"} <= self.names("mindstudio_profiler_output/*.json"))
        result = self.msprof("--export=on", f"--output={self.output}", "--iteration-id=1", "--model-id=1")
        self.assertEqual(result.code, NOT_FOUND, result)
        self.assertIn("no iteration 1 of model 1 in it", result.err)
        for word, part, code in (("parse", "device_0", OK), ("query", "device_0", OK), ("export", "device_0", OK),
                                 ("query", "host", OK), ("export", "host", NOT_FOUND)):  # nothing of the host was asked for
            result = self.msprof(f"-{word}=on", f"-output={self.directory / part}")
            self.assertEqual(result.code, code, result)
        result = self.msprof("--export=on", f"--output={self.directory}", f"--reports={self.directory}/info.json")
        self.assertEqual(result.code, USAGE, result)
        self.assertIn("--reports: every track is exported", result.err)
        result = self.msprof("--query=on", f"--output={self.directory}")
        self.assertEqual(result.code, OK, result)
        self.assertIn("hbm", result.out)
        self.assertEqual(self.msprof("--parse=on", f"--output={self.directory}").code, OK)
        result = self.msprof("--analyze=on", f"--output={self.directory}")
        self.assertEqual(result.code, OK, result)
        self.assertIn("has no collectives to analyze", result.err)
        self.assertIn("--analyze: writes JSON and database at once", result.err)

    def test_help(self):
        for arguments in ((), ("--help",)):
            result = self.msprof(*arguments)
            self.assertEqual(result.code, OK, result)
            self.assertIn("--sys-hardware-mem-freq", result.out)
            self.assertNotIn("--sys-lp", result.out, "a 910B does not have it")
            self.assertNotIn("(chips: 950)", result.out)
            self.assertIn("Only what this node's chips have (910B); --help-all shows", result.out)
            self.assertNotIn("--ge-api ", result.out)
            self.assertRegex(result.out, r"APP .*a program to start and record, with its arguments")
            text = " ".join(result.out.split())
            for default in ("counters of the AI cores: on|off; default on with a program, else off",
                            "AscendCL calls: on|off; default on", "default PipeUtilization"):
                self.assertIn(default, text)
        everything = self.msprof("--help-all").out
        for word in ("--ge-api ", "--sys-lp", "(chips: 950)"):
            self.assertIn(word, everything)
        self.assertRegex(self.msprof("--version").out, r"\Aprofctl \S+\n\Z")
        self.assertIn("--ge-api ", self.daemon.ctl("start", "--help-all").out)

    def test_help_waits_for_nobody(self):
        """Of msprof asks profd for the chips, and goes on without; other help connects to nothing."""
        with tempfile.TemporaryDirectory() as folder:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"{folder}/profd.sock.door")
            listener.listen()
            listener.setblocking(False)
            for verb, flag in (("msprof", "--help-all"), ("start", "--help"), ("start", "--help-all")):
                result = self.daemon.ctl("--socket", f"{folder}/profd.sock", verb, flag)
                self.assertEqual(result.code, OK, result)
                self.assertRaises(BlockingIOError, listener.accept)
            for socket_of in (f"{folder}/profd.sock", f"{folder}/none.sock"):
                result = self.daemon.ctl("--socket", socket_of, "msprof", "--help")
                self.assertEqual(result.code, OK, result)
                self.assertIn("(chips: 950)", result.out)

    def test_bad_lines(self):
        output = f"--output={self.output}"
        system = [output, "--sys-period=1", "--sys-devices=0"]
        for arguments, text in (
                ([output], "name what to do"),
                (["op", "--application=x"], "msprof op is another program"),
                ([output, "--sys-period=1"], "name what to do"),
                (system, "nothing is asked for"),
                ([output, "--sys-period=1", "--host-sys=numa", f"--host-sys-pid={os.getpid()}"], "nothing to collect"),
                (["--sys-period=1", "--sys-devices=0", "--dvpp-profiling=on"], "--output"),
                ([output, "--sys-devices=0", "--dvpp-profiling=on"], "--sys-period"),
                ([output, "--sys-period=0", "--sys-devices=0"], "1 to 2592000"),
                ([output, "--sys-period=abc", "--sys-devices=0"], "1 to 2592000"),
                ([output, "--sys-period=1", "--sys-devices=x", "--dvpp-profiling=on"], "device numbers"),
                ([output, "--sys-period=1", "--sys-devices=", "--dvpp-profiling=on"], "empty"),
                (system + ["--sys-hardware-mem=yes"], "must be on or off"),
                (system + ["--sys-hardware-mem=on", "--sys-hardware-mem-freq=1001"], "1 to 100"),
                (system + ["--sys-hardware-mem=on", "--sys-hardware-mem-freq=5.5"], "1 to 100"),
                (system + ["--sys-hardware-mem-freq=50"], "needs --sys-hardware-mem=on"),
                (system + ["--sys-hardware-mem=on", "--llc-profiling=bogus"], "read or write"),
                (system + ["--sys-hardware-mem=on", "--llc-profiling=capacity"], "read or write (910B)"),
                (system + ["--dvpp-profiling=on", "--storage-limit=100MB"], "200 to 4294967295"),
                (system + ["--dvpp-profiling=on", "--dynamic=on"], "process"),
                (system + ["--ascendcl=on"], "process"),
                (system + ["--sys-lp=on"], "a 910B does not have it"),
                ([output, "--sys-period=1", "--host-sys=cpu"], "process"),
                ([output, "--sys-period=1", "--host-sys=gpu", "--host-sys-pid=1"], "some of"),
                (system + ["--bogus=1"], "--bogus"),
                (system + ["--dvpp=on"], "--dvpp-profiling --dvpp-freq"),
                ([f"{output};", "--sys-period=1", "--sys-devices=0", "--dvpp-profiling=on"], "path in which there is no quote"),
                (["--export=on"], "--output"),
                (["--parse=on", "--query=on", output], "--parse and --query"),
                ([output, "--delay=1", "--dynamic=on", "true"], "--delay and --dynamic"),
        ):
            with self.subTest(arguments=arguments):
                before = len(self.daemon.truth_lines())
                result = self.msprof(*arguments)
                self.assertEqual(result.code, USAGE, result)
                self.assertEqual(len(result.err.strip().splitlines()), 1, result)
                self.assertIn(text, result.err)
                self.assertEqual([line for line in self.daemon.truth_lines()[before:] if line.get("event") == "start"], [])
        result = self.msprof(f"--output={self.output}", "--sys-period=1", "--host-sys=cpu", "--host-sys-pid=99999999")
        self.assertEqual(result.code, NOT_FOUND, result)


if __name__ == "__main__":
    unittest.main(verbosity=2)
