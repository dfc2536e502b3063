#!/usr/bin/env python3
"""Several sessions on one device at once, which the vendor's collector cannot."""
import unittest

import harness
import prof_reader


def start_events(daemon, device, channel):
    return [line for line in daemon.truth_lines()
            if line.get("event") == "start" and line["device"] == device and line["channel"] == channel]


class SharingTest(harness.ProfdTest):
    def test_the_channel_is_started_once_and_both_get_every_sample(self):
        daemon = self.profd()
        first = daemon.begin("--collect", "hbm=50Hz", "--devices", "0")
        daemon.let_run(first, 0.5)
        second = daemon.begin("--collect", "hbm=50Hz", "--devices", "0")
        shared = self.kind(second, "hbm", "device:0")
        self.assertEqual((shared["verdict"], shared["effective_hz"]), ("started", 50))
        self.assertIn("shared", shared["reason"])
        daemon.let_run(second, 0.8)
        first_sealed = daemon.end(first["session"])
        daemon.let_run(second, daemon.status(second["session"])["elapsed_s"] + 0.5)
        second_sealed = daemon.end(second["session"])
        self.assertEqual(len(start_events(daemon, 0, 1)), 1)
        rows = [dict(prof_reader.ProfDir(s["directory"]).devices[0].hbm_counts())
                for s in (first_sealed, second_sealed)]
        for sealed in (first_sealed, second_sealed):
            self.assertEqual(prof_reader.check(sealed["directory"]), [])
            self.assertEqual(self.kind(sealed, "hbm", "device:0")["lost"], 0)
        # The same samples, on the wall clock, with the same values: stamps differ by the clocks' reading error only.
        by_time = {round(t / 1e7): v for t, v in rows[0].items()}
        common = [(by_time[round(t / 1e7)], v) for t, v in rows[1].items() if round(t / 1e7) in by_time]
        self.assertGreater(len(common), 20)
        differing = [pair for pair in common if pair[0] != pair[1]]
        self.assertEqual(differing, [])

    def test_a_slower_session_gets_sums(self):
        daemon = self.profd()
        fast = daemon.begin("--collect", "hbm=50Hz,hccs=50Hz,pcie=50Hz", "--devices", "0")
        slow = daemon.begin("--collect", "hbm=10Hz,hccs=10Hz,pcie=10Hz", "--devices", "0")
        for kind in ("hbm", "hccs", "pcie"):
            self.assertEqual(self.kind(slow, kind, "device:0")["effective_hz"], 10)
        daemon.let_run(slow, 2)
        slow_sealed = daemon.end(slow["session"])
        fast_sealed = daemon.end(fast["session"])
        counts = [prof_reader.ProfDir(s["directory"]).devices[0].hbm_counts() for s in (fast_sealed, slow_sealed)]
        slow_times = [t for t, _ in counts[1]]
        meanwhile = [t for t, _ in counts[0] if slow_times[0] < t <= slow_times[-1]]
        ratio = len(meanwhile) / (len(slow_times) - 1)
        self.assertGreater(ratio, 4)
        self.assertLess(ratio, 6)
        # Every period of the slow session is the sum of five of the fast one.
        fast_values = [values for _, values in counts[0]]
        sums = [[sum(column) for column in zip(*fast_values[i:i + 5])] for i in range(len(fast_values) - 4)]
        # (The last may have been cut short by the stop; its stamp says so.)
        for _, values in counts[1][:-1]:
            self.assertIn(list(values), sums)
        for sealed in (fast_sealed, slow_sealed):
            self.assertEqual(prof_reader.check(sealed["directory"]), [])

    def test_a_faster_session_is_told_why_it_is_no_faster(self):
        daemon = self.profd()
        slow = daemon.begin("--collect", "hbm=10Hz", "--devices", "0")
        started = daemon.ctl("start", "--collect", "hbm=100Hz,pcie=50Hz", "--devices", "0")
        self.assertEqual(started.code, harness.OK, started)
        self.assertIn("hbm: 10 Hz instead of 100 Hz, shared with session " + slow["session"], started.err)
        self.assertEqual(len(started.err.strip().splitlines()), 1, started)
        self.assertEqual(daemon.ctl("start", "--collect", "hbm=10Hz", "--devices", "0").err, "")
        asked = daemon.begin("--collect", "hbm=100Hz", "--devices", "0")
        shared = self.kind(asked, "hbm", "device:0")
        self.assertEqual((shared["verdict"], shared["effective_hz"], shared["reason"]), ("started", 10, "shared"))

    def test_another_payload_is_refused_naming_the_holder(self):
        daemon = self.profd()
        reader = daemon.begin("--collect", "llc:read", "--devices", "0")
        refused = daemon.ctl("start", "--collect", "llc:write", "--devices", "0")
        self.assertEqual(refused.code, harness.BUSY, refused)
        self.assertIn(reader["session"], refused.err)
        mixed = daemon.ctl("start", "--collect", "llc:write,hbm", "--devices", "0", "--json")
        self.assertEqual(mixed.code, harness.PARTLY_STARTED, mixed)
        llc = self.kind(mixed.json, "llc", "device:0")
        self.assertEqual(llc["verdict"], "failed")
        self.assertIn(reader["session"], llc["reason"])

    def test_devices_shows_who_holds_what(self):
        daemon = self.profd()
        started = daemon.begin("--collect", "hbm", "--devices", "1")
        devices = daemon.ctl("devices", "--json").json["devices"]
        self.assertEqual(devices[0].get("holders", []), [])
        self.assertEqual(devices[1]["holders"][0]["kind"], "hbm")
        self.assertIn(started["session"], devices[1]["holders"][0]["holder"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
