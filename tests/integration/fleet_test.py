#!/usr/bin/env python3
"""Many profd at once: who answers, who does not, and how far apart they begin."""
import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import authority
import harness

NODES = int(os.environ.get("PROFD_FLEET", "24"))
SIM = "devices: 1\nchip: 910B\n"


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


class FleetTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.authority = authority.Authority()
        cls.addClassCleanup(cls.authority.close)
        cert, key = cls.authority.issue("node", "DNS:localhost")
        cls.card = cls.authority.issue("ops")
        cls.ports = free_ports(NODES)
        settings = f"""remote:
  cert: "{cert}"
  key: "{key}"
  client_ca: "{cls.authority.ca}"
  admins: "ops"
"""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            cls.nodes = list(pool.map(
                lambda port: harness.Profd(sim=SIM, config=settings + f'  listen: "127.0.0.1:{port}"\n'), cls.ports))
        for node in cls.nodes:
            cls.addClassCleanup(node.close)
        cls.folder = tempfile.TemporaryDirectory(prefix="profd-fleet-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.list = pathlib.Path(cls.folder.name) / "hosts"
        cls.list.write_text("# the fleet\n" + "".join(f"localhost:{port}\n" for port in cls.ports))

    def ask(self, *arguments, hosts=None, timeout=120):
        cert, key = self.card
        return self.nodes[0].ctl("--hosts", hosts or f"@{self.list}", "--tls-ca", self.authority.ca, "--tls-cert", cert,
                                 "--tls-key", key, *arguments, timeout=timeout)

    @staticmethod
    def lines(result):
        return [json.loads(line) for line in result.out.splitlines()]

    def stop_all(self):
        self.ask("stop", "--all")

    def test_every_verb_on_every_node(self):
        self.addCleanup(self.stop_all)
        begun = self.ask("start", "--devices", "all", "--collect", "hbm", "--name", "fleet", "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        answers = self.lines(begun)
        self.assertEqual([answer["host"] for answer in answers], [f"localhost:{port}" for port in self.ports])
        self.assertEqual({answer["reply"]["state"] for answer in answers}, {"running"})
        self.assertEqual(len({answer["reply"]["session"] for answer in answers}), NODES)
        table = self.ask("devices")
        self.assertEqual(table.code, harness.OK)
        self.assertEqual(table.out.splitlines()[0].split()[0], "HOST")
        for port in self.ports:
            self.assertIn(f"localhost:{port} ", table.out)
        for node, answer in zip(self.nodes, answers):
            self.assertEqual(node.status(answer["reply"]["session"])["name"], "fleet")
        ended = self.ask("stop", "--all", "--json")
        self.assertEqual(ended.code, harness.OK, ended)
        self.assertEqual({answer["reply"]["sessions"][0]["state"] for answer in self.lines(ended)}, {"sealed"})

    def test_all_begin_at_one_instant(self):
        self.addCleanup(self.stop_all)
        begun = self.ask("start", "--devices", "all", "--collect", "hbm", "--at", "+3s", "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        *answers, skew = self.lines(begun)
        self.assertEqual(skew["fired"], NODES)
        starts = [answer["reply"]["started_at"] for answer in answers]
        self.assertEqual(len(starts), NODES)
        for answer in answers:
            self.assertIn("clock_ahead_ns", answer["reply"]["labels"])
        # One machine has one clock: what the nodes say of their begin and what was measured through it agree.
        self.assertGreaterEqual(skew["skew_ns"], 0)
        self.assertGreaterEqual(skew["last_late_ns"] + skew["clock_uncertainty_ns"], 0)

    def test_a_third_of_them_does_not_answer(self):
        self.addCleanup(self.stop_all)
        killed, hung = self.nodes[1::6], self.nodes[2::6]
        for node in killed:
            node.kill()
            self.addCleanup(node.start)
        for node in hung:
            node.signal(signal.SIGSTOP)
            self.addCleanup(node.signal, signal.SIGCONT)
        begin = time.monotonic()
        begun = self.ask("--timeout", "20s", "start", "--devices", "all", "--collect", "hbm", "--json")
        took = time.monotonic() - begin
        self.assertEqual(begun.code, 9, begun)
        answers = self.lines(begun)
        self.assertEqual(len(answers), NODES)
        for node, answer in zip(self.nodes, answers):
            if node in killed or node in hung:
                self.assertEqual(answer["exit"], harness.UNAVAILABLE, answer)
                self.assertTrue(answer["error"])
            else:
                self.assertEqual(answer["exit"], harness.OK, answer)
        self.assertLess(took, 20 + harness.PATIENCE_S)  # the deadline is for all together
        said = self.ask("--timeout", "5s", "list")
        self.assertEqual(said.code, 9)
        self.assertLessEqual(len(said.err.splitlines()), 4, said.err)  # grouped by what is wrong
        self.assertIn(f"{len(killed)} of {NODES} hosts", said.err)

    def test_none_does(self):
        refused = self.ask("start", "--collect", "nonsense", "--devices", "all")
        self.assertEqual(refused.code, harness.USAGE, refused)
        self.assertEqual(len(refused.err.splitlines()), 1)
        self.assertIn(f"{NODES} of {NODES} hosts", refused.err)

    def test_fetch_brings_all_of_them(self):
        begun = self.lines(self.ask("start", "--devices", "all", "--collect", "hbm", "--duration", "1s", "--json"))
        sessions = {answer["host"]: answer["reply"]["session"] for answer in begun}
        harness.wait_until(lambda: {info["state"] for answer in self.lines(self.ask("list", "--json"))
                                    for info in answer["reply"]["sessions"]} == {"sealed"}, "all to end")
        out = pathlib.Path(self.folder.name) / "results"
        out.mkdir()
        for host, session in list(sessions.items())[:4]:
            self.assertEqual(self.ask("fetch", session, "--out", out, hosts=host).code, harness.OK)
        directories = list(out.iterdir())
        self.assertEqual(len(directories), 4)
        for directory in directories:
            self.assertEqual(self.nodes[0].ctl("verify", directory).code, harness.OK)


class HostsTest(harness.ProfdTest):
    """The language of --hosts; nobody listens there."""

    def hosts(self, text, path=""):
        done = subprocess.run([str(harness.PROFCTL), "--hosts", text, "--plain", "--timeout", "2s", "list", "--json"],
                              env=dict(os.environ, PATH=f"{path}:{os.environ['PATH']}"), capture_output=True, text=True,
                              check=False)
        return [json.loads(line)["host"] for line in done.stdout.splitlines()] or done

    def test_ranges(self):
        self.assertEqual(self.hosts("127.0.0.[1-2,9]:1"), ["127.0.0.1:1", "127.0.0.2:1", "127.0.0.9:1"])
        self.assertEqual(self.hosts("127.0.0.[008-010]:1,127.0.0.1:1"),
                         ["127.0.0.008:1", "127.0.0.009:1", "127.0.0.010:1", "127.0.0.1:1"])
        self.assertEqual(self.hosts("127.0.[0-1].[1-2]:1"), ["127.0.0.1:1", "127.0.0.2:1", "127.0.1.1:1", "127.0.1.2:1"])
        self.assertEqual(self.hosts("127.0.0.1,127.0.0.1:9478"), ["127.0.0.1:9478"])
        self.assertEqual(self.hosts("[::1]:7,::1"), ["[::1]:7", "[::1]:9478"])

    def test_what_is_none(self):
        for text in ("n[3-1]", "n[1", "a,,b", "@/nowhere", "slurm:", "n[a-b]", "a/b"):
            done = self.hosts(text)
            self.assertEqual(done.returncode, harness.USAGE, done)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_schedulers_say_which(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("squeue", 'test "$*" = "-h -o %N -j 77" && echo "n[1-2]"'),
                               ("scontrol", 'test "$3" = "n[1-2]" && printf "127.0.0.1\\n127.0.0.2\\n"'),
                               ("kubectl", 'case "$*" in *"-l app=train"*) printf "127.0.0.3\\n127.0.0.4\\n127.0.0.3\\n";; esac')):
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\n{text}\n")
                program.chmod(0o755)
            self.assertEqual(self.hosts("slurm:77", folder), ["127.0.0.1:9478", "127.0.0.2:9478"])
            self.assertEqual(self.hosts("k8s:app=train", folder), ["127.0.0.3:9478", "127.0.0.4:9478"])
            self.assertEqual(self.hosts("slurm:78", folder).returncode, harness.USAGE)


if __name__ == "__main__":
    unittest.main()
