"""The words of the Ascend PyTorch Profiler, recorded by profd. A program changes one import:

    import profd.torch as profiler              # was: from torch_npu import profiler

    with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
                          on_trace_ready=profiler.tensorboard_trace_handler("result")) as prof:
        for batch in loader:
            train(batch)
            prof.step()

Each window of active steps is a session of profd, in a directory of its own. The job does not wait for the end of a
session nor for the export: both happen in another process. Without profd the job runs unrecorded, and the logger `profd`
says so once. Torch is not imported. Names, order and defaults are those of Ascend/pytorch, torch_npu/profiler.
"""
import enum
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
import weakref

import profd
from profd import _info, _operators, _profctl, begin_step, end_step
from profd._attach import attach
from profd._metadata import Metadata
from profd._profctl import log
from profd._ranks import is_among

__all__ = ["profile", "schedule", "tensorboard_trace_handler", "analyse", "attach", "supported_activities",
           "supported_profiler_level", "supported_ai_core_metrics", "supported_export_type", "ProfilerAction",
           "ProfilerActivity", "ProfilerLevel", "AiCMetrics", "ExportType", "HostSystem"]


class ProfilerAction(enum.Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(enum.Enum):
    CPU = "cpu"
    NPU = "npu"


class ProfilerLevel(enum.Enum):
    Level_none = "none"
    Level0 = "level0"
    Level1 = "level1"
    Level2 = "level2"


class AiCMetrics(enum.Enum):
    """Values: profd's words for them."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "None"


class ExportType(enum.Enum):
    Text = "text"
    Db = "db"


class HostSystem(enum.Enum):
    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


def supported_activities():
    return set(ProfilerActivity)


def supported_profiler_level():
    return set(ProfilerLevel)


def supported_ai_core_metrics():
    return set(AiCMetrics)


def supported_export_type():
    return set(ExportType)


def _known(kind, value, otherwise):
    """`value` as one of the enumeration, by itself, its name or its value; of torch_npu's own enumerations by name."""
    if value is None:
        return otherwise
    name = str(getattr(value, "name", value)).lower()
    for known in kind:
        if name in (known.name.lower(), known.value.lower()):
            return known
    log.warning("%s: not one of %s; %s is taken", value, ", ".join(known.name for known in kind), otherwise.name)
    return otherwise


def _listed(value):
    return [] if value is None else list(value) if isinstance(value, (list, tuple, set)) else [value]


class _ExperimentalConfig:
    """What torch_npu's has. What profd does not record is named in the log when the first window begins. Marks and ranges
    are recorded always (mstx, msprof_tx), and nothing is left behind that could be deleted (data_simplification)."""

    def __init__(self, profiler_level=ProfilerLevel.Level0, aic_metrics=None, l2_cache=False, msprof_tx=False,
                 data_simplification=True, record_op_args=False, op_attr=False, gc_detect_threshold=None,
                 export_type=ExportType.Text, host_sys=None, mstx=False, mstx_domain_include=None, mstx_domain_exclude=None,
                 sys_io=False, sys_interconnection=False):
        self.level = _known(ProfilerLevel, profiler_level, ProfilerLevel.Level0)
        with_counters = self.level in (ProfilerLevel.Level1, ProfilerLevel.Level2)
        self.metrics = _known(AiCMetrics, aic_metrics, AiCMetrics.PipeUtilization) if with_counters else AiCMetrics.AiCoreNone
        self.l2_cache = l2_cache
        self.domains, self.without_domains = _listed(mstx_domain_include), _listed(mstx_domain_exclude)
        self.export = [_known(ExportType, word, ExportType.Text) for word in _listed(export_type)] or [ExportType.Text]
        self.host = [_known(HostSystem, word, HostSystem.CPU) for word in _listed(host_sys)]
        self.ports, self.links = sys_io, sys_interconnection
        self.unknown = [name for name, given in (("record_op_args", record_op_args), ("op_attr", op_attr),
                                                 ("gc_detect_threshold", gc_detect_threshold is not None)) if given]


_HOST_KINDS = {HostSystem.CPU: "host-cpu", HostSystem.MEM: "host-mem", HostSystem.DISK: "host-disk",
               HostSystem.NETWORK: "host-network", HostSystem.OSRT: "host-osrt"}


def _kinds(activities, config, memory, stack):
    """The kinds of a session for what the program asked of its profiler."""
    kinds = ["agent-step", "agent-range", "agent-mark"]
    level = config.level
    if ProfilerActivity.CPU in activities:
        kinds.append("host-cpu")
    if level is not ProfilerLevel.Level_none and ProfilerActivity.NPU in activities:
        kinds += ["task?", "agent-kernel", "agent-api"]  # whose log makes way for kernels that CANN tells
        if level is not ProfilerLevel.Level0:
            kinds.append("agent-comm")
        if config.metrics is not AiCMetrics.AiCoreNone:
            kinds += [f"aicore-task:{config.metrics.value}", f"aivector-task:{config.metrics.value}"]
        if level is ProfilerLevel.Level2:
            kinds.append("aicpu?")
        kinds += ["l2"] * bool(config.l2_cache) + ["nic", "roce"] * bool(config.ports) + ["hccs", "pcie"] * bool(config.links)
    kinds += ["npu-mem", "npu-app-mem", "agent-memory"] * bool(memory)
    kinds += ["host-cpu-profile", "host-off-cpu"] * bool(stack)
    kinds += [_HOST_KINDS[word] for word in config.host]
    return list(dict.fromkeys(kinds))


class schedule:  # pylint: disable=invalid-name
    """What to do at each step: `skip_first` steps nothing, then `repeat` cycles (0: without end) of `wait` steps nothing,
    `warmup` steps to get ready, `active` steps to record. `skip_first_wait`: the first cycle does not wait."""

    def __init__(self, wait, active, warmup=0, repeat=0, skip_first=0, skip_first_wait=0):
        numbers = {"wait": wait, "active": active, "warmup": warmup, "repeat": repeat, "skip_first": skip_first,
                   "skip_first_wait": skip_first_wait}
        for name, number in numbers.items():
            if not isinstance(number, int) or number < 0:
                log.warning("schedule: %s=%r: expected a number from 0; 0 is taken", name, number)
                numbers[name] = 0
        if numbers["active"] == 0:
            log.warning("schedule: active=0: expected at least 1; 1 is taken")
        self.wait, self.warmup, self.active = numbers["wait"], numbers["warmup"], max(numbers["active"], 1)
        self.repeat, self.skip_first = numbers["repeat"], numbers["skip_first"]
        self.skip_first_wait = numbers["skip_first_wait"] != 0

    def __call__(self, step):
        cycle, at = self._place(step)
        if cycle < 0 or (self.repeat and cycle >= self.repeat) or at < self.wait:
            return ProfilerAction.NONE
        if at < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        last = at == self.wait + self.warmup + self.active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    def idle_until(self, step):
        """Of a step without action: the first one that may have one."""
        cycle, at = self._place(step)
        if self.repeat and cycle >= self.repeat:
            return _NEVER
        return self.skip_first if cycle < 0 else step + max(self.wait - at, 1)

    def _place(self, step):
        """In which cycle, and where in it; in front of them: cycle -1."""
        step -= self.skip_first
        if step < 0:
            return -1, 0
        if self.skip_first_wait:
            step += self.wait
        return divmod(step, self.wait + self.warmup + self.active)


_NEVER = TO_THE_END = 1 << 62  # as `active`: until stop()
_MOST_ACTIVE = 100_000  # steps of a window that are counted beforehand


def _always(_):
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name=None, worker_name=None, analyse_flag=True, async_mode=True):
    """For `on_trace_ready`: windows go below `dir_name` and are exported by a process of their own, at the lowest priority.
    `async_mode=False` waits for the export, as torch_npu does. `analyse_flag=False`: no export."""

    def handler(prof):
        if not async_mode:
            prof.wait()

    handler.dir_name, handler.worker_name, handler.export = dir_name, worker_name, analyse_flag
    return handler


