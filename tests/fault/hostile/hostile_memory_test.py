#!/usr/bin/env python3
"""profd's memory is not in users' hands: however many flight recorders they start, and however many outputs that take nothing
they name, what waits in memory has a bound; somebody else loses nothing meanwhile."""
import os
import subprocess
import sys
import unittest

import failing_fs
import harness
import siege

MIB = 1 << 20
RECORDERS, EACH = 16, MIB  # as many as a user may have; those of all users together have 16 * EACH
THREADS = 400  # 1.5 MB/s of host-cpu
SLEEPERS = ("import threading, time\n"
            f"for _ in range({THREADS}): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
            "print('ready', flush=True)\ntime.sleep(600)\n")
SIM = "devices: 1\nchip: 910B\n"
OUTPUTS, CHUNKS = 6, 8  # of 4 MiB, for one file system


@harness.needs_root
class HostileMemoryTest(siege.Siege):
    def sleepers(self):
        work = self.workload(command=[sys.executable, "-c", SLEEPERS], user=siege.USER, group=siege.USER, extra_groups=[],
                             stdout=subprocess.PIPE, text=True)
        self.assertEqual(work.stdout.readline(), "ready\n")
        return work

    def record(self, daemon, work, *options):
        return daemon.begin("--pid", work.pid, "--collect", "host-cpu=50Hz", *options, user=siege.USER)["session"]

    def test_many_flight_recorders(self):
        config = f"store: {{flight_recorder_bytes: {EACH}}}\n"
        daemon = self.besieged(sim=SIM, config=config)
        work = self.sleepers()
        with self.witnessed(daemon, f"{RECORDERS} flight recorders"):
            sessions = [self.record(daemon, work, "--flight-recorder") for _ in range(RECORDERS)]

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

    def test_outputs_that_take_nothing(self):
        """Each a file system of its own: what waits for them is not this often what may wait for one."""
        daemon = self.besieged(sim=SIM, config=f"store: {{host_chunks: {CHUNKS}}}\n")
        work = self.sleepers()
        with self.witnessed(daemon, f"{OUTPUTS} outputs that take nothing"):
            before = self.held(daemon)[0]
            outputs = [self.output(daemon.directory / f"output{number}") for number in range(OUTPUTS)]
            sessions = [self.record(daemon, work, "--output", where) for where, _ in outputs]
            for _, fault in outputs:
                fault.write_text("stall")
            harness.wait_until(lambda: all(self.lost(daemon, session) for session in sessions), "the first loss", patience=180)
            more = self.held(daemon)[0] - before
            for _, fault in outputs:
                fault.write_text("")
            print(f"{more / 1024:.0f} MiB more for {OUTPUTS} outputs", file=sys.stderr)
            # As for four, where it were 9 chunks for each.
            self.assertLess(more << 10, 4 * CHUNKS * 4 * MIB)
            for session in sessions:
                daemon.end(session, user=siege.USER)

    @staticmethod
    def lost(daemon, session):
        return sum(kind["lost"] for kind in daemon.status(session)["kinds"])

    def output(self, place):
        place.mkdir()
        return failing_fs.mount(self, place, lambda source: os.chown(source, siege.USER, siege.USER))


if __name__ == "__main__":
    unittest.main(verbosity=2)
