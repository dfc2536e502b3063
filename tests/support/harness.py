"""Runs the real parts for integration tests: profd with the simulator, profctl, workloads. Python 3, standard library only."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import reports

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("PROFD_BUILD_DIR", ROOT / "build"))
# The agent goes into foreign programs, which no sanitizer's build of it can: those of a plain build beside a sanitizer's.
PLAIN_BUILD = pathlib.Path(os.environ.get("PROFD_PLAIN_BUILD_DIR", BUILD))
# What a flood may bring so that the build of a sanitizer can take it: nobody measures here.
IS_SANITIZED = PLAIN_BUILD != BUILD
FLOOD_SHARE = 0.3 if IS_SANITIZED else 1
# For a profd with a thread that nothing can stop: LeakSanitizer, at the end, would wait for it.
WITHOUT_LEAKS = {"ASAN_OPTIONS": os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"}
RUN = PLAIN_BUILD / "bin" / "profctl"
PROGRAMS = PLAIN_BUILD / "tests" / "libagent_programs"
PROFD = BUILD / "bin" / "profd"
PROFCTL = BUILD / "bin" / "profctl"
HAL = BUILD / "sim" / "libascend_hal.so"
PLAIN_HAL = PLAIN_BUILD / "sim" / "libascend_hal.so"  # for programs that are not ours
WORKLOAD = ROOT / "scripts" / "workload.py"

# Exit codes of profctl.
OK, FAILED, USAGE, NOT_FOUND, PERMISSION, UNAVAILABLE, BUSY, PARTIAL_LOSS, PARTLY_STARTED = range(9)

# Held by a thread that starts a program, and by one that forks: a child has the pipes of all that are just being started, and
# who starts one waits until nobody has its pipe any more.
STARTING = threading.Lock()

# How long anything may take before the test gives up; sanitizer builds are slow, so this is no measurement.
PATIENCE_S = 60


def wait_until(condition, what, patience=PATIENCE_S):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)  # between two looks
    raise AssertionError(f"gave up waiting for {what}")


# Kept until the test ends: see free_ports().
RESERVED = []


def free_ports(count=1):
    """Ports of 127.0.0.1 that whoever is told of them may listen on, and nobody else gets as long as the test runs: not another
    test that asks for one, nor a connection that needs a number for its own end. A socket that does not listen stands there;
    programs that listen (gRPC's, Go's, ours) take a number beside such a one."""
    reserved = []
    for _ in range(count):
        probe = socket.socket()
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        reserved.append(probe.getsockname()[1])
        RESERVED.append(probe.detach())
    return reserved


class Result:
    """What one profctl call printed and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out}\nstderr: {self.err}"


# By which a program ends that has a fault; tests end none of ours so.
CRASHES = [-number for number in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS)]


