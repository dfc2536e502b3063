#!/usr/bin/env python3
"""What `start` says a session will write, against what it wrote."""
import os
import unittest

import harness
from harness import OK, USAGE

# Besides those of preset all.
NAMED = "netdev,dev-cpu,dev-mem,dev-pid-cpu,dev-pid-mem,ctrlcpu"


class EstimateTest(harness.ProfdTest):
    def test_every_sampled_kind_makes_about_what_was_expected(self):
        for chip in ("910B", "950"):
            with self.subTest(chip=chip):
                daemon = self.profd(sim=f"devices: 1\nchip: {chip}\n")
                job = self.workload()
                started = daemon.begin("--pid", job.pid, "--devices", "all", "--preset", "all", "--collect", NAMED)
                begun = harness.wait_until(lambda: self.all_begun(daemon, started["session"]), "data of all")
                daemon.let_run(started, begun["elapsed_s"] + 6)
                running = daemon.status(started["session"])
                sealed = daemon.end(started["session"])
                checked = set()
                for before, now in zip(begun["kinds"], running["kinds"]):
                    expected = now["bytes_per_s"]
                    if now["verdict"] != "started" or expected == 0:
                        continue
                    records, lost = (now[what] - before[what] for what in ("records", "lost"))
                    self.assertGreater(records, 0, now)
                    # A busy machine loses some: they count as those that came.
                    made = (now["bytes"] - before["bytes"]) * (1 + lost / records) / (running["elapsed_s"] - begun["elapsed_s"])
                    self.assertTrue(expected / 2 < made < expected * 2, f"{now['kind']}: {made} of {expected}")
                    checked.add(now["kind"])
                sampled = {kind["kind"] for kind in sealed["kinds"] if kind["verdict"] == "started" and kind["effective_hz"] > 0}
                # The vector cores come through the channel of the AI cores and count there.
                self.assertEqual(sampled - checked, {"aivector"})
                self.assertGreater(len(checked), 25)

    def all_begun(self, daemon, session):
        """Its status once there is something of everything that has a rate: what comes later has less of the time."""
        now = daemon.status(session)
        waits = [kind["kind"] for kind in now["kinds"] if kind["bytes_per_s"] > 0 and
                 (kind["verdict"] == "pending" or (kind["verdict"] == "started" and kind["records"] == 0))]
        return now if not waits else None

    def test_a_dry_run_says_it_and_starts_nothing(self):
        daemon = self.profd(sim="devices: 2\nchip: 910B\n")
        arguments = ("--devices", "all", "--collect", "hbm,aicore,low-power")
        planned = daemon.ctl("start", *arguments, "--dry-run", "--json", "--output", daemon.directory / "none")
        self.assertEqual(planned.code, OK, planned)
        self.assertFalse((daemon.directory / "none").exists())
        self.assertEqual(daemon.ctl("list", "--json").json["sessions"], [])
        plan = planned.json
        self.assertEqual((plan["session"], plan["directory"]), ("", ""))
        self.assertEqual(self.kind(plan, "hbm", "device:1")["bytes_per_s"], 192 * 50)
        self.assertEqual((self.kind(plan, "low-power", "device:0")["bytes_per_s"],
                          self.kind(plan, "low-power", "device:0")["record_bytes"]), (0, 888))
        self.assertEqual(plan["expected_bytes_per_s"], sum(kind["bytes_per_s"] for kind in plan["kinds"]))
        started = daemon.begin(*arguments)
        self.assertEqual([kind["bytes_per_s"] for kind in started["kinds"]], [kind["bytes_per_s"] for kind in plan["kinds"]])

        text = daemon.ctl("start", *arguments, "--dry-run", "--duration", "10s", "--storage-limit", "200MB").out
        self.assertIn("expected 480.0 kB/s, 1.7 GB an hour, 4.8 MB in 10.0 s; the storage limit of 200.0 MB holds the last 6 m 56 s",
                      text)
        self.assertIn("as much as the job makes of low-power", text)
        self.assertIn("888.0 MB per million", text)
        said = daemon.ctl("start", "--devices", "0", "--collect", "hbm")
        self.assertIn("expected 9.6 kB/s", said.out)
        self.assertEqual(said.err, "")
        wrong = daemon.ctl("start", "--devices", "7", "--collect", "hbm", "--dry-run")
        self.assertEqual(wrong.code, harness.NOT_FOUND, wrong)
        self.assertEqual(daemon.ctl("start", "--collect", "hmb", "--dry-run").code, USAGE)

    def test_what_makes_much_is_said(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        planned = daemon.ctl("start", "--devices", "0", "--collect", "instr,hbm", "--dry-run")
        self.assertEqual(planned.code, OK, planned)
        (line,) = planned.err.splitlines()
        self.assertIn("instr can make", line)
        self.assertIn("--storage-limit", line)
        # A row for every thread, fifty times a second.
        job = self.workload(command=[
            "python3", "-c", "import threading, time\n"
            "for _ in range(800): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n"
            "time.sleep(100)\n"])
        harness.wait_until(lambda: len(os.listdir(f"/proc/{job.pid}/task")) > 800, "its threads")
        planned = daemon.ctl("start", "--pid", job.pid, "--collect", "host-cpu", "--dry-run")
        self.assertRegex(planned.err, r"host-cpu makes some 12\.\d MB/s: ask for a lower rate")


if __name__ == "__main__":
    unittest.main()
