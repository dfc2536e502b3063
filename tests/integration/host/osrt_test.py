#!/usr/bin/env python3
"""host-osrt: the system calls of a process, its threads and its children, counted against what it did and against strace."""
import collections
import contextlib
import csv
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import harness
import os_calls
import prof_reader

HOT = harness.BUILD / "tests" / "hot"
KIND = "host-osrt"
CALLS = 3000
WANTED = {"getppid": CALLS, "openat": CALLS // 2, "getuid": CALLS, "getgid": CALLS, "nanosleep": 1}
LINE = re.compile(r"^(\d+\.\d{6}) \( (\d+\.\d{6}) ms\): (\S+)/(\d+) (\w+)\(process: \d+\) = (-?\d+)$")
BEGIN = re.compile(r"^\d+\.\d{6} \( 0\.000000 ms\): begin$")


@harness.needs_root
class OsrtTest(harness.ProfdTest):
    def setUp(self):
        within = harness.tracefs()
        if within is None:
            self.skipTest("the kernel has no tracefs")
        self.daemon = self.profd(within=within)

    def target(self, calls=CALLS):
        process = subprocess.Popen([str(HOT), "calls", str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ends_with_the_test(process)
        return process

    def go(self, process):
        process.stdin.write(b"!")
        process.stdin.flush()
        process.stdout.readline()

    def begin(self, process, *others):
        pids = ",".join(str(target.pid) for target in (process, *others))
        result = self.daemon.ctl("start", "--pid", pids, "--collect", KIND, "--json")
        if "the kernel refuses" in result.err:
            self.skipTest(result.err)
        self.assertEqual(result.code, harness.OK, result)
        started = result.json
        kind = self.kind(started, KIND, f"pid:{process.pid}")
        self.assertEqual((kind["verdict"], kind["effective_hz"]), ("started", 0), kind)
        # Where it starts nobody says before that it does not.
        offers = {offer["kind"]: offer for offer in self.daemon.ctl("devices", "--json").json["host_kinds"]}
        self.assertTrue(offers[KIND]["available"], offers[KIND])
        return started["session"]

    def lines(self, ended):
        lines = []
        for path in sorted(pathlib.Path(ended["directory"]).glob("host/data/host_syscall.data.slice_*[0-9]")):
            begin, *calls = path.read_text().splitlines()
            self.assertRegex(begin, BEGIN)
            for line in calls:
                found = LINE.match(line)
                self.assertTrue(found, line)
                lines.append(found.groups())
        return lines

    @staticmethod
    def ns(milliseconds):
        return int(milliseconds.replace(".", ""))

    def test_every_call_is_there(self):
        process = self.target()
        session = self.begin(process)
        self.go(process)
        ended = self.daemon.end(session)
        lines = self.lines(ended)
        kind = ended["kinds"][0]
        self.assertEqual(kind["records"], len(lines))
        if kind["lost"]:
            self.skipTest(f"the machine is too busy: {kind['lost']} calls were lost, and counted")
        counts = collections.Counter(name for _, _, _, _, name, _ in lines)
        self.assertEqual({name: counts[name] for name in WANTED}, WANTED)
        results = collections.defaultdict(set)
        tids = collections.defaultdict(set)
        for _, _, comm, tid, name, result in lines:
            results[name].add(int(result))
            tids[name].add(int(tid))
            self.assertEqual(comm, "hot")
        self.assertEqual(results["openat"], {-2})
        self.assertEqual(results["getppid"], {os.getpid()})
        self.assertEqual(results["getuid"], {os.geteuid()})
        self.assertEqual(tids["getppid"], {process.pid})
        self.assertEqual(len(tids["getuid"] | tids["getgid"] | tids["getppid"]), 3)
        self.assertEqual(counts["clone3"] + counts["clone"] + counts["fork"] + counts["vfork"], 2)
        (pause,) = [float(length) for _, length, _, _, name, _ in lines if name == "nanosleep"]
        self.assertGreaterEqual(pause, 20)
        # Who reads already when the recording begins is in that call, too.
        first = min(lines, key=lambda line: float(line[0]))
        self.assertEqual(first[4], "read")

        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)
        self.assertEqual(prof_reader.check(ended["directory"]), [])
        # The vendor's parser takes each of them for a call, and knows when it was.
        read = [(tid, name, begin, end - begin) for tid, name, begin, end in os_calls.syscalls(ended["directory"])]
        self.assertEqual(read, [(int(tid), name, self.ns(begin), self.ns(length)) for begin, length, _, tid, name, _ in lines])
        with tempfile.TemporaryDirectory() as out:
            result = self.daemon.ctl("export", ended["directory"], "--format", "csv", "--out", out)
            self.assertEqual(result.code, harness.OK, result)
            (table,) = pathlib.Path(out).rglob("*os_runtime*.csv")
            with open(table, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        shown = collections.Counter()
        for row in rows:
            shown[row["Name"]] += int(row["Count"])
        self.assertEqual({name: shown[name] for name in WANTED}, WANTED)

    def test_each_call_is_of_its_process(self):
        calls = 200
        first, second = self.target(calls), self.target(calls)
        session = self.begin(first, second)
        kind = self.kind(self.daemon.status(session), KIND, f"pid:{second.pid}")
        self.assertEqual((kind["verdict"], kind["reason"]), ("started", f"counted with pid:{first.pid}"))
        self.go(second)
        self.go(first)
        ended = self.daemon.end(session)
        if ended["lost"]:
            self.skipTest(f"the machine is too busy: {ended['lost']} calls were lost, and counted")
        self.assertEqual(prof_reader.check(ended["directory"]), [])
        with tempfile.TemporaryDirectory() as out:
            result = self.daemon.ctl("export", ended["directory"], "--format", "csv,db", "--out", out)
            self.assertEqual(result.code, harness.OK, result)
            (table,) = pathlib.Path(out).rglob("*os_runtime*.csv")
            with open(table, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            (path,) = pathlib.Path(out).rglob("*.db")
            with contextlib.closing(sqlite3.connect(path)) as database:
                threads = collections.Counter(number for (number,) in database.execute("select globalTid from OSRT_API"))
        counts = collections.Counter()
        for row in rows:
            counts[int(row["Process ID"]), row["Name"]] += int(row["Count"])
        children = {pid for pid, name in counts if name == "getgid"}
        self.assertEqual(len(children), 2)
        self.assertFalse(children & {first.pid, second.pid})
        for target in (first, second):
            self.assertEqual((counts[target.pid, "getppid"], counts[target.pid, "getuid"]), (calls, calls))
            self.assertGreaterEqual(threads[target.pid << 32 | target.pid], calls)
        for child in children:
            self.assertEqual(counts[child, "getgid"], calls)
        self.assertEqual({number >> 32 for number in threads}, children | {first.pid, second.pid})

    @unittest.skipUnless(shutil.which("strace"), "strace is not there")
    def test_the_counts_are_those_of_strace(self):
        process = self.target()
        session = self.begin(process)
        self.go(process)
        ended = self.daemon.end(session)
        if ended["lost"]:
            self.skipTest(f"the machine is too busy: {ended['lost']} calls were lost, and counted")
        ours = collections.Counter(name for _, _, _, _, name, _ in self.lines(ended))
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            subprocess.run(["strace", "-f", "-c", "-U", "calls,name", "-o", output.name, str(HOT), "calls", str(CALLS)],
                           input=b"!", stdout=subprocess.DEVNULL, check=True)
            theirs = {words[1]: int(words[0]) for words in (line.split() for line in output)
                      if len(words) == 2 and words[0].isdigit()}
        for name in WANTED:
            # The loader's own calls, which strace has seen, too.
            self.assertEqual(ours[name], CALLS // 2 if name == "openat" else theirs.get(name), name)
        self.assertGreaterEqual(theirs["openat"], ours["openat"])

    def test_the_counts_are_those_of_perf_trace(self):
        within = harness.tracefs()
        works = shutil.which("perf") and subprocess.run([*within, "perf", "trace", "-s", "-o", os.devnull, "true"], check=False,
                                                        capture_output=True).returncode == 0
        if not works:
            self.skipTest("there is no perf trace that works with this kernel")
        process = self.target()
        session = self.begin(process)
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            # Beside each other, of the same run.
            perf = subprocess.Popen([*within, "perf", "trace", "-s", "-p", str(process.pid), "-o", output.name])
            self.ends_with_the_test(perf)
            self.until_it_looks(perf)
            self.go(process)
            perf.send_signal(signal.SIGINT)
            perf.wait()
            ended = self.daemon.end(session)
            theirs = collections.Counter()
            for line in output:
                words = line.split()
                if len(words) > 4 and words[0].isidentifier() and words[1].isdigit():
                    theirs[words[0]] += int(words[1])
        if ended["lost"]:
            self.skipTest(f"the machine is too busy: {ended['lost']} calls were lost, and counted")
        ours = collections.Counter(name for _, _, _, _, name, _ in self.lines(ended))
        self.assertEqual({name: ours[name] for name in WANTED}, WANTED)
        # It does not look at threads and children that begin later, and leaves out a call whose begin and end it has read in
        # the wrong order, from the rings of two CPUs.
        for name in ("getppid", "openat"):
            self.assertLessEqual(theirs[name], WANTED[name], theirs)
            self.assertGreaterEqual(theirs[name], 0.99 * WANTED[name], theirs)

    def until_it_looks(self, perf):
        """Until perf has its events and waits for them."""
        def waits():
            try:
                events = [fd for fd in os.listdir(f"/proc/{perf.pid}/fd")
                          if "perf_event" in os.readlink(f"/proc/{perf.pid}/fd/{fd}")]
                state = pathlib.Path(f"/proc/{perf.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                return False
            return len(events) >= 2 and state == "S"
        for _ in range(5):
            harness.wait_until(waits, "perf trace to look")
            time.sleep(0.02)  # between perf's look and its next one

    def test_more_than_it_keeps_is_counted(self):
        calls = 400_000
        process = self.target(calls)
        session = self.begin(process)
        self.go(process)
        ended = self.daemon.end(session)
        kind = ended["kinds"][0]
        self.assertEqual(kind["records"], len(self.lines(ended)))
        self.assertGreater(kind["lost"], 0, "nothing was too much")
        made = 3.5 * calls
        self.assertLess(abs(kind["records"] + kind["lost"] - made), 0.01 * made, kind)
        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)

    def test_what_nobody_read_in_time_is_counted_though_nothing_comes_after_it(self):
        calls = 100_000
        process = self.target(calls)
        session = self.begin(process)
        self.daemon.signal(signal.SIGSTOP)
        self.go(process)
        self.daemon.signal(signal.SIGCONT)
        ended = self.daemon.end(session)
        kind = ended["kinds"][0]
        self.assertGreater(kind["lost"], 0)
        made = 3.5 * calls
        self.assertLess(abs(kind["records"] + kind["lost"] - made), 0.01 * made, kind)

    def test_without_tracefs_it_says_so(self):
        if harness.tracefs() == []:
            self.skipTest("tracefs is mounted here")
        daemon = self.profd()
        process = self.target()
        started = daemon.begin("--pid", process.pid, "--collect", f"{KIND},host-mem")
        kind = self.kind(started, KIND, f"pid:{process.pid}")
        self.assertEqual(kind["verdict"], "failed")
        self.assertIn("mount tracefs on /sys/kernel/tracing", kind["reason"])
        # It is known before.
        offers = {offer["kind"]: offer for offer in daemon.ctl("devices", "--json").json["host_kinds"]}
        self.assertEqual((offers[KIND]["available"], offers[KIND]["reason"]), (False, kind["reason"]))
        self.assertTrue(offers["host-mem"]["available"])
        checks = {check["name"]: check for check in daemon.ctl("doctor", "--json").json["checks"]}
        self.assertEqual(checks["host kinds"]["outcome"], "warn")
        # With others that want it for the same reason.
        self.assertRegex(checks["host kinds"]["detail"], f"{KIND}[a-z, -]*: {re.escape(kind['reason'])}")
        result = daemon.ctl("start", "--pid", process.pid, "--collect", f"{KIND}=50Hz")
        self.assertEqual(result.code, harness.USAGE, result)
        self.assertIn("host-osrt has no rate", result.err)


if __name__ == "__main__":
    unittest.main()
