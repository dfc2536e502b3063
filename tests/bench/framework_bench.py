#!/usr/bin/env python3
"""What an export of a folder of Ascend's PyTorch Profiler costs: operators per CPU-second, wall time and the most memory, by format.
Usage: framework_bench.py PROFCTL [--operators 1000000,10000000] [--formats csv,perfetto,chrome,db] [--out DIR]"""
import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import ascend_pt  # noqa: E402  pylint: disable=wrong-import-position

RAW, EACH = 5_000_000_000_000, 500_000  # operators of a step
SHAPES = [f"{2 ** (i % 12)},{64 + i};{i};" for i in range(300)]


class Step:
    """Bytes of one step of operators, two threads, three levels deep; only its stamps differ from that of another one."""

    def __init__(self, operators):
        self.bytes, self.at, self.stamps = bytearray(), [], []
        self.ns = operators * 700
        self.add("ProfilerStep#", 0, self.ns, 0)
        names = [f"aten::op_{i % 97}" for i in range(97)]
        for number in range((operators - 1) // 3):
            begin, thread = number * 2000, number % 2
            for depth in (2, 1, 0):  # written when they end
                self.add(names[(number + depth) % 97], begin + depth * 100, begin + 1900 - depth * 100, thread, number)

    def add(self, name, begin, end, thread, number=0):
        row = ascend_pt.row(ascend_pt.RANGE, struct.pack("<3q4QBB", 0, 0, number, 4242, 4242 + thread, 4242 + thread, 0, 0, 0) +
                            ascend_pt.fields(name=name, types="c10::Half;float;", dims=SHAPES[number % len(SHAPES)]))
        self.at.append(len(self.bytes) + 6)
        self.stamps.append((begin, end))
        self.bytes += row

    def write(self, file, begin):
        pack = struct.Struct("<2q").pack_into
        for at, (one, other) in zip(self.at, self.stamps):
            pack(self.bytes, at, begin + one, begin + other)
        file.write(self.bytes)


def generate(path, operators):
    folder = ascend_pt.Folder(path)
    folder.write()
    step = Step(min(operators, EACH))
    with open(path / "FRAMEWORK/torch.op_range", "wb") as file:
        for number in range(max(1, operators // EACH)):
            step.write(file, RAW + number * (step.ns + 1000))
    return path


def measure(profctl, folder, form, out):
    """CPU seconds, wall seconds, MiB, bytes written."""
    words = ["/usr/bin/time", "-f", "%U %S %e %M", profctl, "export", folder, "--format", form, "--out", out]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    user, system, wall, kib = map(float, done.stderr.split()[-4:])
    written = sum(file.stat().st_size for file in pathlib.Path(out).rglob("*") if file.is_file())
    shutil.rmtree(out)
    return user + system, wall, kib / 1024, written


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("profctl")
    parser.add_argument("--operators", default="1000000")
    parser.add_argument("--formats", default="csv,perfetto,chrome,db")
    parser.add_argument("--out", default=None)
    asked = parser.parse_args()
    print(f"on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for operators in map(int, asked.operators.split(",")):
        with tempfile.TemporaryDirectory(prefix="profd-framework-bench-", dir=asked.out) as top:
            folder = generate(pathlib.Path(top) / "x_ascend_pt", operators)
            for form in asked.formats.split(","):
                cpu, wall, mib, written = measure(asked.profctl, folder, form, f"{top}/out")
                print(f"{operators:>9} operators, {form:<8}: {operators / cpu / 1e6:5.2f} M operators per CPU-second, {wall:6.1f} s, "
                      f"{mib:6.0f} MiB, {written / 1e6:.0f} MB written", flush=True)


if __name__ == "__main__":
    main()
