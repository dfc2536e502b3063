#!/usr/bin/env python3
"""HTTP/2 as a weapon: rapid resets, floods of frames of every kind, watches without end. Each beside another user, who loses no
record and is answered, and leaves profd as it was. What it may take meanwhile has a limit."""
import gzip
import pathlib
import struct
import sys
import unittest

import harness
import raw_client as raw
import siege

# What all that one user floods profd with may take at any moment.
FLOOD_KIB = 64 << 10
SECONDS, CONNECTIONS = 4, 6
BEGUN = raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + raw.frame(raw.SETTINGS, raw.ACK, 0)
CANCEL = b"\0\0\0\x08"
STREAMS = range(1, 20_000, 2)


def head(method, stream, end=raw.END_HEADERS):
    return raw.frame(raw.HEADERS, end, stream, raw.header_block(raw.call_headers(f"/profd.v1.Control/{method}")))


def reset(stream):
    return raw.frame(raw.RST, 0, stream, CANCEL)


def compressed(stream, body, ticket=None):
    headers = raw.call_headers("/profd.v1.Control/List", ticket, [("grpc-encoding", "gzip")])
    data = gzip.compress(body)
    return (raw.frame(raw.HEADERS, raw.END_HEADERS, stream, raw.header_block(headers)) +
            raw.frame(raw.DATA, raw.END_STREAM, stream, b"\1" + struct.pack(">I", len(data)) + data))


def floods():
    """gRPC would begin a call for each HEADERS, and keep what that took: 0.8 GB after 8 connections with 10 000 of them."""
    return {
        "calls": raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0) + b"".join(head("Start", stream) for stream in STREAMS),
        "rapid resets": BEGUN + b"".join(head("List", stream) + reset(stream) for stream in STREAMS),
        "headers of nothing": BEGUN + b"".join(raw.frame(raw.HEADERS, raw.END_HEADERS, stream, b"\x82" * 16_000) + reset(stream)
                                               for stream in range(1, 500, 2)),
        "continuations": BEGUN + head("Start", 1, 0) + raw.frame(raw.CONTINUATION, 0, 1, b"\0\1a\1b" * 1000) * 1000,
        "empty continuations": BEGUN + head("Start", 1, 0) + raw.frame(raw.CONTINUATION, 0, 1) * 100_000,
        "crumbs": BEGUN + b"".join(head("Start", stream) + raw.frame(raw.DATA, 0, stream, b"\0\0\x0f\0\0") +
                                   raw.frame(raw.DATA, 0, stream, b"x") * 10_000 for stream in range(1, 121, 2)),
        "nothing": BEGUN + head("Start", 1) + raw.frame(raw.DATA, 0, 1, b"") * 100_000,
        "pings": BEGUN + raw.frame(raw.PING, 0, 0, b"12345678") * 100_000,
        "settings": BEGUN + raw.frame(raw.SETTINGS, 0, 0, b"\0\3\0\0\0\0" * 100) * 5000,
        "empty settings": BEGUN + raw.frame(raw.SETTINGS, 0, 0) * 100_000,
        "tables": BEGUN + b"".join(raw.frame(raw.SETTINGS, 0, 0, b"\0\1" + size) for size in (b"\0\0\0\0", b"\0\1\0\0")) * 50_000,
        "windows": BEGUN + raw.frame(raw.WINDOW_UPDATE, 0, 0, b"\0\0\0\1") * 100_000,
        "compressed": BEGUN + compressed(1, bytes(12 << 20)) * 100,
        "unknown frames": BEGUN + raw.frame(77, 255, 0, b"x" * 100) * 50_000,
    }


