#!/usr/bin/env python3
"""What `cmake --install` leaves is enough to build against the agent and to run with it, wherever it lies."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import agent_reader
import harness

PROGRAM = """
#include <profd/agent.hpp>
#include <unistd.h>
int main() {
  for (int i = 0; i < 30000; ++i) {
    profd::ScopedStep step(i);
    PROFD_SCOPE("work");
    usleep(10000);
  }
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(job CXX)
find_package(profd REQUIRED)
add_executable(job job.cc)
target_link_libraries(job PRIVATE profd::agent)
"""


class InstallTest(harness.ProfdTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-install-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        self.prefix = self.root / "prefix"
        self.run_ok("cmake", "--install", harness.BUILD, "--prefix", self.prefix)
        (self.root / "job.cc").write_text(PROGRAM)
        (self.root / "CMakeLists.txt").write_text(CMAKE)

    def run_ok(self, *command, **options):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def steps_of(self, daemon, program):
        process = subprocess.Popen([str(program)], env=daemon.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        harness.wait_until(lambda: daemon.ctl("targets", "--json").json["targets"], "the program to register")
        session = daemon.begin("--pid", process.pid, "--collect", "agent-step")
        harness.wait_until(lambda: daemon.status(session["session"])["kinds"][0]["records"], "a step")
        agents = agent_reader.agents(daemon.end(session["session"])["directory"])
        process.kill()
        process.wait()
        harness.wait_until(lambda: not daemon.ctl("targets", "--json").json["targets"], "it to go")
        return agents[0].of("step_begin")

    def test_the_service_starts_what_is_installed(self):
        unit = self.prefix / "lib" / "systemd" / "system" / "profd.service"
        self.assertIn(f"\nExecStart={self.prefix}/sbin/profd\n", unit.read_text())
        self.assertIn("\nCPUWeight=100\n", unit.read_text())  # without one, profd has no share of the processors of its own
        self.assertTrue((self.prefix / "sbin" / "profd").exists())
        self.assertTrue((self.prefix / "etc" / "profd" / "profd.yaml").exists())
        if shutil.which("systemd-analyze"):
            self.run_ok("systemd-analyze", "verify", "--man=no", unit)

    def test_find_package_and_pkg_config(self):
        moved = self.root / "elsewhere"
        self.prefix.rename(moved)
        for name in ("sbin/profd", "bin/profctl"):
            self.assertIn("0.", self.run_ok(moved / name, "--version"))
        daemon = self.profd()
        self.run_ok("cmake", "-S", self.root, "-B", self.root / "build", f"-DCMAKE_PREFIX_PATH={moved}")
        self.run_ok("cmake", "--build", self.root / "build")
        self.assertTrue(self.steps_of(daemon, self.root / "build" / "job"))

        pc = next(moved.rglob("profd-agent.pc"))
        environment = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))
        flags = self.run_ok("pkg-config", "--cflags", "--libs", "profd-agent", env=environment).split()
        library = next(moved.rglob("libprofd_agent.so"))
        self.run_ok("c++", self.root / "job.cc", "-o", self.root / "job", *flags, f"-Wl,-rpath,{library.parent}")
        self.assertTrue(self.steps_of(daemon, self.root / "job"))

        printed = self.run_ok(moved / "bin" / "profctl", "run", "--", "sh", "-c", "echo $LD_PRELOAD",
                              env=dict(daemon.environment, LD_PRELOAD=""))
        self.assertEqual(printed, str(library))
        self.assertTrue((library.parent / "profd" / "python" / "profd" / "__init__.py").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
