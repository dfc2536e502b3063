#!/usr/bin/env python3
"""Nodes that say in a real etcd that they are there, and profctl that finds them by it."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import fleet
import harness

PREFIX = "/test/nodes/"


class Etcd:
    """One member, on loopback, with its data in a folder of its own: in memory, where there is room. It answers when its data is
    on the disk, for which a busy one takes longer than profd waits for an answer."""

    def __init__(self):
        memory = pathlib.Path("/dev/shm")
        has_room = memory.is_dir() and shutil.disk_usage(memory).free > 512 << 20
        self.folder = tempfile.TemporaryDirectory(prefix="profd-etcd-", dir=memory if has_room else None)
        self.port, self.peer_port = harness.free_ports(2)
        self.process = None
        self.start()

    @property
    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        log = open(pathlib.Path(self.folder.name) / "log", "ab")
        client, peer = f"http://{self.endpoint}", f"http://127.0.0.1:{self.peer_port}"
        self.process = subprocess.Popen(
            ["etcd", "--data-dir", self.folder.name + "/data", "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
            stdout=log, stderr=log)
        log.close()
        harness.wait_until(lambda: self.ctl("endpoint", "health").returncode == 0, "etcd")

    def ctl(self, *arguments):
        return subprocess.run(["etcdctl", "--endpoints", self.endpoint, *arguments], env=dict(os.environ, ETCDCTL_API="3"),
                              capture_output=True, text=True, check=False)

    def entries(self):
        lines = self.ctl("get", "--prefix", PREFIX).stdout.splitlines()
        return dict(zip(lines[::2], map(json.loads, lines[1::2])))

    def stop(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.stop()
        self.folder.cleanup()


@unittest.skipUnless(shutil.which("etcd") and shutil.which("etcdctl"), "no etcd here: apt-get install etcd-server etcd-client")
class RegistryTest(harness.ProfdTest):
    def setUp(self):
        self.etcd = Etcd()
        self.addCleanup(self.etcd.close)

    def node(self, labels="[]", endpoint=None):
        """A daemon that registers, without certificates: they are another test's."""
        [port] = harness.free_ports()
        config = f"""remote:
  listen: "127.0.0.1:{port}"
  plain: admin
registry:
  etcd: "{endpoint or self.etcd.endpoint}"
  prefix: "{PREFIX}"
  host: "127.0.0.1:{port}"
  labels: {labels}
  ttl_s: 6
"""
        return self.profd(sim=fleet.SIM, config=config), f"127.0.0.1:{port}"

    def ask(self, daemon, hosts, *arguments):
        return daemon.ctl("--etcd", self.etcd.endpoint, "--plain", "--hosts", hosts, *arguments)

    def await_entries(self, hosts, what):
        harness.wait_until(lambda: set(self.etcd.entries()) == {PREFIX + host for host in hosts}, what)

    def test_who_is_there_is_found(self):
        nodes = [self.node(labels) for labels in ("[rack=1, pool=train]", "[rack=2, pool=train]", "[]")]
        hosts = [host for _, host in nodes]
        self.await_entries(hosts, "all to be registered")
        self.assertEqual(self.etcd.entries()[PREFIX + hosts[0]]["labels"], {"rack": "1", "pool": "train"})
        daemon = nodes[0][0]
        for what, expected in ((PREFIX, hosts), (PREFIX + "?pool=train", hosts[:2]), (PREFIX + "?pool=train&rack=2", hosts[1:2]),
                               (PREFIX + hosts[2], hosts[2:])):
            listed = self.ask(daemon, "etcd:" + what, "list", "--json")
            self.assertEqual(listed.code, harness.OK, listed)
            self.assertEqual(sorted(answer["host"] for answer in fleet.lines(listed)), sorted(expected))
        nobody = self.ask(daemon, f"etcd:{PREFIX}?rack=3", "list")
        self.assertEqual(nobody.code, harness.USAGE)
        self.assertIn("no such node", nobody.err)
        # Who stops takes its entry back; who is killed is gone when the lease is.
        nodes[1][0].stop()
        self.await_entries([hosts[0], hosts[2]], "the entry to be taken back")
        nodes[2][0].kill()
        self.await_entries(hosts[:1], "the lease to end")

    def test_an_etcd_that_is_away_costs_nothing_and_is_said_once(self):
        daemon, host = self.node()
        self.await_entries([host], "the node to be registered")
        self.etcd.stop()
        harness.wait_until(lambda: "not registered" in daemon.log.read_text(), "a word about it")
        session = daemon.begin("--devices", "all", "--collect", "hbm")
        self.assertEqual(daemon.end(session["session"])["state"], "sealed")
        away = self.ask(daemon, "etcd:" + PREFIX, "list")
        self.assertEqual(away.code, harness.USAGE)
        self.assertIn(self.etcd.endpoint, away.err)
        # It is back, and has forgotten everything.
        shutil.rmtree(self.etcd.folder.name + "/data")
        self.etcd.start()
        self.await_entries([host], "the node to be registered again")
        log = daemon.log.read_text()
        self.assertEqual(log.count("not registered"), 1, log)
        self.assertEqual(log.count("registered in etcd"), 2, log)
        self.assertEqual(daemon.stop(), 0)

    def test_a_profd_that_begins_without_it(self):
        self.etcd.stop()
        daemon, host = self.node()
        harness.wait_until(lambda: "not registered" in daemon.log.read_text(), "a word about it")
        self.etcd.start()
        self.await_entries([host], "the node to be registered")
        self.etcd.stop()
        self.assertEqual(daemon.stop(), 0)

    def test_settings_and_values_that_are_none(self):
        for config, words in ((f'registry:\n  etcd: "{self.etcd.endpoint}"\n', "remote.listen"),
                              ('remote:\n  listen: "127.0.0.1:0"\n  plain: viewer\nregistry:\n  etcd: "nowhere"\n', "HOST:PORT"),
                              ('remote:\n  listen: "127.0.0.1:0"\n  plain: viewer\nregistry:\n  etcd: "a:1"\n  labels: [rack]\n',
                               "NAME=VALUE")):
            with self.assertRaisesRegex(AssertionError, words):
                self.profd(config=config)
        daemon = self.profd()
        self.etcd.ctl("put", PREFIX + "x", "nonsense")
        wrong = self.ask(daemon, "etcd:" + PREFIX, "list")
        self.assertEqual(wrong.code, harness.USAGE)
        self.assertIn(PREFIX + "x", wrong.err)
        self.assertIn("--etcd", daemon.ctl("--plain", "--hosts", "etcd:" + PREFIX, "list").err)


if __name__ == "__main__":
    unittest.main()
