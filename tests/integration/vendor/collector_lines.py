"""Command lines for the vendor's collector and profd, and what docs/msprof.md tells of each ("What differs on the device and in
sample.json"): the starts and the keys that profd has where it does otherwise than the vendor."""
import re

CHIPS = ["310", "910", "310P", "910B", "310B", "950"]
METRICS = ["Memory --aic-freq=50", "L2Cache", "ArithmeticUtilization", "MemoryL0", "MemoryUB", "ResourceConflictRatio", "MemoryAccess",
           "PipelineExecuteUtilization", "PipeUtilization", "Custom:0x8,10"]
COUNTED = [f"--ai-core=on --aic-metrics={metrics}" for metrics in METRICS]
RATES_APART = ("--sys-hardware-mem=on --sys-hardware-mem-freq=100 --sys-interconnection-profiling=on "
               "--sys-interconnection-freq=10")
SYSTEM = ["--sys-hardware-mem=on", "--sys-hardware-mem=on --sys-hardware-mem-freq=100 --llc-profiling=write",
          "--sys-hardware-mem=on --sys-hardware-mem-freq=10000",
          "--sys-hardware-mem=on --llc-profiling=bandwidth", "--sys-hardware-mem=on --llc-profiling=capacity",
          "--sys-hardware-mem=on --sys-mem-serviceflow=stream3,stream2",
          "--sys-io-profiling=on", "--sys-io-profiling=on --sys-io-sampling-freq=20",
          "--sys-interconnection-profiling=on --sys-interconnection-freq=10", RATES_APART,
          "--dvpp-profiling=on --dvpp-freq=10", "--sys-cpu-profiling=on --sys-cpu-freq=20",
          "--sys-profiling=on --sys-pid-profiling=on --sys-pid-sampling-freq=5", "--sys-profiling=on --sys-sampling-freq=4",
          "--sys-lp=on", "--sys-lp=on --sys-lp-freq=50", "--sys-lp=off --dvpp-profiling=on",
          "--ai-core=on", "--ai-core=on --aic-mode=sample-based --aic-freq=20", "--ai-core=on --aic-mode=task-based", *COUNTED,
          "--ai-vector-core=on --aiv-mode=sample-based --aiv-freq=10 --aiv-metrics=Memory",
          "--npu-events=HA:0x2,0x3;SMMU:0x10", "--npu-events=0x2", "--instr-profiling=on",
          "--instr-profiling=on --instr-profiling-freq=500", "--host-sys-usage=cpu,mem --host-sys-usage-freq=10",
          "--host-sys-usage=cpu --host-sys-pid={pid}", "--host-sys=cpu,mem,network --host-sys-pid={pid}",
          "--host-sys=disk,osrt --host-sys-pid={pid}",
          "--storage-limit=500MB --dvpp-profiling=on --python-path=/usr/bin/python3",
          *(f"{option}=on --dvpp-profiling=on" for option in ("--task-time", "--aicpu", "--task-tsfw", "--ascendcl", "--l2")),
          "--sys-hardware-mem=on --sys-interconnection-profiling=on --dvpp-profiling=on --sys-cpu-profiling=on "
          "--sys-profiling=on --sys-pid-profiling=on --ai-core=on --aic-metrics=PipeUtilization --host-sys-usage=cpu,mem"]
PROGRAM = ["", "--ai-core=off", "--ai-core=on --aic-mode=sample-based --aic-metrics=PipeUtilization",
           "--ai-core=on --aic-mode=sample-based --aic-freq=50", "--ai-core=on --aic-mode=task-based", *COUNTED[1:],
           "--ai-core=on --aic-metrics=Memory", "--aicpu=on", "--l2=on", "--l2=on --task-time=off", "--l2=on --npu-events=SMMU:0x2",
           "--task-time=l0", "--task-time=l1", "--task-time=l2", "--task-time=l3", "--task-time=off", "--ascendcl=off --task-time=off",
           "--task-trace=l1", "--task-trace=off", "--task-tsfw=on", "--task-tsfw=on --task-time=off", "--task-block=all",
           "--task-block=all --task-time=off", "--task-block=on", "--task-block=off", "--task-block=all --optype=MatMul",
           "--npu-events=HA:0x2,0x3", "--npu-events=HA:0x2;SMMU:0x10", "--npu-events=0x2",
           "--instr-profiling=on", "--instr-profiling=on --instr-profiling-freq=500",
           "--sys-hardware-mem=on --dvpp-profiling=on", "--sys-hardware-mem=on --llc-profiling=write", RATES_APART,
           "--sys-hardware-mem=on --sys-mem-serviceflow=stream3,stream2",
           "--sys-io-profiling=on --sys-interconnection-profiling=on",
           "--sys-cpu-profiling=on --sys-profiling=on --sys-pid-profiling=on", "--sys-cpu-profiling=on --sys-cpu-freq=20",
           "--sys-lp=off", "--sys-lp=on --sys-lp-freq=50",
           "--ascendcl=off --runtime-api=on --msproftx=on --task-memory=on", "--model-execution=on --hccl=on", "--ge-api=l1",
           "--task-time=l0 --aicore-shape=on", "--msproftx=on --mstx-domain-include=a", "--msproftx=on --mstx-domain-exclude=a",
           "--environment=A=b", "--storage-limit=500MB", "--host-sys=cpu,mem,network", "--host-sys=disk,osrt", "--host-sys-usage=cpu,mem",
           "--delay=1", "--duration=1", "--delay=1 --duration=1"]
