#!/usr/bin/env python3
"""What disturbs a session is found and said: a real CPU quota, another collector, switches of the target."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import cgroup
import harness
import own_folder
from harness import OK

LIBRARY = harness.PLAIN_BUILD / "lib" / "libprofd_agent.so"


def of_kind(perturbations, kind):
    return [one for one in perturbations if one["kind"] == kind]


class PerturbationsTest(harness.ProfdTest):
    def busy(self, **environment):
        return self.workload(command=[sys.executable, "-c", "while True: pass"], env=dict(os.environ, **environment))

    def looked(self, daemon, session, kind="environment"):
        """What `status` says once the first look is over."""
        harness.wait_until(lambda: of_kind(daemon.status(session)["perturbations"], kind), f"{kind} to be seen")

    def manifest(self, session):
        return own_folder.manifest(session["directory"])

    def shown(self, daemon, session, text):
        """The same line everywhere a person looks."""
        for verb in ("status", session["session"]), ("query", session["directory"]), ("verify", session["directory"]):
            said = daemon.ctl(*verb)
            self.assertEqual(said.code, OK, said)
            self.assertTrue(any(line.startswith("perturbed: ") and text in line for line in said.out.splitlines()), said)
        query = daemon.ctl("query", session["directory"], "--json").json["directories"][0]["perturbations"]
        verify = daemon.ctl("verify", session["directory"], "--json").json["directories"][0]["perturbations"]
        self.assertEqual(query, verify)
        self.assertEqual([one["text"] for one in query], [one["text"] for one in session["perturbations"]])

    def test_a_cpu_quota_that_is_met(self):
        quota = cgroup.quota_for(self)
        daemon = self.profd(sim="devices: 0\n")
        target = self.busy(ASCEND_LAUNCH_BLOCKING="1")
        quota.take(target.pid)
        session = daemon.begin("--pid", target.pid, "--collect", "host-cpu")["session"]
        self.looked(daemon, session)
        before = quota.throttled()
        harness.wait_until(lambda: quota.throttled() >= before + 5, "the quota to be met")
        seen = quota.throttled() - before
        sealed = daemon.end(session)
        found = [one for one in of_kind(sealed["perturbations"], "cpu-throttling") if quota.name in one["text"]]
        self.assertEqual(len(found), 1, sealed["perturbations"])
        times = int(found[0]["text"].split("quota ")[1].split(" times")[0])
        self.assertGreaterEqual(times, seen)
        self.assertLess(found[0]["from_s"], found[0]["to_s"])
        self.assertLessEqual(found[0]["to_s"], sealed["elapsed_s"])
        manifest = self.manifest(sealed)
        in_manifest = [one for one in manifest["perturbations"] if one["text"] == found[0]["text"]]
        begin = min(clock["host_raw_ns"] for clock in manifest["clocks"])
        end = max(clock["host_raw_ns"] for clock in manifest["clocks"])
        self.assertTrue(begin <= in_manifest[0]["from_ns"] < in_manifest[0]["to_ns"] <= end + 1_000_000_000, manifest["clocks"])
        self.shown(daemon, sealed, "had to wait for its CPU quota")

    def test_another_collector_comes_and_goes(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy("/bin/sleep", folder / "msprof")
        daemon = self.profd(config="session:\n  clock_pair_every_s: 5\n")
        other = self.workload(command=[str(folder / "msprof"), "100"])
        session = daemon.begin("--collect", "hbm")["session"]
        self.looked(daemon, session, "collector")
        named = f"msprof of user root (pid {other.pid})"
        mine = [one for one in daemon.status(session)["perturbations"] if named in one["text"]]
        self.assertEqual([one["to_s"] for one in mine], [None])
        other.kill()
        other.wait()
        harness.wait_until(lambda: [one for one in daemon.status(session)["perturbations"] if named in one["text"] and one["to_s"]],
                           "msprof to be seen no more")
        sealed = daemon.end(session)
        mine = [one for one in sealed["perturbations"] if named in one["text"]]
        self.assertEqual(len(mine), 1, sealed["perturbations"])
        self.assertGreater(mine[0]["to_s"], mine[0]["from_s"])
        self.shown(daemon, sealed, named)
        # They are still known to a profd that only finds them in the spool.
        daemon.stop()
        daemon.start()
        self.assertEqual([one["text"] for one in daemon.status(session)["perturbations"]],
                         [one["text"] for one in sealed["perturbations"]])

    def test_switches_of_the_target_are_named_without_their_values(self):
        daemon = self.profd(sim="devices: 0\n")
        target = self.busy(PROFILING_OPTIONS='{"output":"/secret"}', ASCEND_GLOBAL_LOG_LEVEL="3", PROFILING_MODE="false",
                           ACL_DUMP_DATA="1")
        self.busy(ASCEND_LAUNCH_BLOCKING="1")  # no target
        session = daemon.begin("--pid", target.pid, "--collect", "host-cpu")["session"]
        self.looked(daemon, session)
        sealed = daemon.end(session)
        self.assertEqual([one["text"] for one in of_kind(sealed["perturbations"], "environment")],
                         [f"process {target.pid} was started with PROFILING_OPTIONS: the process collects by itself",
                          f"process {target.pid} was started with ACL_DUMP_DATA: inputs and outputs of operators are dumped"])
        self.assertNotIn("secret", json.dumps(sealed["perturbations"]))
        self.shown(daemon, sealed, "PROFILING_OPTIONS")

    def test_a_device_that_is_lost(self):
        daemon = self.profd(sim="devices: 2\nchip: 910B\nfaults:\n  - {name: device_lost, device: 1, while: $DIR/fault}\n",
                            config="session:\n  clock_pair_every_s: 5\n")
        session = daemon.begin("--collect", "hbm", "--devices", "0,1")["session"]
        daemon.begin_fault()
        harness.wait_until(lambda: of_kind(daemon.status(session)["perturbations"], "device-health"), "the loss of device 1")
        sealed = daemon.end(session)
        health = of_kind(sealed["perturbations"], "device-health")
        self.assertTrue(any("device 1" in one["text"] for one in health), sealed["perturbations"])
        self.assertFalse(any("device 0" in one["text"] for one in health), health)
        recorded = self.manifest(sealed)["perturbations"]
        self.assertEqual({one.get("device") for one in of_kind(recorded, "device-health")}, {1})

    @harness.needs_root
    @unittest.skipUnless(LIBRARY.exists(), "sanitizer builds can't be preloaded")
    def test_a_forked_child_whose_kernels_nobody_records(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        fork = ("import os, time\n"
                "parent, child = os.getpid(), os.fork()\n"
                "if child == 0:\n"
                "    file = open('/dev/davinci0')\n"
                "    while os.getppid() == parent: time.sleep(0.05)\n"
                "    os._exit(0)\n"
                "print(child, flush=True)\n"
                "time.sleep(100)\n")
        script = 'mount -t tmpfs none /dev && : > /dev/davinci0 && exec "$0" -c "$1"'
        target = subprocess.Popen(["unshare", "-m", "sh", "-c", script, sys.executable, fork], text=True, stdout=subprocess.PIPE,
                                  env=dict(daemon.environment, LD_PRELOAD=str(LIBRARY), ASCEND_LAUNCH_BLOCKING="1"))
        self.ends_with_the_test(target)
        if not (child := target.stdout.readline().strip()):
            self.skipTest("no right to mount a private /dev")
        self.registered(daemon, target.pid)
        harness.wait_until(lambda: int(child) in {one["pid"] for one in daemon.ctl("targets", "--json").json["targets"]},
                           "the child to open the device")
        without = [f"process {child}, a child of process {target.pid}, uses device 0 without an agent"]
        for kinds, found in (("task,agent-kernel", without), ("task,agent-kernel:operators", without), ("task,host-pid-cpu", [])):
            with self.subTest(kinds=kinds):
                session = daemon.begin("--pid", target.pid, "--devices", "all", "--collect", kinds)["session"]
                self.looked(daemon, session)  # for the switch that the target has
                sealed = daemon.end(session)
                self.assertEqual([one["text"].split(":")[0] for one in of_kind(sealed["perturbations"], "unrecorded")], found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
