"""One side of a PROF directory (host/ or device_N/): control files, slices, clocks, text blocks."""

import collections
import json
import os
import re
import struct
from fractions import Fraction

MB = 2**20
SLICE = re.compile(r"^(?P<file>.+?)(?:\.(?P<device>\d+))?\.slice_(?P<slice>\d+)$")
MEMINFO = "MemTotal MemFree Buffers Cached Shmem CommitLimit Committed_AS HugePages_Total HugePages_Free".split()


class ProfError(Exception):
    """The directory cannot be read as the vendor's analyser would read it."""


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def load_json(path):
    """The analyser takes the first line of the file and nothing else."""
    try:
        text = read_bytes(path).decode("utf-8").split("\n", 1)[0]
        value = json.loads(text)
    except FileNotFoundError:
        raise ProfError(f"{path}: missing") from None
    except ValueError as error:
        raise ProfError(f"{path}: first line is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ProfError(f"{path}: first line is no JSON object")
    return value


def load_start_log(path):
    """(section, {key: number}) of host_start.log and dev_start.log."""
    section, values = None, {}
    try:
        text = read_bytes(path).decode("ascii")
    except FileNotFoundError:
        raise ProfError(f"{path}: missing") from None
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
        elif match := re.fullmatch(r"(\w+): (\d+)", line):
            values[match[1]] = int(match[2])
    for key in ("clock_monotonic_raw", "cntvct"):
        if key not in values:
            raise ProfError(f"{path}: {key} missing")
    return section, values


def load_times(path, end):
    """(wall µs, host raw ns) of start_info or end_info."""
    info = load_json(path)
    key = "collectionTimeEnd" if end else "collectionTimeBegin"
    try:
        return int(info[key]), int(info["clockMonotonicRaw"])
    except (KeyError, ValueError, TypeError):
        raise ProfError(f"{path}: {key} or clockMonotonicRaw is missing or no number") from None


class Side:
    """host/ or device_N/: its control files and slices."""

    def __init__(self, path, device=None):
        self.path, self.device = path, device
        tag = "" if device is None else f".{device}"
        name = lambda stem: os.path.join(path, stem + tag)
        self.info = load_json(name("info.json"))
        self.sample = load_json(os.path.join(path, "sample.json"))
        self.begin_us, self.begin_raw = load_times(name("start_info"), end=False)
        self.end_us = None
        if os.path.exists(name("end_info")):
            self.end_us, _ = load_times(name("end_info"), end=True)
        self.section, host_log = load_start_log(name("host_start.log"))
        self.host_mono, self.host_cntvct = host_log["clock_monotonic_raw"], host_log["cntvct"]
        try:
            self.chip = int(self.info["platform_version"])
            self.cpu_info = self.info["CPU"][0]
            self.devices_info = self.info["DeviceInfo"]
        except (KeyError, IndexError, ValueError, TypeError):
            raise ProfError(f"{path}: info.json lacks platform_version, CPU[0] or DeviceInfo") from None
        self.version = self.info.get("version", "1.0")
        self.slices = self._find_slices()

    def _find_slices(self):
        found = collections.defaultdict(list)
        data = os.path.join(self.path, "data")
        for name in os.listdir(data) if os.path.isdir(data) else []:
            match = SLICE.match(name)
            if not match:
                continue
            device = None if match["device"] is None else int(match["device"])
            if device == self.device:
                found[match["file"]].append((int(match["slice"]), os.path.join(data, name)))
        return {file: [path for _, path in sorted(paths)] for file, paths in found.items()}

    # --- streams

    def has(self, file):
        return file in self.slices

    def join(self, file):
        return b"".join(read_bytes(path) for path in self.slices.get(file, []))

    def records(self, file, layout):
        """Whole records, aligned to the END of the stream: a rest is skipped at its front."""
        data = self.join(file)
        record = struct.Struct("<" + layout)
        return list(record.iter_unpack(data[len(data) % record.size:]))

    def lines(self, file, last_slice_only=False):
        paths = self.slices.get(file, [])
        if last_slice_only:
            paths = paths[-1:]
        return [line for path in paths for line in read_bytes(path).decode("utf-8", "replace").splitlines()]

    # --- clocks; W is the wall clock minus the host's raw clock at the start, in ns

    @property
    def wall_minus_raw(self):
        return self.begin_us * 1000 - self.begin_raw

    def raw_to_wall(self, raw_ns):  # T5
        return raw_ns + self.wall_minus_raw

    def host_counter_to_wall(self, ticks):  # T4
        frequency = Fraction(self.cpu_info.get("Frequency") or 0)
        if frequency <= 0:
            return self.raw_to_wall(ticks)
        return round((ticks - self.host_cntvct) * 1000 / frequency) + self.host_mono + self.wall_minus_raw

    # --- text in blocks of TimeStamp, Index, DataLen, body, empty line

    def blocks(self, file):
        blocks, stamp, body = [], None, []
        for line in self.lines(file):
            if match := re.fullmatch(r"TimeStamp:(\d+)", line):
                stamp, body = int(match[1]), []
            elif line == "":
                if stamp is not None:
                    blocks.append((stamp, body))
                stamp = None
            elif stamp is not None and not re.match(r"(Index|DataLen):\d+$", line):
                body.append(line)
        return blocks

    def block_wall(self, stamp):
        return self.raw_to_wall(stamp)

    def cpu_usage(self, file, classes):
        """Percent by class over the whole run; `classes` maps a CPU number (None = the total line) to its class."""
        sums = collections.defaultdict(lambda: [0] * 10)
        for _, body in self.blocks(file):
            for line in body:
                match = re.match(r"cpu(\d*)\s+(.*)", line)
                owner = match and classes(int(match[1]) if match[1] else None)
                if owner:
                    for i, value in enumerate(match[2].split()[:10]):
                        sums[owner][i] += int(value)
        names = {"user": 0, "sys": 2, "idle": 3, "iowait": 4, "irq": 5, "soft": 6}
        return {owner: {name: 100 * ticks[i] / sum(ticks) for name, i in names.items()}
                for owner, ticks in sums.items() if sum(ticks)}

    def memory(self, file):
        """Mean of every field, cut to an integer."""
        values = collections.defaultdict(list)
        for _, body in self.blocks(file):
            for line in body:
                key = line.split(":")[0]
                if key in MEMINFO:
                    words = line.split()
                    values[key].append(int(words[-2] if words[-1] == "kB" else words[-1]))
        return {key: sum(numbers) // len(numbers) for key, numbers in values.items()}

    def process_cpu(self):
        """{pid: (name, percent)}: mean of the process's ticks over all CPUs' ticks since boot."""
        result = {}
        for file in sorted(self.slices):
            match = re.fullmatch(r"(\d+)-CpuUsage\.data", file)
            if not match:
                continue
            name, shares = "", []
            for _, body in self.blocks(file):
                ticks = sum(int(value) for value in body[0].split()[13:17])
                for line in body[1:]:
                    if line.startswith("ProcessName:"):
                        name = line.split(":", 1)[1]
                    elif line.startswith("cpu "):
                        shares.append(100 * ticks / sum(int(value) for value in line.split()[1:]))
            if shares:
                result[int(match[1])] = (name, sum(shares) / len(shares))
        return result

    def process_memory(self):
        """{pid: (name, size, resident, shared)} in pages, means cut to integers."""
        result = {}
        for file in sorted(self.slices):
            match = re.fullmatch(r"(\d+)-Memory\.data", file)
            if not match:
                continue
            name, rows = "", []
            for _, body in self.blocks(file):
                rows.append([int(value) for value in body[0].split()[:3]])
                name = body[1].split(":", 1)[1]
            if rows:
                result[int(match[1])] = (name, *(sum(column) // len(rows) for column in zip(*rows)))
        return result
