#!/usr/bin/env python3
"""The page of `profctl ui` beside another user of the node, who takes all connections there are and keeps them busy."""
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
    def connections(self, port, user, count):
        """That many of the user's, each with a request that goes on for ever."""
        os.seteuid(user)
        try:
            for _ in range(count):
                connection = socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE_S)
                self.addCleanup(connection.close)
                try:
                    connection.sendall(b"GET / HTTP/1.1\r\n")
                except OSError:
                    pass  # it was closed at once
                yield connection
        finally:
            os.seteuid(0)

    def test_connections_of_others_are_closed(self):
        daemon = self.profd()
        os.chmod(daemon.socket, 0o666)
        page = subprocess.Popen([str(harness.PROFCTL), "ui"], env=daemon.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, user=OWNER, group=OWNER,
                                extra_groups=[])
        self.ends_with_the_test(page)
        address = urllib.parse.urlsplit(page.stdout.readline().strip())

        others = list(self.connections(address.port, OTHER, 40))  # more than the page serves at once
        for connection in others:
            try:
                self.assertEqual(connection.recv(1), b"")
            except ConnectionResetError:
                pass
        for user in (OWNER, 0):
            os.seteuid(user)
            try:
                owner = http.client.HTTPConnection("127.0.0.1", address.port, timeout=harness.PATIENCE_S)
                owner.request("GET", address.path)
                self.assertEqual(owner.getresponse().status, 200)
                owner.close()
            finally:
                os.seteuid(0)


if __name__ == "__main__":
    unittest.main()
