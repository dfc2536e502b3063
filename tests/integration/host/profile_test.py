#!/usr/bin/env python3
"""host-cpu-profile: planted functions of real programs are found, with their threads and children, and nothing of others."""
import collections
import csv
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import own_folder
import prof_reader
from perfetto_reader import fields, varint

HOT = harness.BUILD / "tests" / "hot"
SHIPPED = harness.BUILD / "tests" / "hot_shipped"  # without frame pointers
TURNS = """
import json, time
rows = [{"loss": number / 7} for number in range(100)]
def planted_dump(rows):
    end = time.perf_counter_ns() + 10_000_000
    while time.perf_counter_ns() < end:
        json.dumps(rows)
def synchronise(ms):
    end = time.perf_counter_ns() + ms * 1_000_000
    while (left := end - time.perf_counter_ns()) > 0:
        time.sleep(left / 1e9)  # as a program waits for its device
def main():
    print("busy", flush=True)
    while True:
        planted_dump(rows)
        synchronise(6)
main()
"""
FALSE_PYTHON = harness.BUILD / "tests" / "python_false"
PYTHON = """
def planted_hot(rounds):
    total = 0
    for i in range(rounds):
        total = (total * 31 + i) % 1000003
    return total

def planted_key(value):
    return planted_hot(2000 + value)

def planted_sort():
    return sorted(range(50), key=planted_key)

class Planted:
    def method(self):
        while True:
            planted_sort()

print("busy", flush=True)
Planted().method()
"""
PLENTY = 150  # samples
STARTERS = ("clone", "thread_start", "libc.so")  # of threads, by the architecture; the last where it has no symbols
KIND = "host-cpu-profile"


class Stacks:
    """A collapsed export: how often each stack was seen, outermost frame first."""

    def __init__(self, text):
        self.counts = collections.Counter()
        for line in text.splitlines():
            stack, count = line.rsplit(" ", 1)
            self.counts[tuple(stack.split(";"))] += int(count)

    @property
    def total(self):
        return sum(self.counts.values())

    def of(self, process):
        return sum(count for stack, count in self.counts.items() if stack[0] == process)

    def share(self, function, within=lambda stack: True):
        """Of the samples in which `function` is innermost."""
        chosen = {stack: count for stack, count in self.counts.items() if within(stack)}
        return sum(count for stack, count in chosen.items() if function in stack[-1]) / max(1, sum(chosen.values()))

    def chain(self, *functions):
        """Of the samples whose stack has these, in this order, among others."""
        def matches(stack):
            frames = iter(stack)
            return all(any(function in frame for frame in frames) for function in functions)
        return sum(count for stack, count in self.counts.items() if matches(stack)) / max(1, self.total)

    def has(self, *functions):
        return any(all(any(function in frame for frame in stack) for function in functions) for stack in self.counts)


class ProfileTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd()
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="profd-test-"))
        self.addCleanup(shutil.rmtree, self.out)

    def hot(self, *arguments, program=HOT, **options):
        process = subprocess.Popen([str(program), *arguments], stdin=subprocess.PIPE, **options)
        self.ends_with_the_test(process)
        return process

    def begin(self, pid, *arguments):
        result = self.daemon.ctl("start", "--pid", pid, "--collect", KIND, *arguments, "--json")
        if "the kernel refuses" in result.err or "has no perf events" in result.err:
            self.skipTest(result.err)
        self.assertEqual(result.code, harness.OK, result)
        started = result.json
        kind = self.kind(started, KIND, f"pid:{pid}")
        self.assertEqual(kind["verdict"], "started", kind)
        self.assertRegex(kind["reason"], "^(CPU cycles|software clock: no hardware counters here); .*frame pointers")
        return started

    def until(self, session, records=PLENTY):
        # They come by what the program gets of a CPU: on a busy machine a tenth.
        harness.wait_until(lambda: self.daemon.status(session)["kinds"][0]["records"] >= records, "samples",
                           patience=3 * harness.PATIENCE_S)

    def until_known(self, session, function):
        """A profile's first stacks are short: it has yet to read how the program's code is called. Since when they are not: enough
        samples come behind that, for export --from."""
        def known():
            names = own_folder.own_folder(self.daemon.status(session)["directory"]).glob("cpu-profile-names.data.slice_*[0-9]")
            return any(function in path.read_text(errors="replace") for path in names)

        return self.plenty_since(session, known, f"{function} in a stack")

    def until_whole(self, session, records=PLENTY):
        """The same of functions that have no names yet: since a stack has been seen from the process's begin to where it was."""
        def known():
            names = own_folder.own_folder(self.daemon.status(session)["directory"]).glob("cpu-profile-names.data.slice_*[0-9]")
            return any(line.startswith("stack ") and line.count(";") >= 4 for path in names
                       for line in path.read_text(errors="replace").splitlines())

        return self.plenty_since(session, known, "a whole stack", records)

    def plenty_since(self, session, known, what, records=PLENTY):
        harness.wait_until(known, what)
        since = f"@{time.time():.6f}"
        self.until(session, self.daemon.status(session)["kinds"][0]["records"] + records)
        return since

    @staticmethod
    def spared(directory):
        """Of how many it has not looked for the callers, as it says, on a machine that is too slow for all."""
        return sum(int(line.split()[1]) for path in own_folder.own_folder(directory).glob("cpu-profile-names.data.slice_*[0-9]")
                   for line in path.read_text(errors="replace").splitlines() if line.startswith("spared "))

    def export(self, directory, formats, *options):
        result = self.daemon.ctl("export", directory, "--format", formats, "--out", self.out, *options)
        self.assertEqual(result.code, harness.OK, result)

    def one(self, pattern):
        (path,) = self.out.rglob(pattern)
        return path

    def stacks(self, directory, *options):
        self.export(directory, "collapsed", *options)
        return Stacks(self.one("*.collapsed").read_text())

    def test_the_planted_function_is_found(self):
        target = self.hot()
        other = self.hot()  # busy beside it, and nobody's business
        started = self.begin(target.pid)
        self.until(started["session"])
        ended = self.daemon.end(started["session"])
        kind = ended["kinds"][0]
        self.assertEqual(kind["effective_hz"], 99)
        directory = pathlib.Path(ended["directory"])
        self.assertEqual(self.daemon.ctl("verify", directory).code, harness.OK)
        self.assertEqual(prof_reader.check(str(directory)), [])
        samples = [line.split() for path in own_folder.own_folder(directory).glob("cpu-profile.data.slice_*")
                   for line in path.read_text().splitlines() if path.suffix != ".done"]
        self.assertEqual(len(samples), kind["records"])
        self.assertEqual({int(sample[1]) for sample in samples}, {target.pid})
        self.assertNotIn(str(other.pid), {sample[1] for sample in samples})
        self.assertEqual([sample for sample in samples if int(sample[4]) <= 0], [])

        self.export(directory, "csv,collapsed,pprof")
        stacks = Stacks(self.one("*.collapsed").read_text())
        self.assertEqual(stacks.total, kind["records"])
        self.assertGreaterEqual(stacks.share("planted::PlantedHot()"), 0.7)
        self.assertTrue(stacks.has("main", "planted::PlantedHot()"))
        with open(self.one("host_cpu_top_function_*.csv"), encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        self.assertEqual(list(rows[0]), ["Device_id", "Function", "Module", "Cycles", "Cycles(%)"])
        self.assertEqual((rows[0]["Function"], rows[0]["Module"]), ("planted::PlantedHot()", "hot"))
        self.assertGreaterEqual(float(rows[0]["Cycles(%)"]), 70)
        self.assertAlmostEqual(sum(float(row["Cycles(%)"]) for row in rows), 100, delta=0.1)

        profile = list(fields(gzip.decompress(self.one("*.pb.gz").read_bytes())))
        texts = [value.decode() for number, value in profile if number == 6]
        functions = {}
        for number, value in profile:
            if number == 5:
                function = dict(fields(value))
                functions[function[1]] = texts[function[2]]
        places = {}
        for number, value in profile:
            if number == 4:
                place = dict(fields(value))
                places[place[1]] = functions[dict(fields(place[4]))[1]]
        counts = collections.Counter()
        for number, value in profile:
            if number == 2:
                sample = dict(list(fields(value))[:2])
                counts[places[next(varints(sample[1]))]] += next(varints(sample[2]))
        self.assertEqual(texts[0], "")
        self.assertEqual(counts["planted::PlantedHot()"] / counts.total(), stacks.share("planted::PlantedHot()"))

    def test_threads_and_children_are_followed(self):
        target = self.hot("late")
        started = self.begin(target.pid)
        self.until(started["session"], 20)
        target.stdin.write(b"!")
        target.stdin.flush()
        self.until(started["session"], 3 * PLENTY)
        ended = self.daemon.end(started["session"])
        stacks = self.stacks(ended["directory"])
        for function in ("planted::PlantedHot()", "planted::LateThread()", "planted::LateChild()"):
            self.assertTrue(stacks.has(function), function)
        names = (own_folder.own_folder(ended["directory"]) / "cpu-profile-names.data.slice_0").read_text()
        self.assertRegex(names, rf"(?m)^thread {target.pid} \d+ late-thread$")
        self.assertEqual(len(re.findall(r"(?m)^process \d+ hot$", names)), 2)

    def test_the_kernels_functions_have_names_and_no_addresses(self):
        target = self.hot("kernel")
        started = self.begin(target.pid)
        self.until(started["session"])
        ended = self.daemon.end(started["session"])
        for path in own_folder.own_folder(ended["directory"]).glob("cpu-profile*"):
            self.assertNotRegex(path.read_text(), r"\b@?f{7}[0-9a-f]{9}\b")
        stacks = self.stacks(ended["directory"])
        self.assertTrue(stacks.has("main", "_[k]"), stacks.counts)
        if "no names of kernel" not in ended["kinds"][0]["reason"]:
            self.assertTrue(stacks.has("do_syscall_64_[k]") or stacks.has("el0_svc_[k]"), stacks.counts)

    def test_an_executed_program_has_its_own_names(self):
        target = subprocess.Popen(["/bin/sh", "-c", f"read go; exec {HOT}"], stdin=subprocess.PIPE)
        self.addCleanup(lambda: (target.kill(), target.wait(), target.stdin.close()))
        started = self.begin(target.pid)
        target.stdin.write(b"\n")
        target.stdin.flush()
        self.until(started["session"])
        stacks = self.stacks(self.daemon.end(started["session"])["directory"])
        self.assertGreaterEqual(stacks.share("planted::PlantedHot()", lambda stack: stack[0] == "hot"), 0.7)

    def test_a_file_that_has_changed_gives_no_names(self):
        program = self.out / "changing"
        shutil.copy(HOT, program)
        target = subprocess.Popen([str(program)])
        self.addCleanup(lambda: (target.kill(), target.wait()))
        started = self.begin(target.pid)
        self.until(started["session"])
        directory = self.daemon.end(started["session"])["directory"]
        program.unlink()
        shutil.copy(HOT, program)
        result = self.daemon.ctl("export", directory, "--format", "collapsed", "--out", self.out)
        self.assertEqual(result.code, harness.OK, result)
        self.assertIn("changing: is not the file any more that ran", result.out)
        text = self.one("*.collapsed").read_text()
        self.assertNotIn("Planted", text)
        self.assertIn("[changing+0x", text)

    def test_callers_are_found_without_frame_pointers(self):
        target = self.hot("sort", program=SHIPPED)
        started = self.begin(target.pid)
        since = self.until_whole(started["session"])
        directory = self.daemon.end(started["session"])["directory"]
        stacks = self.stacks(directory, "--from", since)
        spared = self.spared(directory) / stacks.total
        # The program's own functions and, between them, the C library's.
        self.assertGreaterEqual(stacks.chain("main", "planted::Sort()", "planted::PlantedCompare") + spared, 0.95, stacks.counts)
        self.assertGreaterEqual(stacks.chain("main", "planted::Sort()", "libc.so", "planted::PlantedCompare") +
                                stacks.chain("main", "planted::Sort()", "qsort", "planted::PlantedCompare") + spared, 0.9, stacks.counts)
        # Down to where the process began, and no further.
        self.assertGreaterEqual(stacks.chain("hot_shipped", "_start", "main") + spared, 0.95, stacks.counts)

    def test_the_stacks_of_threads_and_children_without_frame_pointers_are_whole(self):
        target = self.hot("late", program=SHIPPED)
        started = self.begin(target.pid)
        self.until_whole(started["session"], 1)
        target.stdin.write(b"!")
        target.stdin.flush()
        self.until(started["session"], self.daemon.status(started["session"])["kinds"][0]["records"] + 3 * PLENTY)
        directory = self.daemon.end(started["session"])["directory"]
        stacks, spared = self.stacks(directory), self.spared(directory)
        for function in ("planted::LateThread()", "planted::LateChild()"):
            seen = sum(count for stack, count in stacks.counts.items() if any(function in frame for frame in stack))
            whole = sum(count for stack, count in stacks.counts.items()
                        if any(function in frame for frame in stack) and any(name in stack[1] for name in STARTERS))
            self.assertGreater(seen, 20, stacks.counts)
            self.assertGreaterEqual(whole + spared, 0.95 * seen, (function, stacks.counts))

    def test_python_functions_are_found(self):
        script = self.out / "train.py"
        script.write_text(PYTHON)
        pythons = known_pythons()
        if not pythons:
            self.skipTest("there is no Python from 3.8 to 3.13")
        for python in pythons:
            with self.subTest(python):
                target = subprocess.Popen([python, str(script)], stdout=subprocess.PIPE)
                self.ends_with_the_test(target)
                self.assertEqual(target.stdout.readline(), b"busy\n")
                started = self.begin(target.pid)
                if "python" in os.path.basename(os.readlink(f"/proc/{target.pid}/exe")):
                    self.assertIn("; Python functions", self.kind(started, KIND, f"pid:{target.pid}")["reason"])
                since = self.until_known(started["session"], "planted_hot")
                directory = self.daemon.end(started["session"])["directory"]
                for old in self.out.rglob("*.collapsed"):
                    old.unlink()
                stacks = self.stacks(directory, "--from", since)
                # Each at the line that it is at, and with the name that it has since 3.11.
                where = [(line_of("Planted().method()"), "<module>"), (line_of("        planted_sort()"), "method"),
                         (line_of("return sorted("), "planted_sort"), (line_of("return planted_hot("), "planted_key")]
                callers = [f"{name} (train.py:{line})" for line, name in where]
                whole = stacks.chain(*callers, "planted_hot (train.py:")
                self.assertGreaterEqual(whole, 0.8, stacks.counts)
                # A frame is the name as it is documented, and nothing more.
                hot = line_of("total = (total * 31")
                self.assertTrue(any(f"planted_hot (train.py:{hot})" in stack for stack in stacks.counts), stacks.counts)
                # In place of the interpreter's function, not beside it.
                self.assertLessEqual(stacks.chain("_PyEval_EvalFrameDefault"), 0.1, stacks.counts)

    def test_python_functions_are_those_of_the_sample(self):
        """By the time that they are read, another function may be in their place: here for more than half of the samples."""
        script = self.out / "turns.py"
        script.write_text(TURNS)
        target = subprocess.Popen([known_pythons()[0], str(script)], stdout=subprocess.PIPE)
        self.ends_with_the_test(target)
        self.assertEqual(target.stdout.readline(), b"busy\n")
        started = self.begin(target.pid)
        if "read after the sample" in self.kind(started, KIND, f"pid:{target.pid}")["reason"]:
            self.skipTest("the kernel notes no frames of Python here")
        since = self.until_known(started["session"], "planted_dump")
        directory = self.daemon.end(started["session"])["directory"]
        stacks = self.stacks(directory, "--from", since)
        dumps = stacks.chain("encode (encoder.py:") * stacks.total
        self.assertGreater(dumps, PLENTY, stacks.counts)
        self.assertEqual(stacks.chain("synchronise (turns.py:", "encode (encoder.py:"), 0, stacks.counts)
        self.assertEqual(stacks.chain("main (turns.py:", "planted_dump (turns.py:", "encode (encoder.py:") * stacks.total, dumps)

    def test_another_python_has_native_frames_and_a_verdict(self):
        program = self.out / "python3.7"
        shutil.copy(SHIPPED, program)
        target = self.hot("sort", program=program)
        started = self.begin(target.pid)
        self.assertIn("; native frames only of Python 3.7", self.kind(started, KIND, f"pid:{target.pid}")["reason"])
        since = self.until_whole(started["session"])
        directory = self.daemon.end(started["session"])["directory"]
        stacks = self.stacks(directory, "--from", since)
        self.assertGreaterEqual(stacks.chain("main", "planted::PlantedCompare") + self.spared(directory) / stacks.total, 0.95)

    def test_a_python_that_lies_harms_nobody(self):
        liar = self.hot(program=FALSE_PYTHON)
        target = self.hot("sort", program=SHIPPED)
        result = self.daemon.ctl("start", "--pid", f"{liar.pid},{target.pid}", "--collect", KIND, "--json")
        self.assertEqual(result.code, harness.OK, result)
        session = result.json["session"]
        self.until(session, 3 * PLENTY)
        ended = self.daemon.end(session)
        self.assertEqual(ended["state"], "sealed")
        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)
        stacks = self.stacks(ended["directory"])
        self.assertGreater(stacks.of("python_false"), 20)
        whole = stacks.chain("hot_shipped", "main", "planted::PlantedCompare") * stacks.total
        self.assertGreaterEqual(whole + self.spared(ended["directory"]), 0.95 * stacks.of("hot_shipped"))

    def test_a_jits_functions_come_from_its_perf_map(self):
        node = shutil.which("node")
        if node is None:
            self.skipTest("node is not there")
        script = ("function plantedHot() { let sum = 0; for (let i = 0; i < 1e6; ++i) sum = (sum * 31 + i) | 0; return sum; }"
                  "let all = 0; while (true) all += plantedHot();")
        target = subprocess.Popen([node, "--perf-basic-prof", "-e", script], cwd=self.out)  # it leaves a log there
        self.addCleanup(lambda: (target.kill(), target.wait(),
                                 pathlib.Path(f"/tmp/perf-{target.pid}.map").unlink(missing_ok=True)))
        started = self.begin(target.pid)
        self.until(started["session"], 2 * PLENTY)
        stacks = self.stacks(self.daemon.end(started["session"])["directory"])
        self.assertGreaterEqual(stacks.share("plantedHot"), 0.7)

    @harness.needs_root
    def test_without_sys_the_processors_are_found(self):
        """As in a container, or in a root that somebody entered."""
        hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"]
        self.daemon = self.profd(within=hidden)
        result = self.daemon.ctl("devices")
        self.assertEqual(result.code, harness.OK, f"{result}\n{self.daemon.log.read_text()}")
        started = self.begin(self.workload(command=[sys.executable, "-c", "while True: pass"]).pid)
        self.until(started["session"], PLENTY)
        self.daemon.end(started["session"])

    def test_what_cannot_be_is_refused(self):
        target = self.hot()
        result = self.daemon.ctl("start", "--pid", target.pid, "--collect", f"{KIND}=1000Hz")
        self.assertEqual(result.code, harness.USAGE, result)
        self.assertIn("whole number from 1 to 999 Hz", result.err)
        result = self.daemon.ctl("start", "--collect", KIND)
        self.assertEqual(result.code, harness.USAGE, result)
        result = self.daemon.ctl("start", "--pid", target.pid, "--collect", KIND, user=harness.nobody())
        self.assertEqual(result.code, harness.PERMISSION, result)
        started = self.daemon.begin("--pid", target.pid, "--collect", "host-mem")
        directory = self.daemon.end(started["session"])["directory"]
        result = self.daemon.ctl("export", directory, "--format", "collapsed", "--out", self.out)
        self.assertNotEqual(result.code, harness.OK, result)
        self.assertIn("no host-cpu-profile is in it", result.err)


def line_of(code):
    """Of PYTHON: the last line with it."""
    return max(number for number, line in enumerate(PYTHON.splitlines(), 1) if code in line)


def known_pythons():
    """Those of this machine, as real paths, and PROFD_PYTHONS: of others, colons between them."""
    others = os.environ.get("PROFD_PYTHONS", "").split(":")
    paths = {os.path.realpath(path) for path in ("/usr/bin/python3", sys.executable, *filter(None, others))}
    return sorted(path for path in paths if is_known_python(path))


def is_known_python(path):
    done = subprocess.run([path, "-c", "import sys; print((3, 8) <= sys.version_info[:2] <= (3, 13), sys.implementation.name)"],
                          check=False, capture_output=True, text=True)
    return done.stdout.split() == ["True", "cpython"]


def varints(packed):
    at = 0
    while at < len(packed):
        value, at = varint(packed, at)
        yield value


if __name__ == "__main__":
    unittest.main()
