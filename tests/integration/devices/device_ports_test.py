#!/usr/bin/env python3
"""netdev: counters of the devices' network ports, from the vendor's card library to the vendor's file of each device and to the
database."""
import glob
import json
import os
import pathlib
import sqlite3
import tempfile
import time
import unittest

import harness
import prof_reader
from harness import OK, PARTLY_STARTED


class DevicePortsTest(harness.ProfdTest):
    def rows(self, session, device):
        paths = sorted(glob.glob(os.path.join(session["directory"], f"device_{device}/data/netdev_stats.data.{device}.slice_?")))
        return [[int(number) for number in line.split()] for path in paths
                for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]

    def truth(self, daemon, device):
        return [line["totals"] for line in daemon.truth_lines() if line.get("event") == "port" and line["device"] == device]

    def test_every_device_has_its_own(self):
        daemon = self.profd(sim="devices: 3\nchip: 910B\n")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        started = daemon.begin("--collect", "netdev", "--devices", "all")
        # A busy machine takes some more time for as many; what it does not ask for in time nobody misses.
        harness.wait_until(lambda: min(kind["records"] for kind in daemon.status(started["session"])["kinds"]) > 100, "rows")
        session = daemon.end(started["session"])
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        for device in range(3):
            entry = self.kind(session, "netdev", f"device:{device}")
            self.assertEqual((entry["verdict"], entry["requested_hz"], entry["lost"]), ("started", 100, 0), entry)
            rows = self.rows(session, device)
            # The first call only asks whether there is a port.
            self.assertEqual([row[1:] for row in rows], self.truth(daemon, device)[1:])
            self.assertEqual(entry["records"], len(rows))
            self.assertGreater(len(rows), 50)
            stamps = [row[0] for row in rows]
            self.assertEqual(stamps, sorted(stamps))
            self.assertTrue(before < stamps[0] and stamps[-1] < after, "the host's raw clock")
        self.assertNotEqual(self.rows(session, 0)[0][1:], self.rows(session, 1)[0][1:])
        self.assertEqual(daemon.ctl("verify", session["directory"]).code, OK)
        self.assertEqual(prof_reader.check(session["directory"]), [])
        with tempfile.TemporaryDirectory(prefix="profd-ports-") as out:
            self.assertEqual(daemon.ctl("export", session["directory"], "--format", "db", "--out", out).code, OK)
            (path,) = glob.glob(os.path.join(out, "msprof_*.db"))
            connection = sqlite3.connect(path)
            sums = dict(connection.execute("SELECT deviceId, SUM(macTxByte) FROM NETDEV_STATS GROUP BY deviceId").fetchall())
            cnp = connection.execute("SELECT SUM(roceTxCnpPkt), SUM(roceRxCnpPkt) FROM NETDEV_STATS WHERE deviceId = 1").fetchone()
            connection.close()
        for device in range(3):
            rows = self.rows(session, device)
            self.assertEqual(sums[device], rows[-1][3] - rows[0][3])
        rows = self.rows(session, 1)
        self.assertEqual(cnp, (rows[-1][11] - rows[0][11], rows[-1][12] - rows[0][12]))

    def test_a_second_session_gets_a_lower_rate(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        first = daemon.begin("--collect", "netdev=100Hz")
        second = daemon.begin("--collect", "netdev=20Hz")
        self.assertEqual(self.kind(second, "netdev", "device:0")["effective_hz"], 20)
        harness.wait_until(lambda: daemon.status(second["session"])["kinds"][0]["records"] > 20, "rows of both")
        second = daemon.end(second["session"])
        first = daemon.end(first["session"])
        all_rows, some = self.rows(first, 0), self.rows(second, 0)
        self.assertGreater(len(some), 10)
        self.assertTrue(set(map(tuple, some)) <= set(map(tuple, all_rows)))
        self.assertGreater(len(all_rows), 3 * len(some))

    def test_the_vendors_options(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        started = daemon.begin("--sys-io-profiling=on", "--sys-io-sampling-freq=50", "--sys-devices=0")
        kinds = {entry["kind"]: entry["effective_hz"] for entry in started["kinds"]}
        self.assertEqual(kinds, {"nic": 50, "roce": 50, "netdev": 50, "ub": 0} if "ub" in kinds else
                         {"nic": 50, "roce": 50, "netdev": 50})
        session = daemon.end(started["session"])
        sample = json.loads(pathlib.Path(session["directory"], "device_0/sample.json").read_text(encoding="utf-8"))
        self.assertEqual((sample["io_profiling"], sample["io_sampling_interval"]), ("on", 20))

    def test_where_there_is_none(self):
        with tempfile.TemporaryDirectory(prefix="profd-hal-") as folder:
            alone = os.path.join(folder, "libascend_hal.so")
            os.symlink(harness.HAL, alone)
            daemon = self.profd(sim="devices:\n  - {chip: 910B}\n  - {chip: 310P}\n", hal=alone)
            started = daemon.ctl("start", "--collect", "npu-mem,netdev", "--devices", "all", "--json")
            self.assertEqual(started.code, PARTLY_STARTED, started)
            self.assertIn("libdcmi.so", self.kind(started.json, "netdev", "device:0")["reason"])
            self.assertEqual(self.kind(started.json, "netdev", "device:1")["reason"], "a 310P has no netdev")
            daemon.end(started.json["session"])

    def test_a_library_that_refuses(self):
        for code, why in ((-8255, "does not support"), (-8002, "not permitted"), (-8020, "failed inside")):
            daemon = self.profd(sim=f"devices: 1\nchip: 910B\nports: {{ret: {code}}}\n")
            refused = daemon.ctl("start", "--collect", "netdev")
            self.assertNotEqual(refused.code, OK)
            self.assertIn("netdev (port of device 0)", refused.err)
            self.assertIn(why, refused.err)

    def test_a_port_that_is_silent_for_a_while(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nports: {ret: -8020, while: $DIR/fault}\n")
        started = daemon.begin("--collect", "netdev")
        entry = lambda: daemon.status(started["session"])["kinds"][0]
        harness.wait_until(lambda: entry()["records"] > 0, "records")
        daemon.begin_fault()
        harness.wait_until(lambda: entry()["verdict"] == "failed", "the failure")
        records = entry()["records"]
        self.assertGreater(records, 0)
        daemon.end_fault()
        harness.wait_until(lambda: entry()["verdict"] == "started" and entry()["records"] > records, "its return")
        session = daemon.end(started["session"])
        self.assertEqual([row[1:] for row in self.rows(session, 0)], self.truth(daemon, 0)[1:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
