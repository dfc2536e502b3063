#!/usr/bin/env python3
"""profd's memory is not in users' hands: however many flight recorders they start, and however many answers they ask for and do not
read, what that takes has a bound; somebody else loses nothing meanwhile."""
import pathlib
import struct
import subprocess
import sys
import unittest

import harness
import raw_client as raw
import siege

MIB = 1 << 20
# As many as a user may have; those of all users together have 16 * EACH. A chunk that comes late on a busy machine fits.
RECORDERS, EACH = 16, 4 * MIB
THREADS = 400  # 1.5 MB/s of host-cpu
SLEEPERS = ("import threading, time\n"
            f"for _ in range({THREADS}): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
            "print('ready', flush=True)\ntime.sleep(600)\n")
SIM = "devices: 1\nchip: 910B\n"
# Of lists that nobody reads: some hundred sessions with the longest labels there may be, and what profd may take for 400 of them.
SESSIONS, LISTS, LISTS_KIB = 96, 400, 160 << 10
LABELS = {f"{number:02}": "v" * 126 for number in range(32)}


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

    def test_answers_that_nobody_reads(self):
        """On connections whose windows stay shut, so that gRPC keeps each answer."""
        daemon = self.besieged(sim=SIM, config="log: {audit: 'off'}\nlimits: {requests_per_s: 1000}\n")
        work = self.workload(command=["sleep", "300"], user=siege.USER, group=siege.USER, extra_groups=[])
        labels = [word for name, value in LABELS.items() for word in ("--label", f"{name}={value}")]

        def most_kib():
            status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
            return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))

        def ask(_):
            door = raw.Door(daemon.socket)
            connections, refused = [], []
            for _ in range(LISTS // 50):
                connection = raw.Connection(daemon.socket, preface=False)
                connection.socket.sendall(raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)))
                connections.append(connection)
                calls = [connection.begin("/profd.v1.Control/List", b"", door.ticket) for _ in range(50)]
                # What fails needs no window: neither does this, which comes after them.
                connection.call("Get", raw.text_field(1, "none"), door.ticket)
                refused += [call.text for call in calls if call.code is not None]
            assert refused and all("read the earlier answers first" in text for text in refused), refused[:3]
            # Who goes gives it back.
            for connection in connections:
                connection.close()
            last = None
            while last is None or last.code == raw.RESOURCE_EXHAUSTED:
                connection = raw.Connection(daemon.socket)
                last = connection.begin("/profd.v1.Control/List", b"", door.ticket, keep=True)
                while last.code is None and connection.read():
                    pass
            assert last.code == raw.OK, (last.code, last.text)

        for _ in range(SESSIONS):
            session = daemon.begin("--pid", work.pid, "--collect", "host-mem", *labels, user=siege.USER)["session"]
            self.assertEqual(daemon.ctl("stop", session, user=siege.USER).code, harness.OK)
        # It is over in a moment: too few lists to say how long one takes.
        with self.witnessed(daemon, f"{LISTS} lists that nobody reads", is_timed=False):
            before = most_kib()
            siege.run_attackers(1, ask)
            grown = most_kib() - before
            print(f"unread lists: {grown / 1024:.0f} MiB more at most", file=sys.stderr)
            if not harness.IS_SANITIZED:
                self.assertLess(grown, LISTS_KIB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
