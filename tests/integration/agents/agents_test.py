#!/usr/bin/env python3
"""Processes with an agent, as profctl sees them: real profd, real libprofd_agent.so, real programs."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import harness
from harness import FAILED, OK

LIBRARY = harness.PLAIN_BUILD / "lib" / "libprofd_agent.so"
PACKAGE = harness.ROOT / "libagent" / "python"
LINKED = harness.PROGRAMS / "workload"
IDLE = "import sys; sys.stdin.read()"
LABELS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_JOB_ID", "SLURM_PROCID", "PROFD_LABELS")


@unittest.skipUnless(LIBRARY.exists() and LINKED.exists(), "sanitizer builds can't be preloaded")
class AgentsTest(harness.ProfdTest):
    def profd(self, **options):
        options.setdefault("hal", None)
        return super().profd(**options)

    def environment(self, daemon, **more):
        clean = {name: value for name, value in os.environ.items() if name not in LABELS}
        return dict(clean, PROFD_ADDRESS=str(daemon.socket), **more)

    def start(self, daemon, command=(sys.executable, "-c", IDLE), preload=True, user=None, **more):
        """A program that lives until its stdin is closed."""
        if preload:
            more["LD_PRELOAD"] = str(LIBRARY)
        identity = {"user": user, "group": user, "extra_groups": []} if user else {}
        process = subprocess.Popen(command, env=self.environment(daemon, **more), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **identity)
        self.ends_with_the_test(process)
        return process

    def targets(self, daemon, user=None):
        result = daemon.ctl("targets", "--json", user=user)
        self.assertEqual(result.code, OK, result)
        return {target["pid"]: target for target in result.json["targets"]}

    def await_target(self, daemon, pid):
        return harness.wait_until(lambda: self.targets(daemon).get(pid), f"process {pid} to register")

    def await_gone(self, daemon, pid):
        harness.wait_until(lambda: pid not in self.targets(daemon), f"process {pid} to disappear")

    def tell(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()

    def checks(self, daemon, pid, expected):
        result = daemon.ctl("doctor", "--pid", pid, "--json")
        self.assertEqual(result.code, expected, result)
        return {check["name"]: check for check in result.json["checks"]}

    def turned_away(self, daemon):
        checks = {check["name"]: check for check in daemon.ctl("doctor", "--json").json["checks"]}
        return "turned away" in checks["agents"]["detail"]

    # Who shows up

    def test_a_preloaded_process_shows_up_by_itself_and_goes_when_it_ends(self):
        daemon = self.profd()
        self.assertEqual(daemon.ctl("targets", "--json").json, {"targets": []})
        process = self.start(daemon, RANK="3", WORLD_SIZE="8", SLURM_JOB_ID="4711", PROFD_LABELS="phase=warm,rank=9")
        target = self.await_target(daemon, process.pid)
        self.assertEqual(target["labels"], {"rank": "9", "world_size": "8", "job_id": "4711", "phase": "warm"})
        self.assertEqual(target["uid"], os.getuid())
        self.assertEqual(target["container_pid"], process.pid)
        self.assertEqual(target["parent_pid"], os.getpid())
        self.assertEqual(target["executable"], os.path.realpath(sys.executable))
        self.assertEqual(target["command_line"], [sys.executable, "-c", IDLE])
        self.assertTrue(target["attachable"])
        self.assertEqual((target["reason"], target["recording_by"], target["forked"]), ("", "", False))
        self.assertNotEqual(target["agent_version"], "")
        self.assertRegex(target["registered_at"], r"^20\d\d-.*Z$")
        self.assertRegex(target["last_seen_at"], r"^20\d\d-.*Z$")
        offered = {entry["kind"]: entry["available"] for entry in target["capabilities"]}
        for kind in ("agent-range", "agent-mark", "agent-counter", "agent-step"):
            self.assertTrue(offered[kind])
        table = daemon.ctl("targets")
        self.assertEqual(table.code, OK, table)
        row = [line for line in table.out.splitlines() if line.split()[:1] == [str(process.pid)]]
        self.assertEqual(len(row), 1, table)
        self.assertIn("rank=9", row[0])
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        self.await_gone(daemon, process.pid)

    def test_a_linked_program_registers_at_its_first_call_and_its_forked_child_at_its_own(self):
        daemon = self.profd()
        process = self.start(daemon, command=[str(LINKED), "interactive"], preload=False)
        self.assertRegex(process.stdout.readline(), "^threads")
        self.await_target(daemon, process.pid)
        self.tell(process, "fork")
        child = harness.wait_until(
            lambda: [target for target in self.targets(daemon).values() if target["forked"]], "the child to register")[0]
        self.assertEqual(child["parent_pid"], process.pid)
        self.assertNotEqual(child["pid"], process.pid)
        self.assertIn(process.pid, self.targets(daemon))

    def test_a_python_program_that_imports_profd(self):
        daemon = self.profd()
        program = "import sys, profd\nprofd.mark('here')\nsys.stdin.read()"
        process = self.start(daemon, command=[sys.executable, "-c", program], preload=False, PYTHONPATH=str(PACKAGE),
                             PROFD_AGENT_LIBRARY=str(LIBRARY))
        self.assertTrue(self.await_target(daemon, process.pid)["attachable"])

    @harness.needs_root
    def test_a_user_sees_their_own_processes_and_root_all(self):
        daemon = self.profd()
        user = harness.nobody()
        own = self.start(daemon, command=["/bin/cat"], user=user)
        other = self.start(daemon)
        self.await_target(daemon, own.pid)
        self.await_target(daemon, other.pid)
        seen = self.targets(daemon, user=user)
        self.assertEqual(list(seen), [own.pid])
        self.assertEqual(seen[own.pid]["uid"], user)
        refused = daemon.ctl("doctor", "--pid", other.pid, "--json", user=user)
        self.assertEqual(refused.code, FAILED, refused)

    @harness.needs_root
    def test_a_process_with_an_npu_open_but_no_agent_and_what_to_do(self):
        daemon = self.profd()
        script = "mount -t tmpfs none /dev && : > /dev/davinci3 && exec sleep 100 3< /dev/davinci3"
        process = self.start(daemon, command=["unshare", "-m", "sh", "-c", script], preload=False)
        try:
            # The shell has it open for a moment, too, before the program that keeps it.
            harness.wait_until(lambda: process.poll() is not None or
                               self.targets(daemon).get(process.pid, {"command_line": []})["command_line"][:1] == ["sleep"],
                               "the process")
        finally:
            if process.poll() is not None:
                self.skipTest("no right to mount a private /dev")
        target = self.targets(daemon)[process.pid]
        self.assertEqual(target["devices"], [3])
        self.assertFalse(target["attachable"])
        self.assertEqual(target["agent_version"], "")
        for remedy in ("profctl run", "LD_PRELOAD=", "import profd"):
            self.assertIn(remedy, target["reason"])

    # Comings and goings

    def test_a_restart_of_profd_finds_everybody_again(self):
        daemon = self.profd()
        processes = [self.start(daemon), self.start(daemon, command=[str(LINKED), "interactive"], preload=False)]
        for process in processes:
            self.await_target(daemon, process.pid)
        for end in (daemon.stop, daemon.kill):
            end()
            daemon.start()
            begin = time.monotonic()
            for process in processes:
                self.await_target(daemon, process.pid)
            print(f"re-registered after {time.monotonic() - begin:.2f} s", file=sys.stderr)

    def test_hundreds_at_once(self):
        daemon = self.profd()
        # Each is idle and cheap; together they show what a full node asks of the door. (A sanitizer takes its time over
        # each stream's end inside gRPC.)
        many = 300 if harness.BUILD == harness.PLAIN_BUILD else 50
        processes = [self.start(daemon, command=["/bin/cat"]) for _ in range(many)]
        pids = {process.pid for process in processes}
        harness.wait_until(lambda: pids <= set(self.targets(daemon)), f"{many} processes to register")
        self.assertEqual(daemon.ctl("list").code, OK)
        # More of them wait for the next profd than a user has inotify instances.
        self.assertEqual(daemon.stop(), 0)
        daemon.start()
        harness.wait_until(lambda: pids <= set(self.targets(daemon)), f"{many} processes to register again")
        for process in processes:
            process.stdin.close()
        for process in processes:
            self.assertEqual(process.wait(), 0)
        harness.wait_until(lambda: not self.targets(daemon), f"{many} processes to go")
        self.assertEqual(daemon.stop(), 0)

    def test_the_limit_is_kept_and_a_free_place_is_taken(self):
        daemon = self.profd(config="agent:\n  max_agents: 2\n")
        first = [self.start(daemon), self.start(daemon)]
        for process in first:
            self.await_target(daemon, process.pid)
        third = self.start(daemon)
        maps = pathlib.Path(f"/proc/{third.pid}/maps")
        harness.wait_until(lambda: LIBRARY.name in maps.read_text(encoding="utf-8"), "the third to run")
        harness.wait_until(lambda: self.turned_away(daemon), "it to be turned away")
        self.assertEqual(set(self.targets(daemon)), {process.pid for process in first})
        self.assertEqual(daemon.ctl("list").code, OK)  # clients count apart
        first[0].stdin.close()
        self.await_target(daemon, third.pid)  # asks again every 10 s

    # What it means to the program

    def test_programs_end_as_they_would_without(self):
        daemon = self.profd()
        program = "import sys, time; print('out'); print('err', file=sys.stderr); time.sleep({}); sys.exit(7)"
        for pause, preload in ((0, ""), (0, str(LIBRARY)), (1.5, str(LIBRARY))):
            done = subprocess.run([sys.executable, "-c", program.format(pause)], capture_output=True, text=True,
                                  env=self.environment(daemon, LD_PRELOAD=preload), check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))
        daemon.stop()
        done = subprocess.run([sys.executable, "-c", program.format(1.5)], capture_output=True, text=True,
                              env=self.environment(daemon, LD_PRELOAD=str(LIBRARY)), check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))

    # doctor --pid

    def test_doctor_follows_the_chain_to_where_it_breaks(self):
        daemon = self.profd()
        registered = self.start(daemon)
        self.await_target(daemon, registered.pid)
        checks = self.checks(daemon, registered.pid, OK)
        self.assertEqual(checks[f"pid {registered.pid}"]["outcome"], "ok")
        for name in ("container", "registered", "recorded by"):
            self.assertEqual(checks[name]["outcome"], "ok", checks)
        self.assertIn("agent-range", checks["record kinds"]["detail"])

        without = self.start(daemon, preload=False)
        checks = self.checks(daemon, without.pid, OK)
        self.assertEqual(checks["agent"]["outcome"], "warn")
        self.assertIn("LD_PRELOAD", checks["agent"]["remedy"])
        self.assertEqual(checks["its socket"]["outcome"], "ok")

        gone = self.start(daemon, preload=False)
        gone.kill()
        gone.wait()
        self.assertEqual(self.checks(daemon, gone.pid, FAILED)[f"pid {gone.pid}"]["outcome"], "broken")

    def test_doctor_sees_an_agent_that_looks_elsewhere(self):
        daemon, other = self.profd(), self.profd()
        process = self.start(other)
        self.await_target(other, process.pid)
        checks = self.checks(daemon, process.pid, FAILED)
        self.assertEqual(checks["its socket"]["outcome"], "broken")
        self.assertIn(str(other.socket), checks["its socket"]["detail"])
        self.assertIn(str(daemon.socket), checks["its socket"]["remedy"])
        self.assertEqual(checks["agent"]["outcome"], "ok")

    def test_a_stopped_process_disturbs_nobody(self):
        daemon = self.profd()
        stuck, lively = self.start(daemon), self.start(daemon)
        self.await_target(daemon, stuck.pid)
        stuck.send_signal(signal.SIGSTOP)
        self.await_target(daemon, lively.pid)
        self.assertIn(stuck.pid, self.targets(daemon))
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
