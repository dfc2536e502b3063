#!/usr/bin/env python3
"""A root profd keeps few rights, and neither that nor a mount namespace of its own makes the driver take it for a
container: those that run jobs can still open the devices."""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness
import paranoid_kernel

# Chapter and verse in docs/operations.md.
KEPT = {2, 6, 7, 19, 38}  # CAP_DAC_READ_SEARCH, _SETGID, _SETUID, _SYS_PTRACE, _PERFMON
# This test is taken to be on the host.
HOST = os.stat("/proc/self/ns/mnt").st_ino
# A job in a container opens the driver and stays.
JOB = """
import ctypes, os, sys, time
driver = ctypes.CDLL(sys.argv[1])
count = ctypes.c_uint32()
print(driver.drvGetDevNum(ctypes.byref(count)), flush=True)
sys.stdin.read()
"""
# What a container has: a mount namespace of its own and few capabilities.
CONTAINER = ["unshare", "--mount", "setpriv", "--bounding-set=-all,+chown,+setuid,+setgid", "--inh-caps=-all"]


def thread_values(pid, key):
    """{thread's name: value of the line `key` in its status}, more of one name as a set."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # gRPC's threads come and go
        lines = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        found.setdefault(lines["Name"], set()).add(lines[key])
    return found


@harness.needs_root
class RightsTest(harness.ProfdTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-rights-")
        self.addCleanup(holder.cleanup)
        self.bindings = pathlib.Path(holder.name) / "bindings"
        self.sim = f'devices: 2\nchip: 910B\ncontainers: {{bindings: "{self.bindings}", host_mounts: {HOST}}}\n'

    def job(self, daemon):
        """What a job in a container of its own gets from drvGetDevNum; it stays there."""
        job = subprocess.Popen([*CONTAINER, sys.executable, "-c", JOB, str(harness.PLAIN_HAL)], env=daemon.environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ends_with_the_test(job)
        return job, int(job.stdout.readline())

    def use(self, daemon):
        """A session with devices and another user's process, its files that user's."""
        user = harness.nobody()
        work = self.workload(command=["sleep", "120"], user=user, group=user, extra_groups=[])
        with tempfile.TemporaryDirectory() as output:
            session = daemon.begin("--pid", work.pid, "--collect", "hbm,llc,host-cpu,host-mem,host-disk,host-network",
                                   "--output", output)
            for kind in ("hbm", "host-cpu", "host-disk"):
                harness.wait_until(lambda: all(entry["records"] for entry in daemon.status(session["session"])["kinds"]
                                               if entry["kind"] == kind), f"records of {kind}")
            ended = daemon.end(session["session"])
            self.assertEqual([entry for entry in ended["kinds"] if entry.get("error")], [], ended)
        own = daemon.begin("--pid", work.pid, "--collect", "host-mem", user=user)
        directory = pathlib.Path(daemon.end(own["session"], user=user)["directory"])
        self.assertEqual({path.lstat().st_uid for path in [directory, *directory.rglob("*")]}, {user})

    def test_where_perf_events_take_more(self):
        """It keeps that right, too, without effect but for the moment of opening one."""
        daemon = self.profd(within=(sys.executable, paranoid_kernel.__file__))
        admin = 1 << paranoid_kernel.CAP_SYS_ADMIN
        self.assertIn("perf_event_paranoid", daemon.log.read_text())
        work = self.workload(command=[sys.executable, "-c", "while True: pass"])
        session = daemon.begin("--pid", work.pid, "--collect", "host-cpu-profile")["session"]
        harness.wait_until(lambda: daemon.status(session)["kinds"][0]["records"] > 10, "samples")
        for name, values in thread_values(daemon.process.pid, "CapEff").items():
            self.assertEqual([value for value in values if int(value, 16) & admin], [], name)
        self.assertTrue(all(int(value, 16) & admin for values in thread_values(daemon.process.pid, "CapPrm").values()
                            for value in values))
        daemon.end(session)

    def test_it_keeps_what_it_uses(self):
        daemon = self.profd(sim=self.sim)
        self.use(daemon)
        mask = sum(1 << number for number in KEPT)
        asks_for_admin = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2
        without_effect = 1 << paranoid_kernel.CAP_SYS_ADMIN if asks_for_admin else 0
        for key, allowed in ("CapPrm", mask | without_effect), ("CapEff", mask), ("CapBnd", mask):
            for name, values in thread_values(daemon.process.pid, key).items():
                for value in values:
                    self.assertEqual(int(value, 16) & ~allowed, 0, f"{key} of thread {name}")
        # Threads that write as somebody else have less than that, ctl all of it.
        self.assertEqual({int(value, 16) for value in thread_values(daemon.process.pid, "CapEff")["profd"]}, {mask})
        for key, value in (("NoNewPrivs", "1"), ("Seccomp", "2"), ("CapInh", f"{without_effect:016x}"), ("CapAmb", "0" * 16)):
            for name, values in thread_values(daemon.process.pid, key).items():
                self.assertEqual(values, {value}, f"{key} of thread {name}")

    def test_a_job_in_a_container_opens_the_devices_beside_it(self):
        daemon = self.profd(sim=self.sim)
        self.use(daemon)
        job, answer = self.job(daemon)
        self.assertEqual(answer, 0)
        self.use(daemon)
        # The simulator does bind: a second container is refused, until the first has gone.
        self.assertEqual(self.job(daemon)[1], 87)
        job.kill()
        job.wait()
        self.assertEqual(self.job(daemon)[1], 0)

    def test_nor_does_a_mount_namespace_of_its_own_matter(self):
        daemon = self.profd(sim=self.sim, within=["unshare", "--mount", "--propagation", "slave"])
        pid = daemon.process.pid
        self.assertNotEqual(os.stat(f"/proc/{pid}/ns/mnt").st_ino, HOST)
        self.use(daemon)
        self.assertFalse(self.bindings.exists(), "the driver took profd for a container")
        self.assertEqual(self.job(daemon)[1], 0)
        mounts = {}
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # gRPC's threads come and go
                mounts.setdefault((task / "comm").read_text().strip(), set()).add(os.stat(task / "ns/mnt").st_ino)
        for name, seen in mounts.items():
            inside = name.startswith(("drv-", "pump", "host-mounts", "sim-gen"))
            self.assertEqual(seen == {HOST}, inside, f"{name}: {mounts}")

    def test_where_it_cannot_be_helped_it_says_so(self):
        daemon = self.profd(sim=self.sim, within=["unshare", "--mount", "setpriv", "--bounding-set=-sys_admin"])
        self.assertIn("the driver may take profd for a container", daemon.log.read_text())
        self.assertEqual(self.job(daemon)[1], 87)
        self.use(daemon)


if __name__ == "__main__":
    unittest.main(verbosity=2)
