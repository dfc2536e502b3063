#!/usr/bin/env python3
"""profd_client, as a script imports it: against a real profd, by the Python of the system, which has grpcio."""
import concurrent.futures
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PYTHON = "/usr/bin/python3"

try:
    import grpc  # noqa: F401
except ImportError:
    if sys.executable != PYTHON and subprocess.run([PYTHON, "-c", "import grpc"], capture_output=True, check=False).returncode == 0:
        os.execv(PYTHON, [PYTHON, *sys.argv])
    print("no grpcio here: apt-get install python3-grpcio python3-protobuf")
    sys.exit(77)

import fleet  # noqa: E402
import harness  # noqa: E402

sys.path.insert(0, str(harness.BUILD / "python"))
import profd_client  # noqa: E402

EXAMPLES = harness.ROOT / "client" / "python" / "examples"
SIM = "devices: 2\nchip: 910B\n"


class LocalTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd(sim=SIM)
        self.client = profd_client.Client(socket=self.daemon.socket)
        self.addCleanup(self.client.close)

    def example(self, name, *arguments):
        environment = dict(self.daemon.environment, PYTHONPATH=str(harness.BUILD / "python"))
        return subprocess.run([PYTHON, str(EXAMPLES / name), *map(str, arguments)], env=environment, capture_output=True,
                              text=True, check=False)

    def test_a_session(self):
        session = self.client.start(devices="all", collect=["hbm", "pcie=20"], name="from python", labels={"a": "b"})
        self.assertEqual((session.state, session.name, session.labels), ("running", "from python", {"a": "b"}))
        self.assertEqual({(kind.kind, kind.unit, kind.verdict) for kind in session.kinds},
                         {(kind, unit, "started") for kind in ("hbm", "pcie") for unit in ("device:0", "device:1")})
        self.assertEqual({kind.effective_hz for kind in session.kinds if kind.kind == "pcie"}, {20.0})
        self.assertEqual(self.client.status(session.session).session, session.session)
        harness.wait_until(lambda: self.client.status(session.session).bytes > 0, "data")
        [ended] = self.client.stop(session.session)
        self.assertTrue(ended.has_ended)
        self.assertEqual((ended.state, ended.end_reason, ended.lost), ("sealed", "stopped", 0))
        self.assertEqual([each.session for each in self.client.list()], [session.session])
        shown = self.daemon.status(session.session)
        self.assertEqual((shown["directory"], shown["bytes"]), (ended.directory, ended.bytes))
        self.client.remove(session.session)
        self.assertEqual(self.client.list(), [])

    def test_a_plan_starts_nothing(self):
        plan = self.client.plan(devices=0, collect=["hbm=100", "ub"])
        kinds = {kind.kind: kind for kind in plan.kinds}
        self.assertEqual((kinds["hbm"].verdict, kinds["ub"].verdict), ("started", "skipped"))
        self.assertEqual(kinds["hbm"].effective_hz, 100)
        self.assertGreater(kinds["hbm"].bytes_per_s, 0)
        self.assertEqual(self.client.list(), [])

    def test_a_flight_recorder_that_writes_by_itself(self):
        job = self.job(self.daemon)
        session = self.client.start(["agent-counter"], pids=job.pid, flight_recorder=True, snapshot_on="exit")
        job.order("mark 5")
        job.close()
        [ended] = [state for state in self.client.watch(session.session) if state.has_ended]
        self.assertGreater(ended.bytes, 0)
        with self.assertRaisesRegex(ValueError, "expected one of exit, crash"):
            self.client.plan(pids=os.getpid(), flight_recorder=True, snapshot_on="never")

    def test_watch_ends_with_the_result(self):
        session = self.client.start(devices=0, collect="hbm", duration=60)
        states = []
        for state in self.client.watch(session.session, period=0.1):
            states.append(state.state)
            if len(states) == 2:  # it runs as long as it is looked at
                self.daemon.end(session.session)
        self.assertEqual((states[0], states[-1]), ("running", "sealed"))
        self.assertGreater(len(states), 2)

    def test_into_a_directory_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            session = self.client.start(devices="all", collect=["hbm"], output=pathlib.Path(folder) / "new")
            [ended] = self.client.stop(everything=True)
            self.assertEqual(ended.session, session.session)
            self.assertEqual(pathlib.Path(ended.directory).parent, pathlib.Path(folder) / "new")
            self.assertEqual(self.daemon.ctl("verify", ended.directory).code, harness.OK)

    def test_what_there_is(self):
        self.assertEqual([device.device for device in self.client.devices()], [0, 1])
        self.assertIn("hbm", self.client.devices()[0].kinds)
        job = self.job(self.daemon, labels="job=llm")
        [target] = [each for each in self.client.targets() if each.pid == job.pid]
        self.assertTrue(target.attachable)
        self.assertEqual(target.labels["job"], "llm")
        session = self.client.start(all_agents=True, agent_labels={"job": "llm"}, collect=["agent-step"],
                                    steps={"from_step": 2, "active": 1, "repeat": 1})
        self.assertEqual(session.pids, [job.pid])
        job.order("steps 8")
        *_, last = self.client.watch(session.session)
        self.assertEqual(last.end_reason, "steps")
        values = next(self.client.live(["device"]))
        self.assertTrue(all(abs(time.time() - value.at) < 600 for value in values), values)
        [earlier, newer] = itertools.islice(self.client.live(["profd"], since=600), 2)
        self.assertLess(earlier[0].at, newer[0].at)
        self.assertTrue(any(value.labels.get("device") == "1" for value in values), values)

    def test_the_same_start_asked_for_again_is_one(self):
        """StartRequest.once: what profctl --relays leans on when an answer got lost."""
        def start(kind, once):
            request = profd_client._wire.message("StartRequest")(once=once)
            request.spec.all_devices = True
            request.spec.kinds.add(kind=kind)
            return self.client._send("Start", request, 60).session

        with self.assertRaises(profd_client.InvalidRequest):
            start("no-such-kind", "one")  # a failure is forgotten
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            sessions = set(pool.map(lambda _: start("hbm", "one"), range(8)))
        self.assertEqual(len(sessions), 1)
        other = start("hbm", "two")
        self.assertEqual({each.session for each in self.client.list()}, sessions | {other})
        with self.assertRaisesRegex(profd_client.InvalidRequest, "once"):
            start("hbm", "x" * 65)

    def test_what_no_request_can_hold_is_an_invalid_request(self):
        for asked, words in (
                ({"devices": "0"}, "devices='0': expected 'all', or numbers"),
                ({"devices": ["0"]}, r"devices=\['0'\]: expected whole numbers"),
                ({"devices": 1.5}, r"devices=\[1.5\]: expected whole numbers"),
                ({"pids": "12"}, r"pids=\['12'\]: expected whole numbers"),
                ({"collect": ["hbm=often"]}, "collect: 'hbm=often': expected KIND, KIND:MODE or KIND=HZ"),
                ({"collect": 1.5}, "collect: 1.5: expected KIND"),
                ({"collect": [7]}, "collect: 7: expected KIND"),
                ({"name": 7}, "name=7: expected a text"),
                ({"labels": {"job": 7}}, "labels={'job': 7}: expected names with their values"),
                ({"labels": "job"}, "labels='job': expected names"),
                ({"duration": "5s"}, "duration='5s': expected seconds"),
                ({"duration": 1e30}, "duration=.*: expected a whole number"),
                ({"delay": -1}, "delay=-1: expected seconds"),
                ({"wait_lease": float("inf")}, "wait_lease=inf: expected seconds"),
                ({"steps": {"every": 2}}, "every: expected one of skip_first, wait"),
                ({"steps": {"active": -1}}, "active=-1: expected a whole number"),
                ({"steps": 3}, "steps=3: expected names"),
                ({"storage_limit_bytes": "2GB"}, "storage_limit_bytes='2GB': expected a whole number"),
                ({"flight_recorder": "yes"}, "flight_recorder='yes': expected True or False"),
                ({"in_memory": [1]}, r"in_memory=\[1\]: expected texts"),
                ({"buffers": 1}, r"buffers: 1: expected \(kinds, bytes\)"),
                ({"buffers": ["hbm"]}, r"buffers: 'hbm': expected \(kinds, bytes\)"),
                ({"buffers": [("hbm", "1MB")]}, "bytes='1MB': expected a whole number"),
                ({"on_full": 3}, "'3': expected one of")):
            with self.subTest(asked), self.assertRaisesRegex(profd_client.InvalidRequest, words) as caught:
                self.client.start(**({"devices": 0, "collect": "hbm"} | asked))
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        for ask in (lambda: self.client.status(7), lambda: self.client.stop(pid="one"), lambda: next(self.client.live(period="1s")),
                    lambda: next(self.client.watch("last", period=-1)), lambda: self.client.snapshot("last", last="all"),
                    lambda: self.client.plan(devices="0")):
            self.assertRaisesRegex(profd_client.InvalidRequest, "expected", ask)
        self.assertEqual(self.client.list(), [])

    def test_errors_are_profds_words(self):
        with self.assertRaisesRegex(profd_client.NotFound, "nonsense") as caught:
            self.client.status("nonsense")
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        self.assertEqual(str(caught.exception), self.daemon.ctl("status", "nonsense").err.strip().removeprefix("profctl: "))
        with self.assertRaises(profd_client.InvalidRequest):
            self.client.start(devices="all", collect=["no-such-kind"])
        with self.assertRaisesRegex(ValueError, "age, pause, stop"):
            self.client.start(devices="all", on_full="nothing")
        self.assertEqual(self.client.list(), [])
        self.daemon.stop()
        with self.assertRaises(profd_client.Unavailable):
            self.client.list()
        with self.assertRaisesRegex(profd_client.Unavailable, "no profd at"):
            profd_client.Client(socket=self.daemon.socket)

    @harness.needs_root
    def test_only_what_one_may(self):
        script = ("import profd_client\n"
                  "try: profd_client.Client().start(devices='all', collect=['hbm'])\n"
                  "except profd_client.Forbidden as error: print(error)")
        done = subprocess.run([PYTHON, "-c", script], user=harness.nobody(), capture_output=True, text=True, check=False,
                              env=dict(self.daemon.environment, PYTHONPATH=str(self.readable_package())))
        self.assertIn("may not collect device kinds", done.stdout, done.stderr)

    def readable_package(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        subprocess.run(["cp", "-rL", str(harness.BUILD / "python" / "profd_client"), folder.name], check=True)
        subprocess.run(["chmod", "-R", "a+rX", folder.name], check=True)
        return folder.name

    def test_examples(self):
        seen = self.example("watch.py", 1)
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertIn("device=1", seen.stdout)
        none = self.example("start_on_a_job.py", "4711")
        self.assertEqual(none.returncode, 1)
        self.assertIn("no process of job 4711", none.stderr)


class RemoteTest(harness.ProfdTest):
    def test_another_node(self):
        nodes = fleet.Fleet(nodes=1)
        self.addCleanup(nodes.close)
        paths = dict(zip(("ca", "cert", "key"), (nodes.authority.ca, *nodes.cards["ops"])))
        with profd_client.Client(host=nodes.hosts[0], **paths) as client:
            session = client.start(devices="all", collect=["hbm"], duration=1)
            *_, last = client.watch(session.session)
            self.assertEqual(last.state, "sealed")
            with tempfile.TemporaryDirectory() as folder:
                [fetched] = client.fetch(session.session, folder)
                self.assertEqual(nodes.nodes[0].ctl("verify", fetched).code, harness.OK)
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ, PYTHONPATH=str(harness.BUILD / "python"))
                done = subprocess.run([PYTHON, str(EXAMPLES / "fetch.py"), nodes.hosts[0], session.session, folder,
                                       *map(str, paths.values())], env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(done.stdout.strip(), str(pathlib.Path(folder) / fetched.name), done.stderr)
            with self.assertRaisesRegex(ValueError, "fetch"):
                client.start(devices="all", output="/tmp/x")
        eye = dict(zip(("ca", "cert", "key"), (nodes.authority.ca, *nodes.cards["eye"])))
        with profd_client.Client(host=nodes.hosts[0], **eye) as client:
            with self.assertRaisesRegex(profd_client.Forbidden, "viewer"):
                client.start(devices="all")


if __name__ == "__main__":
    unittest.main()
