#!/usr/bin/env python3
"""host-cgroup, host-net-devices, host-hardware: the kernel's counters, from the file to every format of the export."""
import csv
import glob
import json
import pathlib
import socket
import sqlite3
import sys
import tempfile
import unittest

import cgroup
import harness
from harness import OK


def samples(directory, file):
    """[(raw ns, {(what, name): [number or None]})]"""
    found = []
    slices = [path for path in glob.glob(f"{directory}/host/data/{file}.slice_*") if not path.endswith(".done")]
    for path in sorted(slices, key=lambda path: int(path.rsplit("_", 1)[1])):
        for line in pathlib.Path(path).read_text().splitlines():
            words = line.split(" ")
            if words[0] == "time":
                found.append((int(words[1]), {}))
                continue
            count = {"cgroup": 16, "net": 12, "rdma": 14, "pfc": 21, "numa": 7, "pcie": 4}[words[0]]
            numbers = [None if word == "-" else int(word) for word in words[1:count + 1]]
            found[-1][1][words[0], " ".join(words[count + 1:])] = numbers
    return found


def loopback():
    for line in pathlib.Path("/proc/1/net/dev").read_text().splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.strip() == "lo":
            numbers = [int(word) for word in rest.split()]
            return numbers[0], numbers[8]
    raise AssertionError("no loopback")


class CountersTest(harness.ProfdTest):
    def export(self, daemon, directory, *arguments):
        folder = tempfile.mkdtemp(dir=daemon.directory)
        done = daemon.ctl("export", directory, "--out", folder, *arguments)
        self.assertEqual(done.code, OK, done)
        return folder

    def table(self, folder, name):
        (path,) = glob.glob(f"{folder}/**/{name}_2*.csv", recursive=True)
        with open(path, encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def test_the_loopbacks_bytes_are_those_of_the_kernel(self):
        daemon = self.profd(sim="devices: 0\n")
        before = loopback()
        session = daemon.begin("--collect", "host-net-devices=20Hz,host-hardware,host-sys-mem")["session"]
        ours, theirs = self.connected()
        directory = daemon.status(session)["directory"]
        harness.wait_until(lambda: len(samples(directory, "host_net_devices.data")) > 1, "the first samples")
        moved = 0
        while moved < 20_000_000:
            ours.sendall(bytes(1 << 16))
            left = 1 << 16
            while left:
                left -= len(theirs.recv(left))
            moved += 1 << 16
        harness.wait_until(lambda: self.seen(daemon, session) - before[1] >= moved, "the bytes to be sampled")
        sealed = daemon.end(session)
        after = loopback()
        found = samples(sealed["directory"], "host_net_devices.data")
        self.assertGreater(len(found), 2)
        last = found[-1][1]["net", "lo"]
        for way in 0, 1:
            self.assertTrue(before[way] + moved <= last[way] <= after[way], (before, moved, last, after))
        self.assertEqual(daemon.ctl("verify", sealed["directory"]).code, OK)
        # What the rates add up to is what was moved.
        folder = self.export(daemon, sealed["directory"], "--format", "csv,db,chrome,perfetto")
        (path,) = glob.glob(f"{folder}/**/*.db", recursive=True)
        with sqlite3.connect(path) as database:
            rows = database.execute("SELECT timestampNs, tx FROM HOST_NET_DEVICE JOIN STRING_IDS ON name = id"
                                    " WHERE value = 'lo' ORDER BY timestampNs").fetchall()
        self.assertEqual(len(rows), len(found))
        total = sum(rate * (stamp - earlier) / 1e9 for (earlier, _), (stamp, rate) in zip(rows, rows[1:]))
        counted = last[1] - found[0][1]["net", "lo"][1]
        self.assertAlmostEqual(total, counted, delta=counted / 1000 + 1)
        lo = [row for row in self.table(folder, "host_net_device") if row["device"] == "lo"]
        self.assertEqual(len(lo), 1)
        self.assertGreater(float(lo[0]["tx peak(B/s)"]), 0)
        (timeline,) = [path for path in glob.glob(f"{folder}/**/*.json", recursive=True) if "msprof_" in path]
        names = {event["name"] for event in json.loads(pathlib.Path(timeline).read_text()) if event.get("ph") == "C"}
        self.assertIn("Device lo", names)
        (trace,) = glob.glob(f"{folder}/**/*.perfetto-trace", recursive=True)
        self.assertIn(b"Device lo", pathlib.Path(trace).read_bytes())
        # The vendor's parser has nothing of it.
        vendors = self.export(daemon, sealed["directory"], "--vendor-compatible", "--format", "csv")
        self.assertEqual(glob.glob(f"{vendors}/**/host_net_device*", recursive=True), [])

    def seen(self, daemon, session):
        found = samples(daemon.status(session)["directory"], "host_net_devices.data")
        # The last line may be half there.
        complete = [rows["net", "lo"] for _, rows in found[:-1] if ("net", "lo") in rows]
        return complete[-1][1] if complete else 0

    def connected(self):
        listener = socket.create_server(("127.0.0.1", 0))
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
        listener.close()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        return ours, theirs

    def test_a_cgroup_with_a_quota(self):
        quota = cgroup.quota_for(self)
        daemon = self.profd(sim="devices: 0\n")
        target = self.workload(command=[sys.executable, "-c", "while True: pass"])
        quota.take(target.pid)
        before = quota.throttled()
        session = daemon.begin("--pid", target.pid, "--collect", "host-cgroup=20Hz")["session"]
        directory = daemon.status(session)["directory"]

        def met():
            # The last line may be half there.
            found = [rows["cgroup", quota.name] for _, rows in samples(directory, "host_cgroup.data")[:-1]
                     if ("cgroup", quota.name) in rows]
            return len(found) > 1 and found[-1][3] >= found[0][3] + 5
        harness.wait_until(met, "the quota to be met")
        sealed = daemon.end(session)
        after = quota.throttled()
        found = [rows["cgroup", quota.name] for _, rows in samples(sealed["directory"], "host_cgroup.data")]
        self.assertTrue(all(numbers[1] == 100_000 for numbers in found), found[0])  # µs in a second
        self.assertTrue(before <= found[0][3] <= found[-1][3] <= after, (before, found[0], found[-1], after))
        self.assertGreaterEqual(found[-1][4], found[0][4])
        folder = self.export(daemon, sealed["directory"], "--format", "csv")
        (row,) = [row for row in self.table(folder, "host_cgroup") if row["cgroup"] == quota.name]
        self.assertEqual(float(row["cpu_limit mean"]), 0.1)
        self.assertGreater(float(row["throttled peak(1/s)"]), 0)

    def test_it_is_of_a_process(self):
        daemon = self.profd(sim="devices: 0\n")
        refused = daemon.ctl("start", "--collect", "host-cgroup")
        self.assertEqual(refused.code, harness.USAGE, refused)
        self.assertIn("--pid", refused.err)
        refused = daemon.ctl("start", "--collect", "host-net-devices=51Hz")
        self.assertEqual(refused.code, harness.USAGE, refused)
        self.assertIn("1 to 50 Hz", refused.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
