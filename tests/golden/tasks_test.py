#!/usr/bin/env python3
"""Device tasks and the calls that launched them: directories written here from docs/formats.md alone, with several
devices, streams and threads, ids that come round, slices cut inside records; and the same ones damaged."""

import csv
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "data", "910b", "PROF_000001_20231114221320000_00004000ABCDEFGH")
PROFCTL = os.path.join(os.environ.get("PROFD_BUILD_DIR", ""), "bin", "profctl")
RAW, WALL, COUNTER = 5_000_000_000_000, 1_700_000_000_000_000_000, 145_000_000_000
OPS = [f"Op_{i}" for i in range(50)]


class Load:
    """Tasks of two threads, each launching on two streams of its device; task ids have six bits."""

    def __init__(self, chip, count=3000):
        self.chip, dice = chip, random.Random(chip)
        self.calls, self.tracks, self.infos, self.logs, self.truth = [], [], [], {0: [], 1: []}, []
        busy = {}
        for thread in (4242, 4243):
            now, device, ids = RAW + 10_000_000 + thread, thread - 4242, {}
            for _ in range(count // 2):
                now += 2_000 + dice.randrange(30_000)
                stream, op = 7 + dice.randrange(2), dice.randrange(len(OPS))
                ids[stream] = (ids.get(stream, -1) + 1) % 64
                begin, end = now, now + 6_000
                self.calls.append((end - 500, 5000, 2, thread, begin + 1_000, end - 500, 99))
                self.calls.append((end, 10000, 1, thread, begin, end, 100 + op))
                self.tracks.append((begin + 2_000, thread, device, stream, ids[stream]))
                self.infos.append((end, thread, 100 + op))
                start = max(busy.get((device, stream), 0), begin + 3_000 + dice.randrange(20_000))
                stop = start + 500 + dice.randrange(9_000)
                busy[device, stream] = stop + 100
                ticks = [COUNTER + (at - RAW) // 20 for at in (start, stop)]
                self.logs[device] += [(ticks[0], 0, stream, ids[stream]), (ticks[1], 1, stream, ids[stream])]
                self.truth.append((str(device), "my_kernel", str(stream), str(ids[stream]), *map(self.us, ticks), OPS[op]))
                now = end
        self.calls.sort(), self.tracks.sort(), self.infos.sort()

    @staticmethod
    def us(ticks):
        ns = WALL + (ticks - COUNTER) * 20
        return f"{ns // 1000}.{ns % 1000:03d}"

    def log_record(self, ticks, end, stream, task):
        if self.chip == 5:
            return struct.pack("<HHHHQ48x", end, 0x6BD3, stream, task, ticks)
        if self.chip == 0:  # the firmware's states of a task, the parser's TIME_LINE_FMT; among them what says nothing of its time
            def state(number, at):
                return struct.pack("<BBHIHHHHQII", 0, 3, 32, 0, 0, number, stream, task, at, 0, 0)
            return state(8, ticks) + state(3, ticks) if end else state(1, ticks - 5) + state(2, ticks) + state(7, ticks)
        return struct.pack("<BBHHHQI44x", end, 0, 0, 0, task, ticks, stream)

    def write(self, path):
        """The golden directory's control files, other data."""
        shutil.copytree(GOLDEN, path)
        shutil.copytree(os.path.join(path, "device_0"), os.path.join(path, "device_1"))
        for name in glob.glob(os.path.join(path, "*", "data", "*")):
            os.remove(name)
        for name in glob.glob(os.path.join(path, "device_1", "*.0*")):
            os.rename(name, name.replace(".0", ".1"))
        for folder, device in (("host", ""), ("device_0", ".0"), ("device_1", ".1")):
            name = os.path.join(path, folder, "info.json" + device)
            with open(name, encoding="utf-8") as file:
                info = json.load(file)
            info["platform_version"] = str(self.chip)
            for entry in info["DeviceInfo"]:
                entry["id"], entry["hwts_frequency"] = int(device[1:]), "50"
            with open(name, "w", encoding="utf-8") as file:
                json.dump(info, file)
            name = os.path.join(path, folder, "sample.json")
            with open(name, encoding="utf-8") as file:
                sample = json.load(file)
            sample["devices"] = device[1:] or "64"
            with open(name, "w", encoding="utf-8") as file:
                json.dump(sample, file)
        host = os.path.join(path, "host", "data")
        apis = b"".join(struct.pack("<HHIIIQQQ", 0x5A5A, level, kind, thread, 0, begin, end, item)
                        for _, level, kind, thread, begin, end, item in self.calls)
        tracks = b"".join(struct.pack("<HHIIIQHHHHQQ16x", 0x5A5A, 5000, 3, thread, 40, stamp, device, stream, task, 0, 13, 99)
                          for stamp, thread, device, stream, task in self.tracks)
        infos = b"".join(struct.pack("<HHIIIQQIQII12x", 0x5A5A, 10000, 4, thread, 40, stamp, op, 0, 12, 20, 0)
                         for stamp, thread, op in self.infos)
        names = "12:MatMul\n99:my_kernel\n" + "".join(f"{100 + i}:{op}\n" for i, op in enumerate(OPS))
        self.slices(host, "aging.api_event.data", apis)
        self.slices(host, "aging.compact.task_track", tracks)
        self.slices(host, "unaging.compact.node_basic_info", infos)
        self.slices(host, "unaging.additional.hash_dic", names.encode(), 1)
        self.slices(host, "unaging.additional.type_info_dic",
                    b"10000_1:launch\n5000_2:KernelLaunch\n5000_3:task_track\n5000_13:KERNEL_AICORE\n", 1)
        file = {5: "stars_soc.data", 0: "ts_track.data"}.get(self.chip, "hwts.data")
        for device, log in self.logs.items():
            self.slices(os.path.join(path, f"device_{device}", "data"), f"{file}.{device}",
                        b"".join(self.log_record(*record) for record in sorted(log)))
        return path

    @staticmethod
    def slices(folder, file, data, count=3):
        size = len(data) // count + 1
        for number in range(count):
            with open(os.path.join(folder, f"{file}.slice_{number}"), "wb") as out:
                out.write(data[number * size:(number + 1) * size])


class Tasks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="profd-tasks-")
        self.addCleanup(shutil.rmtree, self.folder)

    def export(self, path):
        """(task rows, operator rows, exit status, what was said)"""
        out = os.path.join(self.folder, "out")
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([PROFCTL, "export", path, "--format", "csv", "--out", out], env=dict(os.environ, TZ="UTC"),
                              capture_output=True, text=True, timeout=120, check=False)
        tables = []
        for kind in ("task_time", "op_summary"):
            found = glob.glob(os.path.join(out, "*", kind + "_*.csv"))
            rows = []
            for name in found:
                with open(name, encoding="utf-8", newline="") as file:
                    rows = [{key: value.strip() for key, value in row.items()} for row in csv.DictReader(file)]
            tables.append(rows)
        return (*tables, done.returncode, done.stdout + done.stderr)

    @staticmethod
    def key(row):
        return (row["Device_id"], row["kernel_name"], row["stream_id"], row["task_id"], row["task_start(us)"],
                row["task_stop(us)"])

    def test_every_task_finds_its_operator(self):
        for chip in (5, 1, 0):
            with self.subTest(chip=chip):
                load = Load(chip)
                path = load.write(os.path.join(self.folder, f"PROF_{chip}"))
                tasks, operators, status, said = self.export(path)
                self.assertEqual(status, 0, said)
                self.assertEqual(sorted(map(self.key, tasks)), sorted(truth[:6] for truth in load.truth))
                names = {(truth[0], truth[2], truth[4]): truth[6] for truth in load.truth}
                self.assertEqual(len(operators), len(load.truth))
                for row in operators:
                    at = row["Device_id"], row["Stream ID"], row["Task Start Time(us)"]
                    self.assertEqual(row["Op Name"], names[at])
                    self.assertEqual((row["OP Type"], row["Task Type"], row["Block Num"]), ("MatMul", "AI_CORE", "20"))
                for device in ("0", "1"):
                    starts = [float(row["Task Start Time(us)"]) for row in operators if row["Device_id"] == device]
                    self.assertEqual(starts, sorted(starts))

    def test_damage(self):
        """Never a crash, never a task at a time that is not its own; what is left out is named."""
        load = Load(5, 1200)
        whole = load.write(os.path.join(self.folder, "PROF_whole"))
        truth = {truth[4:6] for truth in load.truth}
        dice = random.Random(1)
        files = sorted(name.rsplit(".slice_", 1)[0] for name in glob.glob(os.path.join(whole, "*", "data", "*.slice_0")))

        def cut(data):
            return data[:-5]

        def flip(data):
            data = bytearray(data)
            for _ in range(3):
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            return bytes(data)

        def noise(data):
            return dice.randbytes(len(data))

        for change in (cut, flip, noise, None):
            for file in files:
                name = os.path.relpath(file, whole)
                with self.subTest(change=getattr(change, "__name__", "remove"), file=name):
                    path = os.path.join(self.folder, "PROF_damaged")
                    shutil.rmtree(path, ignore_errors=True)
                    shutil.copytree(whole, path)
                    slices = sorted(glob.glob(os.path.join(path, name + ".slice_*")))
                    at = slices[len(slices) // 2]
                    with open(at, "rb") as source:
                        data = source.read()
                    if change is None:
                        os.remove(at)
                    else:
                        with open(at, "wb") as out:
                            out.write(change(data))
                    tasks, _, status, said = self.export(path)
                    self.assertIn(status, (0, 7), said)
                    if change in (cut, None) and len(slices) > 1:
                        self.assertEqual(status, 7, said)
                        self.assertIn(os.path.basename(name).rsplit(".", 1)[0], said)
                    if change in (cut, None):
                        self.assertLessEqual({self.key(row)[4:] for row in tasks}, truth)
                    if "stars_soc" not in name:
                        self.assertEqual({self.key(row)[4:] for row in tasks}, truth)


class Tensors(unittest.TestCase):
    """What the host says of an operator's tensors, beside its node infos; the texts are those that the vendor's parser
    makes of the same directory (level l1)."""

    @staticmethod
    def tensor(is_output, form, kind, *shape):
        return struct.pack("<III8I", is_output, form, kind, *shape, *[0] * (8 - len(shape)))

    def test_shapes_types_and_formats(self):
        with tempfile.TemporaryDirectory(prefix="profd-tensors-") as holder:
            directory = shutil.copytree(GOLDEN, os.path.join(holder, os.path.basename(GOLDEN)))
            (infos,) = glob.glob(os.path.join(directory, "host", "data", "*compact.node_basic_info.slice_0"))
            with open(infos, "rb") as file:
                data = file.read()
            records = []
            for at in range(0, len(data), 64):
                magic, level, _, thread, _, stamp, name = struct.unpack_from("<HHIIIQQ", data, at)
                head = struct.pack("<HHIIIQQ", magic, level, 6, thread, 232, stamp, name)
                first = [self.tensor(0, 2, 1, 16, 32 + at // 64), self.tensor(0, 29 | 4 << 8, 27, 32, 64)]
                for part in (first, [self.tensor(1, 2, 0, 16, 64)]):  # in two records
                    records.append((head + struct.pack("<I", len(part)) + b"".join(part)).ljust(256, b"\0"))
            with open(infos.replace("compact.node_basic_info", "additional.tensor_info"), "wb") as file:
                file.write(b"".join(records))
            done = subprocess.run([PROFCTL, "export", directory, "--format", "csv", "--out", os.path.join(holder, "out")],
                                  check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            (table,) = glob.glob(os.path.join(holder, "out", "*", "op_summary_*.csv"))
            with open(table, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        self.assertGreater(len(rows), 10)
        for number, row in enumerate(rows):
            self.assertEqual([row[column] for column in
                              ("Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types",
                               "Output Formats")],
                             [f'"16,{32 + number};32,64"', "FLOAT16;DT_BF16", "ND;FRACTAL_NZ:4", '"16,64"', "FLOAT", "ND"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
