"""A PROF directory with collectives as CANN's own collector records them (host/data: calls, task tracks, hccl_op_info,
hccl_info) and a 910B's log of tasks. Layouts: docs/formats.md."""
import json
import pathlib
import random
import shutil
import struct

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/data/910b/PROF_000001_20231114221320000_00004000ABCDEFGH"
RAW, WALL, COUNTER = 5_000_000_000_000, 1_700_000_000_000_000_000, 145_000_000_000
ANY = 0xFFFFFFFF  # no sub task

RUNTIME, LIBRARY, NODE, MODEL = 5000, 5500, 10000, 15000
LAUNCH, MASTER, SLAVE, CALL, TRACK, INFO, LOAD = 1, 65537, 65538, 2, 3, 4, 5
EVENT = 2**64 - 1  # in the place of a call's end: its begin and its end come one by one
TYPES = {"NOTIFY_WAIT": 13, "MEMCPY_ASYNC": 14, "KERNEL_AICORE": 15, "RDMA_SEND": 16, "FFTS_PLUS": 17}
GROUPS = {"hccl_world_group": 7_231_004_118_223_009_516, "10.0.0.1%eth0_60000_1": 88_000_000_000_000_007}
NAMES = {"hcom_allReduce_": 201, "hcom_allGather_": 202, "Notify_Wait": 210, "Memcpy": 211, "Reduce_Inline": 212, "RDMASend": 213,
         "MESH-RING-NHR": 220, "MatMul": 12, "my_kernel": 99, "MatMul_1": 100}
DATA, LINK, TRANSPORT = {3: "FP16", 4: "FP32", 11: "BFP16"}, {0: "ON_CHIP", 1: "HCCS", 3: "ROCE"}, {0: "SDMA", 1: "RDMA", 2: "LOCAL"}


def head(level, kind, thread, size, stamp):
    return struct.pack("<HHIIIQ", 0x5A5A, level, kind, thread, size, stamp)


