#!/usr/bin/env python3
"""The agent receives what CANN's modules report, so that tasks have names, types and shapes and calls and parts of collectives
are there, as in the vendor's own directories: on chips that MSPTI does not know, and on the others for msprof."""
import collections
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import unittest

import harness
import own_folder
from cann_reports import FORKS, LOADS_BOTH, LOADS_MSPTI, WHILE_ASKED, WITHOUT_CANN, ReportingTest
from harness import OK, PARTIAL_LOSS, PARTLY_STARTED, USAGE


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

    def test_a_program_where_mspti_knows_the_chip(self):
        """msprof records there, too, what CANN reports, and the log of tasks goes on beside it: no kernel stands twice."""
        for chip in ("910B", "310B", "950"):
            with self.subTest(chip=chip):
                daemon = self.daemon_of(chip)
                result = self.msprof("--ascendcl=on", "--runtime-api=on", "--hccl=on", "--task-time=l2")
                self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
                self.assertNotIn("not collected", result.err)
                self.assertEqual(daemon.ctl("verify", self.directory).code, OK)
                kinds = {kind["kind"]: kind for kind in own_folder.manifest(self.directory)["kinds"]}
                for kind in ("task", "agent-kernel", "agent-comm", "agent-api"):
                    self.assertEqual(kinds[kind]["verdict"], "started", kinds)
                    self.assertNotIn("made way", kinds[kind]["reason"])
                self.check_operators({"AI_CORE", "AI_VECTOR_CORE"}, chip)
                operators = self.table("op_summary")
                places = [(row["Device_id"], row["Stream ID"], row["Task Start Time(us)"]) for row in operators]
                self.assertEqual(len(places), len(set(places)))
                kernels = [row for row in operators if row["OP Type"] in ("MatMul", "ApplyAdam")]
                self.assertEqual({row["OP State"] for row in kernels}, {"dynamic"})
                self.assertEqual({row["HF32 Eligible"] for row in kernels if row["OP Type"] == "MatMul"}, {"YES", "NO"})
                self.assertEqual({row["Mix Block Num"] for row in kernels}, {"0"})
                self.check_database(daemon, chip)
                self.check_lanes(chip)

    def check_database(self, daemon, chip):
        """Parts of collectives, and attributes of operators."""
        self.assertEqual(daemon.ctl("export", self.directory, "--format", "db").code, OK)
        [path] = self.directory.glob("msprof_*.db")
        with contextlib.closing(sqlite3.connect(path)) as tables:
            parts = tables.execute(
                "SELECT n.value, planeId, g.value, notifyId, srcRank, dstRank, t.name, l.name, size, bandwidth, deviceId "
                "FROM COMMUNICATION_TASK_INFO c JOIN TASK USING(globalTaskId) JOIN STRING_IDS n ON n.id = c.taskType "
                "JOIN STRING_IDS g ON g.id = groupName JOIN ENUM_HCCL_TRANSPORT_TYPE t ON t.id = transportType "
                "JOIN ENUM_HCCL_LINK_TYPE l ON l.id = linkType").fetchall()
            collectives = tables.execute("SELECT count(*) FROM COMMUNICATION_OP").fetchone()[0]
            attributes = tables.execute(
                "SELECT DISTINCT a.value FROM COMPUTE_TASK_INFO JOIN STRING_IDS a ON a.id = attrInfo").fetchall()
        names = {"Ccu"} if chip == "950" else {"Notify_Wait", "Memcpy", "Reduce_Inline", "Notify_Record"}
        self.assertEqual({part[0] for part in parts}, names)
        self.assertGreater(len(parts), 200)
        # Four parts make one; the first may have been launched before the modules were switched on.
        self.assertTrue(4 * collectives - 8 <= len(parts) <= 4 * collectives, (len(parts), collectives))
        for name, plane, group, notify, source, target, transport, link, size, bandwidth, device in parts:
            notifies = name.startswith("Notify")
            self.assertEqual((plane, group, source, target, transport, link, size),
                             (0, "group_world", device, 1 - device, *(("UB", "UB") if chip == "950" else ("SDMA", "HCCS")), 0 if notifies else 2 << 20))
            self.assertEqual(0 < int(notify) < 1 << 32, notifies, notify)
            self.assertEqual(bandwidth > 0, not notifies)
        self.assertTrue({(f"attr_0:{at}|attr_1:false",) for at in range(40)} <= set(attributes), sorted(attributes))

    def check_lanes(self, chip):
        [timeline] = self.directory.glob("mindstudio_profiler_output/msprof_*.json")
        events = json.loads(timeline.read_text(encoding="utf-8"))
        lanes = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertTrue({"Plane 0"} <= lanes, lanes)
        self.assertTrue(any("group_world" in lane or lane.startswith("Group 0") for lane in lanes), lanes)
        part = next(event for event in events if event["name"] == ("Ccu" if chip == "950" else "Memcpy") and "src rank" in event.get("args", {}))
        self.assertTrue({"notify_id", "src rank", "dst rank", "transport type", "size(Byte)", "link type", "bandwidth(GB/s)"} <= set(part["args"]), part)

    def test_levels_of_tasks(self):
        """What the vendor's collector switches on for them."""
        for level, types, attributes in (("l0", {"N/A"}, set()), ("l1", {"MatMul", "ApplyAdam"}, {""})):
            with self.subTest(level=level):
                self.daemon_of("910B")
                result = self.msprof(f"--task-time={level}", "--aic-metrics=Memory")  # of --ai-core, which is on
                self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
                for side in ("host", "device_0"):  # by which the vendor's parser knows that there are no operators
                    sample = json.loads((self.directory / side / "sample.json").read_text())
                    self.assertEqual(sample["prof_level"], level.replace("l", "level"), side)
                found = {row["OP Type"] for row in self.table("op_summary")} if level == "l1" else {"N/A"}
                self.assertTrue(types <= found, found)
                self.assertEqual(bool(list(self.directory.glob("host/data/*node_basic_info*"))), level != "l0")
                self.assertEqual(bool(list(self.directory.glob("host/data/*hccl_info*"))), level != "l0")
                self.assertFalse(list(self.directory.glob("host/data/*node_attr_info*")))

    def test_with_mspti_in_the_program(self):
        """It receives what CANN reports, so kernels are its own, and what it lacks is said."""
        daemon = self.daemon_of("910B")
        preload = str(self.folder / "lib64" / "libmspti.so")
        for options in ((), ("--task-memory=on",)):
            with self.subTest(options=options):
                shutil.rmtree(self.folder / "output", ignore_errors=True)
                result = self.msprof("--ascendcl=on", "--hccl=on", "--task-time=l2", *options, preload=preload)
                self.assertEqual("--task-memory: not collected: memory of operators: MSPTI" in result.err, bool(options), result)
                self.assertEqual(result.code, PARTLY_STARTED, result)
                self.assertRegex(result.err, "--task-time: not collected: attributes of operators: MSPTI")
                self.assertRegex(result.err, "--hccl: not collected: parts of collectives: MSPTI")
                kinds = {kind["kind"]: kind for kind in own_folder.manifest(self.directory)["kinds"]}
                self.assertEqual(kinds["agent-kernel"]["verdict"], "started", kinds)
                self.assertEqual("agent-memory" in kinds, bool(options))
                self.assertFalse(list(self.directory.glob("host/data/*node_basic_info*")))
                self.assertEqual(daemon.ctl("verify", self.directory).code, OK)

    def test_mspti_leaves_out_parts_that_nobody_named(self):
        """They come with --task-time, which is on by itself: a line says so, and the exit code stays 0."""
        self.daemon_of("910B")
        result = self.msprof(preload=str(self.folder / "lib64" / "libmspti.so"))
        self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
        self.assertRegex(result.err, "--task-time: not collected: parts of collectives: MSPTI")

    def test_memory_of_operators(self):
        """The simulated operators take (number in the step + 1) x 512 bytes, for 10 us. The log of tasks goes on beside it."""
        for chip in ("310", "910B"):
            with self.subTest(chip=chip):
                daemon = self.daemon_of(chip)
                result = self.msprof("--task-memory=on")
                self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
                self.assertNotRegex(result.err, "not collected|nothing was recorded")
                self.assertEqual(daemon.ctl("verify", self.directory).code, OK)
                kinds = {kind["kind"]: kind for kind in own_folder.manifest(self.directory)["kinds"]}
                self.assertEqual(kinds["agent-memory"]["verdict"], "started", kinds)
                self.assertNotIn("made way", kinds["task"]["reason"])
                held = self.table("operator_memory")
                self.assertGreater(len(held), 1000)
                self.assertEqual({row["Name"] for row in held}, {"aclnnMatmul_MatMulCommon_MatMul", "aclnnApplyAdam_ApplyAdam_ApplyAdam"})
                self.assertEqual({row["Device"] for row in held}, {"NPU:0", "NPU:1"})
                sizes = {float(row["Size(KB)"]) for row in held}
                self.assertTrue(sizes <= {0.5 * at for at in range(1, 65)} and len(sizes) > 10, sizes)
                released = [row for row in held if float(row["Duration(us)"]) > 0]
                self.assertGreater(len(released), len(held) - 10)
                for row in released:
                    self.assertAlmostEqual(float(row["Duration(us)"]), 10, delta=0.05)
                    self.assertEqual(float(row["Allocation Total Allocated(KB)"]) - float(row["Size(KB)"]), 1 << 20)
                moments = self.table("memory_record")
                self.assertEqual(len(moments), kinds["agent-memory"]["records"])
                self.assertEqual({row["Component"] for row in moments}, {"GE"})
    def test_options_of_which_nothing_came(self):
        """A program on one device has no collectives, one on a 310 never."""
        self.daemon_of("310")
        result = self.msprof("--ascendcl=on", "--hccl=on", "--msproftx=on")
        self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
        self.assertIn("--hccl, --msproftx: nothing was recorded: the program reported none of it\n", result.err)

    def test_a_program_without_cann(self):
        """Tasks of the devices are other programs': they are in task_time, and no operators of this one."""
        self.daemon_of("910B")
        result = self.msprof(command=[sys.executable, "-c", WITHOUT_CANN, str(self.folder / "output")])
        self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
        self.assertIn("note: the program that was recorded did not use CANN: tasks are other programs', and not in op_summary", result.out)
        self.assertGreater(len(self.table("task_time")), 500)
        self.assertFalse(list(self.directory.glob("mindstudio_profiler_output/op_summary*")))

    def test_workers_that_are_forked_before_they_load_cann(self):
        """They make no call of the agent's, and what CANN reports of them is recorded."""
        for chip in ("910B", "310P"):
            with self.subTest(chip=chip):
                daemon = self.daemon_of(chip)
                result = self.msprof("--ascendcl=on", command=[sys.executable, "-c", FORKS, str(self.folder / "output")])
                self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
                self.assertNotIn("never began", result.err)
                manifest = own_folder.manifest(self.directory)
                kinds = {kind["kind"]: kind for kind in manifest["kinds"]}
                self.assertGreater(kinds["agent-kernel"]["records"], 0)
                workers = {agent["pid"] for agent in manifest["agents"] if agent["pid"] != agent["target"]}
                self.assertEqual(len(workers), 2, manifest["agents"])
                [database] = self.directory.glob("msprof_*.db")
                with contextlib.closing(sqlite3.connect(database)) as tables:
                    recorded = {pid for (pid,) in tables.execute("SELECT DISTINCT globalTid >> 32 FROM CANN_API")}
                self.assertLessEqual(workers, recorded)
                self.assertIn("MatMul", {row["OP Type"] for row in self.table("op_statistic")})
                self.assertEqual(daemon.ctl("verify", self.directory).code, OK)

    def test_programs_that_end_while_mspti_begins(self):
        """None of them is harmed: its libraries are not called any more when their destructors may run."""
        self.daemon_of("910B")
        preload = str(self.folder / "lib64" / "libmspti.so")
        many = "for i in $(seq 100); do bash -c ':; x=$(echo a); :' || echo FAILED $?; done"
        result = self.msprof("--task-memory=on", command=["bash", "-c", many], preload=preload)
        self.assertNotIn("FAILED", result.out)

    def test_mspti_that_is_loaded_later(self):
        """It is not displaced: it has what CANN reports from then on, and the session says so."""
        daemon = self.daemon_of("910B")
        program = self.folder / "loads.py"
        program.write_text("import ctypes, os, sys\n"
                           "for line in sys.stdin:\n"
                           "    ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/' + line.strip())\n"
                           "    print('loaded', flush=True)\n")
        job = subprocess.Popen([str(harness.PROFCTL), "run", "--", sys.executable, str(program)], text=True, env=self.environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ends_with_the_test(job)
        self.registered(daemon, job.pid)

        def load(name):
            job.stdin.write(name + "\n")
            job.stdin.flush()
            self.assertEqual(job.stdout.readline(), "loaded\n")

        load("libprofapi.so")
        session = daemon.begin("--pid", job.pid, "--task-time=l2")

        def kernels():
            [kind] = [kind for kind in daemon.status(session["session"])["kinds"] if kind["kind"] == "agent-kernel"]
            return kind

        harness.wait_until(lambda: kernels()["records"] > 0, "reports")
        load("libmspti.so")
        stopped = daemon.end(session["session"])
        self.assertIn("MSPTI was loaded: what CANN reported from then on is MSPTI's", " ".join(stopped["degraded"]), stopped)
        # From now on MSPTI stands in for what it receives.
        session = daemon.begin("--pid", job.pid, "--task-time=l2")
        harness.wait_until(lambda: kernels()["verdict"] == "started" and kernels()["records"] > 0, "kernels of MSPTI")
        self.assertRegex(kernels()["reason"], "from MSPTI, without parts of collectives, attributes and memory of operators: MSPTI was loaded .* by the program or for a recording before")
        daemon.end(session["session"])

    def test_mspti_that_is_loaded_before_the_program_ends(self):
        """Nobody stops the recording of that program, and yet it is said."""
        daemon = self.daemon_of("910B")
        result = self.msprof("--ascendcl=on", command=[sys.executable, "-c", LOADS_MSPTI, str(self.folder / "output")])
        self.assertEqual(result.code, PARTIAL_LOSS, result)
        self.assertEqual(result.err.count("MSPTI was loaded: what CANN reported from then on is MSPTI's"), 1, result)
        self.assertEqual(daemon.ctl("verify", self.directory).code, OK)
        for verb in ("query", "export", "analyze"):
            done = daemon.ctl(verb, self.directory)
            self.assertRegex(done.out + done.err, "degraded.*: MSPTI was loaded")

    def test_mspti_that_comes_with_cann(self):
        """Whether it is the receiver before the agent is or after it: it is said, and nothing waits for ever."""
        for chip in ("910B", "310P"):
            with self.subTest(chip=chip):
                daemon = self.daemon_of(chip)
                result = self.msprof("--ascendcl=on", command=[sys.executable, "-c", LOADS_BOTH, str(self.folder / "output")])
                self.assertIn(result.code, (PARTIAL_LOSS, PARTLY_STARTED), result)
                self.assertIn("MSPTI was loaded", result.err)
                for kind in own_folder.manifest(self.directory)["kinds"]:
                    self.assertNotIn("never began", kind["reason"])
                self.assertEqual(daemon.ctl("verify", self.directory).code, OK)

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

    def test_a_profd_that_is_killed(self):
        """The names of what there was are exported, though its manifest did not know yet that there are any."""
        daemon = self.daemon_of("910B")
        output = self.folder / "output"
        command = [str(harness.RUN), "msprof", f"--output={output}", "--ascendcl=on", sys.executable, str(self.folder / "train.py"), str(output)]
        msprof = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.ends_with_the_test(msprof)

        def records():
            [session] = daemon.ctl("list", "--json").json["sessions"] or [{"kinds": []}]
            return sum(kind["records"] for kind in session["kinds"] if kind["kind"] == "agent-api")

        harness.wait_until(lambda: records() > 5000, "calls")
        daemon.kill()
        [directory] = output.glob("PROF_*")
        out = self.folder / "exported"
        exported = daemon.ctl("export", directory, "--format", "csv", "--out", out)
        self.assertIn(exported.code, (OK, PARTIAL_LOSS), exported)
        self.assertNotIn("dictionaries do not hold", exported.err)
        [table] = out.rglob("op_statistic_*.csv")
        self.assertIn("MatMul", table.read_text())

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
        self.assertTrue(ready()["agent-memory"]["available"])
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

    def test_modes_of_a_session(self):
        """Any session can have what CANN reports where MSPTI knows the chip."""
        daemon = self.daemon_of("910B")
        job = self.job_with_cann(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "task,agent-kernel:attributes,agent-comm:parts,agent-api")

        def recorded():
            kinds = {kind["kind"]: kind for kind in daemon.status(session["session"])["kinds"]}
            return kinds["agent-kernel"]["records"] > 1000 and kinds["agent-comm"]["records"] > 200

        harness.wait_until(recorded, "reports")
        self.directory = pathlib.Path(daemon.end(session["session"])["directory"])
        self.assertEqual(daemon.ctl("verify", self.directory).code, OK)
        self.assertEqual(daemon.ctl("export", self.directory).code, OK)
        self.check_operators({"AI_CORE", "AI_VECTOR_CORE"})
        self.check_database(daemon, "910B")
        self.check_lanes("910B")
        for wrong in ("agent-kernel:all", "agent-comm:operators"):
            result = daemon.ctl("start", "--pid", job.pid, "--collect", wrong)
            self.assertEqual(result.code, USAGE, result)
            self.assertIn("knows the mode", result.err)

    def test_what_takes_the_time(self):
        self.daemon_of("310P")
        environment = dict(self.environment, TMPDIR=str(self.folder))
        done = subprocess.run([str(harness.PROFCTL), "record", "--", sys.executable, str(harness.WORKLOAD), "4", "40"],
                              text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False, env=environment,
                              stdin=subprocess.DEVNULL, cwd=self.folder)
        self.assertIn(done.returncode, (OK, PARTIAL_LOSS), done.stdout + done.stderr)
        self.assertIn("data: kernels, collectives, calls", done.stdout)

    def check_operators(self, types, chip=""):
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
            # The first dimension is the task's place in its step of 48; the id is what 16 bits hold of its number, on a 950 the
            # upper ones.
            rows = int(row["Input Shapes"].strip('"').split(",")[0])
            self.assertEqual((rows - 1 - (int(row["Task ID"]) >> (16 if chip == "950" else 0))) % 16, 0, row)
            self.assertEqual(row["Input Shapes"].strip('"'), f"{rows},1024;1024,4096", row)
            self.assertEqual(row["Output Shapes"].strip('"'), f"{rows},4096", row)
            self.assertEqual(row["Input Data Types"], "FLOAT16;FLOAT16", row)
            self.assertNotIn(row["Block Num"] if "Block Num" in row else row["Block Dim"], ("N/A", "0"), row)
        statistic = {row["OP Type"] for row in self.table("op_statistic")}
        self.assertTrue({"MatMul", "ApplyAdam"} <= statistic, statistic)


if __name__ == "__main__":
    unittest.main(verbosity=2)
