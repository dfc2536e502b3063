#!/usr/bin/env python3
"""profd's memory is not in users' hands: however many flight recorders they start, what these keep has a bound; somebody else
loses nothing meanwhile."""
import subprocess
import unittest

import harness
import siege

MIB = 1 << 20
# As many as a user may have; those of all users together have 16 * EACH. A chunk that comes late on a busy machine fits.
RECORDERS, EACH = 16, 4 * MIB
THREADS = 400  # 1.5 MB/s of host-cpu
SLEEPERS = ("import threading, time\n"
            f"for _ in range({THREADS}): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
            "print('ready', flush=True)\ntime.sleep(600)\n")
SIM = "devices: 1\nchip: 910B\n"


@harness.needs_root
class HostileMemoryTest(siege.Siege):
    def sleepers(self):
        work = subprocess.Popen(["/usr/bin/python3", "-c", SLEEPERS], user=siege.USER, group=siege.USER, extra_groups=[],
                                stdout=subprocess.PIPE, text=True)
        self.ends_with_the_test(work)
        self.assertEqual(work.stdout.readline(), "ready\n")
        return work

    def record(self, daemon, work, *options, **who):
        return daemon.begin("--pid", work.pid, "--collect", "host-cpu=50Hz", *options, **who)["session"]

    def test_many_flight_recorders(self):
        config = f"store: {{flight_recorder_bytes: {EACH}}}\n"
        daemon = self.besieged(sim=SIM, config=config)
        work = self.sleepers()
        with self.witnessed(daemon, f"{RECORDERS} flight recorders"):
            sessions = [self.record(daemon, work, "--flight-recorder", user=siege.USER) for _ in range(RECORDERS)]

            def all_full():
                infos = [daemon.status(session) for session in sessions]
                # The oldest has made way in each: it holds what it may.
                return all(info["held_s"] < info["elapsed_s"] - 1 for info in infos) and infos

            infos = harness.wait_until(all_full, "the recorders to be full", patience=120)
            held = [info["held_bytes"] for info in infos]
            self.assertLessEqual(sum(held), 16 * EACH / 2)
            self.assertGreater(min(held), EACH / 8, held)
            for session in sessions:
                self.assertEqual(daemon.ctl("stop", session, user=siege.USER).code, harness.OK)


if __name__ == "__main__":
    unittest.main(verbosity=2)
