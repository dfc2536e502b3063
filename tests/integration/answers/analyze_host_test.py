#!/usr/bin/env python3
"""Why a host stops: real waits and a real limit of a real process, recorded by profd beside what its framework's profiler
would have written of it."""
import json
import os
import pathlib
import platform
import sqlite3
import subprocess
import sys
import tempfile

import cgroup
import harness
import own_folder

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "analyze"
sys.path.insert(0, str(FOLDER))
from job_database import Writer  # noqa: E402
from profile_test import known_pythons  # noqa: E402

KINDS = "host-off-cpu,host-cpu-profile,host-cgroup=50Hz"


def write(told, pid, folder):
    """What a framework's profiler leaves of it."""
    results = folder / "host_1_20260101000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    results.mkdir(parents=True)
    thread = pid << 32 | pid
    texts = ["N/A", "AI_CORE", *sorted({name for name, *_ in told["calls"]}), "MatMulV3"]
    with sqlite3.connect(results / "ascend_pytorch_profiler_0.db") as db:
        db.executescript(Writer.SCHEMA)
        db.executemany("INSERT INTO STRING_IDS VALUES(?,?)", enumerate(texts))
        db.execute("INSERT INTO HOST_INFO VALUES('1',?)", (platform.node(),))
        db.execute("INSERT INTO RANK_DEVICE_MAP VALUES(0,0)")
        for number, (begin, end, operator) in enumerate(told["kernels"], 1):
            db.execute("INSERT INTO TASK VALUES(?,?,0,?,?,?,1,0,2,?,0)", (begin, end, number, number, pid, number))
            db.execute("INSERT INTO COMPUTE_TASK_INFO(name,globalTaskId,taskType,opType,inputShapes) VALUES(?,?,1,?,0)",
                       (len(texts) - 1, number, len(texts) - 1))
        db.executemany("INSERT INTO CANN_API VALUES(?,?,10000,?,?,?)",
                       [(begin, end, thread, connection, texts.index(name)) for name, begin, end, connection in told["calls"]])
        db.executemany("INSERT INTO STEP_TIME VALUES(?,?,?)", told["steps"])


class AnalyzeHostTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-test-"))
        self.addCleanup(harness.shutil.rmtree, self.folder)

    def findings(self, fault, steps, kinds=KINDS, quota=None):
        """Those of the job, and what it said itself."""
        process = subprocess.Popen([known_pythons()[0], str(FOLDER / "real_rank.py"), fault, str(steps)], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ends_with_the_test(process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        if quota:
            quota.take(process.pid)
        result = self.daemon.ctl("start", "--pid", process.pid, "--collect", kinds, "--json")
        if "the kernel refuses" in result.err or "has no perf events" in result.err:
            self.skipTest(result.err)
        self.assertEqual(result.code, harness.OK, result)
        if "host-off-cpu" in kinds:
            self.naps_are_known(result.json["session"])
        out, _ = process.communicate("go\n")
        told = json.loads(out)
        ended = self.daemon.end(result.json["session"])
        write(told, process.pid, self.folder)
        answer = self.daemon.ctl("analyze", self.folder, ended["directory"], "--json")
        self.assertIn(answer.code, (harness.OK, 7), answer)
        self.assertEqual(answer.json["job"]["ranks"], 1, answer.json["data"])
        return answer.json["findings"], told

    def naps_are_known(self, session):
        """A profile's first stacks are short: it has yet to read how the program's code is called."""

        def known():
            directory = pathlib.Path(self.daemon.status(session)["directory"])
            return any("planted_nap\t" in path.read_text(errors="replace")
                       for path in own_folder.own_folder(directory).glob("off-cpu-names.data.slice_*[0-9]"))

        harness.wait_until(known, "a nap with its function")

    def of_cause(self, findings, cause):
        found = [one for one in findings if cause in [of["id"] for of in one["cause"]]]
        self.assertTrue(found, [(one["title"], one["cause"], one["cost"]) for one in findings])
        return found

    def planted(self, fault, cause, words):
        findings, told = self.findings(fault, 16)
        found = [one for one in self.of_cause(findings, cause) if f"planted_{fault} (real_rank.py:" in one["title"]]
        self.assertEqual(len(found), 1, [one["title"] for one in findings])
        for word in words:
            self.assertIn(word, found[0]["title"])
        stopped_ms = sum(end - begin for begin, end in told["stops"]) / 1e6
        # While it stopped the device had half a step's kernels to go on with.
        hidden_ms = len(told["stops"]) * 50 * 0.061
        self.assertGreater(found[0]["cost"]["total_ms"], 0.9 * (stopped_ms - hidden_ms))
        self.assertLess(found[0]["cost"]["total_ms"], 1.1 * stopped_ms)
        if fault == "held":
            self.assertRegex(found[0]["do"][0]["text"], r"hold that lock for less time: thread \d+ has it in hold_again")
            (holder,) = [table for table in found[0]["evidence"] if table["name"].startswith("who has the lock: thread ")]
            self.assertTrue(any("hold_again" in row[0] for row in holder["rows"]), holder)
        (stack,) = [table for table in found[0]["evidence"] if table["name"].startswith("where the thread was")]
        self.assertTrue(any(f"planted_{fault}" in row[0] for row in stack["rows"]), stack)

    def test_a_lock(self):
        self.planted("lock", "host.wait", ["waits for a lock"])

    def test_a_lock_that_one_thread_has(self):
        self.planted("held", "host.wait", ["waits for a lock", "has it and sleeps in hold_again (real_rank.py:"])

    def test_a_sleep(self):
        self.planted("sleep", "host.wait", ["sleeps"])

    def stopped(self, fault, hidden_ms):
        findings, told = self.findings(fault, 16)
        stalls = [one for one in findings if one["id"] == "host.stall" and "a signal has stopped it" in one["title"]]
        self.assertEqual(len(stalls), 1, [(one["title"], one["cost"]) for one in findings])
        self.assertNotIn("device.wait", [one["id"] for one in findings])
        stopped_ms = sum(end - begin for begin, end in told["stops"]) / 1e6
        self.assertGreater(stalls[0]["cost"]["total_ms"], 0.9 * (stopped_ms - len(told["stops"]) * hidden_ms))
        self.assertLess(stalls[0]["cost"]["total_ms"], 1.1 * stopped_ms)

    def test_a_signal_within_a_call_that_launches(self):
        self.stopped("stop", 50 * 0.061)  # kernels that it goes on with meanwhile

    def test_a_signal_while_it_waits_for_its_device(self):
        self.stopped("late", 0)

    def test_what_computes_for_a_moment_in_every_step(self):
        findings, told = self.findings("dump", 60)
        found = self.of_cause(findings, "host.busy")
        self.assertIn("it computes on the CPU", found[0]["title"])
        self.assertRegex(found[0]["title"], r" in planted_dump \(real_rank\.py:\d+\), there in [\w.]+ \(encoder\.py:\d+\)")
        stopped_ms = sum(end - begin for begin, end in told["stops"]) / 1e6
        self.assertGreater(found[0]["cost"]["total_ms"], 0.5 * stopped_ms)
        self.assertLess(found[0]["cost"]["total_ms"], 1.1 * stopped_ms)

    def test_nothing_is_said_of_what_was_not_recorded(self):
        findings, _ = self.findings("lock", 16, kinds="host-cgroup=50Hz")
        stalls = [one for one in findings if one["id"] == "host.stall"]
        self.assertTrue(stalls)
        self.assertEqual([one["cause"] for one in stalls if one["cause"]], [])
        self.assertIn("host-off-cpu", stalls[0]["do"][0]["text"])

    def test_a_limit_of_cpu(self):
        quota = cgroup.quota_for(self)
        findings, _ = self.findings("none", 60, quota=quota)
        found = self.of_cause(findings, "host.throttled")
        self.assertIn(quota.name, found[0]["title"])
        self.assertIn("0.1 CPUs", found[0]["title"])
        (table,) = [table for table in found[0]["evidence"] if table["name"].startswith("cgroup ")]
        limit, _, throttled = table["rows"][0]
        self.assertAlmostEqual(limit, 0.1)
        self.assertGreater(throttled, 0)


if __name__ == "__main__":
    harness.unittest.main()
