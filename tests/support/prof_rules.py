"""What a writer of PROF directories must keep, so that the vendor's analyser reads every value right."""

import datetime
import os
import re
import stat
import struct

import own_folder
from prof_files import SLICE, ProfError, load_json, load_start_log, load_times, read_bytes

PROF_NAME = re.compile(r"PROF_\d{1,10}_\d{1,20}_[A-Z0-9]{5,20}")
LEFT_BY_A_KILL = re.compile(r"\..*\.tmp")  # not yet renamed to what it replaces; no reader takes it for a slice
HOST_NUMBER = "64"
TEXT_TIME = r"\d+:\d{9}"  # the analyser drops the colon, so the nanoseconds must be zero-filled
# Folders that the vendor's parser does not look into (Ascend/msprof 9ba1ac7, analysis/common_func/constant.py:485).
NOT_LOOKED_INTO = {".profiler", "HCCL_PROF", "timeline", "query", "sqlite", "log", "analyze", "mindstudio_profiler_log",
                   "mindstudio_profiler_output"}
ONE_SLICE_KINDS = {"roce.data", "dvpp.data"}  # the analyser keeps the last slice only
DEVICE_INTS = ("id env_type ctrl_cpu_core_num ctrl_cpu_endian_little ts_cpu_core_num ai_cpu_core_num ai_core_num "
               "ai_cpu_core_id ai_core_id aicpu_occupy_bitmap aiv_num").split()
INFO_TYPES = {
    "version": str, "platform_version": str, "DeviceInfo": list, "CPU": list, "devices": str, "netCard": list,
    "memoryTotal": int, "cpuNums": int, "sysClockFreq": int, "pid": str, "pid_name": str, "drvVersion": int,
    "jobInfo": str, "OS": str, "hostname": str, "hwtype": str, "platform": str, "upTime": str, "cpuCores": int,
    "netCardNums": int, "rank_id": int, "cannVersion": str,
}


def is_number(text):
    return isinstance(text, str) and re.fullmatch(r"\d+(\.\d+)?", text) is not None


