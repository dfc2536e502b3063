#!/usr/bin/env python3
"""The attack list: an unprivileged user against the sockets of a root profd. Nothing is gained, the daemon stays as it was, and
honest users are served meanwhile."""
import os
import pathlib
import random
import resource
import socket
import sys
import threading
import time
import unittest

import harness
import raw_client as raw
from quiet import Quiet
from siege import Attackers, HONEST, USER

METHODS = ("Hello", "Start", "Stop", "Get", "Snapshot", "Pause", "Pin", "Remove", "Move", "List", "Watch", "Devices", "Targets",
           "AddLease", "RemoveLease", "ListLeases", "Doctor")
# What a round of an attack may leave behind: the allocator's slack, not a leak of anything per connection or call.
SLACK_KIB = 16 << 10
# Of 10 samples a second, what root's session may lose beyond what the machine's other work costs one of a profd that nobody
# attacks: an attack that holds the sampler up costs more.
BUSY = 5
# More than profd has open itself, with a session of each of two users whose files are flushed, and the programs of four profiles of
# Python that the kernel holds ready (some 92).
OWN_DESCRIPTORS = 100


@harness.needs_root
class HostileClientTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd(config="log:\n  audit: 'off'\n")
        self.of_root = self.daemon.begin("--collect", "host-sys-cpu")["session"]
        self.quiet = Quiet(self, "--collect", "host-sys-cpu")

    def profd_kib(self, what="VmRSS:"):
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith(what)))

    def profd_descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))

    def attack(self, action, count=1, during=None):
        """`action(number)` in processes of the user's; what it answers is kept until all are done."""
        attackers = Attackers(count, action)
        try:
            while not attackers.finished():
                self.honest_are_served()
            if during:
                during()
            self.honest_are_served()
        finally:
            attackers.go_home()

    def honest_are_served(self):
        for user in (HONEST, None):
            listed = self.daemon.ctl("list", "--json", user=user)
            self.assertEqual(listed.code, harness.OK, listed)

    def still_serves(self):
        self.assertIsNone(self.daemon.process.poll(), self.daemon.log.read_text()[-2000:])
        self.assertEqual(self.daemon.status(self.of_root)["state"], "running")

    def nothing_gained(self):
        self.still_serves()
        if not harness.IS_SANITIZED:  # two cores may then be too slow for samples and an attack
            self.assertLessEqual(self.daemon.status(self.of_root)["lost"], BUSY + 2 * self.quiet.lost("host-sys-cpu"))

    def flat(self, action, count=1, rounds=3, during=None):
        """The first round brings every pool to its size; the others leave the daemon as it was. A leak is in every round: what
        one of them does not add is a pool's."""
        self.attack(action, count, during)
        self.settled()
        descriptors, sizes = self.profd_descriptors(), [self.profd_kib()]
        for _ in range(rounds):
            self.attack(action, count, during)
            self.settled(descriptors)
            sizes.append(self.profd_kib())
        if not harness.IS_SANITIZED:  # a sanitizer keeps what is freed, and its shadow of what was touched
            self.assertLess(min(after - before for before, after in zip(sizes, sizes[1:])), SLACK_KIB // rounds, sizes)
        self.nothing_gained()

    def settled(self, descriptors=None):
        """Connections of those who have gone are closed."""
        def few():
            self.daemon.ctl("list")
            return self.profd_descriptors() <= (descriptors or OWN_DESCRIPTORS) + 4
        harness.wait_until(few, "profd to close the connections of those who have gone")

    # --- tickets

    def test_tickets_that_are_not_ones_own(self):
        door = raw.Door(self.daemon.socket)
        self.assertEqual(raw.Connection(self.daemon.socket).call("List", ticket=door.ticket).code, raw.OK)
        of_an_agent = raw.Door(self.daemon.socket, raw.HELLO_AGENT)
        stale = raw.Door(self.daemon.socket)
        stale.close()
        harness.wait_until(lambda: raw.Connection(self.daemon.socket).call("List", ticket=stale.ticket).code == raw.UNAUTHENTICATED,
                           "the ticket of a closed door to die")
        wrong = [None, "", "0" * 64, stale.ticket, door.ticket[:-1], door.ticket + "0", door.ticket[:63] + "x", door.ticket.upper() + " ",
                 door.ticket[:16] + "0" * 48, b"\xff" * 64, "' or 1=1 --", "a" * 4000]
        wrong += ["%064x" % random.getrandbits(256) for _ in range(200)]

        def replay(_):
            connection = raw.Connection(self.daemon.socket)
            for ticket in wrong:
                for method in ("List", "Start", "Stop", "Watch"):
                    body = raw.start_request([1]) if method == "Start" else raw.text_field(1, self.of_root)
                    code = connection.call(method, body, ticket).code
                    assert code == raw.UNAUTHENTICATED, (ticket, method, code)
            assert connection.call("List", ticket=of_an_agent.ticket).code == raw.UNAUTHENTICATED  # another user's
            own = raw.Door(self.daemon.socket, raw.HELLO_AGENT)
            assert connection.call("List", ticket=own.ticket).code == raw.PERMISSION_DENIED

        self.attack(replay)
        self.nothing_gained()
        # … and it still stands for its holder.
        self.assertEqual(raw.Connection(self.daemon.socket).call("List", ticket=door.ticket).code, raw.OK)

    # --- what is others'

    def test_processes_and_sessions_of_others(self):
        work = self.workload()

        def reach(_):
            door = raw.Door(self.daemon.socket)
            connection = raw.Connection(self.daemon.socket)
            for pid in (1, work.pid, self.daemon.process.pid, os.getppid()):
                started = connection.call("Start", raw.start_request([pid], ["host-cpu"]), door.ticket)
                assert started.code == raw.PERMISSION_DENIED, (pid, started.code, started.text)
            for kinds in (["hbm"], ["host-sys-cpu"], ["host-network"]):
                assert connection.call("Start", raw.start_request([], kinds), door.ticket).code == raw.PERMISSION_DENIED, kinds
            for method in ("Stop", "Get", "Snapshot", "Pause", "Pin", "Remove", "Watch"):
                answer = connection.call(method, raw.text_field(1, self.of_root), door.ticket)
                assert answer.code == raw.NOT_FOUND and answer.messages == 0, (method, answer.code)
                assert "root" not in answer.text, answer.text
            for method in ("AddLease", "RemoveLease"):
                lease = raw.text_field(1, "nobody") + b"\x18\x01" + b"\x20" + raw.varint(10**9)
                assert connection.call(method, lease if method == "AddLease" else raw.text_field(1, "12345678"),
                                       door.ticket).code == raw.PERMISSION_DENIED, method

        self.attack(reach)
        self.nothing_gained()

    def test_nothing_of_others_is_shown(self):
        secret = "hunter2"
        work = self.workload(command=["sleep", "300"], env={"SECRET": secret})
        self.daemon.begin("--collect", "hbm", "--name", secret, "--label", f"what={secret}")
        job = harness.Job(self, self.daemon, labels=f"job={secret}")
        self.registered(self.daemon, job.pid)
        self.assertIn(str(job.pid), self.daemon.ctl("targets", "--json").out)
        for arguments in (("targets",), ("status",), ("list",), ("devices",), ("doctor",), ("doctor", "--pid", job.pid),
                          ("doctor", "--pid", work.pid)):
            for form in ((), ("--json",)):
                shown = self.daemon.ctl(*arguments, *form, user=USER)
                self.assertNotIn(secret, shown.out + shown.err, arguments)
                self.assertNotIn("workload", shown.out + shown.err, arguments)
                if "--pid" not in arguments:
                    self.assertNotRegex(shown.out + shown.err, rf"\b{job.pid}\b", arguments)
        self.assertIn("of root since", self.daemon.ctl("devices", user=USER).out)  # who holds a kind is no secret

    # --- the door

    def test_descriptors_over_the_door(self):
        def pass_them(_):
            read, write = os.pipe()
            null = os.open("/dev/null", os.O_RDONLY)
            path = os.open("/root", os.O_PATH)  # known, but not his to open
            home = os.open("/", os.O_RDONLY)
            for message, descriptors in ((raw.HELLO, [read]), (raw.HELLO_OUTPUT, []), (raw.HELLO_OUTPUT, [null]),
                                         (raw.HELLO_OUTPUT, [read]), (raw.HELLO_OUTPUT, [home, home]), (raw.HELLO_AGENT, [home]),
                                         (raw.HELLO_OUTPUT, [home] * 250), (raw.HELLO, [home] * 250), (b"", [home] * 250),
                                         (b"x", [write]), (raw.HELLO_OUTPUT + b"x", [home]), (b"x" * 100_000, [home])):
                door = raw.Door(self.daemon.socket, message, descriptors)
                assert door.status != raw.WELCOME, (message, len(descriptors))
                door.close()
            # A directory he may not write to gets a ticket, but no session.
            for directory in (home, path):
                door = raw.Door(self.daemon.socket, raw.HELLO_OUTPUT, [directory])
                if door.status != raw.WELCOME:
                    continue
                spec = raw.text_field(11, "/") + b"\x18" + raw.varint(os.getpid())
                started = raw.Connection(self.daemon.socket).call("Start", raw.text_field(1, spec), door.ticket)
                assert started.code not in (raw.OK, None), started.text
                door.close()

        self.flat(pass_them)

    def test_knocks_and_says_nothing_or_goes_on_talking(self):
        def knock(_):
            silent = []
            for _ in range(200):
                each = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                each.connect(str(self.daemon.socket) + ".door")
                silent.append(each)
            doors = [raw.Door(self.daemon.socket) for _ in range(100)]
            for door in doors:
                try:
                    door.socket.send(b"more" * 1000)
                except OSError:
                    pass
            return silent, doors

        self.flat(knock)

    # --- HTTP/2

    def test_garbage_on_the_socket(self):
        def talk(_):
            rng = random.Random(1)
            noise = lambda size: bytes(rng.getrandbits(8) for _ in range(size))  # noqa: E731
            block = raw.header_block(raw.call_headers("/profd.v1.Control/List"))
            said = [noise(5000), b"GET / HTTP/1.1\r\n\r\n", raw.PREFACE[:10] + noise(100), raw.PREFACE + noise(5000),
                    raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0, b"x" * 7),
                    raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + raw.frame(raw.DATA, 0, 1, b"", length=(1 << 24) - 1),
                    raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + raw.frame(raw.HEADERS, 0, 1, block) + noise(100),
                    raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + raw.frame(raw.HEADERS, raw.END_HEADERS, 1, noise(500)),
                    raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + raw.frame(raw.HEADERS, raw.END_HEADERS, 2, block),
                    raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + raw.frame(raw.HEADERS, raw.END_HEADERS, 1, block)[:-3]]
            for data in said:
                connection = raw.Connection(self.daemon.socket, preface=False, timeout=5)
                try:
                    connection.socket.sendall(data)
                except OSError:
                    pass
                connection.close()

        self.flat(talk)

    def test_malformed_and_oversized_messages_to_every_method(self):
        def talk(_):
            rng = random.Random(2)
            door = raw.Door(self.daemon.socket)
            for method in METHODS:
                for body in (b"\xff" * 50, b"\x0a\xff\xff\xff\xff\x0f", b"\x0a" * 1000, bytes(rng.getrandbits(8) for _ in range(300)),
                             raw.text_field(1, b"\xff\xfe\x00\n\x1b[2J" * 100), raw.text_field(1, "x" * 200_000), b"x" * 2_000_000):
                    connection = raw.Connection(self.daemon.socket, timeout=60)
                    try:
                        connection.call(method, body, door.ticket)
                    except OSError:
                        pass
                    connection.close()
                # A length that does not come, and one that is too long.
                connection = raw.Connection(self.daemon.socket)
                connection.begin("/profd.v1.Control/" + method, ticket=door.ticket, whole=False)
                connection.socket.sendall(raw.frame(raw.DATA, 0, 1, b"\0\xff\xff\xff\xffxx"))
                connection.close()

        self.flat(talk, rounds=2)

    def test_ten_thousand_connections(self):
        def crowd(number):
            kept = []
            for i in range(1250):
                each = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if i % 2 else socket.SOCK_SEQPACKET)
                each.settimeout(20)
                try:
                    each.connect(str(self.daemon.socket) + ("" if i % 2 else ".door"))
                    if i % 2 and number % 2:
                        each.sendall(raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0))
                except OSError:
                    pass
                kept.append(each)
            return kept

        def during():
            # Those that he has too many of were not kept: 1088 of his were, with three descriptors each; of some that were
            # closed gRPC has not let go yet.
            self.assertLess(self.profd_descriptors(), 6000)

        self.flat(crowd, count=8, rounds=2, during=during)

    def test_slow_ones_are_let_go(self):
        def drip(_):
            slow = [raw.Connection(self.daemon.socket, preface=False, timeout=harness.PATIENCE_S) for _ in range(40)]
            for connection in slow:
                connection.socket.sendall(raw.PREFACE[:3])
            assert all(connection.ended() for connection in slow)
            doors = []
            for _ in range(20):
                door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                door.settimeout(60)
                door.connect(str(self.daemon.socket) + ".door")
                doors.append(door)
            assert all(door.recv(1) == b"" for door in doors)

        self.attack(drip)
        self.nothing_gained()

    def test_half_messages_of_many_streams(self):
        """They fill the memory that gRPC may take; others are served all the same."""
        def fill(_):
            kept = []
            for _ in range(60):
                connection = raw.Connection(self.daemon.socket)
                try:
                    for _ in range(30):
                        connection.begin("/profd.v1.Control/Start", whole=False)
                        stream = connection.next_stream - 2
                        connection.socket.sendall(raw.frame(raw.DATA, 0, stream, b"\0\0\3\0\0" + b"x" * 2000))
                except OSError:  # he has as many calls open as he may
                    pass
                kept.append(connection)
            return kept

        self.flat(fill)

    # --- too much of a good thing

    def test_a_flood_of_requests_is_refused_and_others_are_not(self):
        def flood(_):
            door = raw.Door(self.daemon.socket)
            connection = raw.Connection(self.daemon.socket)
            codes = set()
            for _ in range(22):
                # Many at once: on a busy machine one behind the other would be no more than he may.
                calls = [connection.begin("/profd.v1.Control/List", ticket=door.ticket) for _ in range(32)]
                while any(call.code is None for call in calls):
                    assert connection.read()
                codes |= {call.code for call in calls}
            assert codes == {raw.OK, raw.RESOURCE_EXHAUSTED}, codes

        self.flat(flood, count=2, rounds=2)

    def test_watches_and_sessions_of_one_user_have_an_end(self):
        work = self.workload(command=["sleep", "300"], user=USER, group=USER, extra_groups=[])
        session = self.daemon.begin("--pid", work.pid, "--collect", "host-mem", user=USER)["session"]

        def watch(_):
            door = raw.Door(self.daemon.socket)
            connection = raw.Connection(self.daemon.socket)

            def begin():
                return connection.begin("/profd.v1.Control/Watch", raw.text_field(1, session), door.ticket)

            # Those of the round before have gone, but profd may not know it yet.
            end = time.monotonic() + harness.PATIENCE_S
            calls = []
            while not calls or (calls[0].code == raw.RESOURCE_EXHAUSTED and time.monotonic() < end):
                time.sleep(0.05 if calls else 0)  # profd tells nobody when it has seen a connection go
                calls = [begin()]
                while calls[0].code is None and calls[0].messages == 0:
                    assert connection.read()
            calls += [begin() for _ in range(39)]
            while sum(1 for call in calls if call.code is not None or call.messages > 0) < 40:
                assert connection.read()
            refused = [call for call in calls if call.code == raw.RESOURCE_EXHAUSTED]
            assert 24 <= len(refused) < 40, len(refused)
            return door, connection

        self.flat(watch)
        for _ in range(15):
            self.daemon.begin("--pid", work.pid, "--collect", "host-mem", user=USER)
        refused = self.daemon.ctl("start", "--pid", work.pid, "--collect", "host-mem", user=USER)
        self.assertEqual(refused.code, harness.BUSY, refused)
        self.assertIn("limits.sessions_per_user", refused.err)
        self.daemon.end(self.daemon.begin("--collect", "host-sys-cpu")["session"])

    def test_starts_at_once_are_no_more_sessions(self):
        """Each is looked at before there is a session: all of them find room."""
        def start(_):
            door, connection = raw.Door(self.daemon.socket), raw.Connection(self.daemon.socket)
            request = raw.start_request([os.getpid()], ["host-mem"])
            calls = [connection.begin("/profd.v1.Control/Start", request, door.ticket) for _ in range(32)]
            while any(call.code is None for call in calls):
                assert connection.read()
            codes = [call.code for call in calls]
            assert sorted(set(codes)) == [raw.OK, raw.RESOURCE_EXHAUSTED], {call.code: call.text for call in calls}
            assert codes.count(raw.OK) == 16, codes
            return door, connection

        self.attack(start)
        self.still_serves()

    def test_accounts_that_hold_all_sessions(self):
        """Whoever has fewer than four gets in all the same: a quarter of all is for them."""
        daemon = self.profd(config="session: {max_sessions: 8}\nlimits: {sessions_per_user: 4}\n")
        os.chmod(daemon.socket, 0o666)

        def start(user):
            work = self.workload(command=["sleep", "600"], user=user, group=user, extra_groups=[])
            return daemon.ctl("start", "--pid", work.pid, "--collect", "host-mem", user=user)

        for user in (USER, 4321):
            for _ in range(4):
                self.assertEqual(start(user).code, harness.OK)
        for user in (4322, 4323):
            started = start(user)
            self.assertEqual(started.code, harness.OK, started)
        refused = start(4322)
        self.assertEqual(refused.code, harness.BUSY, refused)
        self.assertIn("session.max_sessions", refused.err)
        daemon.begin("--collect", "host-sys-cpu")  # an eighth is for root

    def test_a_process_with_very_many_descriptors_keeps_nobody_waiting(self):
        """profd looks through a target's descriptors: that takes as long as it takes, but not from others."""
        def hoard(_):
            null = os.open("/dev/null", os.O_RDONLY)
            return [os.dup(null) for _ in range(min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 500_000) - 64)]

        hoarder = Attackers(1, hoard)
        self.addCleanup(hoarder.go_home)
        harness.wait_until(hoarder.finished, "the descriptors to be open")
        starts = [threading.Thread(target=lambda: self.daemon.ctl("start", "--pid", hoarder.children[0][0], "--collect", "host-mem",
                                                                 "--duration", "1s", user=USER)) for _ in range(4)]
        for start in starts:
            start.start()
        while any(start.is_alive() for start in starts):
            self.honest_are_served()
        self.nothing_gained()


if __name__ == "__main__":
    unittest.main(verbosity=2)
