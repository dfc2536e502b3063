#!/usr/bin/env python3
"""Side by side with the vendor's own collector on the simulator: for the same command line the same channels start with the
same bytes, and sample.json says the same, but for what docs/msprof.md tells of ("What differs on the device and in
sample.json")."""
import concurrent.futures
import json
import pathlib
import queue
import re
import sys
import tempfile
import unittest

import harness
import own_folder
import vendor_tools
from harness import NOT_FOUND, USAGE

AT_ONCE = 4
CHIPS = ["310", "910", "310P", "910B", "310B", "950"]
METRICS = ["Memory --aic-freq=50", "L2Cache", "ArithmeticUtilization", "MemoryL0", "MemoryUB", "ResourceConflictRatio", "MemoryAccess",
           "PipelineExecuteUtilization", "PipeUtilization", "Custom:0x8,10"]
SYSTEM = ["--sys-hardware-mem=on", "--sys-hardware-mem=on --sys-hardware-mem-freq=100 --llc-profiling=write",
          "--sys-hardware-mem=on --llc-profiling=bandwidth", "--sys-hardware-mem=on --llc-profiling=capacity",
          "--sys-hardware-mem=on --sys-mem-serviceflow=stream3,stream2",
          "--sys-io-profiling=on", "--sys-interconnection-profiling=on --sys-interconnection-freq=10",
          "--dvpp-profiling=on --dvpp-freq=10", "--sys-cpu-profiling=on --sys-cpu-freq=20",
          "--sys-profiling=on --sys-pid-profiling=on --sys-pid-sampling-freq=5",
          *(f"--ai-core=on --aic-metrics={metrics}" for metrics in METRICS),
          "--npu-events=HA:0x2,0x3;SMMU:0x10", "--npu-events=0x2", "--instr-profiling=on",
          "--instr-profiling=on --instr-profiling-freq=500", "--host-sys-usage=cpu,mem --host-sys-usage-freq=10",
          "--sys-hardware-mem=on --sys-interconnection-profiling=on --dvpp-profiling=on --sys-cpu-profiling=on "
          "--sys-profiling=on --sys-pid-profiling=on --ai-core=on --aic-metrics=PipeUtilization --host-sys-usage=cpu,mem"]
PROGRAM = ["", "--ai-core=off", "--ai-core=on --aic-mode=sample-based --aic-metrics=PipeUtilization", "--aicpu=on", "--l2=on",
           "--task-time=l0", "--task-time=off", "--task-tsfw=on", "--task-block=all", "--npu-events=HA:0x2,0x3", "--npu-events=0x2",
           "--instr-profiling=on", "--ai-core=on --aic-metrics=Memory", "--sys-hardware-mem=on --dvpp-profiling=on",
           "--sys-hardware-mem=on --sys-mem-serviceflow=stream3,stream2",
           "--sys-cpu-profiling=on --sys-profiling=on --sys-pid-profiling=on", "--task-time=l2",
           "--ascendcl=off --runtime-api=on --msproftx=on --task-memory=on"]
WAITS = ("import pathlib, sys, time\n"
         "end = time.time() + 50\n"
         f"while time.time() < end and not list(pathlib.Path(sys.argv[1]).glob('PROF_*/{own_folder.MANIFEST}')): time.sleep(0.01)\n"
         "time.sleep(0.3)\n")

# Keys of sample.json that are each run's own.
OWN = {"result_dir", "job_id", "msprofBinPid", "host_sys_pid", "devices", "app", "app_dir", "app_parameters", "app_location", "app_env"}
OF_CORES = {f"{core}_{what}" for core, whats in (("ai_core", ("profiling_mode", "profiling_events", "metrics")),
                                                ("aiv", ("profiling_mode", "profiling_events", "metrics"))) for what in whats}
OF_HOSTS = {"hostSysUsage", "hostAllPidCpuProfiling", "hostAllPidMemProfiling"}
BY_NUMBER = {"npuEvents", "l2CacheTaskProfilingEvents", "ai_core_metrics", "aiv_metrics"}
OF_LEVELS = {"prof_level", "taskTime"}
OF_AGENTS = {"acl", "hcclTrace", "msproftx", "runtimeApi", "taskMemory"}
# What the vendor records of a program beside its instructions.
GIVE_WAY = {43, 44, 50, 53, 132, 147, 148, 149, 151}
# What a chip sends over its message link, which profd does not collect.
OVER_LINK = {"aicpuTrace": ("310",), "sys_profiling": ("310", "310B"), "pid_profiling": ("310", "310B")}
OF_EVENTS = {"l2CacheTaskProfiling", "l2CacheTaskProfilingEvents", "npuEvents"}


def numbers(text):
    return [int(number, 0) for number in re.findall(r"0x[0-9a-fA-F]+|\b\d+\b", str(text))]


def explained(chip, key, theirs, ours, side, line, program):
    """Whether docs/msprof.md tells of this difference of a key."""
    if key in OF_CORES and ours[key] == "" and ours["ai_core_profiling"] != "on":
        return True
    if key in BY_NUMBER and numbers(theirs[key]) == numbers(ours[key]):
        return True
    if chip == "310P" and key == "ai_core_lpm" or chip not in ("910B", "950") and "--npu-events" in line and key in OF_EVENTS:
        return True
    if chip in OVER_LINK.get(key, ()) and (theirs[key], ours[key]) in (("on", "off"), ("on", "")):
        return True
    return (key in OF_HOSTS and side != "host" or key in OF_LEVELS and "--task-time=l" in line or
            key in OF_AGENTS and "--msproftx" in line or key == "qosEvents" and "serviceflow" in line and not program or
            # The 310 counts its cache with a script on the device.
            key in ("llc_profiling", "llc_profiling_events") and ours["msprof_llc_profiling"] == "on" and ours[key] == "")