class Profd:
    """One daemon in a directory of its own. `sim` is the simulator's configuration (YAML text), `config` profd's. A fault with
    `while: $DIR/fault` is there from begin_fault() on until end_fault()."""

    def __init__(self, sim="devices: 2\nchip: 910B\n", config="", hal=HAL, directory=None, env=None, arguments=(),
                 within=(), socket=None, spool=None):
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="profd-test-"))
        os.chmod(self.directory, 0o755)
        self.socket = pathlib.Path(socket or self.directory / "profd.sock")
        self.spool = pathlib.Path(spool or self.directory / "spool")
        self.log = self.directory / "profd.log"
        self.truth = self.directory / "truth.jsonl"
        sim_file = self.directory / "sim.yaml"
        sim_file.write_text(sim.replace("$DIR", str(self.directory)) + f'\ntruth: "{self.truth}"\n')
        self.environment = dict(os.environ, PROFD_SIM_CONFIG=str(sim_file), PROFD_ADDRESS=str(self.socket), **(env or {}))
        command = [str(PROFD), "--socket", str(self.socket), "--output-root", str(self.spool)]
        if hal is not None:
            command += ["--hal", str(hal)]
        self.configure(config)
        command += ["--config", str(self.directory / "profd.yaml")]
        self.command = [*within, *command, *arguments]
        self.process = None
        self.start()

    def configure(self, config):
        """For the next start, or SIGHUP."""
        if "doors:" not in config:
            config += "\ndoors: {dynolog: off}\n"  # the fabric has one name on the whole machine
        (self.directory / "profd.yaml").write_text(config)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stderr=log, stdout=log,
                                            stdin=subprocess.DEVNULL)
        door = pathlib.Path(str(self.socket) + ".door")

        def up():
            if self.process.poll() is not None:
                raise AssertionError(f"profd ended with {self.process.returncode}: {self.log.read_text()}")
            return door.exists() and self.ctl("list").code == OK

        wait_until(up, "profd to listen")

    def ctl(self, *arguments, user=None, timeout=PATIENCE_S, cwd=None):
        with STARTING:
            process = subprocess.Popen([str(PROFCTL), *map(str, arguments)], env=self.environment, text=True,
                                       user=user, group=user, extra_groups=[] if user else None, cwd=cwd,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return Result(process.returncode, out, err)

    def popen_ctl(self, *arguments):
        return subprocess.Popen([str(PROFCTL), *map(str, arguments)], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)

    def begin(self, *arguments, **options):
        """profctl start --json that must succeed; the reply."""
        result = self.ctl("start", *arguments, "--json", **options)
        if result.code not in (OK, PARTLY_STARTED, PARTIAL_LOSS):
            raise AssertionError(f"start {arguments}: {result}\n{self.log.read_text()}")
        return result.json

    def end(self, session, **options):
        """profctl stop SESSION --json that must succeed; the session."""
        result = self.ctl("stop", session, "--json", **options)
        if result.code not in (OK, PARTIAL_LOSS):
            raise AssertionError(f"stop {session}: {result}\n{self.log.read_text()}")
        return result.json

    def status(self, session):
        result = self.ctl("status", session, "--json")
        if not result.out:
            raise AssertionError(f"status {session}: {result}")
        return result.json

    def let_run(self, session, seconds):
        """Waits until a session, or what begin() said of it, has run that long by its own clock: a channel has as many samples
        as it had periods, and no event says that they suffice."""
        name = session if isinstance(session, str) else session["session"]
        while (left := seconds - (now := self.status(name))["elapsed_s"]) > 0:
            if now["state"] in ("sealed", "failed"):
                raise AssertionError(f"{name} has ended after {now['elapsed_s']} s: {now}")
            time.sleep(left)  # a status for every period would cost more than the session

    def truth_lines(self):
        with open(self.truth, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    def begin_fault(self):
        (self.directory / "fault").touch()

    def end_fault(self):
        (self.directory / "fault").unlink()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM, and the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"profd did not stop: {self.log.read_text()}") from None

    def close(self):
        if self.process.poll() is None:
            self.kill()
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        shutil.rmtree(self.directory, ignore_errors=True)
        # A sanitizer names the folder where it could not write its report.
        if self.process.returncode in CRASHES or str(reports.FOLDER) in log:
            raise AssertionError(f"profd ended with {self.process.returncode}: {log[-5000:]}")


class Job:
    """The interactive workload: says what it did, so that a test knows what must be on disk."""

    def __init__(self, test, daemon, labels="", what="interactive", within=()):
        environment = dict(daemon.environment, PROFD_LABELS=labels)
        self.process = subprocess.Popen([*within, str(PROGRAMS / "workload"), what], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.close)
        self.pid = self.process.pid
        if what == "interactive":
            self.process.stdout.readline()  # threads N

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class ProfdTest(unittest.TestCase):
    """A test with daemons and workloads that are gone afterwards, whatever happens."""

    def profd(self, **options):
        daemon = Profd(**options)
        self.addCleanup(daemon.close)
        return daemon

    def workload(self, seconds=120, command=None, **options):
        process = subprocess.Popen(command or [sys.executable, str(WORKLOAD), str(seconds)], stdout=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, **options)
        self.ends_with_the_test(process)
        return process

    def ends_with_the_test(self, process):
        """Of a subprocess.Popen, with the pipes to it."""

        def end():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

        self.addCleanup(end)

    def registered(self, daemon, *pids):
        def present():
            known = {target["pid"]: target for target in daemon.ctl("targets", "--json").json["targets"]}
            return all(pid in known and known[pid]["agent_version"] for pid in pids)

        wait_until(present, f"{pids} to register")

    def job(self, daemon, **options):
        job = Job(self, daemon, **options)
        self.registered(daemon, job.pid)
        return job

    def kind(self, session, kind, unit):
        found = [entry for entry in session["kinds"] if entry["kind"] == kind and entry["unit"] == unit]
        self.assertEqual(len(found), 1, f"{kind} on {unit}: {session['kinds']}")
        return found[0]


TRACEFS = "/sys/kernel/tracing"
# Where nobody has mounted it: for profd alone.
MOUNTED = ["unshare", "--mount", "sh", "-c", f'mount -t tracefs nodev {TRACEFS} && exec "$@"', "sh"]


def tracefs():
    """What profd must run within to have the kernel's tracepoints; None: they cannot be had."""
    if os.path.exists(f"{TRACEFS}/events/raw_syscalls"):
        return []
    done = subprocess.run([*MOUNTED, "test", "-e", f"{TRACEFS}/events/raw_syscalls"], check=False, capture_output=True)
    return MOUNTED if done.returncode == 0 else None


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root")(test)


def nobody():
    """An unprivileged uid that exists everywhere."""
    return 65534
