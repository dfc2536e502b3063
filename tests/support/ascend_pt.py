"""*_ascend_pt folders as Ascend's PyTorch Profiler leaves them: FRAMEWORK/ and profiler_info. Layouts: format/framework."""
import json
import pathlib
import struct

import collectives

RANGE, MARK, MEMORY, NAME = 1, 2, 3, 4  # types of rows


def row(kind, value):
    return struct.pack("<HI", kind, len(value)) + value


def fields(**texts):
    ids = {"name": 2, "types": 3, "dims": 4, "stack": 8, "modules": 9, "flops": 10}
    return b"".join(row(ids[key], text if isinstance(text, bytes) else text.encode()) for key, text in texts.items())


class Folder:
    """What a program did, in ns of CLOCK_MONOTONIC_RAW."""

    def __init__(self, path, rank=0, level="Level1", pid=4242):
        self.path, self.rank, self.level, self.pid = pathlib.Path(path), rank, level, pid
        self.files = {}  # name -> rows
        self.export_type = ["text"]
        self.info = {"end_info": {"collectionTimeEnd": 1_700_000_000_000_000_000, "MonotonicTimeEnd": 5_000_000_000_000}}

    def add(self, file, data):
        self.files.setdefault(f"torch.{file}", []).append(data)

    def op(self, name, begin, end, tid, sequence=-1, forward=0, **texts):
        self.add("op_range", row(RANGE, struct.pack("<3q4QBB", begin, end, sequence, self.pid, tid, tid, forward, 0, 0) + fields(name=name, **texts)))

    def queued(self, name, correlation, enqueue, dequeue, tid, queue_tid):
        """`enqueue`, `dequeue`: begin and end."""
        for at, kind, thread in ((enqueue[0], 0, tid), (enqueue[1], 1, tid), (dequeue[0], 2, queue_tid), (dequeue[1], 3, queue_tid)):
            self.add("op_mark", row(MARK, struct.pack("<q4Q", at, kind, correlation, thread, self.pid) + row(1, name.encode())))

    def memory(self, address, at, size, total, kind, tid, component=0):
        self.add("memory_usage", row(MEMORY, struct.pack("<7q2b3B2Q", address, at, size, total, 2**20, total, 4096, 20, 0, component, kind, 0, tid, self.pid)))

    def python(self, calls, names):
        """`calls`: time, thread, key, tag."""
        for at, tid, key, tag in calls:
            self.add("python_tracer_func", struct.pack("<4QB", at, tid, self.pid, key, tag))
        for key, name in names.items():
            self.add("python_tracer_hash", row(NAME, struct.pack("<Q", key) + row(1, name.encode())))

    def gc(self, begin, end):
        self.add("gc_record", struct.pack("<3Q", self.pid, begin, end))

    def write(self):
        (self.path / "FRAMEWORK").mkdir(parents=True, exist_ok=True)
        for name, rows in self.files.items():
            (self.path / "FRAMEWORK" / name).write_bytes(b"".join(rows))
        info = {"config": {"common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]},
                           "experimental_config": {"_profiler_level": self.level, "_export_type": self.export_type, "_l2_cache": False}},
                "start_info": {"syscnt_enable": False, "freq": 100, "start_cnt": 0, "start_monotonic": 0}, "rank_id": self.rank, **self.info}
        name = "profiler_info.json" if self.rank < 0 else f"profiler_info_{self.rank}.json"
        (self.path / name).write_text(json.dumps(info), encoding="utf-8")
        return self.path


MAIN, OTHER, PROF = 4242, 4243, "PROF_000001_20260131120000125_ABCDEFGH"  # threads of collectives.Job


def with_device(path, rank=0, level="Level1", each=8, export_type=("text",)):
    """A PROF directory of CANN's collector, and operators around the calls of its two threads; the folder, the launches, the job."""
    folder = Folder(path, rank, level)
    folder.export_type = list(export_type)
    job = collectives.Job(each)
    launches = [call for call in job.calls if call[0] == collectives.NODE]
    begin, end = min(call[3] for call in launches) - 5000, max(call[4] for call in launches) + 5000
    folder.op("ProfilerStep#3", begin, end, MAIN)
    for thread in (MAIN, OTHER):
        folder.op(f"outer{thread}", begin + 1000, end - 1000, thread, dims="2,3;4;", types="float;None", stack="a.py(1);b.py(2)")
        for number, call in enumerate(call for call in launches if call[2] == thread):
            folder.op(f"aten::op{number}", call[3] - 10, call[4] + 10, thread, sequence=number if thread == MAIN else -1)
    folder.write()
    job.write(folder.path / PROF)
    return folder, launches, job


class MindSpore:
    """A *_ascend_ms folder: what MindSpore's profiler leaves. Stamps are counts of the CPU, as `count` makes them of ns."""

    def __init__(self, path, count=lambda ns: ns, rank=0, level="Level1", pid=4242):
        self.path, self.count, self.rank, self.level, self.pid = pathlib.Path(path), count, rank, level, pid
        self.ranges, self.shapes = [], []

    def range(self, begin, end, tid, name, full="", module=0, event=0, stage=0, flow=2**64 - 1, graph=None, is_stage=False,
              is_python=False, custom="", step=1):
        fixed = struct.pack("<5Qi3Hb3?", tid, flow, step, self.count(begin), self.count(end), 0 if is_python else self.pid, module, event,
                            stage, -1, graph is not None, is_stage, is_python)
        texts = {13: name, 14: full, 15: graph[0] if graph else "", 16: graph[1] if graph else "", 17: custom}
        self.ranges.append(row(1, fixed + b"".join(row(key, text.encode()) for key, text in texts.items() if text)))

    def old(self, begin, end, tid, name, flow=2**64 - 1):
        """As an older release has it."""
        fixed = struct.pack("<3q6Qb?", self.count(begin), self.count(end), -1, self.pid, tid, tid, 0, flow, 1, 0, False)
        self.ranges.append(row(1, fixed + row(3, name.encode()) + row(5, b"1,2;")))

    def shape(self, name, shapes):
        self.shapes.append(row(1, row(0, name.encode()) + row(1, shapes.encode()) + row(2, b"float")))

    def write(self):
        (self.path / "FRAMEWORK").mkdir(parents=True, exist_ok=True)
        for name, rows in (("op_range", self.ranges), ("record_shapes", self.shapes)):
            if rows:
                (self.path / "FRAMEWORK" / f"mindspore.{name}").write_bytes(b"".join(rows))
        info = {"rank_id": self.rank, "ms_version": "2.6.0", "profiler_parameters": {"profiler_level": self.level, "export_type": ["text"]}}
        (self.path / f"profiler_info_{self.rank}.json").write_text(json.dumps(info), encoding="utf-8")
        return self.path
