#!/usr/bin/env python3
"""host-pthread: the pthread calls of a process, its threads and its children, counted against what it did."""
import collections
import contextlib
import csv
import errno
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import harness
import os_calls
import prof_reader

LOCKS = harness.BUILD / "tests" / "locks"
KIND = "host-pthread"
CALLS = 300
WANTED = {"pthread_rwlock_wrlock": CALLS, "pthread_rwlock_rdlock": CALLS // 10,
          "pthread_rwlock_unlock": CALLS + CALLS // 10, "pthread_create": 2, "pthread_barrier_wait": 4,
          "pthread_mutex_trylock": 1, "pthread_mutex_timedlock": 1, "pthread_cond_timedwait": 0, "pthread_join": 0}
LINE = re.compile(r"^\[pid (\d+)\] (\d+\.\d{9}) (\S+)->(\w+)\((?:process: (\d+))?\) = (-?\d+) <(\d+\.\d{9})>$")
Call = collections.namedtuple("Call", "tid begin library name process result seconds")


@harness.needs_root
class PthreadTest(harness.ProfdTest):
    def setUp(self):
        within = harness.tracefs()
        if within is None:
            self.skipTest("the kernel has no tracefs")
        self.daemon = self.profd(within=within, config="{}\n")

    def target(self, calls=CALLS, program=LOCKS):
        process = subprocess.Popen([str(program), str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ends_with_the_test(process)
        return process

    def go(self, process):
        process.stdin.write(b"!")
        process.stdin.flush()
        return int(process.stdout.readline())

    def begin(self, *processes):
        pids = ",".join(str(process.pid) for process in processes)
        result = self.daemon.ctl("start", "--pid", pids, "--collect", KIND, "--json")
        if re.search("Linux 5.8 or later|pid namespace of the node|breakpoints of the kernel", result.err):
            self.skipTest(result.err)
        self.assertEqual(result.code, harness.OK, result)
        kind = self.kind(result.json, KIND, f"pid:{processes[0].pid}")
        self.assertEqual((kind["verdict"], kind["effective_hz"]), ("started", 0), kind)
        time.sleep(0.5)  # on a busy machine it says started before all breakpoints are set
        return result.json["session"]

    def refused(self, process):
        started = self.daemon.begin("--pid", process.pid, "--collect", f"{KIND},host-mem")
        kind = self.kind(started, KIND, f"pid:{process.pid}")
        self.assertEqual(kind["verdict"], "failed")
        return kind

    def calls(self, ended):
        calls = []
        for path in sorted(pathlib.Path(ended["directory"]).glob("host/data/host_pthreadcall.data.slice_*[0-9]")):
            begin, *rows = path.read_text().splitlines()
            self.assertRegex(begin, r"^\[pid 0\] \d+\.\d{9} begin->pthread_once\(\) = 0 <0\.000000000>$")
            for line in rows:
                found = LINE.match(line)
                self.assertTrue(found, line)
                tid, begin, library, name, process, result, seconds = found.groups()
                calls.append(Call(int(tid), float(begin), library, name, process and int(process), int(result), float(seconds)))
        return calls

    def test_breakpoints_are_for_admins_until_the_settings_say_otherwise(self):
        user = harness.nobody()

        def start(kinds):
            return self.daemon.ctl("start", "--pid", work.pid, "--collect", kinds, "--json", user=user)

        work = self.workload(command=["/usr/bin/sleep", "300"], user=user, group=user, extra_groups=[])
        os.chmod(self.daemon.socket, 0o666)
        refused = start(KIND)
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn("may not have breakpoints set (host-pthread)", refused.err)
        self.assertIn("auth.breakpoints", refused.err)
        self.assertEqual(len(refused.err.strip().splitlines()), 1, refused)
        with_others = start(f"{KIND},host-mem")
        self.assertEqual(with_others.code, harness.PARTLY_STARTED, with_others)
        self.assertIn("auth.breakpoints", self.kind(with_others.json, KIND, f"pid:{work.pid}")["reason"])
        self.daemon.ctl("stop", with_others.json["session"], user=user)
        self.daemon.configure("auth:\n  breakpoints: everybody\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: "auth.breakpoints" in self.daemon.log.read_text(), "the settings to be read")
        harness.wait_until(lambda: "auth.breakpoints" not in start(f"{KIND},host-mem").out, "the right")

    def test_every_call_is_there(self):
        process, other = self.target(), self.target()
        session = self.begin(process)
        # A thread that is cancelled in such a call cleans up as ever.
        self.assertEqual(self.go(process), 1)
        self.go(other)  # of whom nobody asked
        ended = self.daemon.end(session)
        calls = self.calls(ended)
        kind = ended["kinds"][0]
        self.assertEqual((kind["records"], kind["lost"]), (len(calls), 0))
        counts = collections.Counter(call.name for call in calls)
        self.assertEqual({name: counts[name] for name in WANTED}, WANTED)
        by_name = {call.name: call for call in calls}
        self.assertTrue(all(call.library.startswith("lib") for call in calls))
        self.assertEqual(by_name["pthread_mutex_timedlock"].result, errno.ETIMEDOUT)
        self.assertEqual(by_name["pthread_mutex_trylock"].result, errno.EBUSY)
        # Waits that have a length, from where they began.
        self.assertGreaterEqual(by_name["pthread_mutex_timedlock"].seconds, 0.0095)
        waited = max((call for call in calls if call.name == "pthread_mutex_lock"), key=lambda call: call.seconds)
        self.assertGreaterEqual(waited.seconds, 0.015)
        self.assertEqual(waited.tid, process.pid)
        self.assertGreaterEqual(waited.begin, by_name["pthread_mutex_timedlock"].begin)
        # Of the process itself, of its thread and of the child.
        children = {call.process for call in calls if call.process}
        self.assertEqual(len(children), 1)
        self.assertEqual({call.process for call in calls if call.name == "pthread_rwlock_rdlock"}, children)
        self.assertEqual({call.tid for call in calls if call.name == "pthread_rwlock_wrlock"}, {process.pid})
        self.assertEqual(len({call.tid for call in calls if call.name == "pthread_barrier_wait"}), 3)

        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)
        self.assertEqual(prof_reader.check(ended["directory"]), [])
        # The vendor's parser takes each of them for a call, and knows when it was.
        read = list(os_calls.pthread_calls(ended["directory"]))
        self.assertEqual([(tid, name) for tid, name, _, _ in read], [(call.tid, call.name) for call in calls])
        for (_, _, begin, end), call in zip(read, calls):
            self.assertAlmostEqual(begin / 1e9, call.begin, places=6)
            self.assertAlmostEqual((end - begin) / 1e9, call.seconds, places=6)
        with tempfile.TemporaryDirectory() as out:
            result = self.daemon.ctl("export", ended["directory"], "--format", "csv,db", "--out", out)
            self.assertEqual(result.code, harness.OK, result)
            (table,) = pathlib.Path(out).rglob("*os_runtime*.csv")
            with open(table, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            (path,) = pathlib.Path(out).rglob("*.db")
            with contextlib.closing(sqlite3.connect(path)) as database:
                spans = list(database.execute("select startNs, endNs, value from OSRT_API join STRING_IDS on name = id"))
        shown = collections.Counter()
        for row in rows:
            shown[row["Name"]] += int(row["Count"])
            self.assertEqual(int(row["Process ID"]) in children, row["Name"] == "pthread_rwlock_rdlock" or
                             (row["Name"] == "pthread_rwlock_unlock" and int(row["Count"]) == CALLS // 10), row)
        self.assertEqual({name: shown[name] for name in WANTED}, WANTED)
        (wait,) = [(end - begin) / 1e9 for begin, end, name in spans if name == "pthread_mutex_timedlock"]
        self.assertAlmostEqual(wait, by_name["pthread_mutex_timedlock"].seconds, places=6)

    def test_who_calls_too_often_rests_and_who_waits_does_not(self):
        process = self.target(50_000)
        session = self.begin(process)
        for _ in range(2):
            self.go(process)
        ended = self.daemon.end(session)
        calls = self.calls(ended)
        kind = ended["kinds"][0]
        self.assertEqual(kind["records"], len(calls))
        self.assertGreater(kind["lost"], 0, "nothing was too much")
        self.assertIn("there were too many", kind["reason"])
        counts = collections.Counter(call.name for call in calls)
        self.assertGreaterEqual(counts["pthread_rwlock_wrlock"] + counts["pthread_rwlock_unlock"], 10_000)
        for name in ("pthread_create", "pthread_barrier_wait"):
            self.assertEqual(counts[name], 2 * WANTED[name], name)
        self.assertEqual(self.daemon.ctl("verify", ended["directory"]).code, harness.OK)

    def test_a_program_without_such_a_library_is_refused(self):
        process = self.target(program=harness.BUILD / "tests" / "locks_static")
        kind = self.refused(process)
        self.assertIn("no library with pthread functions", kind["reason"])

    def test_there_is_room_for_four(self):
        process = self.target()
        sessions = [self.begin(process) for _ in range(4)]
        self.assertIn("4 sessions record pthread calls or have just ended", self.refused(process)["reason"])
        self.go(process)
        for session in sessions:
            counts = collections.Counter(call.name for call in self.calls(self.daemon.end(session)))
            self.assertEqual({name: counts[name] for name in WANTED}, WANTED)
        # Its place comes back when its breakpoints are gone.
        harness.wait_until(lambda: self.daemon.ctl("start", "--pid", process.pid, "--collect", KIND).code == harness.OK,
                           "a place to come back")

    def test_system_calls_beside_it_are_the_process_own(self):
        process = self.target()
        session = self.daemon.begin("--pid", process.pid, "--collect", f"{KIND},host-osrt")["session"]
        self.daemon.let_run(session, 0.5)
        self.go(process)
        ended = self.daemon.end(session)
        counts = collections.Counter(call.name for call in self.calls(ended))
        self.assertEqual({name: counts[name] for name in WANTED}, WANTED)
        (path,) = pathlib.Path(ended["directory"]).glob("host/data/host_syscall.data.slice_*[0-9]")
        text = path.read_text()
        self.assertIn(" futex(", text)
        self.assertNotIn("syscall_", text)  # calls without a number are the kernel's

    def test_it_has_no_rate(self):
        process = self.target()
        result = self.daemon.ctl("start", "--pid", process.pid, "--collect", f"{KIND}=50Hz")
        self.assertEqual(result.code, harness.USAGE, result)
        self.assertIn("host-pthread has no rate", result.err)


if __name__ == "__main__":
    unittest.main()
