#!/usr/bin/env python3
"""A million requests and a hundred thousand sessions to one profd, in ten rounds: memory, descriptors and threads stay where the
first round brought them. PROFD_SOAK_REQUESTS and PROFD_SOAK_SESSIONS make it shorter."""
import multiprocessing
import os
import pathlib
import resource
import sys
import tempfile
import time
import unittest

import harness
import raw_client as raw

REQUESTS = int(os.environ.get("PROFD_SOAK_REQUESTS", 1_000_000))
SESSIONS = int(os.environ.get("PROFD_SOAK_SESSIONS", 100_000))
ROUNDS = 10
ASKERS, COLLECTORS = 2, 4
REQUESTS_OF_A_CONNECTION = 2000
SLACK_KIB = 8 << 10
PATIENCE_S = 600  # for one answer: it runs for half an hour, and others may want the machine meanwhile


def ask(path, session, count):
    """`count` requests of every kind that changes nothing, on new connections now and then, with streams that come and go."""
    while count > 0:
        door, connection = raw.Door(path), raw.Connection(path, timeout=PATIENCE_S)
        for number in range(min(count, REQUESTS_OF_A_CONNECTION)):
            if number % 100 == 99:
                watch = connection.begin("/profd.v1.Control/Watch", raw.text_field(1, session), door.ticket)
                live = connection.begin("/profd.v1.Control/Live", b"", door.ticket)
                while not watch.messages:
                    assert connection.read(), "the connection ended"
                connection.cancel(watch)
                connection.cancel(live)
                connection.calls.clear()
                continue
            method = ("Hello", "List", "Get", "Devices", "Get", "Targets", "Get", "ListLeases")[number % 8]
            code = connection.call(method, raw.text_field(1, session) if method == "Get" else b"", door.ticket).code
            assert code == raw.OK, (method, code)
            connection.calls.clear()
        count -= min(count, REQUESTS_OF_A_CONNECTION)
        connection.close()
        door.close()


def collect(path, pid, count):
    """`count` sessions, of the host, a process and a device, begun, stopped and removed."""
    door, connection = raw.Door(path), raw.Connection(path, timeout=PATIENCE_S)
    wanted = (raw.start_request([], ["host-sys-cpu"]), raw.start_request([pid], ["host-mem"]), raw.start_request([], ["hbm"]),
              raw.start_request([], ["host-sys-mem"]))
    for number in range(count):
        begun = connection.call("Start", wanted[number % len(wanted)], door.ticket)
        assert begun.code == raw.OK, (begun.code, begun.text)
        for method in ("Stop", "Remove"):
            answer = connection.call(method, raw.text_field(1, begun.session), door.ticket)
            assert answer.code == raw.OK, (method, answer.code, answer.text)
        connection.calls.clear()
    connection.close()
    door.close()


def in_processes(jobs):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=arguments) for work, *arguments in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode != 0 for worker in workers):
        raise AssertionError("a worker failed")


@harness.needs_root
class SoakTest(harness.ProfdTest):
    def figures(self, daemon):
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        numbers = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if ":" in line and len(line.split()) > 1}
        return int(numbers["VmRSS"]), len(os.listdir(f"/proc/{daemon.process.pid}/fd")), int(numbers["Threads"])

    def test_requests_and_sessions(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # In memory where there is room for it: nothing is asked of the disk here, which would have to sync ten files a session.
        folder = tempfile.mkdtemp(prefix="profd-soak-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        daemon = self.profd(directory=folder, config=f"log:\n  audit: '{folder}/audit.log'\n")
        target = self.workload(command=["sleep", "86400"])
        session = daemon.begin("--collect", "host-sys-cpu")["session"]
        measured, begun = [], time.monotonic()
        for number in range(ROUNDS):
            in_processes([(ask, daemon.socket, session, REQUESTS // ROUNDS // ASKERS)] * ASKERS +
                         [(collect, daemon.socket, target.pid, SESSIONS // ROUNDS // COLLECTORS)] * COLLECTORS)
            harness.wait_until(lambda: self.figures(daemon)[1] <= (measured[0][1] if measured else 100) + 2,
                               "descriptors to be closed")
            measured.append(self.figures(daemon))
            print("{:.0f} s: {} requests and {} sessions: RSS {} KiB, {} descriptors, {} threads".format(
                time.monotonic() - begun, REQUESTS * (number + 1) // ROUNDS, SESSIONS * (number + 1) // ROUNDS, *measured[-1]),
                file=sys.stderr, flush=True)
        # Samples may be late: the workers take every processor.
        print(f"{daemon.status(session)['lost']} samples of the session beside them lost", file=sys.stderr)
        self.assertLess(measured[-1][0], measured[0][0] + SLACK_KIB)
        self.assertLessEqual(measured[-1][2], measured[0][2] + 2)  # gRPC's come and go
        daemon.end(session)
        self.assertEqual(daemon.ctl("list", "--json").json["sessions"][0]["session"], session)
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
