#!/usr/bin/env python3
"""The life of a session, seen through profctl and the directory it leaves."""
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import own_folder
import prof_reader

WALL_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


class SessionTest(harness.ProfdTest):
    def test_a_process_and_two_devices_into_a_valid_directory(self):
        daemon = self.profd()
        work = self.workload()
        started = daemon.begin("--pid", work.pid, "--devices", "all", "--name", "first", "--label", "job=42")
        for unit in ("device:0", "device:1"):
            hbm = self.kind(started, "hbm", unit)
            self.assertEqual(hbm["verdict"], "started")
            self.assertEqual(hbm["requested_hz"], hbm["effective_hz"])
        self.assertEqual(self.kind(started, "host-cpu", f"pid:{work.pid}")["verdict"], "started")
        directory = pathlib.Path(started["directory"])
        self.assertTrue(directory.is_dir())
        daemon.let_run(started, 2)
        running = daemon.status(started["session"])
        self.assertEqual(running["state"], "running")
        sealed = daemon.end(started["session"])
        self.assertEqual(sealed["state"], "sealed")
        self.assertEqual(sealed["end_reason"], "stopped")
        self.assertEqual(sealed["name"], "first")
        self.assertEqual(sealed["labels"], {"job": "42"})
        for entry in sealed["kinds"]:
            if entry["verdict"] == "started":
                if entry["unit"].startswith("device:"):  # a busy machine may cost the host's sampler a tick
                    self.assertEqual(entry["lost"], 0, entry)
                if entry["kind"] not in ("low-power", "tscpu"):
                    self.assertGreater(entry["records"], 0, entry)
        self.assertEqual(prof_reader.check(str(directory)), [])
        manifest = own_folder.manifest(directory)
        self.assertEqual(manifest["state"], "sealed")
        self.assertEqual(manifest["session"], started["session"])

    def test_files_are_private_whatever_the_umask(self):
        for mask in (0o000, 0o077):
            before = os.umask(mask)
            try:
                daemon = self.profd()
            finally:
                os.umask(before)
            started = daemon.begin("--preset", "node")
            daemon.let_run(started, 0.5)
            sealed = daemon.end(started["session"])
            for path in [pathlib.Path(sealed["directory"]), *pathlib.Path(sealed["directory"]).rglob("*")]:
                expected = 0o750 if path.is_dir() else 0o640
                self.assertEqual(stat.S_IMODE(path.lstat().st_mode), expected, path)

    def test_duration_ends_it(self):
        daemon = self.profd()
        result = daemon.ctl("start", "--collect", "hbm,host-sys-cpu", "--duration", "1s", "--wait", "--max-loss", "100%", "--json")
        self.assertEqual(result.code, harness.OK, result)  # one of ten samples may be lost on a busy machine
        listed = daemon.ctl("list", "--json").json["sessions"]
        self.assertEqual([(s["state"], s["end_reason"]) for s in listed], [("sealed", "duration")])
        late = daemon.ctl("stop", listed[0]["session"])
        self.assertEqual(late.code, harness.OK, late)
        self.assertRegex(late.out, rf"^session {listed[0]['session']} had ended already, at {WALL_TIME}: its duration was over\n")
        self.assertEqual(prof_reader.check(listed[0]["directory"]), [])

    def test_target_exit_ends_it(self):
        daemon = self.profd()
        work = self.workload()
        started = daemon.begin("--pid", work.pid)
        daemon.let_run(started, 0.5)
        work.kill()
        work.wait()
        status = harness.wait_until(
            lambda: (s := daemon.status(started["session"]))["state"] == "sealed" and s, "the session to be sealed")
        self.assertEqual(status["end_reason"], "target_exit")
        manifest = own_folder.manifest(status["directory"])
        self.assertEqual(manifest["end_reason"], "target_exit")

    def test_one_of_two_targets_exits_and_the_other_goes_on(self):
        daemon = self.profd()
        first, second = self.workload(), self.workload()
        started = daemon.begin("--pid", f"{first.pid},{second.pid}", "--name", "both")
        daemon.let_run(started, 0.3)
        kinds = {(kind["kind"], kind["unit"]): kind for kind in daemon.status("both")["kinds"]}
        self.assertEqual(kinds["host-mem", f"pid:{second.pid}"]["reason"], f"counted with pid:{first.pid}")
        first.kill()
        first.wait()
        time.sleep(0.5)  # it must not end: there is no event of what does not happen
        self.assertEqual(daemon.status(started["session"])["state"], "running")
        stop = daemon.ctl("stop", "both")
        self.assertEqual(stop.code, harness.OK, stop)
        self.assertNotIn("had ended already", stop.out)
        sealed = daemon.status("both")
        self.assertEqual(sealed["session"], started["session"])
        manifest = own_folder.manifest(sealed["directory"])
        self.assertEqual([end["pid"] for end in manifest["pid_end"]], [first.pid])
        query = daemon.ctl("query", sealed["directory"])
        self.assertEqual(query.code, harness.OK, query)
        again = daemon.ctl("stop", "both")
        self.assertEqual(again.code, harness.OK, again)
        self.assertRegex(again.out, rf"^session {started['session']} had ended already, at {WALL_TIME}: it was stopped\n")
        again = daemon.ctl("stop", "both", "--json")
        self.assertEqual(again.code, harness.OK, again)
        self.assertEqual((again.json["session"], again.json["state"]), (started["session"], "sealed"))
        snapshot = daemon.ctl("snapshot", "both")
        self.assertEqual(snapshot.code, harness.FAILED, snapshot)
        self.assertIn("has ended already (stopped)", snapshot.err)
        # The newest of a name is meant.
        newer = daemon.begin("--pid", second.pid, "--name", "both")
        self.assertEqual(daemon.end("both")["session"], newer["session"])
        self.assertEqual(daemon.ctl("rm", "both").code, harness.OK)
        self.assertEqual(daemon.status("both")["session"], started["session"])

    def test_delay_starts_later(self):
        daemon = self.profd()
        started = daemon.begin("--collect", "hbm", "--delay", "4s")
        self.assertEqual({entry["verdict"] for entry in started["kinds"]}, {"pending"})
        harness.wait_until(lambda: daemon.status(started["session"])["state"] == "running", "the delay to pass")
        daemon.let_run(started, 0.6)
        sealed = daemon.end(started["session"])
        self.assertGreater(self.kind(sealed, "hbm", "device:0")["records"], 0)
        self.assertEqual(prof_reader.check(sealed["directory"]), [])

    def test_stop_before_the_delay_is_over_leaves_nothing(self):
        daemon = self.profd()
        started = daemon.begin("--collect", "hbm", "--delay", "1000s")
        self.assertEqual(daemon.status(started["session"])["state"], "armed")
        daemon.ctl("stop", started["session"])
        harness.wait_until(lambda: not pathlib.Path(started["directory"]).exists(), "the directory to go")

    def test_sigterm_seals_everything(self):
        daemon = self.profd()
        started = [daemon.begin("--collect", "hbm,llc"), daemon.begin("--collect", "host-sys-cpu")]
        daemon.let_run(started[-1], 0.5)
        self.assertEqual(daemon.stop(), 0, daemon.log.read_text())
        for session in started:
            self.assertEqual(prof_reader.check(session["directory"]), [])
            manifest = own_folder.manifest(session["directory"])
            self.assertEqual(manifest["end_reason"], "daemon_stop")
        daemon.start()
        listed = harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the past sessions")
        self.assertEqual({s["session"] for s in listed}, {s["session"] for s in started})

    def test_without_a_library_host_kinds_work_and_the_rest_is_said(self):
        daemon = self.profd(hal=None)
        refused = daemon.ctl("start", "--collect", "hbm")
        self.assertNotEqual(refused.code, harness.OK)
        self.assertIn("libascend_hal.so", refused.err)
        self.assertEqual(len(refused.err.strip().splitlines()), 1, refused.err)
        started = daemon.begin("--preset", "node")
        self.assertEqual(self.kind(started, "host-sys-cpu", "host")["verdict"], "started")
        daemon.let_run(started, 0.5)
        sealed = daemon.end(started["session"])
        self.assertEqual(prof_reader.check(sealed["directory"]), [])

    def test_output_into_a_directory_of_ones_own(self):
        daemon = self.profd()
        with tempfile.TemporaryDirectory() as output:
            result = daemon.ctl("start", "--collect", "hbm", "--output", ".", "--json", cwd=output)
            self.assertEqual(result.code, harness.OK, result)
            daemon.let_run(result.json, 0.3)
            sealed = daemon.end(result.json["session"])
            self.assertEqual(os.path.dirname(sealed["directory"]), os.path.realpath(output))
            self.assertEqual(prof_reader.check(sealed["directory"]), [])

    def test_an_output_is_its_users_again_once_sealed(self):
        def held(daemon):
            links = []
            for entry in pathlib.Path("/proc", str(daemon.process.pid), "fd").iterdir():
                try:
                    links.append(os.readlink(entry))
                except OSError:  # closed meanwhile
                    continue
            return [link for link in links if link.startswith(str(output))]

        # Written there, in several directories, begun after a delay; moved there.
        flushed_soon = "store:\n  flush_every_s: 1\n"
        ways = [(flushed_soon, []), (flushed_soon + "  roll_after_s: 1\n", []), (flushed_soon, ["--delay", "0.2s"]),
                (flushed_soon + "  spool_first: true\n", [])]
        for config, arguments in ways:
            with tempfile.TemporaryDirectory() as output:
                daemon = self.profd(config=config)
                started = daemon.begin("--collect", "hbm,host-sys-cpu", "--output", output, *arguments)
                self.assertNotEqual(held(daemon), [])
                wanted = 2 if "roll" in config else 1
                harness.wait_until(lambda: len((now := daemon.status(started["session"]))["directories"]) >= wanted
                                   and now["state"] == "running" and now["bytes"] > 0, "it to run")
                daemon.end(started["session"])
                # A move and the flush of a file go on for a moment.
                harness.wait_until(lambda: held(daemon) == [], f"profd to let go of {output}")
                sealed = daemon.status(started["session"])
                self.assertTrue(sealed["directory"].startswith(output), sealed)
                self.assertGreater(sealed["bytes"], 0)

    def test_a_session_is_discarded_as_it_ends(self):
        daemon = self.profd()
        session = daemon.begin("--collect", "host-sys-mem")
        harness.wait_until(lambda: daemon.status(session["session"])["bytes"] > 0, "data")
        self.assertEqual(daemon.ctl("stop", "--all", "--discard").code, harness.USAGE)
        result = daemon.ctl("stop", session["session"], "--discard")
        self.assertEqual((result.code, result.out), (harness.OK, f"session {session['session']} discarded\n"))
        self.assertFalse(os.path.exists(session["directory"]))
        own = daemon.begin("--collect", "host-sys-mem", "--output", daemon.directory / "own")
        result = daemon.ctl("stop", own["session"], "--discard")
        self.assertEqual(result.code, harness.FAILED, result)
        self.assertIn(f"remove it yourself: {own['directory']}", result.err)
        self.assertTrue(os.path.isdir(own["directory"]))

    def test_a_long_session_rolls_into_linked_directories(self):
        daemon = self.profd(config="store:\n  roll_after_s: 6\n")
        started = daemon.begin("--collect", "hbm,ddr,hccs,host-sys-cpu")
        status = harness.wait_until(
            lambda: (s := daemon.status(started["session"]))["directory"] != started["directory"] and s, "the roll")
        before = self.kind(status, "hbm", "device:0")["records"]  # then a second's, in the new directory, too
        harness.wait_until(lambda: self.kind(daemon.status(started["session"]), "hbm", "device:0")["records"] > before + 400, "data")
        sealed = daemon.end(started["session"])
        first, second = started["directory"], status["directory"]
        manifests = [own_folder.manifest(d) for d in (first, second)]
        self.assertEqual(manifests[0]["next"], os.path.basename(second))
        self.assertEqual(manifests[1]["previous"], os.path.basename(first))
        for directory in (first, second):
            self.assertEqual(prof_reader.check(directory), [])
        # A value is of the time since the record before it: both directories have the record at the seam. Stamps are on the
        # wall clock, and each directory has a clock pair of its own.
        stamps = {"hbm": lambda device: [device.start_us_to_wall(row[0]) for row in device.raw("hbm.data")],
                  "hccs": lambda device: [device.device_ns_to_wall(device.text_ns(row[0])) for row in device.raw("hccs.data")]}
        for kind, read in stamps.items():
            last, begin = (pick(read(prof_reader.ProfDir(d).devices[0])) for d, pick in ((first, max), (second, min)))
            unsure_ns = sum(max(clock["error_ns"] for clock in manifest["clocks"]) for manifest in manifests)
            self.assertGreater(last + unsure_ns, begin - 5_000_000, f"{kind}: the last of the one, the first of the other")
            self.assertEqual(self.kind(sealed, kind, "device:0")["lost"], 0)

    def test_ctrl_c_on_wait_stops_the_session(self):
        daemon = self.profd()
        waiting = daemon.popen_ctl("start", "--collect", "hbm", "--wait")
        session = harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the session")[0]
        harness.wait_until(lambda: daemon.status(session["session"])["state"] == "running", "running")
        waiting.send_signal(signal.SIGINT)
        _, errors = waiting.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(waiting.returncode, harness.OK, errors)
        self.assertEqual(daemon.status(session["session"])["end_reason"], "stopped")

    def test_children_and_threads_of_the_target_are_seen(self):
        daemon = self.profd()
        script = ("import subprocess,threading,time,sys\n"
                  "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
                  "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
                  "print(child.pid, flush=True)\ntime.sleep(60)\n")
        work = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        self.addCleanup(work.wait)
        self.addCleanup(work.kill)
        child = int(work.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        started = daemon.begin("--pid", work.pid, "--collect", "host-cpu,host-mem")
        daemon.let_run(started, 0.6)
        sealed = daemon.end(started["session"])
        text = (pathlib.Path(sealed["directory"]) / "host" / "data" / "host_cpu.data.slice_0").read_text()
        pids = {line.split()[0] for line in text.splitlines() if "(" in line}
        self.assertIn(str(work.pid), pids)
        self.assertIn(str(child), pids)
        self.assertGreaterEqual(len(pids), 3)
        names = {path.name for path in (pathlib.Path(sealed["directory"]) / "host" / "data").iterdir()}
        self.assertIn(f"{child}-Memory.data.slice_0", names)
        work.stdout.close()

    def test_a_pause_stores_nothing_and_loses_nothing(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--devices", "0", "--collect", "agent-counter,hbm=50,host-sys-cpu=10")
        identity = session["session"]
        job.order("mark 100")
        kinds = (("hbm", "device:0"), ("host-sys-cpu", "host"), ("agent-counter", f"pid:{job.pid}"))

        def stored():
            status = daemon.status(identity)
            return [self.kind(status, kind, unit)["records"] for kind, unit in kinds]

        harness.wait_until(lambda: min(stored()) > 0, "records of every kind")
        paused = daemon.ctl("pause", identity, "--json")
        self.assertEqual(paused.code, harness.OK, paused)
        self.assertIn("profctl resume", paused.json["paused"])
        self.assertRegex(daemon.ctl("status", identity).out, r"^session \S+  paused")
        job.order("mark 1000")
        # Another session of the same sources says how far they are: what was under way when the pause began has been
        # stored, then nothing is.
        other = daemon.begin("--devices", "0", "--collect", "hbm=50,host-sys-cpu=10")["session"]

        def goes_on(by):
            status = daemon.status(other)
            start = [self.kind(status, kind, unit)["records"] for kind, unit in kinds[:2]]
            harness.wait_until(lambda: all(self.kind(daemon.status(other), kind, unit)["records"] >= then + more
                                           for (kind, unit), then, more in zip(kinds, start, by)), "the other session")

        goes_on((75, 15))
        before = stored()
        goes_on((100, 20))
        self.assertEqual(stored(), before)
        self.assertEqual(before[2], 100)
        resumed = daemon.ctl("resume", identity, "--json")
        self.assertEqual(resumed.code, harness.OK, resumed)
        self.assertEqual(resumed.json["paused"], "")
        again = daemon.ctl("resume", identity)
        self.assertEqual(again.code, harness.FAILED, again)
        self.assertIn(f"session {identity} is not paused", again.err)
        job.order("mark 10")
        harness.wait_until(lambda: all(now > then for now, then in zip(stored(), before)), "more records")
        sealed = daemon.end(identity)
        self.assertEqual(own_folder.losses(sealed["directory"], but=["sampler"]), set())
        (pause,) = sealed["pauses"]
        self.assertEqual(pause["reason"], "asked for")
        self.assertGreater(pause["to_s"] - pause["from_s"], 1)
        self.assertEqual(self.kind(sealed, "agent-counter", f"pid:{job.pid}")["records"], 110)
        self.assertRegex(daemon.ctl("query", sealed["directory"]).out, r"paused from \+\S.* to \+\S.*: asked for")
        self.assertEqual(daemon.ctl("verify", sealed["directory"]).code, harness.OK)
        for verb in ("pause", "resume"):
            self.assertEqual(daemon.ctl(verb, identity).code, harness.FAILED)
            self.assertEqual(daemon.ctl(verb, "nosuch").code, harness.NOT_FOUND)


if __name__ == "__main__":
    unittest.main(verbosity=2)