# Options that no line has.
APART = {
    "application": "names the program, as what stands behind the options does in these lines",
    "output": "every line has one", "sys-devices": "every line without a program has them", "sys-period": "as sys-devices",
    "type": "what becomes of the result", "nts-metrics": "the collector does not know it",
    "dynamic": "the collector's client looks for its socket in /, its library has it in the home directory: it starts nothing",
    "pid": "as dynamic",
    **{name: "reads results, collects nothing" for name in ("parse", "query", "export", "iteration-id", "model-id", "summary-format",
                                                             "reports", "clear", "analyze", "rule")}}

TASK_TRACK, TASK_LOG, STARS_LOG, SOC_PROFILE, QOS, SYSTEM_OF_DEVICE = 44, 45, 50, 52, 133, 145
CORES_BEFORE, CORES_BY_TASK, CORES_SAMPLED = 43, 53, 54
# What the vendor records of a program beside its instructions.
GIVE_WAY = (TASK_TRACK, STARS_LOG, CORES_BY_TASK, 132, 147, 148, 149, 151)
STARS = ("910B", "310B", "950")
OF_CORES = [f"{core}_{what}" for core in ("ai_core", "aiv") for what in ("profiling_mode", "profiling_events", "metrics")]
COPIES, FIRMWARE = 0x86000001, 0x81000001


def words(payload):
    """Of a payload in hex."""
    data = bytes.fromhex(payload)
    return [int.from_bytes(data[at:at + 4], "little") for at in range(0, len(data), 4)]


def numbers(text):
    return [int(number, 0) for number in re.findall(r"0x[0-9a-fA-F]+|\b\d+\b", str(text))]


def demand(condition, what):
    if not condition:
        raise AssertionError(f"the vendor starts otherwise than docs/msprof.md says: {what}")


