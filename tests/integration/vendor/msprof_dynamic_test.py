#!/usr/bin/env python3
"""`--dynamic=on`: starts and stops by words, of processes that run already; and what a line leaves that records nothing."""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness
from harness import OK


class MsprofDynamicTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Profd()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = pathlib.Path(folder.name, "made", "on_the_way")

    def test_dynamic(self):
        job = self.workload()
        self.output.mkdir(parents=True)
        prompt = subprocess.Popen([str(harness.RUN), "msprof", "--dynamic=on", f"--pid={job.pid}", "--host-sys=cpu",
                                   f"--output={self.output}"], env=self.daemon.environment, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(prompt.kill)

        def say(word):
            prompt.stdin.write(word + "\n")
            prompt.stdin.flush()
            return prompt.stdout.readline().strip()

        self.assertIn("start", prompt.stdout.readline())
        self.assertEqual(say("stop"), "not started")
        self.assertRegex(say("start"), r"^started: session \w+$")
        self.assertEqual(say("start"), "already started")
        self.assertRegex(say("stop"), rf"^stopped: data is saved in {self.output}/PROF_\w+;")
        self.assertRegex(say("start"), r"^started")
        out, err = prompt.communicate("quit\n", timeout=harness.PATIENCE_S)
        self.assertRegex(out, "^stopped: data is saved in")
        self.assertEqual(prompt.returncode, OK, err)
        self.assertEqual(len(list(self.output.glob("PROF_*"))), 2)
        self.assertIsNone(job.poll(), "the job goes on")

    def test_dynamic_says_what_a_process_cannot(self):
        """One without an agent: a session that holds nothing is no success."""
        program = self.workload(command=["sleep", "60"])
        self.output.mkdir(parents=True)
        done = subprocess.run([str(harness.PROFCTL), "msprof", "--dynamic=on", f"--pid={program.pid}", "--ascendcl=on",
                               "--task-time=off", f"--output={self.output}"], env=self.daemon.environment, text=True,
                              input="start\nstop\nquit\n", capture_output=True, check=False)
        self.assertEqual(done.returncode, harness.PARTLY_STARTED, done)
        self.assertIn(f"--ascendcl: process {program.pid} has no agent: start it with", done.stderr)

    def test_dynamic_with_several_processes(self):
        """Each has a directory; one that is not there is told, the others are recorded."""
        jobs = [self.workload(), self.workload()]
        self.output.mkdir(parents=True)
        gone = subprocess.Popen(["true"])
        gone.wait()
        pids = [str(jobs[0].pid), str(gone.pid), str(jobs[1].pid)]
        prompt = subprocess.Popen([str(harness.RUN), "msprof", "--dynamic=on", f"--pid={','.join(pids)}", "--host-sys=cpu",
                                   f"--output={self.output}"], env=self.daemon.environment, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(prompt.kill)
        out, err = prompt.communicate("start\nstop\nquit\n", timeout=harness.PATIENCE_S)
        self.assertEqual(re.findall(r"^started: session \w+ of process (\d+)$", out, re.M), [pids[0], pids[2]], err)
        self.assertIn(pids[1], err)
        self.assertNotEqual(prompt.returncode, OK)
        stopped = re.findall(rf"^stopped: data is saved in ({self.output}/PROF_\w+);", out, re.M)
        self.assertEqual(sorted(stopped), sorted(map(str, self.output.glob("PROF_*"))))
        of = [json.loads(pathlib.Path(path, "host/sample.json").read_text())["host_sys_pid"] for path in stopped]
        self.assertEqual(of, [jobs[0].pid, jobs[1].pid])

    def test_dynamic_ends_with_the_program(self):
        self.output.mkdir(parents=True)
        end = self.output.parent / "end"
        prompt = subprocess.Popen([str(harness.RUN), "msprof", "--dynamic=on", "--host-sys=cpu", f"--output={self.output}",
                                   "sh", "-c", f"until [ -e {end} ]; do sleep 0.05; done"], env=self.daemon.environment, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(prompt.kill)
        self.addCleanup(end.touch)
        self.assertIn("start", prompt.stdout.readline())
        prompt.stdin.write("start\n")
        prompt.stdin.flush()
        self.assertRegex(prompt.stdout.readline(), "^started")
        end.touch()
        lines = prompt.stdout.read().splitlines()
        self.assertEqual(prompt.wait(harness.PATIENCE_S), OK, prompt.stderr.read())
        self.assertEqual(lines[0], "the program has ended")
        self.assertRegex(lines[1], f"^stopped: data is saved in {self.output}/PROF_")
        for pipe in (prompt.stdin, prompt.stdout, prompt.stderr):
            pipe.close()

    def test_what_records_nothing_leaves_no_folder(self):
        """What was there before stays."""
        program = self.workload(command=["sleep", "60"])
        top = self.output.parent.parent / "top"
        kept = top / "kept"
        kept.mkdir(parents=True)
        for words, said in (((f"--pid={program.pid}", "--dynamic=on", "--host-sys=cpu"), "quit\n"), (("--delay=60", "sleep", "0.3"), ""),
                            (("--host-sys=cpu", "no-such-program"), "")):
            for output in (top / "made" / "on_the_way", kept):
                with self.subTest(words=words, output=output.name):
                    done = subprocess.run([str(harness.RUN), "msprof", f"--output={output}", *words], input=said, text=True,
                                          env=self.daemon.environment, capture_output=True, check=False)
                    self.assertEqual(list(top.rglob("*")), [kept], done)


if __name__ == "__main__":
    unittest.main()
