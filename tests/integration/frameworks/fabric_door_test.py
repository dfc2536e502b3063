#!/usr/bin/env python3
"""Jobs without an agent that poll the dynolog fabric: seen, driven, their traces brought; and who must not drive them."""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import unittest

import fabric
import harness

FORCE = "doors: {dynolog: force}\n"


def alone():
    """The fabric has one name for each network namespace, and profd looks for that of process 1: this test in namespaces of its
    own, where it is process 1."""
    if os.environ.get("PROFD_TEST_ALONE") or os.geteuid() != 0:
        return
    command = ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", sys.executable, *sys.argv]
    os.execvpe("unshare", command, dict(os.environ, PROFD_TEST_ALONE="1"))


class FabricJob:
    def __init__(self, test, kind, period=0.2, user=None, environment=None):
        program = pathlib.Path(fabric.__file__).read_text(encoding="utf-8")  # whose folder may be closed to the user
        python = sys.executable if user is None else "/usr/bin/python3"
        self.process = subprocess.Popen([python, "-c", program, kind, str(period)], user=user, group=user,
                                        extra_groups=[] if user else None, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=dict(os.environ, **(environment or {})), cwd="/")
        test.ends_with_the_test(self.process)
        self.pid = self.process.pid
        self.hears("empty")

    def hears(self, what):
        """The next line that has it."""
        for line in self.process.stdout:
            if what in (said := json.loads(line)):
                return said[what]
        raise AssertionError(f"the job ended with {self.process.wait()}")