class Job:
    """Two threads, each with a group; `self.collectives` and `self.parts` are what there was."""

    def __init__(self, each=40, seed=1):
        dice = random.Random(seed)
        self.calls, self.tracks, self.infos, self.ops, self.of_library, self.log = [], [], [], [], [], []
        self.collectives, self.parts, self.kernels = [], [], 0
        self.others, self.names = {}, {}  # more files of host/data: their records; more names
        for thread, group in zip((4242, 4243), GROUPS):
            now, ids = RAW + 10_000_000 + thread, {}
            for number in range(each):
                now += 300_000 + dice.randrange(100_000)
                if number % 4 == 3:
                    now = self.kernel(now, thread, ids)
                now = self.collective(now, thread, group, number, ids, dice)

    def launch(self, now, thread, stream, ids, kind, kernel=0):
        """A call of the runtime and its task's track; the task's id."""
        ids[stream] = ids.get(stream, -1) + 1
        self.calls.append((RUNTIME, CALL, thread, now, now + 900, kernel))
        self.tracks.append((now + 400, thread, stream, ids[stream], TYPES[kind], kernel))
        return ids[stream]

    def ran(self, begin, end, stream, task, kind=0):
        ticks = [COUNTER + (at - RAW) // 20 for at in (begin, end)]
        self.log += [(ticks[0], kind << 10, stream, task), (ticks[1], kind << 10 | 1, stream, task)]
        return tuple(WALL + (at - COUNTER) * 20 for at in ticks)

    def kernel(self, now, thread, ids):
        """An operator that is of no collective."""
        task = self.launch(now + 1_000, thread, 3 + thread % 2, ids, "KERNEL_AICORE", NAMES["my_kernel"])
        self.calls.append((NODE, LAUNCH, thread, now, now + 3_000, NAMES["MatMul_1"]))
        self.infos.append((now + 2_800, thread, NAMES["MatMul_1"], 0, NAMES["MatMul"]))
        self.ran(now + 20_000, now + 50_000, 3 + thread % 2, task)
        self.kernels += 1
        return now + 60_000

    def collective(self, now, thread, group, number, ids, dice):
        name = ("hcom_allReduce_", "hcom_allGather_")[number % 3 == 2]
        begin, at, device_ns = now, now + 2_000, now + 60_000
        spans, of = [], len(self.collectives)
        for plane in range(2):
            stream, of_library = 20 + 2 * (thread % 2) + plane, (MASTER, SLAVE)[plane > 0]
            for what in ("Notify_Wait", "Memcpy", "Reduce_Inline", "RDMASend", "Memcpy")[:3 + 2 * (number % 2)]:
                kind = {"Notify_Wait": "NOTIFY_WAIT", "Memcpy": "MEMCPY_ASYNC", "Reduce_Inline": "KERNEL_AICORE",
                        "RDMASend": "RDMA_SEND"}[what]
                task = self.launch(at + 500, thread, stream, ids, kind, NAMES["my_kernel"] if kind.startswith("KERNEL") else 0)
                self.calls.append((LIBRARY, of_library, thread, at, at + 2_000, NAMES[what]))
                part = {"notify": dice.randrange(1 << 40), "local": 1, "remote": (2, ANY)[what == "Reduce_Inline"],
                        "estimated": dice.randrange(1000) / 8, "bytes": 0 if what == "Notify_Wait" else dice.randrange(1 << 24),
                        "data": 4, "link": (1, 3)[what == "RDMASend"], "transport": (0, 1)[what == "RDMASend"], "rdma": 0}
                self.of_library.append((at + 1_000, thread, NAMES[what], GROUPS[group], plane, part))
                end_ns = device_ns + 2_000 + dice.randrange(20_000)
                spans.append((plane == 0, self.ran(device_ns, end_ns, stream, task)))
                self.parts.append({"of": of, "name": what, "group": group, "plane": plane, "stream": stream, "task": task,
                                   "master": int(plane == 0), "begin": spans[-1][1][0], "end": spans[-1][1][1], **part})
                device_ns, at = end_ns + 1_000 + dice.randrange(3_000), at + 3_000
        end = at + 1_000
        self.calls.append((NODE, LAUNCH, thread, begin, end, NAMES[name]))
        self.infos.append((end - 200, thread, NAMES[name], 9, NAMES[name]))
        count, relay, retry = dice.randrange(1 << 30), number % 2, int(number % 5 == 0)
        self.ops.append((end - 100, thread, relay | retry << 1, 4, NAMES["MESH-RING-NHR"], count, GROUPS[group]))
        main = [span for is_main, span in spans if is_main]
        self.collectives.append({"name": f"{name}_{str(GROUPS[group])[-3:]}_{number}_1", "group": group, "count": count,
                                 "relay": relay, "retry": retry, "begin": main[0][0], "end": max(end for _, end in main)})
        return max(end, device_ns)

    def write(self, path, slices=3):
        """The golden directory's control files, with this in its data."""
        path = pathlib.Path(path)
        shutil.copytree(GOLDEN, path)
        for file in path.glob("*/data/*"):
            file.unlink()
        info = json.loads((path / "device_0/info.json.0").read_text(encoding="utf-8"))
        for entry in info["DeviceInfo"]:
            entry["hwts_frequency"] = "50"
        (path / "device_0/info.json.0").write_text(json.dumps(info), encoding="utf-8")
        for file in path.glob("*/sample.json"):
            sample = json.loads(file.read_text(encoding="utf-8"))
            sample.update(prof_level="level1", profLevel="l1")
            file.write_text(json.dumps(sample), encoding="utf-8")

        calls = sorted(self.calls, key=lambda call: call[3] if call[4] == EVENT else call[4])
        host = {
            "aging.api_event.data": [struct.pack("<HHIIIQQQ", 0x5A5A, level, kind, thread, 0, begin, end, item)
                                     for level, kind, thread, begin, end, item in calls],
            "aging.compact.task_track": [head(RUNTIME, TRACK, thread, 40, stamp) +
                                         struct.pack("<HHHHQQHHB11x", 0, stream, task, 0, kind, kernel, *((24, 64, 2) if kernel else (0, 0, 0)))
                                         for stamp, thread, stream, task, kind, kernel in sorted(self.tracks)],
            "unaging.compact.node_basic_info": [head(NODE, INFO, thread, 40, stamp) + struct.pack("<QIQII12x", op, kind, of_type, 20, 0)
                                                for stamp, thread, op, kind, of_type in sorted(self.infos)],
            "unaging.compact.hccl_op_info": [head(NODE, 10, thread, 40, stamp) + struct.pack("<BBQQQ14x", *rest)
                                             for stamp, thread, *rest in sorted(self.ops)],
            "aging.additional.hccl_info": [
                head(LIBRARY, 7, thread, 232, stamp) +
                struct.pack("<3Q6IQ2Id3Q6I112x", name, 0, group, part["local"], part["remote"], 8, 0, plane, ANY, part["notify"], 0, 0,
                            part["estimated"], 0x1000, 0x2000, part["bytes"], 0, part["data"], part["link"], part["transport"],
                            part["rdma"], 0)
                for stamp, thread, name, group, plane, part in sorted(self.of_library, key=lambda record: record[:2])],
        }
        for name, records in {**host, **self.others}.items():
            self.slices(path / "host/data", name, records, slices)
        names = "".join(f"{number}:{name}\n" for name, number in {**NAMES, **GROUPS, **self.names}.items())
        types = f"{NODE}_{LAUNCH}:launch\n{LIBRARY}_{MASTER}:master\n{LIBRARY}_{SLAVE}:slave\n{RUNTIME}_{CALL}:KernelLaunch\n{MODEL}_{LOAD}:ModelLoad\n" + "".join(
            f"{level}_{number}:{name}\n" for level, number, name in
            ((RUNTIME, TRACK, "task_track"), (NODE, INFO, "node_basic_info"), (NODE, 10, "hccl_op_info"), (LIBRARY, 7, "hccl_info"))) + \
            "".join(f"{RUNTIME}_{number}:{name}\n" for name, number in TYPES.items())
        self.slices(path / "host/data", "unaging.additional.hash_dic", [names.encode()], 1)
        self.slices(path / "host/data", "unaging.additional.type_info_dic", [types.encode()], 1)
        log = [struct.pack("<HHHHQHH44x", word, 0x6BD3, stream, task, ticks, *(sub or (0, 0)))
               for ticks, word, stream, task, *sub in sorted(self.log)]
        self.slices(path / "device_0/data", "stars_soc.data.0", log, slices)
        return path

    @staticmethod
    def slices(folder, file, records, count):
        """Whole records in each: the vendor's parser reads no others."""
        size = max(1, -(-len(records) // count))
        for number in range(-(-len(records) // size)):
            (folder / f"{file}.slice_{number}").write_bytes(b"".join(records[number * size:(number + 1) * size]))
            (folder / f"{file}.slice_{number}.done").write_text("")
