#!/usr/bin/env python3
"""The agent in programs that know nothing of it: they say and end as they would without, also while profd records them."""
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

POSTGRES = sorted(glob.glob("/usr/lib/postgresql/*/bin"))


class HostsTest(harness.ProfdTest):
    def same_with_and_without(self, *command, **options):
        daemon = self.profd()
        results = []
        for prefix in ((), (str(harness.RUN), "run", "--")):
            done = subprocess.run([*prefix, *map(str, command)], env=daemon.environment, capture_output=True, text=True,
                                  check=False, timeout=harness.PATIENCE_S, **options)
            results.append((done.returncode, done.stdout, done.stderr))
        self.assertEqual(results[0], results[1])
        return daemon

    def test_bash(self):
        self.same_with_and_without("bash", "-c", "for i in 1 2 3; do (exit $i); echo $?; done | tee /dev/stderr; exit 9")

    def test_python_that_forks_workers(self):
        self.same_with_and_without(
            sys.executable, "-c",
            "import multiprocessing as m\nif __name__ == '__main__':\n  with m.get_context('fork').Pool(4) as p:\n"
            "    print(sum(p.map(abs, range(1000))))")

    def test_a_static_binary_behind_a_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "static.c")
            source.write_text('#include <stdio.h>\nint main(void) { puts("static"); return 3; }\n')
            program = pathlib.Path(folder, "static")
            subprocess.run(["cc", "-static", "-o", str(program), str(source)], check=True)
            self.same_with_and_without("sh", "-c", f"{program}; echo $?")

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_node(self):
        self.same_with_and_without(
            "node", "-e",
            "const {Worker} = require('worker_threads'); const cp = require('child_process');"
            "console.log(cp.execFileSync('echo', ['child']).toString());"
            "const w = new Worker('require(\"worker_threads\").parentPort.postMessage(6 * 7)', {eval: true});"
            "w.on('message', m => { console.log(m); });")

    @harness.needs_root
    @unittest.skipUnless(POSTGRES, "PostgreSQL is not installed")
    def test_postgres_under_load_while_it_is_recorded(self):
        daemon = self.profd()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-pg-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        run_as = {"user": "postgres", "group": "postgres", "extra_groups": [], "env": daemon.environment}
        binaries = pathlib.Path(POSTGRES[-1])

        def run(*command):
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **run_as)
            self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
            return done.stdout

        run(binaries / "initdb", "-D", folder / "data", "-A", "trust", "--no-sync")
        server = subprocess.Popen([str(harness.RUN), "run", "--", str(binaries / "postgres"), "-D", str(folder / "data"), "-k",
                                   str(folder), "-c", "listen_addresses=", "-c", "fsync=off"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **run_as)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        there = ("-h", folder, "-U", "postgres")
        harness.wait_until(lambda: subprocess.run([str(binaries / "pg_isready"), *map(str, there)], check=False,
                                                  stdout=subprocess.DEVNULL).returncode == 0, "the server")
        run(binaries / "pgbench", *there, "-i", "-s", "1", "-q", "postgres")
        load = subprocess.Popen([str(binaries / "pgbench"), *map(str, there), "-c", "4", "-T", "4", "postgres"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **run_as)
        self.addCleanup(load.stdout.close)
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        harness.wait_until(lambda: any(target["pid"] == server.pid for target in daemon.ctl("targets", "--json").json["targets"]),
                           "the server to register")
        for _ in range(5):
            session = daemon.begin("--pid", server.pid, "--collect", "agent-mark,agent-range,host-cpu")
            self.assertEqual(self.kind(session, "agent-mark", f"pid:{server.pid}")["verdict"], "started")
            daemon.end(session["session"])
        said = load.communicate()[0]
        self.assertEqual(load.returncode, 0, said)
        self.assertIn("number of failed transactions: 0", said)
        server.terminate()
        self.assertEqual(server.wait(harness.PATIENCE_S), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
