#!/usr/bin/env python3
"""`profctl record`: a job is recorded and what makes it slow is said, by the real daemon, the simulator and the agent."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import harness
import own_folder
from harness import NOT_FOUND, OK, USAGE

KINDS = "agent-step,agent-range,agent-kernel,agent-comm,agent-api"
WORKLOAD = [sys.executable, str(harness.WORKLOAD)]


@harness.unittest.skipUnless(harness.PLAIN_BUILD == harness.BUILD, "the agent of a sanitizer's build goes into no program")
class RecordTest(harness.ProfdTest):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-cann-"))
        self.addCleanup(harness.shutil.rmtree, folder)
        (folder / "lib64").mkdir()
        for name in ("libmspti.so", "libprofapi.so"):
            (folder / "lib64" / name).symlink_to(harness.BUILD / "sim" / name)
        # The program that is recorded has the daemon's environment.
        self.daemon = self.profd(sim="devices: 2\nchip: 910B\nscenario: {step_ms: 20}\nmspti: {auto: true}\n",
                                 env={"ASCEND_HOME_PATH": str(folder)})

    def record(self, *words, **options):
        process = subprocess.Popen([str(harness.RUN), "record", *map(str, words)], env=self.daemon.environment, text=True,
                                   stdin=subprocess.DEVNULL, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        self.ends_with_the_test(process)
        return process

    def ended(self, process):
        out, err = process.communicate(timeout=harness.PATIENCE_S)
        return harness.Result(process.returncode, out, err)

    def sessions(self):
        return self.daemon.ctl("list", "--json").json["sessions"]

    def awaits_kernels(self):
        """The session, once kernels of it are stored, and enough steps to say something of."""

        def recorded():
            for session in self.sessions():
                records = {kind["kind"]: kind["records"] for kind in self.daemon.status(session["session"])["kinds"]}
                if records.get("agent-kernel", 0) > 200 and records.get("agent-step", 0) > 20:
                    return session["session"]
            return None

        return harness.wait_until(recorded, "kernels")

    def while_it_is_recorded(self, *words):
        """The result with a program that ends once its recording runs."""
        process = self.record(*words, "--", "sleep", "120")
        known = {one["session"] for one in self.sessions() if one["state"] == "sealed"}
        session = harness.wait_until(lambda: next((one for one in self.sessions() if one["session"] not in known and
                                                   one["state"] == "running"), None), "the recording")
        os.kill(session["pids"][0], signal.SIGTERM)
        return self.ended(process)

    def is_over(self, session, reason):
        status = self.daemon.status(session)
        self.assertEqual((status["state"], status["end_reason"]), ("sealed", reason), status)
        self.assertEqual([one for one in self.sessions() if one["state"] != "sealed"], [], "nothing is left running")

    def says_what_was_found(self, result, session):
        lines = result.out.splitlines()
        self.assertRegex(lines[0], r"^2 ranks, 1 node, simulated devices · ")
        self.assertTrue(any(line.startswith(f"recorded: session {session}, ") for line in lines), result)
        self.assertIn(self.daemon.status(session)["directory"], result.out)
        for number, line in enumerate(lines):
            if re.match(r" *\d+  ", line):
                self.assertRegex(lines[number + 1], "^ +-> ")

    def one_definition_of_a_step(self, session, job):
        """How long steps take, and which of them count, is the same to who asks for findings and to who asks what there is."""
        (steps,) = [one for one in self.daemon.ctl("query", session, "--json").json["directories"][0]["steps"] if one["device"] == -1]
        self.assertEqual(steps["counted"], job["steps"]["analysed"], (steps, job["steps"]))
        for part in ("p50", "p95"):
            self.assertAlmostEqual(steps[f"{part}_ns"] / 1e6, job["step_ms"][part], delta=job["step_ms"][part] / 1e4)
        self.assertEqual(steps["left_out"], job["steps"]["excluded"])
        self.assertEqual(steps["left_out"][0]["why"], "first")
        self.assertLessEqual(steps["p95_ns"], steps["slowest"][0]["duration_ns"])
        named = f"{steps['left_out'][0]['step']} (first)"
        self.assertIn(f" without {named}", self.daemon.ctl("query", session).out)
        self.assertRegex(self.daemon.ctl("analyze", session).out, rf"steps \S+ \(\d+\) without {re.escape(named)}")

    def says_that_devices_are_simulated(self, session, job):
        if os.path.exists("/dev/davinci_manager"):
            self.skipTest("this node has NPUs")
        self.assertTrue(job["simulated"])
        self.assertIn("note: the devices are simulated: what they do", self.daemon.ctl("analyze", session).out)
        self.assertIn("the devices are simulated (no /dev/davinci_manager)", self.daemon.ctl("query", session).out)
        page = pathlib.Path(self.daemon.directory) / "page.html"
        self.assertEqual(self.daemon.ctl("report", session, "-o", page).code, OK)
        self.assertIn('<p class="simulated">the devices are simulated', page.read_text(encoding="utf-8"))

    def test_a_program_until_it_ends(self):
        process = self.record("--collect", KINDS, "--", *WORKLOAD, "60")
        session = self.awaits_kernels()
        (pid,) = self.daemon.status(session)["pids"]
        os.kill(pid, signal.SIGTERM)
        result = self.ended(process)
        self.assertEqual(result.code, 128 + signal.SIGTERM, "the program's own, when all went well with the recording")
        self.is_over(session, "target_exit")
        self.says_what_was_found(result, session)
        # Its directory and its id are the same to everything that takes a directory.
        directory = self.daemon.status(session)["directory"]
        by_directory, by_session = (self.daemon.ctl("analyze", word, "--json") for word in (directory, session))
        self.assertEqual((by_session.code, by_session.out), (by_directory.code, by_directory.out), by_session)
        self.assertGreater(by_session.json["job"]["steps"]["analysed"], 3)
        self.assertEqual(by_session.json["job"]["ranks"], 2)
        self.assertTrue(by_session.json["data"]["complete"], by_session.json["data"])
        self.one_definition_of_a_step(session, by_session.json["job"])
        self.says_that_devices_are_simulated(session, by_session.json["job"])
        # What profd lost of the program is told.
        path = pathlib.Path(directory) / own_folder.MANIFEST
        manifest = json.loads(path.read_text())
        (agent,) = manifest["agents"]
        begin, end = (clock["host_raw_ns"] for clock in manifest["clocks"] if clock["device"] == -1)
        for stream in manifest["streams"]:
            if stream["file"] == agent["lanes_file"]:
                stream["losses"] = [{"where": "agent", "from_ns": begin, "to_ns": end, "records": 7, "bytes": 224}]
        path.write_text(json.dumps(manifest))
        less = self.daemon.ctl("analyze", directory, "--json").json
        self.assertFalse(less["data"]["complete"])
        (loss,) = [one for one in less["findings"] if one["id"] == "data.loss"]
        self.assertEqual(loss["where"]["ranks"], [0, 1])
        self.assertRegex(loss["title"], "7 records were lost, in [0-9.]+ % of the time: the program's rings were full")

    def test_kernels_alone(self):
        process = self.record("--collect", "agent-step,agent-kernel", "--", *WORKLOAD, "60")
        session = self.awaits_kernels()
        os.kill(self.daemon.status(session)["pids"][0], signal.SIGTERM)
        self.assertRegex(self.ended(process).out, r"(?m)^ *data: kernels, no collectives, no calls\b")

    def test_a_program_for_a_while(self):
        said = tempfile.NamedTemporaryFile("w", prefix="profd-record-")
        self.addCleanup(said.close)
        process = self.record("--for", "1s", "--collect", "agent-step,task", "--json", "--", sys.executable, "-c",
                              "import signal, sys; sys.argv[1:] = ['120']\n"
                              "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
                              f"exec(open({str(harness.WORKLOAD)!r}).read())", stderr=said)
        harness.wait_until(lambda: "the program goes on" in pathlib.Path(said.name).read_text(), "the recording to be over")
        (session,) = self.sessions()
        os.kill(session["pids"][0], signal.SIGTERM)
        result = self.ended(process)
        self.assertEqual(result.code, 5, "the program's own")
        told = json.loads(result.out)
        self.assertEqual(told["answer"]["schema"], "profd.findings/1")
        self.is_over(told["session"]["session"], "duration")

    def test_steps_are_the_programs_also_where_devices_tell_of_more(self):
        """The simulated model's iterations are of 20 ms and have numbers of their own."""
        program = "import profd, time\nfor n in range(1200):\n with profd.step(n):\n  time.sleep(0.1)"  # what a step takes
        process = self.record("--for", "4s", "--collect", "agent-step,task", "--json", "--", sys.executable, "-c", program)
        (session,) = harness.wait_until(lambda: [one for one in self.sessions() if one["state"] == "sealed"], "the recording's end")
        os.kill(session["pids"][0], signal.SIGTERM)
        told = json.loads(self.ended(process).out)
        steps = told["answer"]["job"]["steps"]
        (own,) = [one for one in self.daemon.ctl("query", session["session"], "--json").json["directories"][0]["steps"]
                  if one["device"] == -1]
        self.assertGreater(own["counted"], 3)
        self.assertEqual((steps["analysed"], steps["excluded"]), (own["counted"], own["left_out"]), (steps, own))
        self.assertGreater(told["answer"]["job"]["step_ms"]["p50"], 99)

    def test_what_nobody_named_is_not_missed(self):
        process = self.record("--", *WORKLOAD, "60")
        session = self.awaits_kernels()
        (pid,) = self.daemon.status(session)["pids"]
        os.kill(pid, signal.SIGTERM)
        said = self.ended(process).err
        self.assertRegex(said, r"(?m)^profctl: not recorded: agent-memory: needs a start with LD_PRELOAD=libmspti.so$")
        directory = pathlib.Path(self.daemon.status(session)["directory"])
        manifest = json.loads((directory / ".profiler" / "manifest.json").read_text())
        verdicts = {kind["kind"]: kind["verdict"] for kind in manifest["kinds"]}
        self.assertEqual(verdicts["agent-memory"], "skipped", "MSPTI tells it only to programs that start with it")
        self.assertEqual(verdicts["host-cpu-profile"], "started")
        told = self.daemon.ctl("query", directory, "--json").json["directories"][0]["skipped"]
        self.assertEqual([one for one in told if "was asked for" in one["why"]], [])

    def test_a_dry_run_shows_what_would_be_recorded(self):
        """Also samples of the program's CPU time, without which nobody knows what it computes while its device waits."""
        for what in (["--", "false"], ["--pid", os.getpid()]):
            result = self.ended(self.record("--dry-run", *what))
            self.assertEqual(result.code, OK, result)
            self.assertRegex(result.out, r"(?m)^host-cpu-profile .* 99 Hz ")
            self.assertIn("host-off-cpu", result.out)
            self.assertIn("nothing was started (--dry-run)", result.out)
        self.assertEqual(self.sessions(), [])

    def test_interrupted(self):
        process = self.record("--collect", KINDS, "--", *WORKLOAD, "60")
        session = self.awaits_kernels()
        (pid,) = self.daemon.status(session)["pids"]
        process.send_signal(signal.SIGINT)
        result = self.ended(process)
        self.is_over(session, "stopped")
        self.says_what_was_found(result, session)
        # Only profctl was interrupted: it means both.
        self.assertFalse(os.path.exists(f"/proc/{pid}"), "the program has ended")
        self.assertNotEqual(result.code, OK)

    def test_processes_that_run(self):
        environment = dict(self.daemon.environment)
        program = self.workload(command=[str(harness.RUN), "run", "--label", "job=llm", "--", *WORKLOAD, "60"], env=environment)
        self.registered(self.daemon, program.pid)
        for target, session_name in ((("--pid", program.pid), "one"), (("--label", "job=llm"), "two")):
            process = self.record(*target, "--collect", KINDS, "--name", session_name)
            session = self.awaits_kernels()
            process.send_signal(signal.SIGINT)
            result = self.ended(process)
            self.assertEqual(result.code, OK, result)
            self.is_over(session, "stopped")
            self.says_what_was_found(result, session)
            self.assertEqual(self.daemon.ctl("analyze", session_name).code, OK)
            self.daemon.ctl("rm", session)
        self.assertIsNone(program.poll(), "it was only looked at")

    def test_what_goes_wrong_is_one_line(self):
        for words, code, part in (((), USAGE, "--pid"), (("--pid", 1, "--label", "a=b"), USAGE, "say what to record, one of"),
                                  (("--pid", 1, "--", "true"), USAGE, "expected one of the two"),
                                  (("--for", "1y", "--", "true"), USAGE, "--for '1y'"),
                                  (("--fail-on", "x", "--", "true"), USAGE, "--fail-on"),
                                  (("--max-loss", "101%", "--", "true"), USAGE, "--max-loss '101%'"),
                                  (("--host", "h:1", "--pid", 1), USAGE, "record works on this node only"),
                                  (("--hosts", "h:1", "--pid", 1), USAGE, "--host"),
                                  (("--collect", "nosuch", "--", "sleep", 60), USAGE, "nosuch"),
                                  (("--label", "job=none"), NOT_FOUND, "job=none"),
                                  (("--", "/no/such/program"), NOT_FOUND, "/no/such/program: there is no such program: check")):
            with self.subTest(words=words):
                result = self.ended(self.record(*words))
                self.assertEqual(result.code, code, result)
                self.assertEqual(len(result.err.strip().splitlines()), 1, result)
                self.assertIn(part, result.err)
                self.assertEqual(result.out, "")
        self.assertEqual(self.sessions(), [])
        # Nothing that runs on a device: said, with what there is.
        result = self.while_it_is_recorded("--max-loss", "100%", "--collect", "host-cpu,host-off-cpu?")
        self.assertEqual(result.code, NOT_FOUND, result)
        self.assertIn("not analysed: no device did anything for this job", result.err)
        self.assertNotIn("profctl record", result.err)
        self.assertIn("recorded: session", result.out)
        self.assertRegex(result.out, "(?m)^  kinds: +host-cpu\\b")
        # What is offered works; what does not is not offered.
        self.assertNotIn("profctl report", result.out)
        offered = re.findall(r"(?m)^  \w[\w ]*: +profctl (.+)$", result.out)
        self.assertIn("query", [words.split()[0] for words in offered])
        for words in offered:
            done = subprocess.run([str(harness.PROFCTL), *words.split()], env=self.daemon.environment, capture_output=True, text=True,
                                  cwd=self.daemon.directory, check=False)
            self.assertEqual(done.returncode, OK, (words, done.stderr))
        # As JSON, too: the session, and no answer.
        result = self.while_it_is_recorded("--json", "--max-loss", "100%", "--collect", "host-cpu")
        self.assertEqual(result.code, NOT_FOUND, result)
        told = json.loads(result.out)
        self.assertIsNone(told["answer"])
        self.assertEqual([kind["kind"] for kind in told["session"]["kinds"]], ["host-cpu"])
        self.assertTrue(os.path.isdir(told["session"]["directory"]))

    def test_a_program_begins_when_its_recording_has(self):
        result = self.ended(self.record("--collect", "hbm,host-cpu", "--max-loss", "100%", "--", "true"))
        self.assertRegex(result.out, "(?m)^recorded: session ")
        # Only that; a busy machine may lose samples.
        notes = [line for line in result.err.splitlines() if "no kind above --max-loss" not in line]
        self.assertEqual([("not analysed" in note) for note in notes], [True], result)
        # What the agent cannot get into: this one has left its environment out.
        result = self.ended(self.record("--collect", "agent-range,host-cpu", "--max-loss", "100%", "--", "env", "-i", "sleep", "0.3"))
        self.assertRegex(result.out, "(?m)^recorded: session [^ ]+, [3-9][0-9]{2} ms|[0-9.]+ s")
        # And one that cannot be recorded does not begin.
        self.daemon = self.profd(config="session: {max_sessions: 1}\n")
        self.daemon.begin("--collect", "hbm")
        with tempfile.TemporaryDirectory() as folder:
            result = self.ended(self.record("--", "touch", f"{folder}/ran"))
            self.assertEqual((result.code, result.out), (harness.BUSY, ""), result)
            self.assertRegex(result.err, "^profctl: 1 sessions are open.*\n$")
            self.assertEqual(os.listdir(folder), [])

    def test_what_could_not_be_recorded_is_said_once_for_a_reason(self):
        daemon = self.profd(sim="devices:\n  - {chip: 310P}\n  - {chip: 910B}\n")
        environment, self.daemon.environment = self.daemon.environment, daemon.environment
        self.addCleanup(setattr, self.daemon, "environment", environment)
        result = self.while_it_is_recorded()
        lines = [line for line in result.err.splitlines() if line.startswith("profctl: not recorded: ")]
        reasons = [line.split(": ", 3)[3] for line in lines]
        self.assertEqual(len(reasons), len(set(reasons)), lines)
        told = ", ".join(line.split(": ")[2] for line in lines).split(", ")
        self.assertIn("hbm of device:0", told)
        self.assertIn("agent-memory", told)
        self.assertEqual(len(told), len(set(told)), lines)


if __name__ == "__main__":
    harness.unittest.main()
