#!/usr/bin/env python3
"""Bad input: one clear line on stderr, an exit code of its own, and nothing done. Every bad input that the vendor's
collector was tried with is here with what profd does instead."""
import collections
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import harness
from harness import BUSY, FAILED, NOT_FOUND, OK, PARTLY_STARTED, PERMISSION, UNAVAILABLE, USAGE


class BadStartTest(harness.ProfdTest):
    """All against one daemon: nothing any of them does may stay."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Profd()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def refused(self, arguments, code, *words):
        """`words` must all be in the one line that says what was wrong, what was expected and what to do."""
        with self.subTest(arguments=arguments):
            result = self.daemon.ctl("start", *arguments)
            self.assertEqual(result.code, code, result)
            lines = result.err.strip().splitlines()
            self.assertEqual(len(lines), 1, result)
            for word in words:
                self.assertIn(word, lines[0], result)
            sessions = self.daemon.ctl("list", "--json").json["sessions"]
            self.assertEqual([s for s in sessions if s["state"] != "sealed"], [], "a session was left")
            left = list(self.daemon.spool.rglob("PROF_*")) if self.daemon.spool.exists() else []
            self.assertEqual(left, [], "a directory was left")

    def test_kinds_and_rates(self):
        self.refused(["--collect", "hbmm"], USAGE, "hbmm", "hbm")
        self.refused(["--collect", "host-gpu", "--pid", str(os.getpid())], USAGE, "host-gpu")
        self.refused(["--collect", ""], USAGE, "--collect")
        self.refused(["--collect", "hbm=yes"], USAGE, "yes")
        self.refused(["--collect", "hbm=0Hz"], USAGE, "0Hz", "positive")
        self.refused(["--collect", "hbm=101Hz"], USAGE, "101", "100")
        self.refused(["--collect", "hbm=-5Hz"], USAGE, "-5")
        self.refused(["--collect", "pcie=51Hz"], USAGE, "51", "50")
        self.refused(["--collect", "llc:bogus"], USAGE, "bogus", "read", "write")
        self.refused(["--collect", "hbm:read"], USAGE, "hbm")
        self.refused(["--preset", "everything"], USAGE, "everything", "node")

    def test_devices(self):
        self.refused(["--devices", "9"], NOT_FOUND, "9", "0", "1")
        self.refused(["--devices", "0,9"], NOT_FOUND, "9")
        self.refused(["--devices", "x"], USAGE, "x")
        self.refused(["--devices", ""], USAGE, "--devices")
        self.refused(["--devices", "0,1,7", "--preset", "node"], NOT_FOUND, "7")
        self.refused(["--devices", "64"], NOT_FOUND, "64")

    def test_pids(self):
        self.refused(["--collect", "host-cpu"], USAGE, "--pid")
        self.refused(["--pid", "99999999"], NOT_FOUND, "99999999")
        self.refused(["--pid", "abc"], USAGE, "abc")
        self.refused(["--pid", "0"], USAGE, "0")
        self.refused(["--pid", "-1"], USAGE, "-1")
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        try:
            self.refused(["--pid", str(thread.native_id)], USAGE, str(thread.native_id), "thread")
        finally:
            stop.set()
            thread.join()

    def test_durations_and_limits(self):
        for bad in ("0", "0s", "-1s", "abc", "99999999999s", "31d", "1.5.2s"):
            self.refused(["--collect", "hbm", "--duration", bad], USAGE, bad)
        self.refused(["--collect", "hbm", "--delay", "never"], USAGE, "never")
        for bad in ("100MB", "200", "4294967296MB", "MB", "-200MB", "1e9MB"):
            self.refused(["--collect", "hbm", "--storage-limit", bad], USAGE, bad)
        self.refused(["--collect", "hbm", "--label", "novalue"], USAGE, "novalue")
        self.refused(["--collect", "hbm", "--name", "a\nb"], USAGE, "control character")

    def test_outputs(self):
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch, "file")
            file.write_text("")
            link = pathlib.Path(scratch, "link")
            link.symlink_to(scratch)
            self.refused(["--collect", "hbm", "--output", file], USAGE, "is a file: name a directory")
            self.refused(["--collect", "hbm", "--output", link], USAGE, "symbolic link")
            self.refused(["--collect", "hbm", "--output", pathlib.Path(scratch, "a", "b")], USAGE, "does not exist")
            self.assertFalse(pathlib.Path(scratch, "a").exists())
        self.refused(["--collect", "hbm", "--output", ""], USAGE, "--output")
        self.refused(["--collect", "hbm", "--output", "/proc/self"], USAGE, "proc")
        self.refused(["--collect", "hbm", "--output", "/sys/kernel"], USAGE, "sys")

    def test_command_lines(self):
        self.refused(["--bogus=1"], USAGE, "--bogus")
        self.refused(["stray"], USAGE, "stray")
        self.refused(["--pdi", "3"], USAGE, "'--pdi' is not an option: did you mean --pid?")
        self.refused(["--for", "3s"], USAGE, "'--for' is not an option: did you mean --duration?")
        self.refused(["--duraton", "3s", "--devices", "all"], USAGE, "'--duraton'", "--duration")
        self.refused(["--duration"], USAGE, "--duration")

    def test_repetitions(self):
        self.refused(["--collect", "hbm,hbm"], USAGE, "hbm", "twice")
        result = self.daemon.ctl("start", "--collect", "hbm", "--devices", "0,0", "--json")
        self.assertEqual(result.code, OK, result)
        self.assertEqual([(k["kind"], k["unit"]) for k in result.json["kinds"]], [("hbm", "device:0")])
        sealed = self.daemon.end(result.json["session"])
        shutil.rmtree(sealed["directory"])

    def test_other_verbs(self):
        for arguments, code, word in (
            (["stop", "deadbeef"], NOT_FOUND, "deadbeef"),
            (["status", "deadbeef"], NOT_FOUND, "deadbeef"),
            (["stop", "--pid", "1"], NOT_FOUND, "1"),
            (["stop"], USAGE, "SESSION"),
            (["stop", "deadbeef", "--all"], USAGE, "--all"),
            (["frobnicate"], USAGE, "frobnicate"),
            (["strat"], USAGE, "did you mean start?"),
            (["query"], USAGE, "DIR is missing: profctl query DIR [OPTIONS]; see profctl query --help"),
            (["mv", "last"], USAGE, "DIR is missing: profctl mv SESSION DIR [OPTIONS]"),
            (["compare", "a"], USAGE, "NEW is missing: profctl compare BASE NEW [OPTIONS]"),
            (["lease", "rm"], USAGE, "LEASE is missing: profctl lease rm LEASE [OPTIONS]"),
            (["watch", "hmb"], USAGE, "did you mean hbm?"),
            (["--host", "no.such.host.invalid:9", "--plain", "devices"], UNAVAILABLE, "cannot find the host"),
            (["devices", "extra"], USAGE, "extra"),
            (["xyzzy"], USAGE, "--help lists them"),
            (["help", "verfiy"], USAGE, "did you mean verify?"),
            (["start", "--pid"], USAGE, "--pid: its value is missing (processes: N,…)"),
            (["start", "--on-full", "stop", "--on-full", "stop"], USAGE, "--on-full: given 2 times, takes one value"),
            (["--socket", "/a", "--socket", "/b", "list"], USAGE, "--socket: given 2 times"),
            (["export", ".", "--gzip", "--format", "csv,db"], USAGE, "--gzip: is for format chrome"),
            (["start", "--collect", "hbm", "--max-loss", "5%"], USAGE, "--max-loss says how --wait ends"),
            (["export", ".", "--split", "60s", "--format", "perfetto"], USAGE, "--split: is for format chrome"),
            (["--socket"], USAGE, "--socket: its value is missing"),
            (["run", "python3", "-c", "pass"], USAGE, "profctl run -- python3 …"),
            (["run", "true", "--label", "a=b", "--host", "x:1"], USAGE, "profctl run -- true …"),
            (["run", "--labl", "a=b"], USAGE, "--labl"),
            (["export", "/no/such/directory"], NOT_FOUND, "DIR is a PROF directory"),
            (["verify", "nosuchsession"], NOT_FOUND, "no such directory here, and no session has the id or the name"),
            (["start", "--collect", "hbm", "--name", "n" * 5000], USAGE, "longer than 128 bytes"),
            (["start", "--collect", "k" * 5000], USAGE, "unknown kind"),
            (["x" * 5000], USAGE, "is not a verb"),
            (["start", "x" * 5000], USAGE, "not expected"),
            (["stat"], USAGE, "did you mean status?"),
            (["session", "list"], USAGE, "did you mean profctl list?"),
            (["start", "hbm", "pcie"], USAGE, "name kinds with --collect, with commas between: --collect hbm"),
            (["start", "--collect", "hbm:50"], USAGE, "hbm=50"),
            (["start", "--gpu-metrics-device=0"], USAGE, "see --devices with --preset or --collect (docs/coming-from.md)"),
            (["start", "--trace=cuda"], USAGE, "see --preset, or --collect KIND"),
            (["start", "-o", "out"], USAGE, "'-o' is not an option: did you mean --output?"),
            (["export", ".", "-o", "x"], USAGE, "'-o' is not an option: did you mean --out?"),
            (["record", "-o", "x", "--pid", "1"], USAGE, "'-o' is not an option: did you mean --output?"),
            (["tls"], USAGE, "tls: name what to do: init, node or client"),
            (["completion"], USAGE, "name the shell: bash or zsh"),
            (["pin", "a", "b"], USAGE, "'b' was not expected: profctl pin SESSION [OPTIONS]"),
            (["watch", "--count", "abc"], USAGE, "--count 'abc': must be a number from 1"),
            (["watch", "--count", "0"], USAGE, "--count '0': must be a number from 1"),
            (["watch", "--devices", "99", "--count", "1"], NOT_FOUND, "device 99 does not exist: this node has devices 0"),
            (["top", "--once", "--devices", "99"], NOT_FOUND, "device 99 does not exist: this node has devices 0"),
            (["watch", "--pid", "999999999", "--count", "1"], NOT_FOUND, "process 999999999 has no live values"),
            (["top", "--once", "--pid", "999999999"], NOT_FOUND, "process 999999999 has no live values"),
            (["msprof", "--output=q", "--delay=5s", "sleep", "1"], USAGE, "in seconds and without a unit"),
            (["start", "--output", "/proc/x", "--collect", "hbm"], USAGE, "lies in a pseudo file system"),
            (["start", "--output", "/etc/passwd", "--collect", "hbm"], USAGE, "is a file: name a directory"),
            (["--socket", "localhost:9478", "list"], UNAVAILABLE, "another node's profd is --host localhost:9478"),
            (["report", ".", "-o", "/etc"], USAGE, "-o /etc is a directory: name a file in it"),
        ):
            with self.subTest(arguments=arguments):
                result = self.daemon.ctl(*arguments)
                self.assertEqual(result.code, code, result)
                self.assertEqual(len(result.err.strip().splitlines()), 1, result)
                self.assertIn(word, result.err)
                self.assertLess(len(result.err), 1000, "what was given is cut")
        self.assertEqual(self.daemon.ctl().code, USAGE)

    def test_help_as_a_verb(self):
        for verb in ("verify", "msprof", "lease"):
            result = self.daemon.ctl("help", verb)
            self.assertEqual((result.code, result.out), (OK, self.daemon.ctl(verb, "--help").out), verb)
        self.assertEqual(self.daemon.ctl("help").out, self.daemon.ctl("--help").out)

    def test_what_is_far_away_is_not_meant(self):
        self.refused(["--collect", "foo"], USAGE, "'foo'; there are: ")
        self.refused(["--collect", "hmb"], USAGE, "did you mean hbm?")

    def test_a_session_where_a_directory_is_wanted(self):
        sealed = self.daemon.end(self.daemon.begin("--collect", "hbm", "--devices", "0", "--name", "first")["session"])
        for verb in ("verify", "query"):
            by_directory = self.daemon.ctl(verb, sealed["directory"])
            for word in ("first", sealed["session"]):
                result = self.daemon.ctl(verb, word)
                self.assertEqual((result.code, result.out), (by_directory.code, by_directory.out), result)
        for word in ("first", sealed["session"]):
            self.assertIn(sealed["directory"], self.daemon.ctl("export", word, "--dry-run").out)
            result = self.daemon.ctl("analyze", word)
            self.assertEqual(result.code, NOT_FOUND, result)
            self.assertIn(f"{sealed['directory']}: there is nothing to analyse in it: no tasks, kernels or collectives", result.err)
        result = self.daemon.ctl("report", "last", "-o", "/dev/null")
        self.assertEqual(result.code, NOT_FOUND, result)
        self.assertIn("profctl query says what it has", result.err)

        def is_not_found(word, said):
            for words in (["query"], ["analyze"], ["verify"], ["repair"], ["export"], ["flame", "-o", "/dev/null"], ["compare", word],
                          ["report", "-o", "/dev/null"], ["export", "--cluster-output", "--out", "/proc/none"]):
                result = self.daemon.ctl(*words, word)
                self.assertEqual(result.code, NOT_FOUND, result)
                self.assertIn(said, result.err)
        is_not_found("second", "'second': no such directory here, and no session has the id or the name 'second'; profctl list")
        refused = self.daemon.ctl("fetch", "first", "--out", "/proc")
        self.assertEqual(refused.code, USAGE, refused)
        self.assertIn("pseudo file system", refused.err)
        self.assertEqual(self.daemon.ctl("rm", "first").code, OK)
        is_not_found("last", "you have no session yet")


class BadPlaceTest(harness.ProfdTest):
    def test_no_daemon(self):
        for verb in (["list"], ["start", "--collect", "hbm"], ["stop", "--all"], ["devices"], ["status"]):
            done = subprocess.run([str(harness.PROFCTL), "--socket", "/tmp/profd-no-such.sock", *verb], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, UNAVAILABLE, done)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done)
            self.assertIn("/tmp/profd-no-such.sock", done.stderr)
            self.assertIn("start", done.stderr)

    def test_no_daemon_that_knows_sessions(self):
        for verb in ("query", "analyze", "verify", "repair", "export"):
            done = subprocess.run([str(harness.PROFCTL), "--socket", "/tmp/profd-no-such.sock", verb, "last"], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, NOT_FOUND, done)
            self.assertIn("no such directory; only profd knows whether it is a session: ", done.stderr)

    def test_devices_that_nobody_has(self):
        daemon = self.profd(hal=None)
        result = daemon.ctl("start", "--devices", "all", "--json")
        self.assertEqual(result.code, PARTLY_STARTED, result)
        self.assertTrue(all(kind["unit"] == "host" for kind in result.json["kinds"] if kind["verdict"] == "started"))
        self.assertEqual(daemon.ctl("start", "--json").code, OK, "whoever names no device gets what there is")

    def test_a_second_daemon_on_the_same_socket(self):
        daemon = self.profd()
        second = subprocess.run(daemon.command, env=daemon.environment, capture_output=True, text=True, timeout=harness.PATIENCE_S,
                                check=False)
        self.assertEqual(second.returncode, 1, second)
        self.assertIn(str(daemon.socket), second.stderr)
        self.assertEqual(daemon.ctl("list").code, OK)

    def test_a_dead_daemons_socket_is_taken_over(self):
        daemon = self.profd()
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.ctl("list").code, OK)

    def test_a_library_that_is_no_driver_library(self):
        for hal in (__file__, harness.BUILD / "sim" / "empty" / "libascend_hal.so"):
            with self.subTest(hal=str(hal)), tempfile.TemporaryDirectory() as scratch:
                done = subprocess.run([str(harness.PROFD), "--socket", f"{scratch}/p.sock", "--hal", str(hal)],
                                      capture_output=True, text=True, timeout=harness.PATIENCE_S, check=False)
                self.assertEqual(done.returncode, FAILED, done)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done)
                self.assertIn(str(hal), done.stderr)
                self.assertEqual(os.listdir(scratch), [])

    def test_bad_configurations(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write("store:\n  slice_bites: 5\n")
            config.flush()
            done = subprocess.run([str(harness.PROFD), "--check-config", "--config", config.name], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, USAGE)
            self.assertEqual(done.stderr.strip(), f"profd: {config.name}:2: store.slice_bites: unknown key; "
                                                  "did you mean store.slice_bytes?")
        for arguments, word in ((["--bogus"], "--bogus"), (["--hal", "a", "--hal", "b"], "--hal: given 2 times"),
                                (["--config", "/no/such.yaml"], "/no/such.yaml")):
            done = subprocess.run([str(harness.PROFD), *arguments], text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(word, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1)

    def test_settings_that_do_not_go_together(self):
        with tempfile.TemporaryDirectory() as scratch:
            settings = pathlib.Path(scratch, "profd.yaml")
            there = pathlib.Path(scratch, "there.pem")
            there.write_text("")
            there.chmod(0o600)
            for text, words in (
                    ("metrics: {listen: ':99999'}", ["metrics.listen", ":99999"]),
                    ("metrics: {otlp: collector}", ["metrics.otlp", "collector"]),
                    ("metrics: {listen: '127.0.0.1:0'}\nlive: {hz: 0}", ["metrics", "live.hz is 0"]),
                    ("remote: {listen: '0.0.0.0'}", ["remote.listen", "0.0.0.0"]),
                    ("remote: {listen: '0.0.0.0:9478'}", ["remote.cert is not set"]),
                    (f"remote: {{listen: '0.0.0.0:9478', cert: {there}, key: {there}, client_ca: /no/such.pem}}",
                     ["remote.client_ca", "/no/such.pem"]),
                    ("remote: {listen: '0.0.0.0:9478', plain: viewer}", ["remote.plain", "not loopback"]),
                    ("remote: {relay: 'n*:9478'}", ["remote.relay"]),
                    ("remote: {users: nobody}", ["remote.users"]),
                    ("registry: {etcd: 'etcd1:2379'}", ["registry.etcd", "remote.listen"]),
                    ("registry: {etcd: etcd1}\nremote: {listen: '127.0.0.1:0', plain: viewer}",
                     ["registry.etcd", "etcd1"]),
                    ("registry: {etcd: 'etcd1:2379', labels: [rack]}\nremote: {listen: '127.0.0.1:0', plain: viewer}",
                     ["registry.labels", "rack"]),
                    ("live: {off: [hbn]}", ["live.off", "hbn"]),
                    ("log: {level: loud}", ["log.level", "loud"])):
                settings.write_text(text + "\n")
                said = []
                for only_check in (["--check-config"], []):
                    done = subprocess.run([str(harness.PROFD), "--socket", f"{scratch}/p.sock", "--output-root", scratch,
                                           "--config", settings, *only_check], text=True, capture_output=True,
                                          timeout=harness.PATIENCE_S, check=False)
                    self.assertEqual(done.returncode, USAGE, (text, done))
                    said.append(done.stderr)
                    for word in words:
                        self.assertIn(word, done.stderr)
                self.assertEqual(len(said[0].splitlines()), 1, said)
                self.assertEqual(said[0], said[1])

    def test_check_config_prints_every_key(self):
        done = subprocess.run([str(harness.PROFD), "--check-config", "--config",
                               str(harness.ROOT / "config" / "profd.yaml")], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, OK, done)
        self.assertIn("slice_bytes: 2097152", done.stdout)


class EndlessFileTest(harness.ProfdTest):
    """A file that does not end, wherever an option or a setting names one: one line says how much was expected."""

    OPTIONS = (["--hosts", "@{}", "list"], ["--relays", "@{}", "--hosts", "n[1-2]", "list"], ["--client-config", "{}", "list"],
               ["--host", "localhost:1", "--tls-ca", "{}", "--tls-cert", "{}", "--tls-key", "{}", "list"])
    RESULTS = (["verify", "{}"], ["repair", "{}"], ["query", "{}"], ["analyze", "{}"], ["compare", "{}", "{}"], ["export", "{}"],
               ["report", "{}", "-o", "/dev/null"], ["flame", "{}", "-o", "/dev/null"])

    def said(self, command):
        done = subprocess.run(command, text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False)
        self.assertNotEqual(done.returncode, OK, done)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done)
        return done.stderr

    def test_options_and_settings(self):
        profctl = [str(harness.PROFCTL), "--socket", "/tmp/profd-no-such.sock"]
        commands = {words[0]: [*profctl, *words] for words in self.OPTIONS}
        commands["profd --config"] = [str(harness.PROFD), "--check-config", "--config", "{}"]
        for name, command in commands.items():
            with self.subTest(name, what="a device"):
                self.assertIn("more than 4 MiB", self.said([word.format("/dev/zero") for word in command]))
            with self.subTest(name, what="a pipe"), subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
                path = f"/proc/{os.getpid()}/fd/{endless.stdout.fileno()}"
                self.assertIn("more than 4 MiB", self.said([word.format(path) for word in command]))
                endless.stdout.close()

    def test_results(self):
        for words in self.RESULTS:
            with self.subTest(words[0]):
                self.said([str(harness.PROFCTL), "--socket", "/tmp/profd-no-such.sock", *(word.format("/dev/zero") for word in words)])

    def test_a_pipe_that_ends_is_read(self):
        """`<(command)` of a shell."""
        done = subprocess.run(["bash", "-c", '"$0" --plain --timeout 1s --hosts @<(echo 127.0.0.1:1) list', harness.PROFCTL],
                              text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False)
        self.assertIn("127.0.0.1:1", done.stdout + done.stderr, done)


@unittest.skipUnless(os.geteuid() == 0, "needs root to mount")
class OutputMountTest(harness.ProfdTest):
    @contextlib.contextmanager
    def mount(self, options):
        with tempfile.TemporaryDirectory() as mount:
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", mount], check=True)
            try:
                yield mount
            finally:
                subprocess.run(["umount", "--lazy", mount], check=True)

    def test_a_read_only_output_is_refused(self):
        daemon = self.profd()
        with self.mount("ro,size=1m") as mount:
            result = daemon.ctl("start", "--collect", "hbm", "--output", mount)
            self.assertEqual(result.code, PERMISSION, result)
            self.assertIn(mount, result.err)
            self.assertEqual(len(result.err.strip().splitlines()), 1, result)

    def test_an_export_into_a_read_only_place_says_so(self):
        daemon = self.profd()
        sealed = daemon.end(daemon.begin("--collect", "hbm", "--devices", "0")["session"])
        with self.mount("ro,size=1m") as mount:
            for out in (mount, f"{mount}/a", f"{mount}/a/b"):
                result = daemon.ctl("export", sealed["directory"], "--out", out)
                self.assertEqual(result.code, PERMISSION, result)
                self.assertIn("Read-only file system", result.err)
                self.assertEqual(len(result.err.strip().splitlines()), 1, result)

    def test_a_directory_that_cannot_be_made_leaves_no_channel_running(self):
        daemon = self.profd()
        with self.mount("size=1m,nr_inodes=8") as mount:
            result = daemon.ctl("start", "--collect", "hbm,host-sys-cpu", "--devices", "all", "--output", mount)
            self.assertEqual(result.code, BUSY, result)
            self.assertIn(mount, result.err)
            self.assertIn("No space left", result.err)
            self.assertEqual(len(result.err.strip().splitlines()), 1, result)
            self.assertEqual(os.listdir(mount), [])
        # Channels start while the directory is made; they were stopped again.
        def all_stopped():
            counts = collections.Counter(line["event"] for line in daemon.truth_lines() if {"event", "channel"} <= line.keys())
            return counts["start"] == counts["stop"]

        harness.wait_until(all_stopped, "the channels to be stopped")
        sealed = daemon.end(daemon.begin("--collect", "hbm")["session"])
        self.assertEqual(sealed["end_reason"], "stopped")


if __name__ == "__main__":
    unittest.main(verbosity=2)
