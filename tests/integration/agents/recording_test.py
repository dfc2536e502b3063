#!/usr/bin/env python3
"""Processes record themselves: the real agent in real programs, start and stop while they run, and the records on disk."""
import os
import signal
import subprocess
import sys
import time
import unittest

import agent_reader
import harness
import own_folder

SMALL = "agent:\n  lanes: 4\n  lane_kib: 8\n"  # 256 records a lane


class RecordingTest(harness.ProfdTest):
    def one_agent(self, session, **options):
        agents = agent_reader.agents(session["directory"], **options)
        self.assertEqual(len(agents), 1)
        return agents[0]

    def test_start_and_stop_any_number_of_times(self):
        daemon = self.profd()
        job = self.job(daemon)
        job.order("mark 10")  # nobody records
        for count in (100, 5000):
            session = daemon.begin("--pid", job.pid)
            for kind in ("agent-range", "agent-mark", "agent-counter", "agent-step"):
                self.assertEqual(self.kind(session, kind, f"pid:{job.pid}")["verdict"], "started")
            self.assertEqual(job.order(f"mark {count}"), "done")
            job.order("steps 3")
            sealed = daemon.end(session["session"])
            job.order("mark 10")
            agent = self.one_agent(sealed)
            self.assertEqual([record["value"] for record in agent.of("counter")], list(range(count)))
            self.assertEqual({record["name"] for record in agent.of("counter")}, {"work"})
            self.assertEqual({record["tid"] for record in agent.records}, {job.pid})
            self.assertEqual(len(agent.of("step_begin")), 3)
            self.assertEqual(len(agent.of("step_end")), 3)
            self.assertEqual([record["name"] for record in agent.of("push")], ["forward"] * 3)
            stamps = [record["stamp"] for record in agent.records]
            self.assertEqual(stamps, sorted(stamps))
            self.assertGreaterEqual(stamps[0], agent.entry["begun_ticks"])
            self.assertEqual(agent.lost, 0)
            kind = self.kind(sealed, "agent-counter", f"pid:{job.pid}")
            self.assertEqual((kind["records"], kind["bytes"], kind["lost"]), (count, 32 * count, 0))
            # Of the host's samples a busy machine may miss some.
            self.assertEqual([kind["kind"] for kind in sealed["kinds"] if kind["lost"] and kind["kind"].startswith("agent-")], [])

    def domains(self, agent):
        """Marks and begins of ranges by the name of their domain, which they are called by, too."""
        found = {}
        for record in agent.of("mark", "push", "start"):
            found[record["name"]] = found.get(record["name"], 0) + 1
        return found

    def test_only_the_domains_that_were_asked_for(self):
        daemon = self.profd()
        job = self.job(daemon)
        job.order("domain early 1")

        def recorded(*options):
            session = daemon.begin("--pid", job.pid, *options)
            for name in ("default", "early", "late"):
                self.assertEqual(job.order(f"domain {name} 100"), "done")
            job.order("mark 7")
            sealed = daemon.end(session["session"])
            agent = self.one_agent(sealed)
            self.assertEqual(agent.lost, 0)
            self.assertEqual(len(agent.of("counter")), 7 if "--collect" not in options else 0)
            return self.domains(agent), sealed

        self.assertEqual(recorded()[0], {"default": 400, "early": 300, "late": 300})
        found, sealed = recorded("--agent-domains", "late,never")
        self.assertEqual(found, {"late": 300})
        # What is not there is said, not refused.
        self.assertEqual(sealed["warnings"], ["no process had a domain of this name: never"])
        self.assertEqual(agent_reader.manifest(sealed["directory"])["settings"]["agent_domains"], "late,never")
        found, sealed = recorded("--agent-domains-exclude", "late,default")
        self.assertEqual((found, sealed["warnings"]), ({"early": 300}, []))
        # In the vendor's words.
        vendor = ("--collect", "agent-range,agent-mark", "--msproftx=on")
        self.assertEqual(recorded(*vendor, "--mstx-domain-include=default")[0], {"default": 400})
        self.assertEqual(recorded(*vendor, "--mstx-domain-exclude=early")[0], {"default": 400, "late": 300})
        for wrong, word in ((("--agent-domains", "a", "--agent-domains-exclude", "b"), "give one of them"),
                            (("--agent-domains", "a,,b"), "names of domains"),
                            (("--agent-domains", "x" * 128), "127 bytes"),
                            (("--agent-domains", "a", "--collect", "agent-step"), "agent-range and agent-mark"),
                            (("--mstx-domain-include=a",), "--msproftx")):
            result = daemon.ctl("start", "--pid", job.pid, *wrong)
            self.assertEqual(result.code, harness.USAGE, result)
            self.assertIn(word, result.err)

    def test_what_finds_no_room_is_counted_exactly(self):
        daemon = self.profd(config=SMALL)
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        emitted = 200_000
        job.order(f"mark {emitted}")
        sealed = daemon.end(session["session"])
        agent = self.one_agent(sealed, check_crc=False)
        stored = agent.of("counter")
        self.assertEqual(len(stored) + agent.lost, emitted)
        kind = self.kind(sealed, "agent-counter", f"pid:{job.pid}")
        self.assertEqual((kind["records"], kind["lost"]), (len(stored), agent.lost))
        self.assertEqual(f"{agent.lost} lost because the process made them faster" in kind["reason"], agent.lost > 0, kind)
        # What is there is in order and nothing is there twice.
        values = [record["value"] for record in stored]
        self.assertEqual(values, sorted(set(values)))
        if agent.lost:
            losses = [stream for stream in agent_reader.manifest(sealed["directory"])["streams"]
                      if stream["file"] == agent.entry["lanes_file"]]
            self.assertEqual(losses[0]["lost_records"], agent.lost)

    def test_all_that_a_killed_job_published_is_there(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        job.order("mark 12345")
        job.process.kill()
        harness.wait_until(lambda: daemon.status(session["session"])["state"] == "sealed", "the end of the session")
        sealed = daemon.status(session["session"])
        self.assertEqual(sealed["end_reason"], "target_exit")
        agent = self.one_agent(sealed)
        self.assertEqual(len(agent.of("counter")), 12345)
        self.assertEqual(agent.entry["end"], "gone")

    def test_a_killed_profd_leaves_what_it_read_and_the_job_goes_on(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        job.order("mark 3000")
        directory = session["directory"]
        harness.wait_until(lambda: self.stored(directory) == 3000, "the records to reach the disk")
        daemon.kill()
        self.assertEqual(job.order("mark 10"), "done")
        self.assertEqual(self.stored(directory), 3000)
        daemon.start()
        self.registered(daemon, job.pid)
        again = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        job.order("mark 7")
        self.assertEqual(len(self.one_agent(daemon.end(again["session"])).of("counter")), 7)

    def test_a_session_that_asked_for_it_goes_on_after_a_crash_of_profd(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter,host-cpu", "--resume", "--name", "long")
        refused = daemon.ctl("start", "--pid", job.pid, "--resume", "--output", daemon.directory / "out")
        self.assertEqual(refused.code, harness.USAGE)
        job.order("mark 10")
        harness.wait_until(lambda: self.stored(session["directory"]) == 10, "the records to reach the disk")
        daemon.kill()
        daemon.start()

        def goes_on():
            info = daemon.ctl("status", session["session"], "--json")
            return info.code == harness.OK and info.json["state"] == "running" and info.json

        again = harness.wait_until(goes_on, "the session to go on")
        self.assertEqual(again["directories"][0], session["directory"])
        self.assertEqual(len(again["directories"]), 2)
        self.assertEqual(agent_reader.manifest(again["directory"])["previous"], os.path.basename(session["directory"]))
        job.order("mark 20")
        sealed = daemon.end(session["session"])
        self.assertEqual(sealed["name"], "long")
        self.assertEqual(len(self.one_agent(sealed).of("counter")), 20)
        # It was stopped: nothing to go on with.
        self.assertEqual(daemon.stop(), 0)
        daemon.start()
        harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the past sessions")
        time.sleep(0.5)  # nothing must begin: there is no event of what does not happen
        self.assertEqual(daemon.status(session["session"])["state"], "sealed")

    def stored(self, directory):
        """Records in the files, whatever the manifest says."""
        entry = {"names_file": "none", "lanes_file": ""}
        total = 0
        for path in own_folder.own_folder(directory).glob("agent_*.lanes.slice_0"):
            names = path.name.replace(".lanes.slice_0", "")
            entry = {"names_file": f"{names}.names", "lanes_file": f"{names}.lanes"}
            total += len(agent_reader.Agent(directory, entry).of("counter"))
        return total

    def test_only_the_steps_that_were_asked_for(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-step,agent-range", "--steps",
                               "skip_first=2,wait=1,warmup=1,active=3,repeat=2")
        job.order("steps 30")
        harness.wait_until(lambda: daemon.status(session["session"])["state"] == "sealed", "the last step")
        sealed = daemon.status(session["session"])
        self.assertEqual(sealed["end_reason"], "steps")
        agent = self.one_agent(sealed)
        self.assertEqual([record["value"] for record in agent.of("step_begin")], [4, 5, 6, 9, 10, 11])
        self.assertEqual(len(agent.of("push")), 6)
        windows = [(window["cycle"], window["opened"]) for window in agent.entry["step_windows"]]
        self.assertEqual(windows, [(0, True), (0, False), (1, True), (1, False)])

    def test_the_first_cycle_need_not_wait(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-step", "--steps",
                               "skip_first=1,wait=3,active=1,repeat=3,skip_first_wait=1")
        job.order("steps 20")
        harness.wait_until(lambda: daemon.status(session["session"])["state"] == "sealed", "the last step")
        agent = self.one_agent(daemon.status(session["session"]))
        self.assertEqual([record["value"] for record in agent.of("step_begin")], [1, 5, 9])

    def test_programs_that_are_some_steps_apart_begin_together(self):
        daemon = self.profd()
        jobs = [self.job(daemon) for _ in range(2)]
        for job, ahead in zip(jobs, (2, 11)):
            job.order(f"steps {ahead}")
        session = daemon.begin(*(word for job in jobs for word in ("--pid", job.pid)), "--collect", "agent-step", "--steps",
                               "active=2,repeat=1,round_up=20")
        for job in jobs:
            job.order("steps 40")
        harness.wait_until(lambda: daemon.status(session["session"])["state"] == "sealed", "the last step")
        for agent in agent_reader.agents(daemon.status(session["session"])["directory"]):
            self.assertEqual([record["value"] for record in agent.of("step_begin")], [20, 21])

    def test_steps_that_take_their_time(self):
        daemon = self.profd()
        for _ in range(3):
            job = self.job(daemon)
            session = daemon.begin("--pid", job.pid, "--collect", "agent-step", "--steps", "active=4,repeat=1")
            for _ in range(8):
                job.order("steps 1")
                time.sleep(0.02)  # steps of a length
            harness.wait_until(lambda: daemon.status(session["session"])["state"] == "sealed", "the last step")
            agent = self.one_agent(daemon.status(session["session"]))
            self.assertEqual(len(agent.of("step_begin")), 4)
            self.assertEqual(len(agent.of("step_end")), 4)
            self.assertEqual([window["opened"] for window in agent.entry["step_windows"]], [True, False])
            job.close()

    def test_many_processes_begin_together(self):
        daemon = self.profd()
        jobs = [self.job(daemon, labels=f"rank={rank}") for rank in range(4)]
        session = daemon.begin("--all-agents", "--label", "rank=0-1,3", "--collect", "agent-counter")
        self.assertEqual(sorted(session["pids"]), sorted(job.pid for job in (jobs[0], jobs[1], jobs[3])))
        for rank, job in enumerate(jobs):
            job.order(f"mark {100 + rank}")
        sealed = daemon.end(session["session"])
        agents = agent_reader.agents(sealed["directory"])
        self.assertEqual({agent.entry["labels"]["rank"]: len(agent.of("counter")) for agent in agents},
                         {"0": 100, "1": 101, "3": 103})
        instants = {agent.entry["fire_raw_ns"] for agent in agents}
        self.assertEqual(len(instants), 1)
        self.assertNotEqual(instants, {0})
        for agent in agents:
            self.assertGreaterEqual(agent.entry["skew_ns"], 0)
        none = daemon.ctl("start", "--all-agents", "--label", "rank=9")
        self.assertEqual(none.code, harness.NOT_FOUND)
        self.assertIn("rank=9", none.err)

    def test_any_of_all_agents_may_end(self):
        daemon = self.profd()
        stays = self.job(daemon)

        def degraded_by_an_end(*of_both):
            goes = self.job(daemon)
            session = daemon.begin(*(of_both or ("--pid", stays.pid, "--pid", goes.pid)), "--collect", "agent-mark")
            goes.close()
            harness.wait_until(lambda: {"pid": goes.pid, "reason": "exited"} in
                               agent_reader.manifest(session["directory"])["pid_end"], "the end of one")
            return [text.replace(str(goes.pid), "N") for text in daemon.end(session["session"])["degraded"]]

        self.assertEqual(degraded_by_an_end("--all-agents"), [])
        self.assertEqual(degraded_by_an_end(), ["pid N exited"])

    def test_a_flight_recorder_writes_its_past_when_asked(self):
        daemon = self.profd(config=SMALL)
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter", "--flight-recorder")
        job.order("mark 10000")
        self.assertEqual(self.stored(session["directory"]), 0)
        snapshot = daemon.ctl("snapshot", session["session"], "--last", "60s", "--json")
        self.assertEqual(snapshot.code, harness.OK)
        kept = self.kind(snapshot.json, "agent-counter", f"pid:{job.pid}")["records"]
        self.assertEqual(self.stored(session["directory"]), kept)
        sealed = daemon.end(session["session"])
        agent = self.one_agent(sealed)
        values = [record["value"] for record in agent.of("counter")]
        self.assertEqual(values, list(range(10000 - len(values), 10000)))
        self.assertGreater(len(values), 200)
        refused = daemon.ctl("snapshot", daemon.begin("--pid", job.pid)["session"])
        self.assertEqual(refused.code, harness.FAILED)
        self.assertIn("--flight-recorder", refused.err)

    def last_values(self, session, count):
        values = [record["value"] for record in self.one_agent(session).of("counter")]
        self.assertGreater(len(values), 200)
        self.assertEqual(values, list(range(count - len(values), count)))

    def test_a_flight_recorder_survives_its_job(self):
        daemon = self.profd(config=SMALL)
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter", "--flight-recorder")
        job.order("mark 10000")
        job.process.kill()
        job.process.wait()
        harness.wait_until(lambda: daemon.status(session["session"])["warnings"], "its end")
        self.assertIn("profctl snapshot", " ".join(daemon.status(session["session"])["warnings"]))
        snapshot = daemon.ctl("snapshot", session["session"], "--json")
        self.assertEqual(snapshot.code, harness.OK, snapshot)
        self.assertGreater(self.kind(snapshot.json, "agent-counter", f"pid:{job.pid}")["records"], 200)
        self.last_values(daemon.end(session["session"]), 10000)

    def test_collections_of_garbage_are_ranges(self):
        daemon = self.profd()
        script = ("import gc, sys, profd\n"
                  "gc.disable()\n"
                  "profd.mark('start')\n"
                  "print('up', flush=True)\n"
                  "sys.stdin.readline()\n"
                  "with profd.range('outer'):\n"
                  "    for generation in (0, 1, 2): gc.collect(generation)\n"
                  "print('over', flush=True)\n"
                  "sys.stdin.readline()\n")
        process = subprocess.Popen([str(harness.RUN), "run", "--", sys.executable, "-c", script],
                                   env=daemon.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ends_with_the_test(process)
        self.assertEqual(process.stdout.readline(), "up\n")
        self.registered(daemon, process.pid)
        session = daemon.begin("--pid", process.pid, "--collect", "agent-range")
        print(file=process.stdin, flush=True)
        self.assertEqual(process.stdout.readline(), "over\n")
        (agent,) = agent_reader.agents(daemon.end(session["session"])["directory"])
        pushed = [record["name"] for record in agent.of("push")]
        self.assertEqual(pushed, ["outer", "Python: garbage collection, generation 1", "Python: garbage collection, generation 2"])
        self.assertEqual(len(agent.of("pop")), 3)

    def test_a_flight_recorder_keeps_its_target_longer_than_children(self):
        daemon = self.profd(config=SMALL)
        script = ("import os, sys, profd\n"
                  "profd.mark('start')\n"
                  "print('up', flush=True)\n"
                  "sys.stdin.readline()\n"
                  "reader, writer = os.pipe()\n"
                  "children = []\n"
                  "for _ in range(18):\n"
                  "    children.append(os.fork())\n"
                  "    if children[-1] == 0:\n"
                  "        os.close(writer)\n"
                  "        profd.mark('child')\n"
                  "        os.read(reader, 1)\n"
                  "        os._exit(0)\n"
                  "sys.stdin.readline()\n"
                  "os.close(writer)\n"
                  "for child in children: os.waitpid(child, 0)\n"
                  "for _ in range(100): profd.mark('target')\n"
                  "print('over', flush=True)\n"
                  "sys.stdin.readline()\n")
        process = subprocess.Popen([str(harness.RUN), "run", "--", sys.executable, "-c", script],
                                   env=daemon.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for cleanup in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(process.stdout.readline(), "up\n")
        self.registered(daemon, process.pid)
        session = daemon.begin("--pid", process.pid, "--collect", "agent-mark", "--flight-recorder")
        print(file=process.stdin, flush=True)

        def begun():
            agents = agent_reader.manifest(session["directory"])["agents"]
            return sum(agent["begun_ticks"] != 0 for agent in agents)

        harness.wait_until(lambda: begun() == 19, "all children")
        print(file=process.stdin, flush=True)
        self.assertEqual(process.stdout.readline(), "over\n")
        process.kill()
        harness.wait_until(lambda: daemon.status(session["session"])["warnings"], "its end")
        self.assertEqual(daemon.ctl("snapshot", session["session"]).code, harness.OK)
        agents = agent_reader.agents(daemon.end(session["session"])["directory"])
        names = [record["name"] for agent in agents if agent.entry["pid"] == process.pid for record in agent.of("mark")]
        self.assertEqual(names[-100:], ["target"] * 100)

    def test_a_flight_recorder_writes_when_its_job_ends_or_crashes(self):
        daemon = self.profd(config=SMALL)
        for on, how, written in (("crash", "killed", True), ("crash", "ends", False), ("exit", "ends", True)):
            with self.subTest(on=on, how=how):
                job = self.job(daemon)
                session = daemon.begin("--pid", job.pid, "--collect", "agent-counter", "--flight-recorder",
                                       "--snapshot-on", on)
                job.order("mark 10000")
                if how == "killed":
                    job.process.kill()
                else:
                    job.process.stdin.close()
                    job.process.stdin = open(os.devnull, "w", encoding="utf-8")
                self.assertEqual(job.process.wait(), -9 if how == "killed" else 0)
                sealed = harness.wait_until(
                    lambda: (info := daemon.status(session["session"]))["state"] == "sealed" and info, "its end")
                self.assertEqual(sealed["end_reason"], "target_exit")
                if written:
                    self.last_values(sealed, 10000)
                else:
                    self.assertEqual(self.kind(sealed, "agent-counter", f"pid:{job.pid}")["records"], 0)
        refused = daemon.ctl("start", "--pid", os.getpid(), "--snapshot-on", "crash")
        self.assertEqual(refused.code, harness.USAGE, refused)
        self.assertIn("--flight-recorder", refused.err)

    def test_a_forked_child_records_with_its_parent(self):
        daemon = self.profd()
        script = ("import os, select, sys, profd\n"
                  "profd.mark('start')\n"
                  "print('up', flush=True)\n"
                  "sys.stdin.readline()\n"
                  "reader, writer = os.pipe()\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    os.close(writer)\n"
                  "    while not select.select([reader], [], [], 0.01)[0]: profd.mark('child')\n"
                  "    sys.exit()\n"
                  "for i in range(200): profd.mark('parent')\n"
                  "print(child, flush=True)\n"
                  "sys.stdin.readline()\n"
                  "os.close(writer)\n"
                  "os.waitpid(child, 0)\n"
                  "print('over', flush=True)\n"
                  "sys.stdin.readline()\n")
        process = subprocess.Popen([str(harness.RUN), "run", "--", sys.executable, "-c", script],
                                   env=daemon.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "up\n")
        self.registered(daemon, process.pid)
        session = daemon.begin("--pid", process.pid, "--collect", "agent-mark")
        print(file=process.stdin, flush=True)
        forked = int(process.stdout.readline())
        # It marks until it has been heard of: how soon it registers is the machine's.
        lanes = own_folder.own_folder(session["directory"])
        harness.wait_until(lambda: any(path.stat().st_size for path in lanes.glob(f"agent_{forked}_*.lanes.slice_0")),
                           "marks of the child")
        print(file=process.stdin, flush=True)
        self.assertEqual(process.stdout.readline(), "over\n")
        sealed = daemon.end(session["session"])
        process.stdin.close()
        agents = agent_reader.agents(sealed["directory"])
        self.assertEqual({agent.entry["pid"] for agent in agents}, {process.pid, forked})
        by_pid = {agent.entry["pid"]: agent for agent in agents}
        parent = by_pid.pop(process.pid)
        child = by_pid.popitem()[1]
        self.assertEqual([record["name"] for record in parent.of("mark")], ["parent"] * 200)
        self.assertEqual({record["name"] for record in child.of("mark")}, {"child"})
        self.assertEqual(child.entry["target"], process.pid)
        self.assertIn(child.entry["end"], ("gone", "stopped"))

    def test_a_session_that_rolls_loses_nothing(self):
        daemon = self.profd(config="store:\n  roll_after_s: 5\n")
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter,host-cpu")
        emitted = 0
        while len((now := daemon.status(session["session"]))["directories"]) < 2:
            # As fast as they are read: a lane holds 30 times as many, however long profd does not get its turn.
            if self.kind(now, "agent-counter", f"pid:{job.pid}")["records"] == emitted:
                job.order("mark 1000")
                emitted += 1000
        job.order("mark 1000")
        sealed = daemon.end(session["session"])
        parts = [self.one_agent({"directory": directory}, check_crc=False) for directory in sealed["directories"]]
        self.assertEqual([part.entry["end"] for part in parts], ["moved"] * (len(parts) - 1) + ["stopped"])
        self.assertEqual(sum(len(part.of("counter")) for part in parts), emitted + 1000)
        self.assertTrue(all(part.of("counter") for part in parts))
        self.assertEqual({record["name"] for part in parts for record in part.of("counter")}, {"work"})
        self.assertEqual(self.kind(sealed, "agent-counter", f"pid:{job.pid}")["records"], emitted + 1000)

    def test_a_process_is_recorded_by_one_session_at_a_time(self):
        daemon = self.profd()
        job = self.job(daemon)
        first = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        second = daemon.ctl("start", "--pid", job.pid, "--collect", "agent-counter,host-cpu", "--json")
        self.assertEqual(second.code, harness.PARTLY_STARTED)
        kind = self.kind(second.json, "agent-counter", f"pid:{job.pid}")
        self.assertEqual(kind["verdict"], "skipped")
        self.assertIn(first["session"], kind["reason"])
        alone = daemon.ctl("start", "--pid", job.pid, "--collect", "agent-counter")
        self.assertEqual(alone.code, harness.BUSY)
        target = daemon.ctl("targets", "--json").json["targets"][0]
        self.assertIn(first["session"], target["recording_by"])
        self.assertEqual(target["reason"], "one recording at a time: stop that one first")
        daemon.end(first["session"])
        third = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        job.order("mark 5")
        self.assertEqual(len(self.one_agent(daemon.end(third["session"])).of("counter")), 5)

    def test_a_stopped_profd_blocks_nobody(self):
        daemon = self.profd(config=SMALL)
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
        daemon.signal(signal.SIGSTOP)
        self.assertEqual(job.order("mark 5000"), "done")
        daemon.signal(signal.SIGCONT)
        sealed = daemon.end(session["session"])
        agent = self.one_agent(sealed)
        self.assertEqual(len(agent.of("counter")) + agent.lost, 5000)
        self.assertGreater(agent.lost, 0)

    def test_a_process_without_an_agent_and_the_remedy(self):
        daemon = self.profd()
        workload = self.workload()
        session = daemon.begin("--pid", workload.pid)
        kind = self.kind(session, "agent-range", f"pid:{workload.pid}")
        self.assertEqual(kind["verdict"], "skipped")
        self.assertIn("profctl run", kind["reason"])
        self.assertEqual(self.kind(session, "host-cpu", f"pid:{workload.pid}")["verdict"], "started")
        daemon.end(session["session"])
        steps = daemon.ctl("start", "--pid", workload.pid, "--steps", "active=1")
        self.assertEqual(steps.code, harness.FAILED)
        self.assertIn("has no agent", steps.err)

    def instrumented(self, daemon, program):
        """Runs an instrumented program that knows nothing of profd through its work; the agent's records."""
        process = subprocess.Popen([str(harness.RUN), "run", "--", str(harness.PROGRAMS / program)],
                                   env=daemon.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.registered(daemon, process.pid)
        session = daemon.begin("--pid", process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        harness.wait_until(lambda: process.stdout.readline().startswith("worked 0"), "its work")
        return self.one_agent(daemon.end(session["session"]))

    def test_an_nvtx_program_is_recorded_as_it_is(self):
        agent = self.instrumented(self.profd(), "nvtx_program")
        names = [record["name"] for record in agent.of("push")]
        self.assertEqual(names[:2], ["outer", "inner"])
        self.assertIn("in the domain", names)
        self.assertIn("wide \u00e4\u6f22\U0001F600", [record["name"] for record in agent.of("mark")])
        started = {record["value"]: record for record in agent.of("start")}
        self.assertEqual({record["value"] for record in agent.of("end")}, set(started))
        self.assertIn("library", agent.names.values())

    def test_an_mstx_program_is_recorded_as_it_is(self):
        agent = self.instrumented(self.profd(), "mstx_program")
        starts = [record["name"] for record in agent.of("start")]
        self.assertEqual(starts[:2], ["overlap one", "overlap two"])
        self.assertEqual({record["value"] for record in agent.of("start")}, {record["value"] for record in agent.of("end")})
        self.assertIn("device mark", [record["name"] for record in agent.of("mark")])
        self.assertIn("communication", agent.names.values())

    def test_hundreds_of_recordings_leave_nothing_behind(self):
        daemon = self.profd()
        job = self.job(daemon)

        def rss_kib():
            status = (harness.pathlib.Path("/proc") / str(daemon.process.pid) / "status").read_text()
            return int(status.split("VmRSS:")[1].split()[0])

        def cycles(count):
            for _ in range(count):
                session = daemon.begin("--pid", job.pid, "--collect", "agent-counter")
                job.order("mark 100")
                daemon.end(session["session"])

        cycles(40)
        before = rss_kib()
        cycles(150)
        if harness.BUILD == harness.PLAIN_BUILD:  # a sanitizer keeps what is freed
            self.assertLess(rss_kib() - before, 8192)

        def threads():
            names = []
            for task in (harness.pathlib.Path("/proc") / str(daemon.process.pid) / "task").iterdir():
                try:
                    names.append((task / "comm").read_text().strip())
                except (FileNotFoundError, ProcessLookupError):
                    pass  # it has just ended
            return names

        harness.wait_until(lambda: not {"write", "flush", "pump"} & set(threads()), "the writer to end")
        self.assertEqual(threads().count("drain"), 1)

    def test_run_changes_nothing_but_the_environment(self):
        daemon = self.profd()
        run = [str(harness.RUN), "run", "--label", "team=a", "--"]
        environment = dict(daemon.environment, PYTHONPATH="/here", LD_PRELOAD="")
        done = subprocess.run(run + ["sh", "-c", "pwd; echo $PYTHONPATH; exit 41"], env=environment, capture_output=True,
                              text=True, cwd="/", check=False)
        self.assertEqual((done.returncode, done.stderr), (41, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "/")
        self.assertTrue(lines[1].startswith("/here:"), lines)
        killed = subprocess.run(run + ["sh", "-c", "kill -TERM $$"], env=environment, check=False)
        self.assertEqual(killed.returncode, -signal.SIGTERM)
        missing = subprocess.run(run + ["no-such-program"], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(missing.returncode, 127)
        self.assertEqual(missing.stderr.count("\n"), 1)
        nothing = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(nothing.returncode, harness.USAGE)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main(verbosity=2)