_FORMATS = {ExportType.Text: "csv,chrome", ExportType.Db: "db"}


def analyse(profiler_path, max_process_number=None, export_type=ExportType.Text):
    """Exports every recording below a directory; waits. Returns whether all went well."""
    profctl = _profctl.program()
    if profctl is None:
        log.warning("not exported: profctl is not on the path")
        return False
    formats = ",".join(_FORMATS[_known(ExportType, word, ExportType.Text)] for word in _listed(export_type))
    jobs = ["--jobs", str(max_process_number)] if max_process_number else []
    process = _profctl.spawn([profctl, "export", "--recursive", os.fspath(profiler_path), "--format", formats, *jobs])
    return process is not None and process.wait() == 0


_profiles = weakref.WeakSet()


def _abandon():
    """In a forked child: windows are its parent's."""
    for prof in _profiles:
        prof._on, prof._ends = False, []  # pylint: disable=protected-access


os.register_at_fork(after_in_child=_abandon)


class profile:  # pylint: disable=invalid-name,too-many-instance-attributes
    """Records the steps that `schedule` wants. A context manager, or start() and stop(). What torch_npu's takes, and by name:
    `ranks` (see is_among), `level` and `metrics` (words, instead of an experimental_config), `max_bytes` (of a window, as in
    "2GB"), `first_step` (the loop's own number of the first step)."""

    def __init__(self, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False, with_modules=False, experimental_config=None,
                 execution_trace_observer=None, custom_trace_id_callback=None, use_cuda=None, *, ranks=None, level=None,
                 metrics=None, max_bytes=None, first_step=0):
        config = experimental_config
        if not isinstance(config, _ExperimentalConfig):
            if config is not None:
                log.warning("experimental_config: expected profd.torch._ExperimentalConfig; its defaults are taken")
            config = _ExperimentalConfig(level or ProfilerLevel.Level0, metrics)
        wanted = [_known(ProfilerActivity, activity, ProfilerActivity.NPU) for activity in _listed(activities)]
        self._kinds = _kinds(set(wanted or ProfilerActivity), config, profile_memory, with_stack)
        self._config, self._schedule, self._ready = config, schedule or _always, on_trace_ready
        self._max_bytes = max_bytes
        of_operators = {"record_shapes": bool(record_shapes), "with_flops": bool(with_flops), "with_modules": bool(with_modules)}
        with_operators = ProfilerActivity.CPU in (wanted or ProfilerActivity) and _operators.are_there()
        self._operators = _operators.Operators(of_operators) if with_operators else None
        self._unrecorded = config.unknown + [name for name, given in of_operators.items() if given and not with_operators]
        if execution_trace_observer:
            self._unrecorded.append("execution_trace_observer")
        numbers = ("wait", "active", "warmup", "repeat", "skip_first", "skip_first_wait")
        self._asked = {
            "activities": [str(activity) for activity in wanted or ProfilerActivity],
            "schedule": {name: int(getattr(schedule, name)) for name in numbers if hasattr(schedule, name)} or None,
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules}
        self._trace_id_callback, self._trace_id, self._begun_ns = custom_trace_id_callback, "", 0
        wanted_here = is_among(ranks)
        self._profctl = _profctl.program() if wanted_here else None
        if wanted_here and self._profctl is None:
            log.warning("not recorded: profctl is not on the path")
        profd.domain("profd.torch")  # the process registers now, before the first window
        self._on = self._stepped = False
        self._idle_until = 0  # no step before has to be looked at
        self._starting = self._session = self._previous = self._output = None
        self._ends = []
        self._metadata = Metadata()
        self.step_num, self._first_step = 0, first_step
        self.current_action = ProfilerAction.NONE
        self.directory = None  # of the newest window
        _profiles.add(self)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        return False

    def start(self):
        if self._on:
            return
        self._on, self._stepped = True, False
        self._act()
        self._next()

    def stop(self):
        """What came after the last step() is no step of the loop: it gets no end. A loop without step() is one step."""
        if not self._on:
            return
        if not self._stepped:
            end_step(self._first_step + self.step_num)
        if self._profctl is not None:
            self._say_what_is_missing()
        self._change(self.current_action, ProfilerAction.NONE)
        self._on = False

    def step(self):
        """Between two steps of the loop."""
        if not self._on:
            return
        end_step(self._first_step + self.step_num)
        self._stepped = True
        self.step_num += 1
        if self.step_num >= self._idle_until:
            self._act()
        self._next()

    def _next(self):
        begin_step(self._first_step + self.step_num)
        if self._is_recorded():  # from this call on
            self._metadata.mark()

    def _is_recorded(self):
        return self._session is not None and self.current_action in _RECORDED

    def _say_what_is_missing(self):
        if self.current_action is ProfilerAction.WARMUP:
            log.warning("stopped in the warm-up of a window: nothing of it is recorded")
        elif self.current_action in _RECORDED and self._schedule is not _always and not self._is_endless():
            log.warning("stopped before a window was complete: step %d and the rest of it are missing",
                        self._first_step + self.step_num)

    def _is_endless(self):
        return isinstance(self._schedule, schedule) and self._schedule.active >= TO_THE_END

    def _act(self):
        before, now = self.current_action, self._schedule(self.step_num)
        if now is not before or before is ProfilerAction.RECORD_AND_SAVE:
            self._change(before, now)
        if now is ProfilerAction.NONE and isinstance(self._schedule, schedule):
            self._idle_until = self._schedule.idle_until(self.step_num)

    def add_metadata(self, key, value):
        """A text that each window that ends from now on has: a mark in it, and an entry of profiler_metadata.json beside it."""
        self._metadata.add(key, str(value))
        if self._is_recorded():
            self._metadata.mark()

    def add_metadata_json(self, key, value):
        """The same for a value in JSON."""
        try:
            self._metadata.add(key, json.loads(value))
        except (TypeError, ValueError):
            log.warning("add_metadata_json: %s: expected a text in JSON; left out", key)
            return
        if self._is_recorded():
            self._metadata.mark()

    def set_custom_trace_id_callback(self, callback):
        """Of windows that begin from now on."""
        self._trace_id_callback = callback

    def get_trace_id(self):
        """Of the newest window: what the callback said, else a number of its own."""
        return self._trace_id

    def _new_trace_id(self):
        try:
            given = self._trace_id_callback() if self._trace_id_callback else None
        except Exception as error:  # of the program: its training goes on
            log.warning("custom_trace_id_callback: %r: the window gets a number of its own", error)
            given = None
        return given if isinstance(given, str) and len(given) <= 1024 else f"{uuid.uuid4().int:032X}"

    @classmethod
    def enable_profiler_in_child_thread(cls, **_):
        """Nothing is to be done: every thread is recorded."""

    @classmethod
    def disable_profiler_in_child_thread(cls):
        """The same."""

    def wait(self, timeout=None):
        """Until the sessions that ended are on disk, and exported if they are to be. Returns whether they are."""
        until = None if timeout is None else time.monotonic() + timeout
        for process in self._ends:
            try:
                process.wait(None if until is None else max(until - time.monotonic(), 0))
            except Exception:  # subprocess.TimeoutExpired
                return False
        self._ends.clear()
        return True

    def export_chrome_trace(self, output_path):
        """The timeline of the newest window; waits for it."""
        if self.directory is None or self._profctl is None:
            log.warning("export_chrome_trace: nothing was recorded")
            return
        self.wait()
        with tempfile.TemporaryDirectory(prefix="profd-", dir=os.path.dirname(os.path.abspath(output_path))) as folder:
            process = _profctl.spawn([self._profctl, "export", self._output, "--format", "chrome", "--out", folder],
                                     stdout=subprocess.DEVNULL)
            if process is not None:
                process.wait()
            try:
                os.replace(os.path.join(folder, "ASCEND_PROFILER_OUTPUT", "trace_view.json"), output_path)
            except OSError as error:
                log.warning("export_chrome_trace: %s: not written: %s", output_path, error.strerror)

    def _change(self, before, now):
        self.current_action = now
        if self._profctl is None:
            return
        recorded = before in _RECORDED
        if self._starting and (before is ProfilerAction.RECORD_AND_SAVE or now is ProfilerAction.NONE or
                               (recorded and now is ProfilerAction.WARMUP)):
            self._end(recorded)
        if now is not ProfilerAction.NONE and self._starting is None:
            self._begin()
        if now in _RECORDED and self._starting and self._session is None:
            self._await_start()
            if self._session is not None and self._operators is not None:
                self._operators.start()

    def _begin(self):
        """A window; it records from the next step on that the schedule wants recorded."""
        folder = os.path.abspath(os.fspath(getattr(self._ready, "dir_name", None) or "."))
        worker = getattr(self._ready, "worker_name", None) or socket.gethostname()
        name = f"{worker[:200]}_{os.getpid()}_{_stamp()}_ascend_pt"
        self._output = os.path.join(folder, name)
        options = ["--collect", ",".join(self._kinds), "--output", self._output, "--name", name]
        if profd.available():
            options += self._steps_of_window()
        if self._max_bytes:
            options += ["--storage-limit", str(self._max_bytes)]
        for option, domains in (("--agent-domains", self._config.domains),
                                ("--agent-domains-exclude", [] if self._config.domains else self._config.without_domains)):
            if domains:
                options += [option, ",".join(domains)]
        if self._unrecorded:
            log.warning("not recorded by profd: %s", ", ".join(self._unrecorded))
            self._unrecorded = []
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            self._give_up(f"{folder}: {error.strerror}")
            return
        if profd.available():
            _profctl.await_registration(self._profctl)
        self._starting = _profctl.Start(self._profctl, options, self._previous)

    def _steps_of_window(self):
        """Agents hold to the steps exactly, however long start and stop take."""
        at = self.step_num
        while self._schedule(at) is ProfilerAction.WARMUP:
            at += 1
        first = self._first_step + at
        options = ["--step", str(first)] if first > 0 else []
        if self._is_endless():
            return options
        for active in range(1, _MOST_ACTIVE):
            if self._schedule(at + active - 1) is ProfilerAction.RECORD_AND_SAVE:
                return [*options, "--steps", f"active={active},repeat=1"]
        return options

    def _await_start(self):
        answer = self._starting.answer()
        if answer is None:  # it was logged
            self._give_up()
            return
        self._session, self.directory = answer["session"], answer["directory"]
        self._trace_id, self._begun_ns = self._new_trace_id(), _info.now_ns()
        self._metadata.mark_again()

    def _give_up(self, reason=None):
        """Nothing is recorded any more: what failed once would fail at each window, and cost time."""
        if reason:
            log.warning("not recorded: %s", reason)
        self._profctl = self._starting = self._session = None

    def _end(self, recorded):
        if self._session is None:
            self._await_start()  # of a window that ends while it gets ready
        operators = self._operators.stop() if self._operators is not None else None
        session, self._starting, self._session = self._session, None, None
        self._previous = session
        if session is None:
            return
        self._ends = [process for process in self._ends if process.poll() is None]
        if recorded:
            _info.write(self._output, self._asked, self._config, self._begun_ns)
            self._metadata.write(self._output, self._trace_id)
            _operators.write(operators, self._output)
        if not recorded:
            self.directory = None
            process = _profctl.stop(self._profctl, session, "remove", [self._output])
        elif getattr(self._ready, "export", False):
            formats = ",".join(_FORMATS[word] for word in self._config.export)
            process = _profctl.stop(self._profctl, session, "export", [self._output, "--format", formats])
        else:
            process = _profctl.stop(self._profctl, session, "keep")
        if process is not None:
            self._ends.append(process)
        if recorded and self._ready is not None:
            self._ready(self)


def _stamp():
    now = time.time()
    return time.strftime("%Y%m%d%H%M%S", time.localtime(now)) + f"{int(now * 1000) % 1000:03d}"
