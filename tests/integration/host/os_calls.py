"""host_syscall.data and host_pthreadcall.data as the vendor's parser reads them (host_syscall_presenter.py): which lines are
calls for it, and when. It puts the first stamp that it reads where the collection begins."""
import json
import pathlib
import re

NUMBER = re.compile(r"\d+\.\d+")
MS, S = 10**6, 10**9


def _text(prof, file):
    slices = sorted(pathlib.Path(prof).glob(f"host/data/{file}.slice_*[0-9]"), key=lambda path: int(path.name.rsplit("_", 1)[1]))
    return "".join(path.read_text(encoding="utf-8") for path in slices).splitlines()


def begin_ns(prof):
    return int(json.loads(pathlib.Path(prof, "host/start_info").read_text(encoding="utf-8"))["clockMonotonicRaw"])


def _ns(text, unit):
    whole, digits = text.split(".")
    return int(whole) * unit + int(digits.ljust(9, "0")[:9]) * unit // S


def syscalls(prof):
    """(tid, name, begin, end) of each call, host raw ns."""
    gap = None
    for line in _text(prof, "host_syscall.data"):
        parts = line.strip().split(":")
        times = re.split(r"\s\(", parts[0].strip())
        if len(parts) < 2 or len(times) != 2:
            continue
        stamp, length = NUMBER.match(times[0].strip()), NUMBER.match(times[1].strip())
        if not stamp or not length:
            continue
        stamp, length = _ns(stamp.group(), MS), _ns(length.group(), MS)
        gap = stamp - begin_ns(prof) if gap is None else gap
        words = parts[1].strip().split()
        if "/" not in parts[1].split("(")[0] or len(words) != 2:
            continue
        yield int(words[0].split("/")[1]), words[1].split("(")[0], stamp - gap, stamp - gap + length


def pthread_calls(prof):
    gap = None
    for line in _text(prof, "host_pthreadcall.data"):
        words = line.split()
        length = NUMBER.match(words[-1].strip("<>")) if words and words[-1].endswith(">") else None
        if not length or len(words) < 5 or not NUMBER.fullmatch(words[2]):
            continue
        stamp, length = _ns(words[2], S), _ns(length.group(), S)
        gap = stamp - begin_ns(prof) if gap is None else gap
        name = words[3].split("->")[1].split("(")[0] if "->" in words[3] else words[4]
        if name != "pthread_once":
            yield int(words[1].strip("]")), name, stamp - gap, stamp - gap + length