@harness.needs_root
class HostileHttp2Test(siege.Siege):
    def setUp(self):
        [self.port] = harness.free_ports()
        remote = f"remote: {{listen: '127.0.0.1:{self.port}', plain: viewer}}\n"
        self.daemon = self.besieged(config="log:\n  audit: 'off'\n" + remote)

    def most_kib(self):
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))

    def limited(self, what, count, action):
        """It may take so much at its height."""
        before = self.most_kib()
        siege.run_attackers(count, action)
        grown = self.most_kib() - before
        print(f"{what}: {grown / 1024:.0f} MiB more at most", file=sys.stderr)
        if not harness.IS_SANITIZED:
            self.assertLess(grown, FLOOD_KIB)

    def test_floods_of_frames(self):
        all_floods = floods()
        for name, data in all_floods.items():
            with self.subTest(name), self.witnessed(self.daemon, name):
                self.limited(name, 1, lambda _, d=data: raw.flood(self.daemon.socket, d, CONNECTIONS, SECONDS))
        attackers = list(all_floods.values())
        with self.witnessed(self.daemon, "all floods at once"):
            self.limited("all", len(attackers),
                         lambda number: raw.flood(self.daemon.socket, attackers[number], CONNECTIONS, SECONDS))

    def test_nothing_compressed_is_taken(self):
        """12 KB would be 12 MiB, before anybody has looked at the ticket. Root is told why, others' connections end."""
        def ask():
            door, connection = raw.Door(self.daemon.socket), raw.Connection(self.daemon.socket)
            connection.calls[1] = raw.Call()
            connection.socket.sendall(compressed(1, b"", door.ticket))
            while connection.calls[1].code is None and connection.read():
                pass
            door.close()
            connection.close()
            return connection.calls[1]

        def ask_as_user(_):
            call = ask()
            assert call.code is None and call.messages == 0, (call.code, call.text)

        of_root = ask()
        self.assertEqual(of_root.code, raw.UNIMPLEMENTED, of_root.text)
        self.assertIn("gzip", of_root.text)
        siege.run_attackers(1, ask_as_user)

    def test_no_answer_repeats_a_long_question(self):
        """Whoever does not read would have profd keep both."""
        def ask(_):
            connection = raw.Connection(self.daemon.socket)
            for method, code in (("health.v1.Health/Check", raw.NOT_FOUND),
                                 ("reflection.v1alpha.ServerReflection/ServerReflectionInfo", raw.INVALID_ARGUMENT)):
                call = connection.begin("/grpc." + method, raw.text_field(1, "x" * 10_000), keep=True)
                while call.code is None and connection.read():
                    pass
                assert call.code == code and len(call.text) < 2000 and not call.body, (method, call.code, call.text[:100], call.messages)

        siege.run_attackers(1, ask)

    def test_messages_over_tcp_that_do_not_end(self):
        """gRPC keeps them. Where its memory is full it ends connections and calls: of those who came over TCP."""
        piece = raw.frame(raw.DATA, 0, 1, b"a" * 16_384)
        data = BEGUN + b"".join(head("List", stream) + raw.frame(raw.DATA, 0, stream, b"\0\0\x0f\xff\xff" + b"a" * 16_000) +
                                piece[:5] + struct.pack(">I", stream) + piece[9:] for stream in range(1, 127, 2))
        begin = raw.from_addresses(self.port, 20)
        witness = siege.Witness(self, self.daemon, None)
        asker = siege.Asker(siege.HONEST, [self.daemon.socket])
        try:
            siege.run_attackers(1, lambda _: raw.flood(None, data, connections=450, seconds=2 * SECONDS, begin=begin))
        finally:
            asker.end()  # it had every answer
        witness.end(self)

    def test_calls_on_every_connection_there_may_be(self):
        data = BEGUN + b"".join(head("Start", stream) for stream in range(1, 129, 2))
        with self.witnessed(self.daemon, "open calls"):
            self.limited("open calls", 1, lambda _: raw.flood(self.daemon.socket, data, connections=1000, seconds=6))

    def test_two_thousand_watches(self):
        """Of a session of his, and of the node's values, on as many connections as it takes."""
        work = self.workload(command=["sleep", "300"], user=siege.USER, group=siege.USER, extra_groups=[])
        session = self.daemon.begin("--pid", work.pid, "--collect", "host-mem", user=siege.USER)["session"]

        def watch(_):
            doors, connections, served, refused = [], [], 0, 0
            for _ in range(40):
                doors.append(raw.Door(self.daemon.socket))
                connections.append(raw.Connection(self.daemon.socket))
                calls = [connections[-1].begin("/profd.v1.Control/" + method, raw.text_field(1, session) if method == "Watch" else b"",
                                               doors[-1].ticket) for method in ("Watch", "Live") * 25]
                while any(call.code is None and call.messages == 0 for call in calls) and connections[-1].read():
                    pass
                served += sum(call.messages > 0 for call in calls)
                refused += sum(call.code == raw.RESOURCE_EXHAUSTED for call in calls)
            assert served <= 16 and served + refused == 2000, (served, refused)
            return doors, connections

        with self.witnessed(self.daemon, "2000 watches"):
            siege.run_attackers(1, watch)


if __name__ == "__main__":
    unittest.main(verbosity=2)
