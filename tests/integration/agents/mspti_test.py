#!/usr/bin/env python3
"""A process that uses CANN, its libmspti.so and profd: what the library hands out is on disk or counted as lost."""
import collections
import contextlib
import csv
import decimal
import json
import pathlib
import sqlite3
import subprocess
import tempfile
import time
import unittest

import agent_reader
import harness
import prof_reader

KINDS = "agent-kernel,agent-comm,agent-api,agent-memory"
DELIVERED = {"kernel": ("kernel",), "comm": ("communication",), "api": ("acl_api", "node_api", "runtime_api"),
             "memory": ("memory", "memset", "memcpy")}


class Cann:
    """A toolkit of its own and the program that uses it."""

    def __init__(self, test, daemon, options="", preload=True, node="scenario: {step_ms: 20}\n", labels="", old=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-cann-", dir=daemon.directory))
        libraries = self.folder / "lib64"
        libraries.mkdir()
        for name in ("libmspti.so", "libprofapi.so"):
            (libraries / name).symlink_to(harness.PLAIN_BUILD / "sim" / ("old" if old and "mspti" in name else "") / name)
        (self.folder / "sim.yaml").write_text(f"{node}mspti: {{truth: {self.folder}/truth, disable_ms: 0{options}}}\n")
        environment = dict(daemon.environment, ASCEND_HOME_PATH=str(self.folder),
                           PROFD_SIM_CONFIG=str(self.folder / "sim.yaml"))
        if labels:
            environment["PROFD_LABELS"] = labels
        if preload:
            environment["LD_PRELOAD"] = str(libraries / "libmspti.so")
        self.process = subprocess.Popen([str(harness.PROGRAMS / "cann_program")], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        test.addCleanup(self.close)
        test.assertEqual(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid
        test.registered(daemon, self.pid)

    def tell(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().strip()

    def order(self, text):
        self.tell(text)
        return self.hear()

    def load(self):
        assert self.order(f"load {self.folder}/lib64/libprofapi.so") == "done"

    def work(self, seconds):
        for device in (0, 1):
            assert self.order(f"open {device}") == "done"
        time.sleep(seconds)  # the simulated job works by the clock
        for device in (0, 1):
            assert self.order(f"close {device}") == "done"
        time.sleep(0.05)  # what the toolkit hands over last is on its way

    def delivered(self):
        latest = json.loads((self.folder / "truth").read_text().splitlines()[-1])["kinds"]
        return {kind: sum(latest.get(name, {"delivered": 0})["delivered"] for name in names)
                for kind, names in DELIVERED.items()}

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class MsptiTest(harness.ProfdTest):
    def agent(self, sealed):
        (agent,) = agent_reader.agents(sealed["directory"])
        return agent

    def test_what_the_library_delivers_is_on_disk(self):
        daemon = self.profd()
        cann = Cann(self, daemon)
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--collect", KINDS)
        self.assertEqual({kind["verdict"] for kind in session["kinds"]}, {"started"}, session)
        begin = time.time_ns()
        cann.work(1)
        sealed = daemon.end(session["session"])
        end = time.time_ns()
        agent, delivered = self.agent(sealed), cann.delivered()
        self.assertGreater(delivered["kernel"], 500)
        self.assertEqual(agent.lost, 0)
        for kind, count in delivered.items():
            self.assertEqual(len(agent.of(kind)), count, kind)
            self.assertEqual(self.kind(sealed, f"agent-{kind}", f"pid:{cann.pid}")["records"], count)
        # Both devices' kernels lie in the second that they worked, and one follows the other on its stream.
        streams = {}
        for kernel in agent.of("kernel"):
            # As sure as two clocks are read one after the other on a busy machine.
            self.assertLessEqual(begin - 10_000_000, kernel["begin_ns"])
            self.assertLessEqual(kernel["end_ns"], end + 10_000_000)
            streams.setdefault((kernel["category"], kernel["detail"]), []).append((kernel["begin_ns"], kernel["end_ns"]))
        self.assertEqual({device for device, _ in streams}, {0, 1})
        for times in streams.values():
            times.sort()
            for (_, earlier_end), (later_begin, _) in zip(times, times[1:]):
                self.assertLessEqual(earlier_end, later_begin)

    def test_memory_operations_come_out_as_a_table(self):
        daemon = self.profd()
        cann = Cann(self, daemon, ", rates: {memset: 100, memcpy: 100}")
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-memory")
        cann.work(0.5)
        sealed = daemon.end(session["session"])
        agent = self.agent(sealed)
        out = daemon.directory / "tables"
        self.assertEqual(daemon.ctl("export", sealed["directory"], "--format", "csv,db", "--out", out).code, harness.OK)
        (table,) = out.glob("**/agent_memory_*.csv")
        with open(table, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        told = collections.Counter((record["name"], record["values"]["bytes"]) for record in agent.of("memory"))
        self.assertGreater(len({name for name, _ in told}), 2, told)
        self.assertEqual(collections.Counter((row["Operation"], int(row["Size(B)"])) for row in rows), told)
        self.assertEqual({row["Device_id"] for row in rows}, {"0", "1"})
        # Copies go somewhere, and only they.
        went = collections.Counter((record["name"], record["values"].get("copy", "")) for record in agent.of("memory"))
        self.assertTrue(all((name == "memcpy") == (" to " in direction) for name, direction in went), went)
        self.assertEqual(collections.Counter((row["Operation"], row["Type"].replace("N/A", "")) for row in rows), went)
        (path,) = out.glob("**/*.db")
        with contextlib.closing(sqlite3.connect(path)) as db:
            stored = db.execute("SELECT name.value, ifnull(type.value, ''), count(*) FROM PROFD_MEMORY m JOIN STRING_IDS name "
                                "ON name.id = m.name LEFT JOIN STRING_IDS type ON type.id = m.type GROUP BY 1, 2").fetchall()
        self.assertEqual({(name, direction.replace("N/A", "")): count for name, direction, count in stored}, went)
        durations = [decimal.Decimal(row["Duration(us)"]) for row in rows]
        self.assertTrue(min(durations) >= 0 and max(durations) > 0, durations[:10])

    def test_marks_on_a_stream_are_where_the_device_came_to_them(self):
        daemon = self.profd()
        cann = Cann(self, daemon)
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-kernel,agent-mark,agent-range")
        self.assertEqual(cann.order("open 1"), "done")
        harness.wait_until(lambda: self.kind(daemon.status(session["session"]), "agent-kernel", f"pid:{cann.pid}")["records"],
                           "the first kernel")
        self.assertEqual(cann.order("mstx 20"), "done")
        sealed = daemon.end(session["session"])
        out = daemon.directory / "marks"
        self.assertEqual(daemon.ctl("export", sealed["directory"], "--format", "csv,chrome,db", "--out", out).code, harness.OK)
        (table,) = out.glob("**/msprof_tx_*.csv")
        with open(table, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        there = {name: [(row["Start_time(us)"], row["Device Start_time(us)"]) for row in rows if row["message"] == name]
                 for name in ("on a stream", "copy", "on none")}
        self.assertEqual({name: len(times) for name, times in there.items()}, {"on a stream": 20, "copy": 20, "on none": 20})
        self.assertEqual({on_device for _, on_device in there["on none"]}, {"N/A"})
        # The simulated device comes to it 30 us later, by the vendor's clock, which is asked a moment after ours: a busy machine
        # makes that long for one or the other, never for most.
        apart = sorted(decimal.Decimal(ran) - decimal.Decimal(made) - 30 for made, ran in there["on a stream"] + there["copy"])
        self.assertGreater(apart[0], -5000)
        self.assertLess(apart[len(apart) * 3 // 4], 5000)
        (timeline,) = out.glob("**/msprof_*.json")
        events = json.loads(timeline.read_text())
        arrows = collections.Counter((event["ph"], event["id"]) for event in events if event.get("cat") == "MsTx")
        self.assertEqual(len(arrows), 80)
        self.assertEqual({identity for phase, identity in arrows if phase == "s"},
                         {identity for phase, identity in arrows if phase == "f"})
        with sqlite3.connect(next(out.glob("**/msprof_*.db"))) as db:
            joined = db.execute("SELECT e.eventType, t.deviceId, count(*) FROM MSTX_EVENTS e JOIN TASK t ON "
                                "t.connectionId = e.connectionId GROUP BY 1, 2").fetchall()
        self.assertEqual(sorted(joined), [(0, 1, 20), (2, 1, 20)])

    def flood(self, config="", options=""):
        """Records of every kind as fast as a busy machine makes them: made, stored, lost."""
        daemon = self.profd(config=config)
        cann = Cann(self, daemon, ", rates: {kernel: 50000, runtime_api: 50000, memory: 12500, communication: 12500}" + options)
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--collect", KINDS)
        made = 0
        while made < 50_000:  # a busy machine makes fewer in a second
            cann.work(1)
            made = sum(cann.delivered().values())
        sealed = daemon.end(session["session"])
        (agent,) = agent_reader.agents(sealed["directory"], check_crc=False)  # of so many, in Python, they take half a minute
        made = sum(cann.delivered().values())
        stored = sum(len(agent.of(kind)) for kind in DELIVERED)
        self.assertEqual(sum(kind["records"] for kind in sealed["kinds"]), stored)
        self.assertEqual(sum(kind["lost"] for kind in sealed["kinds"]), agent.lost)
        return made, stored, agent.lost

    def test_a_flood_is_stored_or_lost(self):
        """With lanes that hold it, mostly, and with ones that do not: 2048 records."""
        for config, options in (("", ", complete_jitter_us: 3000, late_ms: 20"), ("agent:\n  lane_kib: 64\n", "")):
            with self.subTest(config=config):
                made, stored, lost = self.flood(config, options)
                self.assertEqual(stored + lost, made)

    def test_what_nobody_can_read_is_lost_not_forgotten(self):
        """Nobody knows how long records of an unknown kind are: how many lie behind one is reckoned."""
        made, stored, lost = self.flood(options=", unknown_every: 1000")
        self.assertLess(stored, made / 2)
        self.assertGreater(stored + lost, made / 2)
        self.assertLess(stored + lost, made * 2)

    def test_a_stream_that_falls_silent_is_noticed(self):
        daemon = self.profd()
        cann = Cann(self, daemon, ", silent_after: 20")
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-kernel,agent-api")
        for device in (0, 1):
            self.assertEqual(cann.order(f"open {device}"), "done")

        def noticed():
            return "MSPTI" in self.kind(daemon.status(session["session"]), "agent-kernel", f"pid:{cann.pid}")["reason"]

        harness.wait_until(noticed, "the silence to be noticed")
        sealed = daemon.end(session["session"])
        kernel = self.kind(sealed, "agent-kernel", f"pid:{cann.pid}")
        self.assertEqual(kernel["records"], 20, sealed)
        self.assertRegex(kernel["reason"], r"no kernel for \d+ s while calls went on")
        for verb in ("query", "export", "analyze"):
            result = daemon.ctl(verb, sealed["directory"])
            self.assertRegex(result.out + result.err, r"kind agent-kernel: (.*; )?no kernel for \d+ s while calls went on", verb)

    def test_start_and_stop_while_it_works(self):
        daemon = self.profd()
        cann = Cann(self, daemon)
        cann.load()
        for _ in range(5):
            session = daemon.begin("--pid", cann.pid, "--collect", KINDS)
            cann.work(0.2)
            self.assertGreater(len(self.agent(daemon.end(session["session"])).of("kernel")), 0)
        # What the library counts is all there is, over every session.
        stored = sum(len(self.agent({"directory": info["directory"]}).of("kernel"))
                     for info in daemon.ctl("list", "--json").json["sessions"])
        self.assertEqual(stored, cann.delivered()["kernel"])

    def test_a_flight_recorder_keeps_the_last_kernels(self):
        daemon = self.profd()
        cann = Cann(self, daemon)
        cann.load()
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-kernel", "--flight-recorder")
        cann.work(2.2)  # the library hands over what it has once a second
        snapshot = daemon.ctl("snapshot", session["session"], "--last", "60s", "--json")
        self.assertEqual(snapshot.code, harness.OK, snapshot)
        kept = self.kind(snapshot.json, "agent-kernel", f"pid:{cann.pid}")["records"]
        self.assertGreater(kept, 100)
        sealed = daemon.end(session["session"])
        kernels = self.agent(sealed).of("kernel")
        self.assertEqual(len(kernels), kept)
        self.assertLessEqual(kept, cann.delivered()["kernel"])

    def test_another_subscriber_is_named_and_the_rest_recorded(self):
        daemon = self.profd()
        cann = Cann(self, daemon, preload=False)
        cann.load()
        self.assertEqual(cann.order(f"subscribe {cann.folder}/lib64/libmspti.so"), "0")
        harness.wait_until(lambda: "whether another tool in the process holds MSPTI shows when a recording begins"
                           in daemon.ctl("doctor", "--pid", cann.pid).out, "doctor to say that it cannot know")
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-kernel,agent-mark")
        kernel = self.kind(session, "agent-kernel", f"pid:{cann.pid}")
        self.assertEqual(kernel["verdict"], "skipped", session)
        self.assertIn("held by another subscriber", kernel["reason"])
        self.assertEqual(cann.order("mark"), "done")
        self.assertEqual(len(self.agent(daemon.end(session["session"])).of("mark")), 1)

    def test_without_cann_its_kinds_wait_for_it(self):
        daemon = self.profd()
        cann = Cann(self, daemon, preload=False)
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-kernel,agent-mark")
        kernel = self.kind(session, "agent-kernel", f"pid:{cann.pid}")
        self.assertEqual((kernel["verdict"], kernel["reason"]), ("pending", "CANN is not loaded yet"), session)
        self.assertRegex(daemon.ctl("status", session["session"]).out, "agent-kernel.*pending.*CANN is not loaded yet")
        sealed = daemon.end(session["session"])
        kernel = self.kind(sealed, "agent-kernel", f"pid:{cann.pid}")
        self.assertEqual(kernel["verdict"], "skipped", sealed)
        self.assertIn("never began: CANN is not loaded yet", kernel["reason"])

    def started(self, daemon, session, pid):
        def look():
            return self.kind(daemon.status(session["session"]), "agent-kernel", f"pid:{pid}")["verdict"] == "started"

        harness.wait_until(look, "agent-kernel to start")

    def test_cann_that_comes_during_the_session(self):
        """Its kinds begin late, and the task log, which needs the same channels, makes way for them then and not before."""
        daemon = self.profd()
        cann = Cann(self, daemon, preload=False)
        session = daemon.begin("--pid", cann.pid, "--devices", "0,1", "--collect", "task,agent-kernel,agent-api,agent-mark")
        self.assertEqual(self.kind(session, "task", "device:0")["verdict"], "started", session)
        self.assertEqual(cann.order("mark"), "done")
        harness.wait_until(lambda: self.kind(daemon.status(session["session"]), "task", "device:0")["records"], "tasks")
        cann.load()
        self.started(daemon, session, cann.pid)
        kernel = self.kind(daemon.status(session["session"]), "agent-kernel", f"pid:{cann.pid}")
        self.assertRegex(kernel["reason"], r"^CANN was loaded up to \d+ ms before: what it did in that time is missing$")
        task = self.kind(daemon.status(session["session"]), "task", "device:0")
        self.assertIn("made way for agent-kernel", task["reason"])
        cann.work(0.5)
        sealed = daemon.end(session["session"])
        agent = self.agent(sealed)
        self.assertGreater(len(agent.of("kernel")), 100)
        self.assertEqual(len(agent.of("kernel")), cann.delivered()["kernel"])
        self.assertEqual(len(agent.of("mark")), 1)
        self.assertEqual(agent.lost, 0)
        stops = [line for line in daemon.truth_lines() if line.get("event") == "stop" and line["channel"] == 50]
        self.assertEqual({line["device"] for line in stops}, {0, 1})
        # One that finds CANN there does not start the task log at all.
        session = daemon.begin("--pid", cann.pid, "--devices", "0,1", "--collect", "task,agent-kernel")
        self.assertEqual(self.kind(session, "agent-kernel", f"pid:{cann.pid}")["verdict"], "started", session)
        self.assertEqual(self.kind(session, "task", "device:0")["verdict"], "skipped", session)

    def test_what_cann_that_comes_late_refuses_is_said(self):
        daemon = self.profd()
        cann = Cann(self, daemon, ", busy: true", preload=False)
        session = daemon.begin("--pid", cann.pid, "--collect", "agent-kernel,agent-mark")
        cann.load()

        def refused():
            kernel = self.kind(daemon.status(session["session"]), "agent-kernel", f"pid:{cann.pid}")
            return kernel["verdict"] == "skipped" and kernel["reason"]

        self.assertIn("held by another subscriber", harness.wait_until(refused, "the refusal"))

    def test_the_task_log_comes_back_where_no_kernels_come(self):
        """MSPTI is another's, not installed, or from before CANN 9 and not preloaded."""
        for name, options, old, why in (("busy", ", busy: true", False, "held by another subscriber"),
                                        ("gone", "", False, "libmspti.so"),
                                        ("old", "", True, "needs a start with LD_PRELOAD=libmspti.so")):
            with self.subTest(name):
                daemon = self.profd()
                cann = Cann(self, daemon, options, preload=False, old=old)
                if name == "gone":
                    (cann.folder / "lib64" / "libmspti.so").unlink()
                session = daemon.begin("--pid", cann.pid, "--devices", "0,1", "--collect", "task,agent-kernel,agent-mark")
                look = lambda kind, unit: self.kind(daemon.status(session["session"]), kind, unit)  # noqa: E731
                cann.load()
                harness.wait_until(lambda: look("agent-kernel", f"pid:{cann.pid}")["verdict"] == "skipped", "the refusal")
                self.assertIn(why, look("agent-kernel", f"pid:{cann.pid}")["reason"])
                harness.wait_until(lambda: look("task", "device:1")["verdict"] == "started", "the task log to be back")
                before = look("task", "device:1")["records"]
                harness.wait_until(lambda: look("task", "device:1")["records"] > before + 10, "tasks after it")
                sealed = daemon.end(session["session"])
                self.assertEqual(prof_reader.check(sealed["directory"]), [])
                for device in (0, 1):
                    task = self.kind(sealed, "task", f"device:{device}")
                    self.assertEqual((task["verdict"], task["lost"]), ("started", 0), task)
                    made = [line for line in daemon.truth_lines() if line.get("event") == "stop" and line["channel"] == 50 and
                            line["device"] == device]
                    self.assertEqual(task["records"], sum(line["generated_records"] for line in made))
                self.assertEqual(cann.order("mark"), "done")  # the program is as well as ever


if __name__ == "__main__":
    unittest.main(verbosity=2)
