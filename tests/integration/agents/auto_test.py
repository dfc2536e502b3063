#!/usr/bin/env python3
"""profctl auto: jobs whose command line nobody changes register, those that are none of ours start as ever, and what was
turned on is turned off without a trace."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import harness

WAYS = ("python", "login", "systemd", "slurm", "cdi")
PLAIN = harness.PLAIN_BUILD / "bin" / "profctl"  # beside an agent without a sanitizer
HOOK = harness.PLAIN_BUILD / "lib" / "profd" / "auto"
# What it prints comes when its framework is imported; it ends with its stdin.
JOB = """
    import sys
    import {framework}
    print("begins", flush=True)
    sys.stdin.read()
"""


def listing(folder):
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(pathlib.Path(folder).rglob("*"))}


class Holder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-auto-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name) / "root"
        (self.root / "usr/lib/python3/dist-packages").mkdir(parents=True)
        (self.root / "etc/profile.d").mkdir(parents=True)

    def auto(self, *arguments, code=0, socket=None):
        """Its stdout, and of a failure its one line."""
        command = [str(PLAIN), *(["--socket", str(socket)] if socket else []), "auto", *map(str, arguments),
                   "--root", str(self.root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(len(done.stderr.splitlines()), 1 if code else 0, done.stderr)
        return done.stdout if code == 0 else done.stderr


class FilesTest(Holder):
    def test_off_is_without_a_trace(self):
        before = listing(self.root)
        for order in (WAYS, WAYS[::-1]):
            for way in WAYS:
                self.auto("enable", way, *(("--unit", "vllm", "--unit", "serve@1.service") if way == "systemd" else ()))
            self.assertGreater(len(listing(self.root)), len(before) + len(WAYS))
            for way in order:
                self.assertIn("removed ", self.auto("disable", way))
            self.assertEqual(listing(self.root), before)
        self.auto("enable", *WAYS, "--unit", "vllm")
        self.auto("disable", "all")
        self.assertEqual(listing(self.root), before)
        self.assertEqual(self.auto("disable", "login"), "login was off\n")

    def test_what_is_on(self):
        self.auto("enable", "systemd", "--unit", "vllm")
        self.auto("enable", "systemd", "--unit", "serve")
        self.auto("enable", "login")
        shown = {way["way"]: way for way in json.loads(self.auto("--json", "status"))["ways"]}
        self.assertEqual([name for name, way in shown.items() if way["on"]], ["login", "systemd"])
        self.assertEqual([file["path"].split("/")[-2] for file in shown["systemd"]["files"]],
                         ["vllm.service.d", "serve.service.d"])
        (self.root / "etc/profile.d/profd-auto.sh").write_text("# mine\n")
        shown = {way["way"]: way for way in json.loads(self.auto("--json", "status"))["ways"]}
        self.assertEqual(shown["login"]["files"][0]["state"], "changed by somebody")

    def test_what_is_another_s_stays(self):
        login = self.root / "etc/profile.d/profd-auto.sh"
        login.write_text("# mine\n")
        before = listing(self.root)
        self.assertIn("was not made by profctl auto: nothing was written", self.auto("enable", "login", code=6))
        self.assertEqual(listing(self.root), before)
        login.unlink()
        self.auto("enable", "login")
        login.write_text("# mine\n")
        done = subprocess.run([PLAIN, "auto", "disable", "login", "--root", self.root], capture_output=True, text=True,
                              check=True)
        self.assertIn("has been changed since it was made: it stays", done.stderr)
        self.assertEqual(listing(self.root), before)

    def test_nothing_is_half_written(self):
        (self.root / "etc/systemd").mkdir()
        (self.root / "etc/systemd/system").write_text("a file")
        before = listing(self.root)
        self.assertIn("etc/systemd/system", self.auto("enable", "systemd", "--unit", "a", code=2))
        self.assertEqual(listing(self.root), before)

    def test_what_is_asked_for_wrongly_is_refused(self):
        for arguments, why in (
                (("enable", "pyhton"), "expected python, login, systemd, slurm, cdi"),
                (("enable", "all"), "there is no way 'all'"),
                (("enable", "systemd"), "--unit"),
                (("enable", "systemd", "--unit", "../x"), "is not the name of a unit"),
                (("enable", "login", "--unit", "x"), "belongs to systemd"),
                (("enable", "login", "--site", "/usr"), "belongs to python"),
                (("enable", "python", "--site", "/usr/lib"), "expected a virtual environment"),
                (("enable", "python", "--site", "/nowhere"), "is not a folder"),
                (("enable", "python", "--site", "/a'b"), "expected an absolute path of letters")):
            with self.subTest(arguments=arguments):
                before = listing(self.root)
                self.assertIn(why, self.auto(*arguments, code=2 if "nowhere" not in arguments[-1] else 3))
                self.assertEqual(listing(self.root), before)

    def test_the_list_is_not_believed_blindly(self):
        self.auto("enable", "login")
        victim = self.root / "victim"
        victim.write_text("x")
        (self.root / "etc/profd/auto.list").write_text("login 00000000 /etc/profd/../../victim\n")
        self.assertIn("is not a path that profctl auto writes", self.auto("disable", "all", code=7))
        self.assertTrue(victim.exists())

    def test_the_container_s_device(self):
        self.auto("enable", "cdi")
        spec = json.loads((self.root / "etc/cdi/profd.json").read_text())
        self.assertEqual(spec["kind"], "profd.dev/agent")
        edits = {device["name"]: device["containerEdits"] for device in spec["devices"]}
        self.assertEqual([any(entry.startswith("PYTHONPATH=") for entry in edits[name]["env"]) for name in ("all", "python")],
                         [False, True])
        for mount in edits["all"]["mounts"]:
            self.assertTrue(mount["hostPath"] == "/run/profd" or pathlib.Path(mount["hostPath"]).exists(), mount)
        library = dict(entry.split("=", 1) for entry in edits["all"]["env"])["MSTX_INJECTION_PATH"]
        self.assertIn(library, [mount["containerPath"] for mount in edits["all"]["mounts"]])


class JobsTest(Holder, harness.ProfdTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.profd()
        self.packages = self.root / "packages"
        self.packages.mkdir()
        for name in ("torch", "numbers_only"):
            (self.packages / f"{name}.py").write_text("import sys\nfound = 'ctypes' in sys.modules\n")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("PROFD_", "PYTHON", "LD_PRELOAD"))}
        self.socket = self.daemon.environment["PROFD_ADDRESS"]
        self.site = self.root / "usr/lib/python3/dist-packages"

    def enable(self, *arguments):
        self.auto("enable", *arguments, socket=self.socket)

    def command(self, framework="torch", prelude=""):
        return [sys.executable, "-c", prelude + textwrap.dedent(JOB.format(framework=framework))]

    def started(self, command, **variables):
        """The process, once it has imported its framework."""
        environment = dict(self.environment, **variables)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(self.packages), variables.get("PYTHONPATH")]))
        job = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.ends_with_the_test(job)
        self.assertEqual(job.stdout.readline(), "begins\n")
        return job

    def ends_well(self, job):
        _, err = job.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((job.returncode, err), (0, ""))

    def agents(self):
        return {target["pid"] for target in self.daemon.ctl("targets", "--json").json["targets"] if target.get("agent_version")}

    def by_pth(self):
        """What the interpreter does at its start with each folder of packages."""
        return f"import site; site.addsitedir({str(self.site)!r})\n"

    def test_python(self):
        self.enable("python")
        job = self.started(self.command(prelude=self.by_pth()))
        self.registered(self.daemon, job.pid)
        self.ends_well(job)

    def test_a_virtual_environment(self):
        home = self.root / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
        (packages,) = home.glob("lib/python3*/site-packages")
        self.assertEqual(self.auto("enable", "python", "--site", "/venv", socket=self.socket),
                         f"made {packages}/profd-auto.pth\n")
        job = self.started([home / "bin" / "python3", *self.command()[1:]])
        self.registered(self.daemon, job.pid)
        self.ends_well(job)

    def test_other_programs_know_nothing_of_it(self):
        self.enable("python")
        look = "import sys; print('ctypes' in sys.modules, [t for t in __import__('os').listdir('/proc/self/task')].__len__())"
        for framework in ("json", "numbers_only"):
            done = subprocess.run([sys.executable, "-c", f"{self.by_pth()}import {framework}\n{look}"], capture_output=True,
                                  text=True, check=True, env=dict(self.environment, PYTHONPATH=str(self.packages)))
            self.assertEqual((done.stdout, done.stderr), ("False 1\n", ""))

    def test_the_opt_out_wins(self):
        self.enable("python", "login")
        waits = [self.started(self.command(prelude=self.by_pth()), PROFD_AUTO="off"),
                 self.started(["sh", "-c", f". {self.root}/etc/profile.d/profd-auto.sh; exec \"$@\"", "sh",
                               *self.command()], PROFD_AUTO="off")]
        last = self.started(self.command(prelude=self.by_pth()))
        self.registered(self.daemon, last.pid)
        self.assertEqual(self.agents() & {job.pid for job in waits}, set())
        for job in (*waits, last):
            self.ends_well(job)

    def test_jobs_start_as_ever(self):
        """… without a profd, with a library that is none or has been cut, after the package has gone."""
        self.enable("python")
        self.daemon.stop()
        self.ends_well(self.started(self.command(prelude=self.by_pth())))
        pth = self.site / "profd-auto.pth"
        lib = self.root / "lib"
        shutil.copytree(HOOK, lib / "profd" / "auto")
        (lib / "libprofd_agent.so").write_text("no library")
        pth.write_text(pth.read_text().replace(str(HOOK), str(lib / "profd" / "auto")).replace(self.socket, "/dev/null"))
        self.ends_well(self.started(self.command(prelude=self.by_pth()), PROFD_ADDRESS="/dev/null"))
        whole = (HOOK.parent.parent / "libprofd_agent.so").read_bytes()
        for cut in (whole[:len(whole) // 2], whole[:8192], whole[:100], whole[:40], b""):
            (lib / "libprofd_agent.so").write_bytes(cut)
            self.ends_well(self.started(self.command(prelude=self.by_pth()), PROFD_ADDRESS="/dev/null"))
        shutil.rmtree(lib)
        self.ends_well(self.started(self.command(prelude=self.by_pth()), PROFD_ADDRESS="/dev/null"))

    def test_login_shells(self):
        self.enable("login")
        other = self.root / "other"
        other.mkdir()
        (other / "sitecustomize.py").write_text("import builtins\nbuiltins.the_other = 'ran'\n")
        script = f". {self.root}/etc/profile.d/profd-auto.sh; . {self.root}/etc/profile.d/profd-auto.sh; exec \"$@\""
        check = "import os, sys; assert os.environ['PYTHONPATH'].count('profd/auto') == 1, os.environ['PYTHONPATH']\n"
        # What is behind our folder is found by it; what is in front of it is the user's, and finds none of ours.
        job = self.started(["sh", "-euc", script, "sh", *self.command(prelude=check)])
        self.registered(self.daemon, job.pid)
        self.ends_well(job)
        again = f"{check}import sitecustomize; assert the_other == 'ran', sitecustomize\n"
        path = subprocess.run(["sh", "-c", f". {self.root}/etc/profile.d/profd-auto.sh; echo $PYTHONPATH"], text=True,
                              capture_output=True, check=True, env=self.environment).stdout.strip()
        job = self.started(self.command(prelude=again), PYTHONPATH=f"{path}:{other}", PROFD_ADDRESS=self.socket)
        self.registered(self.daemon, job.pid)
        self.ends_well(job)

    def test_slurm_s_tasks(self):
        self.enable("slurm")
        prolog = self.root / "etc/profd/auto/slurm-task-prolog"
        said = subprocess.run([prolog], capture_output=True, text=True, check=True,
                              env=dict(self.environment, PYTHONPATH="/the/user/s", MSTX_INJECTION_PATH="/his.so")).stdout
        exported = dict(line.removeprefix("export ").split("=", 1) for line in said.splitlines())
        self.assertEqual(exported["MSTX_INJECTION_PATH"], "/his.so")
        self.assertTrue(exported["PYTHONPATH"].startswith("/the/user/s:"), exported)
        job = self.started(self.command(), **exported)
        self.registered(self.daemon, job.pid)
        self.ends_well(job)


if __name__ == "__main__":
    unittest.main()
