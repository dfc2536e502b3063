#!/usr/bin/env python3
"""The Debian packages, made from what is built: what is in them, and their life on a machine with systemd."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
import machine

try:
    import yaml
except ImportError:
    yaml = None

PACKAGES = {
    "profd": ["/usr/sbin/profd", "/etc/profd/profd.yaml", "/usr/lib/systemd/system/profd.service",
              "/usr/lib/sysusers.d/profd.conf", "/usr/lib/tmpfiles.d/profd.conf", "/usr/share/man/man8/profd.8.gz",
              "/usr/share/man/man5/profd.yaml.5.gz", "/usr/share/profd/alerts.yaml", "/usr/share/profd/grafana-dashboard.json",
              "/usr/share/doc/profd/examples/profd-ship-bucket.conf"],
    "profctl": ["/usr/bin/profctl", "/usr/share/man/man1/profctl.1.gz", "/usr/share/bash-completion/completions/profctl",
                "/usr/share/zsh/vendor-completions/_profctl"],
    "libprofd-agent": ["libprofd_agent.so", "profd/python/profd/__init__.py"],
    "profd-auto": ["profd/auto/profd_auto.py", "profd/auto/sitecustomize.py"],
    "libprofd-dev": ["/usr/include/profd/agent.h", "/usr/include/profd/agent.hpp", "profdConfig.cmake", "profd-agent.pc"],
    "python3-profd-client": ["/usr/lib/python3/dist-packages/profd_client/__init__.py",
                             "/usr/lib/python3/dist-packages/profd_client/api.desc",
                             "/usr/share/doc/python3-profd-client/examples/fetch.py"],
    "profd-sim": ["/usr/lib/profd/sim/libascend_hal.so", "/usr/lib/profd/sim/libmspti.so",
                  "/usr/lib/profd/sim/old/libascend_hal.so"],
}
LAKE = list((harness.BUILD / "lake").glob("node_modules/@duckdb/*/libduckdb.so"))
if LAKE:  # else scripts/lake.sh has not fetched it, and the package is left out
    PACKAGES["profd-lake"] = ["/usr/lib/profd/libduckdb.so", "/usr/share/doc/profd-lake/libraries/duckdb.copyright"]
# The project has no mail address yet; Debian has zlib and SQLite as archives for static linking, too.
TOLERATED = ("bogus-mail-host", "embedded-library")
USER = harness.nobody()


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def pack(folder, version=None, components=None):
    """cpack in the build folder, into `folder`: {package: file}."""
    options = ["-D", f"CPACK_COMPONENTS_ALL={components}"] if components else []
    environment = dict(os.environ, **({"PROFD_PACKAGE_VERSION": version} if version else {}))
    run("cpack", "-B", folder, *options, cwd=harness.BUILD, env=environment)
    return {file.name.split("_")[0]: file for file in pathlib.Path(folder).glob("*.deb")}


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="profd-packages-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        cls.packages = pack(cls.folder / "all")

    def listing(self, name):
        return [line.split()[5].lstrip(".") for line in run("dpkg-deb", "-c", self.packages[name]).splitlines()]

    def test_what_is_in_them(self):
        self.assertEqual(sorted(self.packages), sorted(PACKAGES))
        for name, files in PACKAGES.items():
            listed = self.listing(name)
            for file in files:
                self.assertTrue(any(path.endswith(file) for path in listed), f"{name}: {file} is not in {listed}")
            for line in run("dpkg-deb", "-c", self.packages[name]).splitlines():
                self.assertEqual(line.split()[1], "root/root", line)
        self.assertEqual(run("dpkg-deb", "-I", self.packages["profd"], "conffiles").split(), ["/etc/profd/profd.yaml"])

    @unittest.skipUnless(LAKE, "scripts/lake.sh has not fetched the library")
    def test_sql_takes_the_library_of_the_package(self):
        """What is in it, stripped, answers where profctl looks for it; and profctl names the package."""
        content = self.folder / "lake"
        run("dpkg-deb", "-x", self.packages["profd-lake"], content)
        library = content / "usr/lib/profd/libduckdb.so"
        self.assertLess(library.stat().st_size, LAKE[0].stat().st_size)
        (content / "bin").mkdir()
        profctl = pathlib.Path(shutil.copy(harness.PROFCTL, content / "bin"))
        result = subprocess.run([str(profctl), "sql", "SELECT 1", "--from", str(content)], capture_output=True, text=True, check=False)
        if not os.path.exists("/usr/lib/profd/libduckdb.so"):
            self.assertIn("install the package profd-lake", result.stderr)
        its = content / "lake" / LAKE[0].relative_to(harness.BUILD / "lake")
        its.parent.mkdir(parents=True)
        library.rename(its)
        lake = content / "tables/cold/v1"
        lake.mkdir(parents=True)
        self.assertEqual(run(profctl, "sql", "SELECT count(*) AS n FROM steps", "--from", lake.parents[1], "--csv"), "n\n0\n")
        self.assertEqual(run("dpkg-deb", "-f", self.packages["profctl"], "Suggests").strip(), "profd-lake")

    def test_what_quickstart_builds_can_be_packed(self):
        """README: after quickstart cpack. Whatever is installed from the build folder must be among what it builds."""
        script = (harness.ROOT / "scripts" / "quickstart.sh").read_text()
        [line] = re.findall(r"^build_quietly build (.*?)(?:\||$)", script, re.M)
        targets = line.split("--", 1)[1].split() if " -- " in f"{line} " else ["all"]
        commands = run("ninja", "-C", harness.BUILD, "-t", "commands", *targets)
        installed = set()
        for rules in harness.BUILD.rglob("cmake_install.cmake"):
            installed |= set(re.findall(rf'"{harness.BUILD}/([^"]+)"', rules.read_text()))
        made = {path for path in installed if self.has_rule(path)}
        self.assertIn("python/profd_client/api.desc", made)
        self.assertEqual({path for path in made if os.path.basename(path) not in commands}, set())

    def has_rule(self, path):
        query = subprocess.run(["ninja", "-C", str(harness.BUILD), "-t", "query", path], capture_output=True, text=True,
                               check=False).stdout
        return "\n  input: " in query and "input: phony" not in query

    def test_the_version_is_the_sources(self):
        versions = {run("dpkg-deb", "-f", file, "Version").strip() for file in self.packages.values()}
        self.assertEqual(len(versions), 1, versions)
        if shutil.which("git") and (harness.ROOT / ".git").exists():
            commit = run("git", "-C", harness.ROOT, "log", "-1", "--format=%h").strip()
            tags = run("git", "-C", harness.ROOT, "tag", "--points-at", "HEAD", "v[0-9]*").split()
            self.assertTrue(versions <= {tag[1:] for tag in tags} or versions.pop().endswith(f".{commit}"))

    def test_the_same_source_makes_the_same_package(self):
        again = pack(self.folder / "again", components="daemon")
        digests = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (self.packages["profd"], again["profd"])}
        self.assertEqual(len(digests), 1)

    @unittest.skipUnless(shutil.which("lintian"), "needs lintian")
    def test_lintian(self):
        done = subprocess.run(["lintian", "--fail-on", "none", "--allow-root", *map(str, self.packages.values())], check=False,
                              capture_output=True, text=True)
        errors = [line for line in done.stdout.splitlines()
                  if line.startswith("E:") and not line.split()[2].startswith(TOLERATED)]
        self.assertEqual(errors, [], done)

    def test_the_unit_starts_what_is_installed(self):
        content = self.folder / "content"
        run("dpkg-deb", "-x", self.packages["profd"], content)
        unit = content / "usr/lib/systemd/system/profd.service"
        self.assertIn("\nExecStart=/usr/sbin/profd\n", unit.read_text())
        if shutil.which("systemd-analyze"):
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=26", "--no-pager", str(unit)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)


@unittest.skipIf(yaml is None, "needs PyYAML")
class RecipeTest(unittest.TestCase):
    """The manifests hold what docs/operations.md promises: what profd needs, and how little a job does."""

    @staticmethod
    def pod(name):
        manifest = yaml.safe_load((harness.ROOT / "packaging" / "container" / name).read_text())
        return manifest["spec"]["template"]["spec"]

    def test_a_job_needs_one_mount(self):
        pod = self.pod("job.yaml")
        self.assertEqual([mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]], ["/run/profd"])
        self.assertFalse({"hostPID", "hostIPC", "hostNetwork", "securityContext"} & {*pod, *pod["containers"][0]})

    def test_profd_has_what_it_needs(self):
        pod = self.pod("daemonset.yaml")
        self.assertTrue(pod["hostPID"])
        mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        volumes = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"]}
        self.assertEqual(mounts, volumes)
        self.assertGreaterEqual(set(mounts.values()), {"/run/profd", "/var/lib/profd"})


@unittest.skipIf(machine.why_not(), machine.why_not())
class LifeTest(harness.ProfdTest):
    """Install, use, upgrade, purge, with real systemd."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="profd-packages-", dir=harness.BUILD)
        cls.addClassCleanup(holder.cleanup)
        cls.packages = pack(pathlib.Path(holder.name) / "all")
        cls.newer = pack(pathlib.Path(holder.name) / "newer", version="99.1", components="daemon")["profd"]

    def setUp(self):
        self.machine = machine.Machine()
        self.addCleanup(self.machine.close)

    def ok(self, *command, **options):
        done = self.machine.run(*command, **options)
        self.assertEqual(done.returncode, 0, f"{command}: {done}")
        return done.stdout

    def shows(self, what):
        return self.ok("systemctl", "show", "--value", "-p", what, "profd").strip()

    def ctl(self, *arguments, user=None, code=(harness.OK,)):
        done = self.machine.run("profctl", *arguments, user=user)
        self.assertIn(done.returncode, code, f"{arguments}: {done}\n{self.journal()}")
        return done

    def journal(self):
        return self.machine.run("journalctl", "-u", "profd", "--no-pager").stdout

    def process(self, *command, user=None):
        """Runs until the machine goes; its pid there."""
        started = subprocess.Popen(self.machine.command("sh", "-c", 'echo $$; exec "$@"', "sh", *command, user=user),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return int(started.stdout.readline())

    def targets(self):
        return [target["pid"] for target in json.loads(self.ctl("targets", "--json").stdout)["targets"]
                if target["agent_version"]]

    def test_install_use_upgrade_purge(self):
        self.ok("dpkg", "-i", *self.packages.values())
        self.assertEqual(self.shows("ActiveState"), "active", self.journal())
        self.assertEqual(self.shows("UnitFileState"), "enabled")
        self.assertEqual(self.shows("StatusText"), "listens on /run/profd/profd.sock")
        for group in ("profd", "profd-admin"):
            self.ok("getent", "group", group)

        # Devices, once the settings name a driver.
        settings = self.machine.path("/etc/profd/profd.yaml")
        text = settings.read_text()
        settings.write_text(text.replace('library: ""', 'library: "/usr/lib/profd/sim/libascend_hal.so"'))
        self.ok("systemctl", "restart", "profd")
        devices = json.loads(self.ctl("devices", "--json").stdout)["devices"]
        self.assertEqual(len(devices), 2, devices)

        # An ordinary user: their own process, not another's.
        own = self.process("sleep", "1000", user=USER)
        refused = self.ctl("start", "--pid", self.process("sleep", "1000"), user=USER, code=(harness.PERMISSION,))
        self.assertEqual(len(refused.stderr.strip().splitlines()), 1, refused)
        session = json.loads(self.ctl("start", "--pid", own, "--json", user=USER, code=(0, 8)).stdout)["session"]
        job = self.process("profctl", "run", "--", "sleep", "1000")
        harness.wait_until(lambda: self.targets() == [job], "the agent to register")
        recording = json.loads(self.ctl("start", "--pid", job, "--devices", "0", "--json", code=(0, 8)).stdout)["session"]

        # An upgrade restarts it: what ran is sealed, agents come back.
        before = self.shows("MainPID")
        self.ok("dpkg", "-i", self.newer)
        self.assertEqual(self.shows("ActiveState"), "active", self.journal())
        self.assertNotEqual(self.shows("MainPID"), before)
        harness.wait_until(lambda: self.targets() == [job], "the agent to register with the new profd")
        for name in (session, recording):
            sealed = json.loads(self.ctl("status", name, "--json", code=(0, 7)).stdout)
            self.assertEqual((sealed["state"], sealed["end_reason"]), ("sealed", "daemon_stop"), sealed)
            self.ctl("verify", sealed["directory"], code=(0, 7))
        self.assertIn("sim/libascend_hal.so", settings.read_text())  # the administrator's settings stay

        # Removed, it is gone; purged, but for what was collected.
        files = [path for package in PACKAGES for path in self.ok("dpkg", "-L", package).splitlines()]
        self.ok("dpkg", "-r", "profd")
        self.assertTrue(settings.exists())
        self.assertNotEqual(self.machine.run("systemctl", "is-active", "profd").returncode, 0)
        said = self.ok("dpkg", "-P", *PACKAGES)
        self.assertIn("/var/lib/profd", said)
        left = [path for path in files if self.machine.path(path).is_file()]
        self.assertEqual(left, [])
        for gone in ("/etc/profd", "/run/profd", "/etc/systemd/system/multi-user.target.wants/profd.service"):
            self.assertFalse(os.path.lexists(self.machine.path(gone)), gone)
        self.assertEqual(len(list(self.machine.path("/var/lib/profd").glob("*/PROF_*"))), 2)

    def test_protected_it_does_its_work(self):
        """Everywhere users may write, of every device, and without keeping these from containers."""
        self.ok("dpkg", "-i", *self.packages.values())
        host = os.stat(f"/proc/{self.machine.pid}/ns/mnt").st_ino
        self.machine.path("/etc/profd/sim.yaml").write_text(
            f"devices: 2\ncontainers: {{bindings: /run/bindings, host_mounts: {host}}}\n")
        settings = self.machine.path("/etc/profd/profd.yaml")
        settings.write_text(settings.read_text().replace('library: ""', 'library: "/usr/lib/profd/sim/libascend_hal.so"'))
        self.machine.run("mount", "-t", "tracefs", "tracefs", harness.TRACEFS)
        self.drop_in("[Service]\nEnvironment=PROFD_SIM_CONFIG=/etc/profd/sim.yaml\n")
        pid = self.shows("MainPID")
        for mount in ("/", "/usr", "/etc"):
            refused = self.machine.run("nsenter", "-t", pid, "-m", "touch", f"{mount}/profd-was-here")
            self.assertIn("Read-only", refused.stderr)

        own = self.process("sleep", "1000", user=USER)
        for output in ("/tmp/traces", "/home/traces", "/opt/traces"):
            self.ok("install", "-d", "-o", USER, "-g", USER, output)
            session = json.loads(self.ctl("start", "--pid", own, "--output", output, "--json", user=USER, code=(0, 8)).stdout)
            self.ctl("stop", session["session"], user=USER)
            self.ctl("verify", session["directory"], code=(0, 7))
            self.assertTrue(session["directory"].startswith(output))
        session = json.loads(self.ctl("start", "--pid", own, "--collect", "hbm,host-network,host-cpu,host-disk", "--json",
                                      "--duration", "2s", "--wait", code=(0, 7, 8)).stdout)
        self.assertEqual([entry for entry in session["kinds"] if not entry["records"]], [], session)
        rows = self.machine.path(session["directory"] + "/host/data/host_network.data.slice_0").read_text()
        for interface in os.listdir("/sys/class/net"):
            self.assertIn(f"{interface}:", rows)

        # Programs and tracepoints it could have; the machine's processes are not the node's.
        kinds = {kind["kind"]: kind for kind in json.loads(self.ctl("devices", "--json").stdout)["host_kinds"]}
        self.assertIn("pid namespace of the node", kinds["host-pthread"]["reason"])

        self.assertFalse(self.machine.path("/run/bindings").exists(), "the driver took profd for a container")
        job = ("import ctypes; driver = ctypes.CDLL('/usr/lib/profd/sim/libascend_hal.so'); count = ctypes.c_uint32(); "
               "print(driver.drvGetDevNum(ctypes.byref(count)), count.value)")
        answer = self.ok("env", "PROFD_SIM_CONFIG=/etc/profd/sim.yaml", "unshare", "--mount", "setpriv",
                         "--bounding-set=-all", "/usr/bin/python3", "-c", job)
        self.assertEqual(answer.split(), ["0", "2"])

    def drop_in(self, text):
        folder = self.machine.path("/run/systemd/system/profd.service.d")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "test.conf").write_text(text)
        self.ok("systemctl", "daemon-reload")
        self.ok("systemctl", "restart", "profd")

    def test_a_hanging_profd_is_started_again(self):
        self.ok("dpkg", "-i", self.packages["profd"], self.packages["profctl"])
        self.drop_in("[Service]\nWatchdogSec=8\n")  # more than a busy machine keeps profd from its turn
        pid = self.shows("MainPID")
        self.ok("systemctl", "reload", "profd")
        self.ok("kill", "-STOP", pid)
        harness.wait_until(lambda: self.shows("NRestarts") == "1" and self.shows("ActiveState") == "active",
                           "systemd to start it again")
        self.assertNotEqual(self.shows("MainPID"), pid)
        self.assertIn("atchdog", self.journal())


if __name__ == "__main__":
    unittest.main(verbosity=2)