class Line:
    """A command line on a chip; `program`: with one; `kernels`: its agent records them, and until then the log of tasks is."""

    def __init__(self, chip, text, program, kernels=False):
        self.chip, self.text, self.program, self.kernels = chip, text, program, kernels
        given = (word[2:].split("=", 1) for word in text.split())
        self.options = {name: value for name, value in given}

    def __repr__(self):
        return f"{self.chip}, {'a program' if self.program else 'no program'}{', kernels' if self.kernels else ''}: {self.text}"

    def says(self, name):
        return self.options.get(name, "")

    @property
    def tasks_off(self):
        return "off" in (self.says("task-time"), self.says("task-trace"))

    @property
    def asks_for_the_log(self):
        """By an option of what else is in it."""
        return self.says("task-tsfw") == "on" or self.says("task-block") in ("all", "on")

    @property
    def is_of_devices_alone(self):
        """With a program of which neither tasks nor calls are recorded."""
        calls = self.says("ascendcl") != "off"
        tasks = not self.tasks_off or self.asks_for_the_log
        return self.program and (self.says("instr-profiling") == "on" or not calls and not tasks)

    @property
    def _second_cores(self):
        """Where the vector cores' block begins in 53 and 54."""
        return 10 if self.chip == "950" else 9

    def refusal(self):
        """Why profd does not do what the vendor does, as its message says it; "" where it does."""
        old = self.chip in ("910", "310P", "310B")
        if self.says("npu-events") and old:
            return "does not have it"
        if self.says("instr-profiling-freq") and self.chip == "950":
            return "does not have it"
        if not self.program and any(self.says(name) for name in ("task-time", "aicpu", "task-tsfw", "ascendcl", "l2")):
            return "is of a process"
        over_link = {"sys-profiling", "sys-sampling-freq", "sys-pid-profiling", "sys-pid-sampling-freq"}
        if not self.program and self.chip in ("310", "310B") and set(self.options) <= over_link:
            return "not collected"
        return ""

    def goes_further(self):
        """Whether profd takes what the vendor refuses: what is off is always right, and a 310 can do more."""
        return (self.says("sys-lp") == "off" or self.says("task-block") == "off" or
                self.chip == "310" and any(self.says(name) for name in ("storage-limit", "delay", "duration")) or
                self.chip == "950" and self.says("optype") != "")

    def starts(self, theirs):
        """What profd is to start where the vendor starts `theirs`: channel → (period in ms, words)."""
        starts = {channel: (period, list(payload)) for channel, (period, payload) in theirs.items()}
        self._soc_profile(starts)
        self._instructions(starts)
        if QOS in starts and self.says("sys-mem-serviceflow") and not self.program:
            demand(starts[QOS][1][1:3] == [3, 0x30201], starts[QOS])
            starts[QOS][1][1:3] = [2, 0x203]
        if not self.program and self.says("aic-mode") == "task-based":
            self._cores_by_task(starts)
        if self.program:
            self._of_program(starts)
        return starts

    def _soc_profile(self, starts):
        if SOC_PROFILE not in starts:
            return
        payload = starts[SOC_PROFILE][1]
        if payload[2] and payload[4]:  # one kind, with one rate
            payload[3] = payload[5] = payload[7] = min(payload[3], payload[5])
        if self.chip != "950":
            return
        if payload[8]:
            payload[9] = 10_000
        if self.says("sys-mem-serviceflow") and not self.program:
            demand(payload[15:17] == [3, 0x30201], payload)
            payload[15:17] = [2, 0x203]

    def _instructions(self, starts):
        """It never sets word 1 on a 910B: whatever lies there goes to the device (prof_instr_perf_job.cpp, InstrProfileConfigT)."""
        if self.says("instr-profiling") != "on" or self.chip != "910B":
            return
        cycles = int(self.says("instr-profiling-freq") or 1000)
        found = [payload for period, payload in starts.values() if len(payload) == 2 and period == 0 and payload[0] == cycles]
        demand(len(found) > 20, starts)
        for payload in found:
            payload[1] = 0

    def _cores_by_task(self, starts):
        if CORES_BEFORE in starts:
            payload = starts[CORES_BEFORE][1]
            demand(payload[0] == 1, payload)
            payload[:4] = [0, 0, 0, 0]
            starts[CORES_BEFORE] = (0, payload)
            return
        payload = starts.pop(CORES_SAMPLED)[1]
        for at in (1, self._second_cores):  # tasks instead of samples, and no period
            demand(payload[at] == 0xa, payload)
            payload[at:at + 2] = [0x9, 0]
        starts[CORES_BY_TASK] = (0, payload)

    def _of_program(self, starts):
        if self.says("instr-profiling") == "on":
            for channel in GIVE_WAY:
                demand(channel in starts or channel > CORES_BY_TASK, f"no {channel}")
                starts.pop(channel, None)
            return
        if self.chip not in ("310", "310B") and "on" in (self.says("sys-profiling"), self.says("sys-pid-profiling"),
                                                        self.says("sys-cpu-profiling")):
            demand(SYSTEM_OF_DEVICE not in starts, "145")
            starts[SYSTEM_OF_DEVICE] = (40, [])
        self._log_of_tasks(starts)
        if self.says("delay") or self.says("duration"):
            self._at_once(starts)

    def either_way(self):
        """Channels that start only if the log begins before the program's agent records kernels, which nobody can say."""
        return {TASK_TRACK, STARS_LOG} if self.program and self.kernels and self.chip in STARS and self.says("delay") else set()

    def _at_once(self, starts):
        places = {CORES_BEFORE: 13, TASK_LOG: 0, STARS_LOG: 9, CORES_BY_TASK: 19 if self.chip == "950" else 17}
        for channel in places.keys() & starts.keys():
            payload, at = starts[channel][1], places[channel]
            demand(payload[at] == 1, payload)
            payload[at] = 0

    def _log_of_tasks(self, starts):
        period, track = starts[TASK_TRACK]
        if self.says("sys-cpu-freq") and self.chip != "950":
            demand(period == track[0] == 50, track)
            period = track[0] = 20
        starts[TASK_TRACK] = (period, track)
        stars = starts[STARS_LOG][1] if STARS_LOG in starts else None
        if self.tasks_off:
            firmware = self.says("task-tsfw") == "on"
            demand(track[1:] == [0, 0, 0, 0, 0, 1, FIRMWARE if firmware else 0, 1], track)  # key points
            demand(TASK_LOG not in starts, "45")
            if stars is not None:
                demand(stars == [0] * 7 + [int(self.says("task-block") == "all"), 0, 0, 0], stars)
            if not self.asks_for_the_log:
                starts.pop(TASK_TRACK)
                starts.pop(STARS_LOG, None)
                return
            track[7] = COPIES | track[7]
            if stars is not None:
                stars[0] = stars[6] = 1
            elif self.chip != "310":
                starts[TASK_LOG] = (0, [0])
        if self.chip == "310":
            demand(track[4] == 0, track)
            track[4] = 1
        if self.says("task-block") in ("on", "off") and stars is not None:
            demand(stars[10] == (self.says("task-block") == "off"), stars)
            stars[10] = int(self.says("task-block") == "on")

    def sample(self, side, theirs, ours, alone=False):
        """What profd's sample.json of a side is to say where the vendor's says `theirs`; `alone`: without devices."""
        expected = dict(theirs)
        if theirs["ai_core_profiling"] != "on":
            expected.update(dict.fromkeys(OF_CORES, ""), **({"ai_core_profiling_mode": "sample-based"} if alone else {}))
        elif not self.program and self.says("aic-mode") == "task-based":
            expected.update(ai_core_profiling_mode="task-based", aiv_profiling_mode="task-based")
        for key in ("npuEvents", "l2CacheTaskProfilingEvents", "ai_core_metrics", "aiv_metrics"):
            if numbers(theirs[key]) and numbers(theirs[key]) == numbers(ours[key]):
                expected[key] = ours[key]
        if side != "host":
            expected.update(host_sys="", hostSysUsage="", **dict.fromkeys(
                ("hostAllPidCpuProfiling", "hostAllPidMemProfiling", "host_cpu_profiling", "host_mem_profiling",
                 "host_network_profiling", "host_disk_profiling", "host_osrt_profiling"), "off"))
        if not self.program and self.says("sys-mem-serviceflow"):
            expected["qosEvents"] = "stream3,stream2"
        expected["sysLpFreq"] = 10_000
        # What the chip sends over its message link is not collected, nor a 310's cache without a program.
        if self.chip in ("310", "310B"):
            expected.update(sys_profiling="off", pid_profiling="off")
        if self.chip == "310":
            expected["aicpuTrace"] = ""
            if not self.program:
                expected.update(llc_profiling="", llc_profiling_events="")
        if self.program:
            self._sample_of_program(expected, theirs)
        return expected

    def _sample_of_program(self, expected, theirs):
        expected.update(hcclTrace="", msproftx="off", taskMemory="off", mstxDomainInclude="",
                        mstxDomainExclude="", geApi="off", aicoreShape="off")
        expected.update(delayTime="", durationTime="")
        if self.chip == "310P":
            expected["ai_core_lpm"] = "off"
        if self.chip in STARS:
            expected.update(taskBlock="on" if self.says("task-block") in ("on", "all") else "",
                            taskBlockShink={"on": "on", "all": "off"}.get(self.says("task-block"), ""))
        if self.is_of_devices_alone:
            expected.update(profMode="system", acl="", ts_memcpy="", runtimeTrace="", prof_level="off", stars_acsq_task="",
                            ts_keypoint="", profiling_period=86_400, llc_profiling="", llc_profiling_events="", taskTime="on",
                            hwts_log="", hwts_log1="", taskTrace="on")
            if self.says("instr-profiling") == "on":
                expected.update(ai_core_lpm="off", ccuInstr="off", ai_core_profiling="", aiv_profiling="",
                                **dict.fromkeys(OF_CORES, ""))
        elif self.tasks_off and not self.asks_for_the_log:
            expected.update(taskTime="off", taskTrace="on")
        else:
            asked = self.says("task-time") or self.says("task-trace")
            level = {"l0": "level0", "l2": "level2", "l3": "level2"}.get(asked, "level1")
            expected.update(taskTime="on", taskTrace="on", prof_level=level, ts_memcpy="on", runtimeTrace="on")
            expected.update({"stars_acsq_task": "on", "hwts_log": "", "hwts_log1": ""} if self.chip in STARS else
                            {"hwts_log": "on", "hwts_log1": "on"})