class Checker:
    """Collects violations of one directory."""

    def __init__(self, path, sealed, modes):
        self.path, self.sealed, self.modes = path, sealed, modes
        self.violations = []

    def bad(self, path, text):
        self.violations.append(f"{os.path.relpath(path, self.path)}: {text}")

    def run(self, open_directory):
        name = os.path.basename(os.path.normpath(self.path))
        if not PROF_NAME.fullmatch(name):
            self.bad(self.path, f"name {name!r} is none of a PROF directory")
        self.check_folders()
        self.check_modes()
        self.check_markers()
        sides = [(entry, None if entry == "host" else int(entry[7:])) for entry in sorted(os.listdir(self.path))
                 if re.fullmatch(r"host|device_(0|[1-9]\d*)", entry)]
        if not sides:
            self.bad(self.path, "neither host nor device_N")
        for entry, device in sides:
            self.check_control(os.path.join(self.path, entry), device)
        for entry, device in sides:
            self.check_data(os.path.join(self.path, entry), device)
        try:
            self.check_core_mode([entry for entry, _ in sides])
            prof = open_directory(self.path)
            for device in prof.devices.values():
                self.check_records(device)
                if device.stars().get("qos") and not device.sample.get("qosEvents"):
                    self.bad(device.path, "qosEvents of sample.json names no stream of stars_soc_profile.data")
                self.check_stamps(device)
            if prof.host:
                self.check_host(prof.host)
        except (ProfError, ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
            self.bad(self.path, f"cannot be read: {type(error).__name__}: {error}")
        return self.violations

    # --- files

    def check_folders(self):
        """The vendor's parser takes every folder for a side or for a collection of sides, and stops at any other
        (analysis/msinterface/msprof_export.py:692, common_func/msprof_common.py:287)."""
        for entry in sorted(os.scandir(self.path), key=lambda entry: entry.name):
            if entry.is_symlink() or not entry.is_dir() or entry.name in NOT_LOOKED_INTO:
                continue
            if not any(name.startswith("info.json") for name in os.listdir(entry)):
                self.bad(entry.path, "a folder at which the vendor's parser stops")

    def check_modes(self):
        for folder, _, files in os.walk(self.path):
            if not self.modes:
                return
            for path, wanted in [(folder, 0o750)] + [(os.path.join(folder, file), 0o640) for file in files]:
                info = os.lstat(path)
                if stat.S_ISLNK(info.st_mode):
                    self.bad(path, "symbolic link")
                elif stat.S_IMODE(info.st_mode) != wanted:
                    self.bad(path, f"mode {stat.S_IMODE(info.st_mode):04o}, not {wanted:04o}")

    def check_markers(self):
        for folder, _, files in os.walk(self.path):
            if os.path.relpath(folder, self.path).split(os.sep)[0] == own_folder.OWN_FOLDER:
                continue
            for file in files:
                path = os.path.join(folder, file)
                if file.endswith(".done"):
                    self.check_done(path)
                elif self.sealed and not os.path.exists(path + ".done"):
                    self.bad(path, "no .done marker")

    def check_done(self, path):
        target = path[:-len(".done")]
        if not os.path.exists(target):
            self.bad(path, "marks a file that is not there")
            return
        text = read_bytes(path).decode("ascii", "replace")
        tail = r"starttime:0\nendtime  :0\n" if SLICE.match(os.path.basename(target)) else ""
        match = re.fullmatch(r"filesize: ?(\d+)\n" + tail, text)
        if not match:
            self.bad(path, f"is not laid out as the vendor's: {text!r}")
        elif int(match[1]) != os.path.getsize(target):
            self.bad(path, f"says {match[1]} bytes, the file has {os.path.getsize(target)}")

    # --- control files

    def check_control(self, folder, device):
        tag = "" if device is None else f".{device}"
        for check in (self.check_info, self.check_sample, self.check_times, self.check_logs):
            try:
                check(folder, device, tag)
            except (ProfError, UnicodeDecodeError) as error:
                self.violations.append(str(error))

    def one_line(self, path):
        info = load_json(path)
        if b"\n" in read_bytes(path).rstrip(b"\n"):
            self.bad(path, "more than one line; only the first is read")
        return info

    def check_info(self, folder, device, tag):
        path = os.path.join(folder, "info.json" + tag)
        info = self.one_line(path)
        for key, kind in INFO_TYPES.items():
            if type(info.get(key)) is not kind:
                self.bad(path, f"{key} must be {kind.__name__}, is {info.get(key)!r}")
        if not re.fullmatch(r"\d+", str(info.get("platform_version"))):
            self.bad(path, "platform_version must be the chip's number")
        if info.get("version") not in ("1.0", "2.0"):
            self.bad(path, f"version {info.get('version')!r}")
        cpus = info.get("CPU")
        if not isinstance(cpus, list) or not cpus or not isinstance(cpus[0], dict):
            self.bad(path, "CPU must have an entry")
        else:
            for key, kind in {"Id": int, "Name": str, "Frequency": str, "Logical_CPU_Count": str, "Type": str}.items():
                if type(cpus[0].get(key)) is not kind:
                    self.bad(path, f"CPU[0].{key} must be {kind.__name__}")
            if cpus[0].get("Frequency") != "" and not is_number(cpus[0].get("Frequency")):
                self.bad(path, "CPU[0].Frequency must be MHz in text, or empty")
        for card in info.get("netCard") or []:
            if type(card.get("netCardName")) is not str or type(card.get("speed")) is not int or card["speed"] < 0:
                self.bad(path, f"netCard {card!r}")
        devices = info.get("DeviceInfo")
        if device is None:
            if devices != [] or info.get("devices") != "":
                self.bad(path, "the host has no DeviceInfo and no devices")
            return
        if not isinstance(devices, list) or len(devices) != 1:
            self.bad(path, "DeviceInfo must describe exactly this device")
            return
        if info.get("devices") != str(device):
            self.bad(path, f"devices is {info.get('devices')!r}")
        for key in DEVICE_INTS:
            if type(devices[0].get(key)) is not int:
                self.bad(path, f"DeviceInfo[0].{key} must be int")
        for key in ("ctrl_cpu_id", "ctrl_cpu", "ai_cpu"):
            if type(devices[0].get(key)) is not str:
                self.bad(path, f"DeviceInfo[0].{key} must be text")
        for key in ("hwts_frequency", "aic_frequency", "aiv_frequency"):
            if not is_number(devices[0].get(key)):
                self.bad(path, f"DeviceInfo[0].{key} must be a number in text")
        if is_number(devices[0].get("hwts_frequency")) and float(devices[0]["hwts_frequency"]) <= 0:
            self.bad(path, "hwts_frequency is 0: no tick can be converted")

    def check_sample(self, folder, device, tag):
        path = os.path.join(folder, "sample.json")
        sample = self.one_line(path)
        if sample.get("devices") != (HOST_NUMBER if device is None else str(device)):
            self.bad(path, f"devices is {sample.get('devices')!r}")
        for key, value in sample.items():
            if not isinstance(value, (str, int, bool)):
                self.bad(path, f"{key} must be a plain value")
        data = os.path.join(folder, "data")
        have = {m["file"] for m in map(SLICE.match, os.listdir(data) if os.path.isdir(data) else []) if m}
        if "hbm.data" in have and sample.get("hbm_profiling_events") not in ("read,write", "read", "write"):
            self.bad(path, f"hbm_profiling_events is {sample.get('hbm_profiling_events')!r}")
        if "llc.data" in have and sample.get("llc_profiling") not in ("read", "write", "capacity", "bandwidth"):
            self.bad(path, f"llc_profiling is {sample.get('llc_profiling')!r}: no LLC output")
        if "qos.data" in have and not sample.get("qosEvents"):
            self.bad(path, "qosEvents names no stream")
        if "host_disk.data" in have and (type(sample.get("host_disk_freq")) is not int or sample["host_disk_freq"] <= 0):
            self.bad(path, f"host_disk_freq is {sample.get('host_disk_freq')!r}")
        for kinds, keys in (({"aicore.data", "ffts_profile.data"}, "ai_core_profiling_mode ai_core_profiling_events"),
                            ({"aiVectorCore.data"}, "aiv_profiling_mode aiv_profiling_events")):
            if have & kinds:
                mode, events = keys.split()
                if sample.get(mode) not in ("sample-based", "task-based") or not sample.get(events):
                    self.bad(path, f"core data needs {mode} and {events}")

    def check_core_mode(self, sides):
        """The analyser asks the host's file, where there is one, how the cores of the devices were counted."""
        modes = [load_json(os.path.join(self.path, side, "sample.json")).get("ai_core_profiling_mode")
                 for side in sides if os.path.exists(os.path.join(self.path, side, "sample.json"))]
        if "host" in sides and len(sides) > 1 and modes[-1] not in modes[:-1]:
            self.bad(os.path.join(self.path, "host", "sample.json"), f"cores are counted {modes[-1]!r}, on devices {modes[:-1]}")

    def check_times(self, folder, device, tag):
        for stem, end in (("start_info", False), ("end_info", True)):
            path = os.path.join(folder, stem + tag)
            if end and not os.path.exists(path):
                if self.sealed:
                    self.bad(path, "missing")
                continue
            wall_us, raw_ns = load_times(path, end)
            info = self.one_line(path)
            mine, other = ("End", "Begin") if end else ("Begin", "End")
            if info.get(f"collectionTime{other}") != "" or info.get(f"collectionDate{other}") != "":
                self.bad(path, f"the {other} fields must be empty")
            date = info.get(f"collectionDate{mine}")
            try:
                parsed = datetime.datetime.strptime(date, "%Y-%m-%d %H:%M:%S.%f")
                if parsed.microsecond != wall_us % 10**6 or parsed.second != wall_us // 10**6 % 60:
                    self.bad(path, f"collectionDate{mine} {date} is not the time {wall_us}")
            except (TypeError, ValueError):
                self.bad(path, f"collectionDate{mine} is {date!r}")
            if end and (wall_us, raw_ns) < load_times(os.path.join(folder, "start_info" + tag), False):
                self.bad(path, "ends before it starts")

    def check_logs(self, folder, device, tag):
        path = os.path.join(folder, "host_start.log" + tag)
        section, values = load_start_log(path)
        if section != ("Host" if device is None else f"Device{device}"):
            self.bad(path, f"section [{section}]")
        if "cntvct_diff" not in values:
            self.bad(path, "cntvct_diff missing")
        if device is not None:
            path = os.path.join(folder, "dev_start.log" + tag)
            section, _ = load_start_log(path)
            if section is not None:
                self.bad(path, f"has a section [{section}]")

    # --- slices

    def check_data(self, folder, device):
        data = os.path.join(folder, "data")
        numbers = {}
        for name in sorted(os.listdir(data)) if os.path.isdir(data) else []:
            path = os.path.join(data, name)
            if name.endswith(".done"):
                continue
            if not self.sealed and LEFT_BY_A_KILL.fullmatch(name):
                continue
            match = SLICE.match(name)
            if not match:
                self.bad(path, "is no slice")
                continue
            found = None if match["device"] is None else int(match["device"])
            if found != device:
                self.bad(path, f"belongs to device {found}, lies in {os.path.basename(folder)}")
                continue
            numbers.setdefault(match["file"], []).append(int(match["slice"]))
            self.check_slice(path, match["file"], device)
        for file, found in numbers.items():
            found.sort()
            if found != list(range(found[0], found[0] + len(found))):
                self.bad(os.path.join(data, file), f"slices {found} have a gap")
            if file in ONE_SLICE_KINDS and len(found) > 1 and not self.has_limit(folder):
                self.bad(os.path.join(data, file), "more than one slice; the analyser keeps the last one only")

    @staticmethod
    def has_limit(folder):
        """With a storage limit these age like the rest, so they are sliced like the rest."""
        return bool(load_json(os.path.join(folder, "sample.json")).get("storageLimit"))

    def check_slice(self, path, file, device):
        content = read_bytes(path)
        is_text = device is None or file in ("hccs.data", "nic.data", "roce.data", "netdev_stats.data") or \
            file.startswith("dvpp.") or file.endswith(("-CpuUsage.data", "-Memory.data")) or \
            file in ("SystemCpuUsage.data", "Memory.data", "ai_ctrl_cpu.data")
        binary_host = device is None and re.match(r"(aging|unaging)\.|host_platform_uncore", file)
        if not is_text or binary_host:
            return
        if content and not content.endswith(b"\n"):
            self.bad(path, "ends in the middle of a line")
        lines = content.decode("utf-8", "replace").splitlines()
        if file == "hccs.data" and lines and re.match(TEXT_TIME, lines[0]):
            self.bad(path, "no header line: the first record is lost")
        if file in ("hccs.data", "nic.data", "roce.data") or file.startswith("dvpp."):
            for number, line in enumerate(lines):
                if not (number == 0 and line[:1].isalpha()) and not re.match(TEXT_TIME + " ", line):
                    self.bad(path, f"line {number + 1}: no <seconds>:<9 digits> stamp: {line[:40]!r}")
                    break

    # --- records

    def check_records(self, device):
        for file, paths in device.slices.items():
            try:
                size = struct.calcsize("<" + device.layout(file))
            except KeyError:
                continue
            for path in paths:
                if os.path.getsize(path) % size:
                    self.bad(path, f"{os.path.getsize(path)} bytes are no whole records of {size}")
        bad = lambda file, text: self.bad(os.path.join(device.path, "data", file), text)
        if device.has("hbm.data") and device.version == "1.0":
            self.check_hbm(device, bad)
        for file, field in (("ddr.data", 0), ("npu_mem.data", 0), ("npu_mem.app", 0)):
            if device.has(file) and device.version == "1.0":
                stamps = [record[field] for record in device.raw(file)]
                if stamps != sorted(stamps):
                    bad(file, "32-bit stamps go backwards: the session is too long for them")
        if device.has("stars_soc_profile.data"):
            wrong = sum(record[1] != 0x6BD3 for record in device.raw("stars_soc_profile.data"))
            if wrong:
                bad("stars_soc_profile.data", f"{wrong} records without the magic")
        for file in ("aicore.data", "aiVectorCore.data", "ffts_profile.data"):
            if device.has(file) and any(record[0] == 0 for record in device.raw(file)):
                bad(file, "a record of mode 0 ends the file for the analyser")
        for file, columns in (("hccs.data", {3}), ("nic.data", {14, 15, 16}), ("roce.data", {15, 16}),
                              ("netdev_stats.data", {16}), ("dvpp.data", {11, 12})):
            for row in device.raw(file) if device.has(file) else []:
                if len(row) not in columns:
                    bad(file, f"{len(row)} columns: {' '.join(row)[:80]!r}")
                    break

    def check_hbm(self, device, bad):
        """The analyser's formula takes ids 0–3, both events and one stamp per period for granted."""
        events = {"read": {0}, "write": {1}}.get(device.sample.get("hbm_profiling_events"), {0, 1})
        wanted = {(event, hbm_id) for event in events for hbm_id in range(4)}
        periods = {}
        for time, _, event, hbm_id in device.raw("hbm.data"):
            periods.setdefault(time, []).append((event, hbm_id))
        for time, rows in periods.items():
            if len(rows) != len(wanted) or set(rows) != wanted:
                bad("hbm.data", f"period at {time} µs has (event, id) {sorted(rows)[:10]}")
                return
        if list(periods) != sorted(periods):
            bad("hbm.data", "periods are not in the order of their stamps")

    def check_stamps(self, device):
        """Stamps in a wrong unit fall outside the session, and the kind is missing in the timeline."""
        begin = device.begin_us * 1000
        end = device.end_us * 1000 if device.end_us else None
        slack = 2 * 10**9
        for file in device.slices:
            samples = device.samples(file)
            if not samples:
                continue
            inside = sum(begin - slack <= wall and (end is None or wall <= end + slack) for wall, _ in samples)
            if inside != len(samples):
                self.bad(os.path.join(device.path, "data", file),
                         f"{len(samples) - inside} of {len(samples)} stamps are outside the session")

    def check_host(self, host):
        for read in (host.cpu, host.mem, host.network, host.disk, host.cpu_classes, host.sys_memory, host.process_cpu,
                     host.process_memory):
            read()
        data = os.path.join(host.path, "data")
        if host.has("host_disk.data"):
            lines = host.lines("host_disk.data")
            if not lines or not re.fullmatch(r"start_time \d+", lines[-1]):
                if self.sealed:
                    self.bad(os.path.join(data, "host_disk.data"), "does not end in start_time: its rows have no time")
        for file in host.slices:
            if file.endswith("CpuUsage.data"):
                for _, body in host.blocks(file):
                    if re.search(r"\([^)]* [^)]*\)", body[0]):
                        self.bad(os.path.join(data, file), "a blank in the process name shifts the columns")
                        break


def check(path, sealed, modes, open_directory):
    return Checker(path, sealed, modes).run(open_directory)