@harness.needs_root
class FabricDoorTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd(config=FORCE, hal=None)

    def client(self):
        client = fabric.Client()
        self.addCleanup(client.socket.close)
        return client

    def target(self, pid, **options):
        found = [target for target in self.daemon.ctl("targets", "--json", **options).json["targets"] if target["pid"] == pid]
        return found[0] if found else None

    def window(self, session, state=None):
        def there():
            (window,) = self.daemon.status(session)["windows"]
            return window if state is None or window["state"] == state else None

        return harness.wait_until(there, f"the window to be {state}")

    def ends(self, session):
        return harness.wait_until(lambda: (now := self.daemon.status(session))["state"] == "sealed" and now, "its end")

    def test_a_job_with_kineto_is_driven_for_a_time(self):
        job = FabricJob(self, "kineto")
        target = self.target(job.pid)
        self.assertEqual(target["door"], "dynolog: kineto")
        self.assertFalse(target["attachable"])
        self.assertIn(f"profctl start --pid {job.pid}", target["reason"])
        started = self.daemon.begin("--pid", job.pid, "--duration", "300ms")
        (window,) = started["windows"]
        self.assertEqual((window["pid"], window["door"], window["client"]), (job.pid, "dynolog", "kineto"))
        self.assertIn("0.3 s", window["text"])
        config = job.hears("config")
        self.assertEqual(config["ACTIVITIES_DURATION_MSECS"], "300")
        self.assertEqual(config["REQUEST_TRACE_ID"], started["session"])
        self.assertNotIn("PROFILE_ACTIVITIES", config)
        theirs = pathlib.Path(job.hears("wrote"))
        sealed = self.ends(started["session"])
        self.assertEqual(sealed["end_reason"], "duration")
        (window,) = sealed["windows"]
        self.assertEqual(window["state"], "done", window)
        ours = pathlib.Path(window["path"])
        self.assertEqual(ours, pathlib.Path(sealed["directory"]) / ".profiler" / "frameworks" / f"pid_{job.pid}.pt.trace.json")
        self.assertEqual(json.loads(ours.read_text())["trace_id"], started["session"])
        self.assertFalse(theirs.exists(), "left behind in /tmp")
        self.assertEqual(self.daemon.ctl("verify", sealed["directory"]).code, harness.OK)
        self.assertEqual(job.hears("empty"), True)  # it is handed out once

    def test_a_job_with_msmonitor_is_driven_by_steps(self):
        job = FabricJob(self, "msmonitor", period=0.6)
        self.assertEqual(self.target(job.pid)["door"], "dynolog: msmonitor")
        started = self.daemon.begin("--pid", job.pid, "--steps", "active=2,warmup=1")
        config = job.hears("config")
        self.assertEqual(config["PROFILE_ACTIVITIES"], "CPU,NPU")
        self.assertEqual((config["PROFILE_START_STEP"], config["ACTIVITIES_ITERATIONS"], config["WARMUP_ITERATIONS"]), ("-1", "2", "1"))
        self.addCleanup(os.rmdir, config["ACTIVITIES_LOG_FILE"])
        sealed = self.ends(started["session"])
        self.assertEqual(sealed["end_reason"], "steps")
        (window,) = sealed["windows"]
        self.assertEqual((window["state"], window["path"]), ("done", config["ACTIVITIES_LOG_FILE"]))

    def test_jobs_are_chosen_by_what_they_say_of_themselves(self):
        job, other = FabricJob(self, "msmonitor", period=0.6), FabricJob(self, "kineto")
        self.assertEqual(self.target(job.pid)["labels"], {"rank": "5"})
        started = self.daemon.begin("--all-agents", "--label", "rank=4-6", "--steps", "active=1")
        self.assertEqual(started["pids"], [job.pid])
        self.addCleanup(os.rmdir, job.hears("config")["ACTIVITIES_LOG_FILE"])
        self.assertEqual(self.ends(started["session"])["windows"][0]["state"], "done")
        self.assertEqual(self.daemon.ctl("start", "--all-agents", "--label", "rank=7", "--steps", "active=1").code, harness.NOT_FOUND)
        self.assertEqual(other.hears("empty"), True)

    def test_options_of_nputrace_reach_the_job(self):
        job, other = FabricJob(self, "msmonitor", period=0.6), FabricJob(self, "kineto")
        started = self.daemon.begin("--pid", job.pid, "--steps", "active=2", "--framework-options",
                                    "record-shapes,profile-memory,with-stack,l2-cache,profiler-level=Level2",
                                    "--framework-options", "aic-metrics=Memory,export-type=Db,host-sys=cpu+mem")
        config = job.hears("config")
        self.addCleanup(os.rmdir, config["ACTIVITIES_LOG_FILE"])
        wanted = {"RECORD_SHAPES": "true", "PROFILE_MEMORY": "true", "WITH_STACK": "true", "WITH_FLOPS": "false", "L2_CACHE": "true",
                  "PROFILER_LEVEL": "Level2", "AIC_METRICS": "Memory", "EXPORT_TYPE": "Db", "HOST_SYS": "cpu,mem"}
        self.assertEqual({name: config[f"PROFILE_{name}"] for name in wanted}, wanted)
        self.ends(started["session"])
        self.daemon.begin("--pid", other.pid, "--steps", "active=1,round_up=50", "--framework-options", "with-modules")
        config = other.hears("config")
        self.assertEqual((config["PROFILE_WITH_MODULES"], config["PROFILE_START_ITERATION_ROUNDUP"]), ("true", "50"))

    def test_what_the_door_cannot_is_refused_by_name(self):
        job = FabricJob(self, "msmonitor", period=0.6)
        for options, named in ((("--steps", "active=1,repeat=2"), "--steps repeat"),
                               (("--steps", "active=1,skip_first=2"), "--steps skip_first"),
                               (("--steps", "active=1,round_up=8"), "--steps round_up"),
                               (("--steps", "active=1", "--framework-options", "max-buffer-mb=8"), "max-buffer-mb: msmonitor"),
                               (("--steps", "active=1", "--framework-options", "profiler-level=3"), "Level_none, Level0"),
                               (("--steps", "active=1", "--framework-options", "stack"), "with-stack"),
                               (("--collect", "host-cpu", "--framework-options", "with-stack"), "none is asked here"),
                               (("--steps", "active=1", "--resume"), "--resume")):
            result = self.daemon.ctl("start", "--pid", job.pid, *options)
            self.assertEqual(result.code, harness.USAGE, result)
            self.assertIn(named, result.err)
        started = self.daemon.begin("--pid", job.pid, "--duration", "1s")  # the host shows something all the same
        (window,) = started["windows"]
        self.assertEqual(window["state"], "refused")
        self.assertIn("--duration", window["text"])
        busy = FabricJob(self, "mindspore", period=0)
        harness.wait_until(lambda: "MindSpore" in self.daemon.ctl("start", "--pid", busy.pid, "--steps", "active=1").err, "its pace")

    def test_who_names_kinds_gets_those_alone(self):
        job = FabricJob(self, "kineto")
        self.assertEqual(self.daemon.begin("--pid", job.pid, "--duration", "10ms", "--collect", "host-cpu")["windows"], [])
        self.assertEqual(self.daemon.begin("--pid", job.pid)["windows"], [])
        self.assertEqual(job.hears("empty"), True)

    def test_nobody_drives_anothers_job(self):
        job = FabricJob(self, "kineto", user=harness.nobody())
        refused = self.daemon.ctl("start", "--pid", job.pid, "--duration", "100ms", user=harness.nobody() - 1)
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIsNone(self.target(job.pid, user=harness.nobody() - 1))
        started = self.daemon.begin("--pid", job.pid, "--duration", "100ms", user=harness.nobody())
        job.hears("config")
        window = self.window(started["session"], "done")
        self.assertEqual(os.stat(window["path"]).st_uid, harness.nobody())

    def test_a_job_that_claims_anothers_pid_is_itself(self):
        victim = FabricJob(self, "kineto")
        started = self.daemon.begin("--pid", victim.pid, "--duration", "100ms")
        liar = self.client()  # of this process
        liar.say(fabric.poll(2, [victim.pid, victim.pid]))
        self.assertEqual(liar.hear(harness.PATIENCE_S), b"")
        self.assertEqual(victim.hears("config")["REQUEST_TRACE_ID"], started["session"])
        self.assertEqual(self.target(os.getpid())["door"], "dynolog: kineto")

    def test_forged_datagrams_are_counted_and_not_answered(self):
        hostile = self.client()
        good = fabric.poll(2, [os.getpid()])
        for size in (0, 1 << 31, 1 << 40, 1 << 63):
            hostile.say(struct.pack("<Q", size) + good[8:])
        for count in (-1, 0, 17, 1 << 30):
            hostile.say(good[:44] + struct.pack("<i", count) + good[48:])
        hostile.say(good[:20])
        hostile.say(b"x" * 5000)
        hostile.say(fabric.datagram(b"r" * 32, b"0" * 16))
        hostile.say(good)
        self.assertEqual(hostile.hear(harness.PATIENCE_S), b"")
        self.assertIsNone(hostile.hear(0))
        check = self.daemon.ctl("doctor", "--json")
        (fabric_check,) = [check for check in check.json["checks"] if check["name"] == "dynolog fabric"]
        for said in ("4 for their size", "4 for their body", "2 for their length", "1 for their type"):
            self.assertIn(said, fabric_check["detail"])

    def test_a_trace_that_is_a_link_is_not_brought(self):
        job = FabricJob(self, "kineto", period=3600)
        started = self.daemon.begin("--pid", job.pid, "--duration", "10ms")
        planted = pathlib.Path(f"/tmp/profd_{started['session']}_{job.pid}.pt.trace.json")
        planted.symlink_to(self.daemon.directory / "elsewhere")  # the job writes through it, and profd must not read it
        self.addCleanup(planted.unlink)
        job.process.stdin.write("\n")  # it polls at once
        job.process.stdin.flush()
        window = self.window(started["session"], "failed")
        self.assertIn("stays where it is", window["text"])

    def test_a_living_dynolog_is_left_alone_and_named(self):
        # Whoever outlives profd for a moment holds nothing of the fabric.
        children = pathlib.Path(f"/proc/{self.daemon.process.pid}/task/{self.daemon.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGSTOP)
            self.addCleanup(os.kill, int(child), signal.SIGKILL)
        self.assertEqual(len(children), 1, "profd-nursery")
        self.assertEqual(self.daemon.stop(), 0)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(other.close)
        other.bind(fabric.ABSTRACT)
        second = self.profd(config="doors: {dynolog: auto}\n", hal=None)
        said = [check for check in second.ctl("doctor", "--json").json["checks"] if check["name"] == "dynolog fabric"]
        self.assertIn(f"pid {os.getpid()}", said[0]["detail"])
        with self.assertRaisesRegex(AssertionError, "held by pid"):
            self.profd(config=FORCE, hal=None)


if __name__ == "__main__":
    alone()
    unittest.main()