def told(chip, line, program):
    """Channels whose starts docs/msprof.md says are others on this chip for this line."""
    channels = set()
    if chip == "950" and "--aic-metrics=Memory " in line + " ":
        channels.update((53, 54))
    if "--npu-events" in line:
        channels.add(47)
    if "serviceflow" in line and not program:
        channels.update((52, 133))
    if program and "--sys-cpu" in line:
        channels.add(145)
    if program and "--task-time=off" in line:
        channels.update((44, 50))
    if program and "--instr-profiling" in line:
        channels.update(GIVE_WAY)
    return channels


@vendor_tools.needs_collector
class VendorCollectorTest(harness.ProfdTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)

    def samples(self, output):
        return {path.parent.name: json.loads(path.read_text()) for path in output.glob("PROF_*/*/sample.json")}

    def starts(self, lines):
        """(device, channel) → period and payload; a channel 52 with every switch off gives nothing."""
        return {line["channel"]: (line["period_ms"], line["user_data"]) for line in lines
                if line.get("event") == "start" and not (line["channel"] == 52 and not int(line["user_data"] or "0", 16))}

    def vendor(self, chip, arguments):
        work = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        (work / "sim.yaml").write_text(f"devices: 1\nchip: {chip}\ntruth: {work}/truth\n")
        done = vendor_tools.collect(work / "sim.yaml", harness.HAL.parent, f"--output={work}/out", *arguments)
        truth = work / "truth"
        lines = [json.loads(line) for line in truth.read_text().splitlines()] if truth.exists() else []
        return done, self.starts(lines), self.samples(work / "out")

    def ours(self, daemon, arguments, program):
        output = pathlib.Path(tempfile.mkdtemp(dir=self.top)) / "out"
        before = len(daemon.truth_lines()) if daemon.truth.exists() else 0
        words = [f"--output={output}", "--type=db", *arguments]
        done = daemon.ctl("msprof", *words, *([sys.executable, "-c", WAITS, output] if program else []))
        lines = daemon.truth_lines()[before:] if daemon.truth.exists() else []
        return done, self.starts(lines), self.samples(output)

    def both(self, chip, line, daemon, program):
        """What the vendor's collector and profd do of a line."""
        words = line.split() if program else ["--sys-period=1", "--sys-devices=0", *line.split()]
        theirs = self.vendor(chip, [*words, *([str(vendor_tools.PROGRAM)] if program else [])])
        return theirs, self.ours(daemon, words, program)

    def compare(self, chip, line, program, theirs, ours):
        done, their_starts, their_samples = theirs
        result, our_starts, our_samples = ours
        if not their_samples:
            self.assertIn(result.code, (USAGE, NOT_FOUND), f"refused by the vendor: {done.stdout}")
            return
        if not our_samples:  # refused with the reason
            self.assertEqual(result.code, USAGE, result)
            self.assertRegex(result.err, "not collected|does not have it")
            return
        known = told(chip, line, program)
        if chip == "310" and 44 in their_starts:  # the timeline, word 4, is on
            period_ms, payload = their_starts[44]
            self.assertEqual(payload[32:40], "00000000")
            their_starts[44] = period_ms, payload[:32] + "01000000" + payload[40:]
        self.assertEqual({key: value for key, value in our_starts.items() if key not in known},
                         {key: value for key, value in their_starts.items() if key not in known})
        for side, theirs in their_samples.items():
            ours = our_samples.get(side)
            if ours is None:  # nothing of that device is collected
                self.assertEqual({key for key in their_starts if key not in known}, set())
                continue
            other = {key: (theirs[key], ours.get(key)) for key in theirs if key not in OWN and theirs[key] != ours.get(key) and
                     not explained(chip, key, theirs, ours, side, line, program) and not (known & {53, 54} and key in OF_CORES)}
            if not GIVE_WAY <= known:
                self.assertEqual(other, {}, side)

    def all_lines(self, chip, lines, program):
        # Most of a run is waiting: several at once, each beside a daemon that has nothing else to do.
        daemons = queue.SimpleQueue()
        for _ in range(AT_ONCE):
            daemons.put(self.profd(sim=f"devices: 1\nchip: {chip}\n"))

        def run(line):
            daemon = daemons.get()
            try:
                return self.both(chip, line, daemon, program)
            finally:
                daemons.put(daemon)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(run, lines))
        for line, (theirs, ours) in zip(lines, results):
            with self.subTest(chip=chip, line=line, program=program):
                self.compare(chip, line, program, theirs, ours)


def add(chip):
    def system(self):
        self.all_lines(chip, SYSTEM, program=False)

    def program(self):
        self.all_lines(chip, PROGRAM, program=True)

    setattr(VendorCollectorTest, f"test_system_of_a_{chip}", system)
    setattr(VendorCollectorTest, f"test_program_on_a_{chip}", vendor_tools.needs_program(program))


for each in CHIPS:
    add(each)


if __name__ == "__main__":
    if vendor_tools.COLLECTOR is None:
        print("not here: PROFD_VENDOR_COLLECTOR names no folder with the vendor's collector")
        sys.exit(vendor_tools.NOT_HERE)
    unittest.main(verbosity=2)
