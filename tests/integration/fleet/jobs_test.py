#!/usr/bin/env python3
"""profctl jobs: what each process with an agent took of the node, from its begin to its end."""
import unittest

import harness

ON = "live: {hz: 10, jobs: true}\n"
SIM = "devices: 2\nhealth: {power: 1000, hbm_used_mb: 1024}\n"
# A program with the agent and device 1 open, in a /dev of its own.
WITH_DEVICE = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev && : > /dev/davinci1 && exec 3< /dev/davinci1 && exec "$0" "$@"']


class JobsTest(harness.ProfdTest):
    def jobs(self, daemon, *words, user=None):
        result = daemon.ctl("jobs", "--json", *words, user=user)
        self.assertEqual(result.code, harness.OK, result)
        return {job["pid"]: job for job in result.json["jobs"]}

    def value(self, job, metric, **labels):
        found = [value for value in job["values"] if value["metric"] == metric and labels.items() <= value["labels"].items()]
        self.assertEqual(len(found), 1, job)
        return found[0]

    @harness.needs_root
    def test_energy_of_a_job_from_its_begin_to_its_end(self):
        daemon = self.profd(sim=SIM, config=ON)
        job = self.job(daemon, within=WITH_DEVICE, labels="job=llm,rank=0")
        other = self.job(daemon, labels="job=other")

        def is_known():
            mine = self.jobs(daemon)[job.pid]
            power = [value for value in mine["values"] if value["metric"] == "profd_device_power_watts"]
            return mine if power and power[0]["known_s"] > 1 else None

        mine = harness.wait_until(is_known, "its power")
        self.assertEqual((mine["devices"], mine["labels"]["job"], mine["ended_at"]), ([1], "llm", None))
        power = self.value(mine, "profd_device_power_watts")
        self.assertEqual(power["labels"], {"device": "1"})
        # Tenths of a watt, and device 1 takes one watt more than device 0.
        self.assertEqual((power["least"], power["most"]), (101, 101))
        self.assertAlmostEqual(power["mean"], 101)
        self.assertAlmostEqual(power["sum"], 101 * power["known_s"], places=3)
        self.assertEqual(self.value(mine, "profd_device_hbm_bytes", part="used")["most"], 1 << 30)
        self.assertEqual([value for value in self.jobs(daemon)[other.pid]["values"] if "device" in value["labels"]], [])
        self.assertEqual(list(self.jobs(daemon, "--label", "job=llm")), [job.pid])
        self.assertEqual(list(self.jobs(daemon, "--pid", other.pid)), [other.pid])
        text = daemon.ctl("jobs", "--pid", job.pid, "--values").out
        self.assertRegex(text, r"101 W")
        self.assertRegex(text, r"profd_device_power_watts +device=1 +101 W")
        job.close()
        ended = harness.wait_until(lambda: next((one for one in [self.jobs(daemon)[job.pid]] if one["ended_at"]), None), "its end")
        self.assertGreaterEqual(ended["lasted_s"], self.value(ended, "profd_device_power_watts")["known_s"])
        self.assertRegex(daemon.ctl("jobs").out, rf"{job.pid} .* ended ")

    @harness.needs_root
    def test_of_others_nothing_is_told(self):
        daemon = self.profd(sim=SIM, config=ON)
        job = self.job(daemon)
        harness.wait_until(lambda: job.pid in self.jobs(daemon), "the job")
        user = harness.nobody()
        self.assertEqual(self.jobs(daemon, user=user), {})
        result = daemon.ctl("jobs", "--pid", job.pid, user=user)
        self.assertEqual(result.code, harness.NOT_FOUND, result)
        self.assertIn("another user's", result.err)

    def test_off_unless_it_is_turned_on(self):
        daemon = self.profd()
        result = daemon.ctl("jobs")
        self.assertEqual(result.code, harness.FAILED, result)
        self.assertIn("live.jobs: true", result.err)

    def test_without_values_there_are_no_accounts(self):
        with self.assertRaises(AssertionError) as raised:
            self.profd(config="live: {hz: 0, jobs: true}\n")
        self.assertIn("live.jobs: this profd keeps no values", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
