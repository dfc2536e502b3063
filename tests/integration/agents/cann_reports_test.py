#!/usr/bin/env python3
"""Chips that MSPTI does not know: the agent receives what CANN's modules report, so that tasks have names, types and shapes
and calls are there, as in the vendor's own directories."""
import collections
import contextlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import unittest

import harness
from cann_reports import WHILE_ASKED, ReportingTest
from harness import OK, PARTIAL_LOSS, PARTLY_STARTED


class CannReportsTest(ReportingTest):
    def test_a_program_on_each_chip(self):
        for chip, types in (("310P", {"AI_CORE", "AI_VECTOR_CORE"}), ("910", {"AI_CORE", "AI_VECTOR_CORE"}),
                            ("310", {"AI_CORE", "AI_CPU"})):
            with self.subTest(chip=chip):
                daemon = self.daemon_of(chip)
                result = self.msprof("--ascendcl=on", "--runtime-api=on")
                self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
                self.assertNotIn("MSPTI", result.err)
                self.assertEqual(daemon.ctl("verify", self.directory).code, OK)
                calls = self.table("api_statistic")
                self.assertEqual({row["Level"] for row in calls},
                                 {"acl", "model", "node", "runtime"} | ({"communication"} if chip != "310" else set()), calls)
                self.assertTrue({"aclnnMatmul", "launch", "KernelLaunch"} <= {row["API Name"] for row in calls}, calls)
                self.check_operators(types)

    def test_a_receiver_that_is_there_is_left_alone(self):
        """There is one receiver in a process: neither MSPTI nor the vendor's collector is displaced."""
        daemon = self.daemon_of("310P", more=", collects_from_s: 0")
        result = self.msprof("--ascendcl=on", command=[sys.executable, "-c", WHILE_ASKED, str(self.folder / "output")])
        self.assertEqual(result.code, PARTLY_STARTED, result)
        self.assertIn("the vendor's collector records this process", result.err)
        self.assertFalse(list(self.directory.glob("host/data/*")))
        self.assertEqual(daemon.ctl("verify", self.directory).code, OK)

        daemon = self.daemon_of("310P")
        result = self.msprof("--ascendcl=on", preload=str(self.folder / "lib64" / "libmspti.so"),
                             command=[sys.executable, "-c", WHILE_ASKED, str(self.folder / "output")])
        # Found out once the program runs: the session's kinds fail.
        self.assertEqual(result.code, PARTIAL_LOSS, result)
        self.assertIn("MSPTI is loaded in this process", result.err)
        self.assertFalse(list(self.directory.glob("host/data/*")))

    def test_a_collector_that_begins_later(self):
        """It gets what CANN reports from then on, and the recording says so."""
        daemon = self.daemon_of("310P", more=", collects_from_s: 2")
        job = self.job_with_cann(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "task,agent-kernel")
        [kernels] = [kind for kind in session["kinds"] if kind["kind"] == "agent-kernel"]
        self.assertIn(kernels["verdict"], ("started", "pending"), kernels)

        def count():
            [kind] = [kind for kind in daemon.status(session["session"])["kinds"] if kind["kind"] == "agent-kernel"]
            return kind["records"]

        harness.wait_until(lambda: count() > 0, "reports")
        daemon.let_run(session, 4)
        ended = count()
        daemon.let_run(session, 5)
        self.assertEqual(count(), ended)
        stopped = daemon.end(session["session"])
        self.assertIn("the vendor's collector began to record it", " ".join(stopped["degraded"]), stopped)

    def job_with_cann(self, daemon):
        program = self.folder / "runs.py"
        program.write_text("import ctypes, os, time\n"
                           "ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libprofapi.so')\n"
                           "time.sleep(100)\n")
        job = self.workload(command=[str(harness.PROFCTL), "run", "--", sys.executable, str(program)], env=self.environment)
        self.registered(daemon, job.pid)
        return job

    def test_two_programs(self):
        """Each call is of the program that made it."""
        daemon = self.daemon_of("910")
        jobs = [self.job_with_cann(daemon) for _ in range(2)]
        pids = {job.pid for job in jobs}
        session = daemon.begin("--pid", ",".join(map(str, pids)), "--collect", "task,agent-kernel,agent-api")

        def recorded():
            kinds = [kind["records"] for kind in daemon.status(session["session"])["kinds"] if kind["kind"] == "agent-api"]
            return len(kinds) == 2 and min(kinds) > 1000

        harness.wait_until(recorded, "reports of both")
        self.directory = pathlib.Path(daemon.end(session["session"])["directory"])
        self.assertEqual(daemon.ctl("export", self.directory, "--format", "db").code, OK)
        [database] = self.directory.glob("msprof_*.db")
        with contextlib.closing(sqlite3.connect(database)) as tables:
            self.assertEqual({pid for pid, in tables.execute("SELECT DISTINCT globalTid >> 32 FROM CANN_API")}, pids)

    def test_a_program_that_runs_already(self):
        """Texts that were numbered before are asked for by their numbers."""
        daemon = self.daemon_of("310P")
        job = self.job_with_cann(daemon)

        def ready():
            [target] = [one for one in daemon.ctl("targets", "--json").json["targets"] if one["pid"] == job.pid]
            return {one["kind"]: one for one in target["capabilities"]}

        harness.wait_until(lambda: ready()["agent-kernel"]["available"], "what it can record")
        self.assertNotIn("reports", ready())
        self.assertFalse(ready()["agent-memory"]["available"])
        self.assertIn("its kinds come from what CANN reports", daemon.ctl("doctor", "--pid", job.pid).out)
        session = daemon.begin("--pid", job.pid, "--collect", "task,agent-kernel,agent-comm,agent-api")

        def recorded():
            kinds = {kind["kind"]: kind for kind in daemon.status(session["session"])["kinds"]}
            return min(kinds[f"agent-{kind}"]["records"] for kind in ("kernel", "comm", "api")) > 100

        harness.wait_until(recorded, "reports")
        self.directory = pathlib.Path(daemon.end(session["session"])["directory"])
        self.assertEqual(daemon.ctl("verify", self.directory).code, OK)
        exported = daemon.ctl("export", self.directory)
        self.assertEqual(exported.code, OK, exported)
        self.assertNotIn("dictionaries", exported.out + exported.err)
        self.check_operators({"AI_CORE", "AI_VECTOR_CORE"})
        groups = {row["Op Name"].split("__")[0] for row in self.table("op_summary") if "hcom" in row["Op Name"]}
        self.assertEqual(groups, {"hcom_allReduce_"[:-1]})

    def test_what_takes_the_time(self):
        self.daemon_of("310P")
        environment = dict(self.environment, TMPDIR=str(self.folder))
        done = subprocess.run([str(harness.PROFCTL), "record", "--", sys.executable, str(harness.WORKLOAD), "4", "40"],
                              text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False, env=environment,
                              stdin=subprocess.DEVNULL, cwd=self.folder)
        self.assertIn(done.returncode, (OK, PARTIAL_LOSS), done.stdout + done.stderr)
        self.assertIn("data: kernels, collectives, calls", done.stdout)

    def check_operators(self, types):
        operators = self.table("op_summary")
        known = [row for row in operators if row["OP Type"] != "N/A"]
        # What ran before the modules were switched on has no launch.
        self.assertGreater(len(known), 0.7 * len(operators), collections.Counter(row["Op Name"] for row in operators))
        kernels = [row for row in known if row["OP Type"] in ("MatMul", "ApplyAdam")]
        self.assertEqual({row["Task Type"] for row in kernels}, types)
        self.assertEqual({row["Op Name"] for row in kernels},
                         {"aclnnMatmul_MatMulCommon_MatMul", "aclnnApplyAdam_ApplyAdam_ApplyAdam"})
        for row in kernels:
            if row["OP Type"] != "MatMul":
                continue
            # The first dimension is the task's place in its step of 48; the id is what 16 bits hold of its number.
            rows = int(row["Input Shapes"].strip('"').split(",")[0])
            self.assertEqual((rows - 1 - int(row["Task ID"])) % 16, 0, row)
            self.assertEqual(row["Input Shapes"].strip('"'), f"{rows},1024;1024,4096", row)
            self.assertEqual(row["Output Shapes"].strip('"'), f"{rows},4096", row)
            self.assertEqual(row["Input Data Types"], "FLOAT16;FLOAT16", row)
            self.assertNotIn(row["Block Num"] if "Block Num" in row else row["Block Dim"], ("N/A", "0"), row)
        statistic = {row["OP Type"] for row in self.table("op_statistic")}
        self.assertTrue({"MatMul", "ApplyAdam"} <= statistic, statistic)


if __name__ == "__main__":
    unittest.main(verbosity=2)
