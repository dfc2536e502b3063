#!/usr/bin/env python3
"""Who knocks at profd's sockets without end, and waits for nothing, or says nothing and stays: another user is let in, answered,
and loses no record."""
import os
import socket
import time
import unittest

import harness
import raw_client as raw
import siege

KNOCKERS, SECONDS, AT_ONCE = 3, 4, 64
ACCOUNTS = (siege.USER, 4321, 4322, 4323)  # that together may have more connections than there are


def knock(path, kind, message):
    """As fast as it goes: says `message` on a new connection and has gone before there can be an answer."""
    os.nice(10)  # it is not the machine's processors that are attacked
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(AT_ONCE):
            with socket.socket(socket.AF_UNIX, kind) as each:
                each.setblocking(False)
                try:
                    each.connect(path)
                    each.send(message)
                except OSError:  # the queue is full, or profd has closed
                    pass


def stay(path, kind, message):
    """On as many connections as there are to be had: new ones for those that are closed."""
    os.nice(10)
    end, held = time.monotonic() + SECONDS, []
    while time.monotonic() < end:
        fresh = socket.socket(socket.AF_UNIX, kind)
        fresh.setblocking(False)
        try:
            fresh.connect(path)
            if message:
                fresh.send(message)
            held.append(fresh)
        except OSError:  # the queue is full, or profd has closed
            fresh.close()
        if fresh.fileno() < 0 or len(held) % 512 == 0:
            held = [each for each in held if is_open(each)]


def is_open(each):
    try:
        if each.recv(65536):
            return True
    except BlockingIOError:
        return True
    except OSError:
        pass
    each.close()
    return False


@harness.needs_root
class HostileKnocksTest(siege.Siege):
    def test_knocks_without_end(self):
        daemon = self.besieged(config="log:\n  audit: 'off'\n")
        control, door = str(daemon.socket), str(daemon.socket) + ".door"
        for what, path, kind, message in (("at the door", door, socket.SOCK_SEQPACKET, raw.HELLO),
                                          ("an agent's at the door", door, socket.SOCK_SEQPACKET, raw.HELLO_AGENT),
                                          ("at the control socket", control, socket.SOCK_STREAM, b""),
                                          ("with HTTP/2", control, socket.SOCK_STREAM, raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0))):
            # How long an answer takes is the machine's: three busy processes and two profd. Who comes first says auth_test.
            with self.subTest(what), self.witnessed(daemon, "knocks " + what, is_timed=False):
                siege.run_attackers(KNOCKERS, lambda _: knock(path, kind, message))

    def test_accounts_that_hold_all_connections(self):
        daemon = self.besieged(config="log:\n  audit: 'off'\n")
        control, door = str(daemon.socket), str(daemon.socket) + ".door"
        begun = raw.PREFACE + raw.frame(raw.SETTINGS, 0, 0)
        for what, path, kind, message in (("silent ones", control, socket.SOCK_STREAM, b""), ("with HTTP/2", control, socket.SOCK_STREAM, begun),
                                          ("silent ones at the door", door, socket.SOCK_SEQPACKET, b"")):
            def attack(path=path, kind=kind, message=message):
                siege.run_attackers(len(ACCOUNTS), lambda _: stay(path, kind, message), ACCOUNTS)
            attack()  # brings every pool to its size
            with self.subTest(what), self.witnessed(daemon, "connections held: " + what, is_timed=False):
                attack()


if __name__ == "__main__":
    unittest.main(verbosity=2)
