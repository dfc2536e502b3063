#!/usr/bin/env python3
"""The page of `profctl ui` beside another user of the node, who takes all connections there are and keeps them busy."""
import contextlib
import http.client
import os
import socket
import subprocess
import unittest
import urllib.parse

import harness

OWNER = harness.nobody()
OTHER = OWNER - 1


@harness.needs_root
class HostilePageTest(harness.ProfdTest):
    def connection(self, port, user):
        os.seteuid(user)  # whose a socket is, is who made it
        try:
            connection = socket.socket()
        finally:
            os.seteuid(0)
        self.addCleanup(connection.close)
        connection.settimeout(harness.PATIENCE_S)
        connection.connect(("127.0.0.1", port))
        return connection

    def test_connections_of_others_are_closed(self):
        daemon = self.profd()
        os.chmod(daemon.socket, 0o666)
        page = subprocess.Popen([str(harness.PROFCTL), "ui"], env=daemon.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, user=OWNER, group=OWNER,
                                extra_groups=[])
        self.ends_with_the_test(page)
        address = urllib.parse.urlsplit(page.stdout.readline().strip())

        for _ in range(40):  # more than the page serves at once, each with a request that has no end
            other = self.connection(address.port, OTHER)
            with contextlib.suppress(ConnectionError):
                other.sendall(b"GET / HTTP/1.1\r\n")
            with contextlib.suppress(ConnectionError):
                self.assertEqual(other.recv(1), b"")
        # Closed at once, they are nobody's any more. The owner asks as soon as the last of them has come.
        for _ in range(20):
            for _ in range(100):
                os.seteuid(OTHER)
                try:
                    other = socket.socket()
                finally:
                    os.seteuid(0)
                other.connect(("127.0.0.1", address.port))
                other.close()
            owner = http.client.HTTPConnection("127.0.0.1", address.port)
            owner.sock = self.connection(address.port, OWNER)
            owner.request("GET", address.path)
            self.assertEqual(owner.getresponse().status, 200)
        for user in (OWNER, 0):
            owner = http.client.HTTPConnection("127.0.0.1", address.port)
            owner.sock = self.connection(address.port, user)
            owner.request("GET", address.path)
            self.assertEqual(owner.getresponse().status, 200)


if __name__ == "__main__":
    unittest.main()
