#!/usr/bin/env python3
"""Which processes a session is of and what it is called (--split, --container, %p, %h and %q), which devices and processes watch
and top show and how often, and where profd says who it is and what it did: pid file and log file."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import unittest

import harness
from harness import FAILED, NOT_FOUND, OK, USAGE

KIND = ("--collect", "host-mem")


class NamingTest(harness.ProfdTest):
    def test_a_session_for_each_process(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        pids = [self.workload().pid for _ in range(2)]
        both = ",".join(map(str, pids))
        started = daemon.ctl("start", "--pid", both, "--split", "--devices", "0", "--collect", "host-mem,hbm", "--name", "job-%p")
        self.assertEqual(started.code, OK, started)
        sessions = {tuple(found["pids"]): found for found in daemon.ctl("list", "--json").json["sessions"]}
        self.assertEqual(set(sessions), {(pid,) for pid in pids})
        self.assertEqual({found["name"] for found in sessions.values()}, {f"job-{pid}" for pid in pids})
        self.assertEqual(len({found["directory"] for found in sessions.values()}), 2)
        for found in sessions.values():
            self.assertEqual(self.kind(found, "hbm", "device:0")["verdict"], "started")
            daemon.end(found["session"])
        for wrong in (("--pid", both, "--wait"), ()):
            refused = daemon.ctl("start", "--split", *KIND, *wrong)
            self.assertEqual(refused.code, USAGE, refused)
            self.assertIn("--split", refused.err)

    def test_names_say_where_and_of_whom(self):
        daemon = self.profd(env={"RUN_NUMBER": "17"})
        job = self.workload()
        session = daemon.begin("--pid", job.pid, *KIND, "--name", "%q{RUN_NUMBER}-%h-%p-50%")
        self.assertEqual(session["name"], f"17-{socket.gethostname()}-{job.pid}-50%")
        self.assertEqual(daemon.ctl("status", session["name"]).code, OK)
        output = daemon.directory / "out"
        output.mkdir()
        session = daemon.begin("--pid", job.pid, *KIND, "--output", output / "%h-%p-%q{RUN_NUMBER}")
        self.assertEqual(os.path.dirname(session["directory"]), f"{output}/{socket.gethostname()}-{job.pid}-17")
        for name, what in (("%q{NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE"), ("%q{X", "no end"), ("%p", "%p")):
            refused = daemon.ctl("start", "--collect", "host-sys-mem", "--name", name)
            self.assertEqual(refused.code, USAGE, refused)
            self.assertIn(what, refused.err)

    def test_defaults_and_presets_are_in_a_file(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        file = daemon.directory / "profctl.conf"

        def plan(*words, code=OK):
            done = daemon.ctl("--client-config", file, "start", "--devices", "0", "--dry-run", "--json", *words)
            self.assertEqual(done.code, code, done)
            return done.json if code == OK else done.err

        file.write_text('user-preset = ["links=pcie,hccs=10Hz", "one=hbm"]\n[start]\nduration = "5s"\n')
        planned = plan("--preset", "links")
        self.assertEqual({kind["kind"]: kind["effective_hz"] for kind in planned["kinds"]}, {"pcie": 50, "hccs": 10})
        self.assertEqual(planned["duration_s"], 5)
        self.assertEqual(plan("--preset", "links", "--duration", "7s")["duration_s"], 7)  # who says it now is right
        planned = plan("--preset", "links", "--collect", "hccs=20Hz,hbm")
        self.assertEqual({kind["kind"]: kind["effective_hz"] for kind in planned["kinds"]}, {"pcie": 50, "hccs": 20, "hbm": 50})
        self.assertIn("links", daemon.ctl("--client-config", file, "completion", "values", "presets").out.split())
        for text, what in (('nonsense = 3', "nonsense"), ('[start]\nnonsense = 3', "nonsense"), ('user-preset = ["node=hbm"]', "node"),
                           ('user-preset = ["a=hbm", "a=pcie"]', "twice"), ('user-preset = ["a=nothing:"]', "a="),
                           ('user-preset = ["hbm"]', "NAME=KINDS")):
            file.write_text(text + "\n")
            self.assertIn(what, plan("--preset", "node" if "preset" not in text else "a", code=USAGE), text)

    def test_a_mistake_in_the_file_of_options_has_its_line(self):
        daemon = self.profd(hal=None)
        file = daemon.directory / "profctl.conf"
        for text, line, what in (
                ("# mine\nsocketx = 'a'", 2, "'socketx' is not an option of profctl: did you mean socket?"),
                ("json = true\n[start]\nduratoin = '3s'", 3, "'duratoin' is not an option of profctl start: did you mean duration?"),
                ("[strat]\nduration = '3s'", 1, "'[strat]' is not a verb of profctl: did you mean start?"),
                ("[start]\nsocket = '/x'", 2, "'socket' holds for every verb: write it above the first [section]"),
                ("[start\nduration = '3s'", 1, "expected [VERB], as [start]"),
                ("\n= 3s", 2, "expected OPTION = VALUE"),
                ("socket =", 1, "'socket' has no value"),
                ("socket", 1, "'socket' has no value"),
                ("socket = '/x", 1, "'socket': the closing ' of its value is missing"),
                ("user-preset = [\n'a=hbm',\n'b=pcie'", 1, "'user-preset': the closing ] of its list is missing"),
                ("json = maybe", 1, "--json 'maybe': expected a whole number"),
                ("\nuser-preset = ['hbm']", 2, "user-preset 'hbm': expected NAME=KINDS"),
                ("[list]\nsort = 'foo'", 2, "--sort 'foo': there is no such column")):
            with self.subTest(text):
                file.write_text(text + "\n")
                done = daemon.ctl("--client-config", file, "list")
                self.assertEqual((done.code, done.err.count("\n")), (USAGE, 1), done)
                self.assertIn(f"{file}:{line}: {what}", done.err)
        file.write_text("# of mine\n[list]\nsort = 'foo'  # a remark\n[tls.node]\n[start]\nduration = '3s'\n")
        self.assertEqual(daemon.ctl("--client-config", file, "list", "--sort", "size").code, OK)
        self.assertNotIn("profctl.conf", daemon.ctl("--client-config", file, "list", "--sort", "none").err)
        for path, what in ((file.parent, "is a directory"), ("/no/such", "there is no such file")):
            done = daemon.ctl("--client-config", path, "list")
            self.assertEqual(done.code, USAGE, done)
            self.assertIn(f"--client-config {path}: {what}", done.err)

    def test_values_for_completion(self):
        daemon = self.profd(sim="devices: 2\nchip: 910B\n")

        def values(what):
            done = daemon.ctl("completion", "values", what)
            self.assertEqual(done.code, OK, done)
            return done.out.split("\n")[:-1]

        self.assertEqual(values("sessions"), [])
        plain = daemon.begin("--collect", "host-sys-mem", "--name", "plain-1")["session"]
        evil = daemon.begin("--collect", "host-sys-mem", "--name", "$(touch /tmp/evil) `x`")["session"]
        self.assertEqual(values("sessions"), ["last", evil, plain, "plain-1"])
        self.assertEqual(values("devices"), ["all", "0", "1"])
        self.assertIn("hbm", values("kinds"))
        self.assertIn("detail", values("presets"))
        self.assertEqual(values("nothing"), [])

    def test_last_is_the_newest_of_ones_own(self):
        daemon = self.profd(hal=None)
        for verb in ("status", "stop", "verify", "query"):
            none = daemon.ctl(verb, "last")
            self.assertEqual(none.code, NOT_FOUND, (verb, none))
        first, second = (daemon.begin("--pid", self.workload().pid, *KIND)["session"] for _ in range(2))
        self.assertEqual(daemon.status("last")["session"], second)
        self.assertEqual(daemon.end("last")["session"], second)
        daemon.end(first)
        # Ended ones count, in the order of list; what takes a directory takes it, too.
        self.assertEqual(daemon.status("last")["session"], second)
        directory = daemon.status(second)["directory"]
        for verb in ("verify", "query", "repair"):
            done = daemon.ctl(verb, "last")
            self.assertEqual(done.code, OK, (verb, done))
            self.assertIn(os.path.basename(directory), done.out)
        fetched = daemon.ctl("fetch", "last", "--out", daemon.directory / "here")
        self.assertEqual(fetched.code, OK, fetched)
        self.assertTrue((daemon.directory / "here" / os.path.basename(directory)).is_dir())
        self.assertEqual(daemon.ctl("rm", "last").code, OK)
        self.assertEqual(daemon.status("last")["session"], first)
        refused = daemon.ctl("start", "--collect", "host-sys-mem", "--name", "last")
        self.assertEqual(refused.code, USAGE, refused)

    @harness.needs_root
    def test_last_is_of_ones_own(self):
        daemon = self.profd(hal=None)
        mine = daemon.begin("--pid", self.workload().pid, *KIND)["session"]
        theirs = self.workload(command=["sleep", "120"], user=65534)
        other = daemon.begin("--pid", theirs.pid, *KIND, user=65534)["session"]
        self.assertEqual(daemon.status("last")["session"], mine)
        self.assertEqual(daemon.ctl("status", "last", "--json", user=65534).json["session"], other)

    @harness.needs_root
    def test_a_process_as_its_container_has_it(self):
        daemon = self.profd()
        identity = f"{os.getpid():08x}" + "ab" * 28
        roots = [root for root in (pathlib.Path("/sys/fs/cgroup/pids"), pathlib.Path("/sys/fs/cgroup"))
                 if os.access(root / "cgroup.procs", os.W_OK)]
        try:
            folder = roots[0] / f"docker-{identity}.scope"
            folder.mkdir()
        except (IndexError, OSError) as error:
            self.skipTest(f"no cgroup can be made here: {error}")
        self.addCleanup(lambda: harness.wait_until(lambda: not folder.exists() or self.gone(folder), "the cgroup to be empty"))
        job = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "sleep", "100"],
                               preexec_fn=lambda: (folder / "cgroup.procs").write_text("0"))
        self.ends_with_the_test(job)
        children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children")
        (inner,) = harness.wait_until(lambda: children.read_text().split(), "the container's process")
        harness.wait_until(lambda: f"\t{inner}\t1\n" in pathlib.Path(f"/proc/{inner}/status").read_text(), "its own pid")
        session = daemon.begin("--container", identity[:12], "--pid", "1", *KIND)
        self.assertEqual(session["pids"], [int(inner)])
        missing = daemon.ctl("start", "--container", identity, "--pid", "99", *KIND)
        self.assertEqual(missing.code, NOT_FOUND, missing)
        self.assertIn("99", missing.err)
        self.assertEqual(daemon.ctl("start", "--container", "ffffffffff", "--pid", "1", *KIND).code, NOT_FOUND)
        self.assertEqual(daemon.ctl("start", "--container", identity, *KIND).code, USAGE)

    @staticmethod
    def gone(folder):
        try:
            folder.rmdir()
            return True
        except OSError:
            return False

    def test_the_pid_file_is_of_who_serves(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-pid-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "profd.pid")
        daemon = self.profd(arguments=("--pid-file", str(path)), hal=None)
        self.assertEqual(path.read_text(), f"{daemon.process.pid}\n")
        second = subprocess.run(daemon.command, env=daemon.environment, capture_output=True, text=True, check=False)
        self.assertEqual(second.returncode, FAILED)
        self.assertEqual(path.read_text(), f"{daemon.process.pid}\n")
        socket = str(path.with_name("other.sock"))
        of_other = [socket if word == str(daemon.socket) else word for word in daemon.command]
        second = subprocess.run(of_other, env=daemon.environment, capture_output=True, text=True, check=False)
        self.assertEqual(second.returncode, FAILED, second.stderr)
        self.assertIn("another profd that runs has it", second.stderr)
        self.assertEqual(path.read_text(), f"{daemon.process.pid}\n")
        daemon.stop()
        self.assertFalse(path.exists())

    def test_a_log_file_is_rotated(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-log-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "profd.log")
        path.write_bytes(b"")
        os.truncate(path, 16 << 20)
        self.profd(config=f'log: {{file: "{path}"}}\n', hal=None)
        self.assertIn("listens on", path.read_text(encoding="utf-8"))
        self.assertLess(path.stat().st_size, 1 << 20)
        self.assertEqual(pathlib.Path(folder.name, "profd.1.log").stat().st_size, 16 << 20)

    def test_a_log_that_is_moved_away_is_opened_anew(self):
        """As logrotate does it: the log and the audit log go on under their names."""
        folder = tempfile.TemporaryDirectory(prefix="profd-log-")
        self.addCleanup(folder.cleanup)
        log, audit = pathlib.Path(folder.name, "profd.log"), pathlib.Path(folder.name, "audit.log")
        daemon = self.profd(config=f'log: {{file: "{log}", audit: "{audit}"}}\n', hal=None)
        daemon.ctl("start", "--collect", "host-cpu", "--duration", "60s")
        for path in (log, audit):
            path.rename(path.with_suffix(".old"))
        daemon.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: log.exists() and "SIGHUP" in log.read_text(encoding="utf-8"), "the log to be there again")
        self.assertNotIn("SIGHUP", log.with_suffix(".old").read_text(encoding="utf-8"))
        before = audit.with_suffix(".old").read_text(encoding="utf-8")
        daemon.ctl("stop", "--all")
        harness.wait_until(lambda: audit.exists() and audit.read_text(encoding="utf-8"), "the audit log to be there again")
        self.assertEqual(audit.with_suffix(".old").read_text(encoding="utf-8"), before)
        self.assertEqual(audit.stat().st_mode & 0o777, 0o640)

    def test_a_watch_has_an_interval_of_its_own(self):
        """profd reads as often as the fastest wants, while it looks and no more often than its settings allow."""
        daemon = self.profd(config="live: {hz: 1, max_hz: 5}\n", hal=None)

        def period_s(*options):
            watched = daemon.ctl("watch", "host-cpu", "--count", "2", "--json", *options)
            self.assertEqual(watched.code, OK, watched)
            return json.loads(watched.out.splitlines()[-1])["period_s"]

        beside = daemon.popen_ctl("watch", "host-cpu", "--json")
        self.ends_with_the_test(beside)
        self.assertEqual(json.loads(beside.stdout.readline())["period_s"], 1)
        self.assertEqual(period_s("--interval", "200ms"), 0.2)
        self.assertEqual(period_s("--interval", "2s"), 1)
        self.assertEqual(period_s(), 1)
        for interval in ("199ms", "1ms"):
            refused = daemon.ctl("watch", "host-cpu", "--interval", interval, "--count", "1")
            self.assertEqual(refused.code, USAGE, refused)
            self.assertIn("values are read at most 5 times a second (live.max_hz)", refused.err)

    def test_watch_of_a_group_of_kinds_with_a_name(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n", config="live: {hz: 10, channels: [hbm, llc, pcie]}\n")
        # Values of channels that profd holds come a moment later, and by themselves.
        first = daemon.ctl("watch", "pcie", "--count", "1", "--json")
        there = [value for value in json.loads(first.out)["values"] if value["kind"] == "pcie"]
        reasons = ("pcie: no values yet: live.channels holds it", "profd has just started and still asks the devices")
        self.assertTrue(there or any(reason in first.err for reason in reasons), first)
        watch = daemon.ctl("--user-preset", "mine=hbm,llc", "watch", "mine", "--count", "80", "--json")
        seen = {value["kind"] for line in watch.out.splitlines() for value in json.loads(line)["values"]}
        self.assertEqual(seen, {"hbm", "llc"})

    def test_watch_shows_the_devices_that_are_named(self):
        daemon = self.profd(sim="devices: 2\nchip: 910B\n", config="live: {hz: 10}\n")
        # What has not come by the next reading is left out of this one: a few of them.
        seen = daemon.ctl("watch", "--devices", "1", "--count", "20", "--json").out
        self.assertIn('"device":"1"', seen)
        self.assertNotIn('"device":"0"', seen)
        self.assertNotIn('"profd"', seen)
        screen = daemon.ctl("top", "--once", "--devices", "1").out
        chips = [line.split()[0] for line in screen.splitlines() if "910B" in line]
        self.assertEqual(chips, ["1"])


if __name__ == "__main__":
    unittest.main()
