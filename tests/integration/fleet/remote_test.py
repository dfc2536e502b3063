#!/usr/bin/env python3
"""profd over TCP: who gets in, who may what, and how sessions come here."""
import filecmp
import os
import pathlib
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

import authority
import harness
import raw_client

SIM = "devices: 2\nchip: 910B\n"
KINDS = ("--devices", "all", "--collect", "hbm,pcie")


def files_of(directory):
    root = pathlib.Path(directory)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def folders_of(directory):
    root = pathlib.Path(directory)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir())


class RemoteTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.authority = authority.Authority()
        cls.node = cls.authority.issue("node", "DNS:localhost,IP:127.0.0.1")
        cls.cards = {name: cls.authority.issue(name) for name in ("root of ops", "op", "eye", "nobody's", "job")}
        cls.cards["by name"] = cls.authority.issue("x", "DNS:console.example", file="console")

    @classmethod
    def tearDownClass(cls):
        cls.authority.close()

    def remote(self, limits="", **settings):
        """A daemon that listens; its port is `self.port`."""
        self.port = harness.free_ports()[0]
        cert, key = self.node
        given = {"listen": f"127.0.0.1:{self.port}", "cert": cert, "key": key, "client_ca": self.authority.ca,
                 "admins": "root of ops, console.example", "operators": "op", "viewers": "eye", "users": "job=nobody"}
        given.update(settings)
        return self.profd(sim=SIM, config=limits + "remote:\n" + "".join(f'  {key}: "{value}"\n' for key, value in given.items()))

    def ask(self, daemon, card, *arguments, host="localhost"):
        cert, key = self.cards[card] if isinstance(card, str) else card
        return daemon.ctl("--host", f"{host}:{self.port}", "--tls-ca", self.authority.ca, "--tls-cert", cert, "--tls-key", key,
                          *arguments)

    def scratch(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-fetch-")
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def recorded(self, daemon):
        session = daemon.begin(*KINDS, "--duration", "1s", "--wait")
        return session["session"], session["directory"]

    def test_an_admin_far_away_does_all_that_root_does_here(self):
        daemon = self.remote()
        for card in ("root of ops", "by name"):
            self.assertEqual(self.ask(daemon, card, "devices").code, harness.OK)
        self.assertEqual(self.ask(daemon, "root of ops", "devices", host="127.0.0.1").code, harness.OK)
        begun = self.ask(daemon, "root of ops", "start", *KINDS, "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        session = begun.json["session"]
        self.assertEqual(daemon.status(session)["state"], "running")
        ended = self.ask(daemon, "root of ops", "stop", session, "--json")
        self.assertEqual(ended.code, harness.OK, ended)
        out = self.scratch()
        fetched = self.ask(daemon, "root of ops", "fetch", session, "--out", out, "--json")
        self.assertEqual(fetched.code, harness.OK, fetched)
        here, there = fetched.json["directory"], ended.json["directory"]
        self.assertEqual(pathlib.Path(here).parent, out)
        self.assertEqual(files_of(here), files_of(there))
        self.assertEqual(folders_of(here), folders_of(there))
        self.assertEqual(filecmp.cmpfiles(here, there, files_of(there), shallow=False)[0], files_of(there))
        self.assertEqual(daemon.ctl("verify", here).code, harness.OK)
        self.assertEqual(self.ask(daemon, "root of ops", "rm", session).code, harness.OK)
        self.assertFalse(os.path.exists(there))

    def test_roles(self):
        daemon = self.remote()
        session, _ = self.recorded(daemon)
        for card in ("eye", "op"):
            listed = self.ask(daemon, card, "list", "--json")
            self.assertEqual([each["session"] for each in listed.json["sessions"]], [session])
            self.assertEqual(self.ask(daemon, card, "fetch", session, "--out", self.scratch()).code, harness.OK)
            refused = self.ask(daemon, card, "rm", session)
            self.assertEqual(refused.code, harness.PERMISSION, refused)
        refused = self.ask(daemon, "eye", "start", *KINDS)
        self.assertEqual(refused.code, harness.PERMISSION)
        self.assertIn("viewer", refused.err)
        begun = self.ask(daemon, "op", "start", *KINDS, "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        self.assertEqual(self.ask(daemon, "eye", "stop", begun.json["session"]).code, harness.PERMISSION)
        self.assertEqual(self.ask(daemon, "op", "stop", begun.json["session"]).code, harness.OK)

    def test_a_certificate_may_stand_for_an_account(self):
        daemon = self.remote()
        session, _ = self.recorded(daemon)
        self.assertEqual(self.ask(daemon, "job", "list", "--json").json["sessions"], [])
        self.assertNotEqual(self.ask(daemon, "job", "fetch", session, "--out", self.scratch()).code, harness.OK)
        workload = subprocess.Popen(["sleep", "60"], user=pwd.getpwnam("nobody").pw_uid)
        self.addCleanup(workload.wait)
        self.addCleanup(workload.kill)
        own = self.ask(daemon, "job", "start", "--pid", workload.pid, "--collect", "host-cpu", "--json")
        self.assertEqual(own.code, harness.OK, own)
        self.assertEqual(own.json["user"], "nobody")
        self.assertEqual(os.stat(own.json["directory"]).st_uid, pwd.getpwnam("nobody").pw_uid)
        self.assertEqual(self.ask(daemon, "job", "start", *KINDS).code, harness.PERMISSION)

    def test_who_stays_outside(self):
        daemon = self.remote()
        refused = self.ask(daemon, "nobody's", "devices")
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn("nobody's", refused.err)
        self.assertEqual(len(refused.err.splitlines()), 1)
        other = authority.Authority("another authority")
        self.addCleanup(other.close)
        refused = self.ask(daemon, other.issue("root of ops"), "devices")
        self.assertEqual(refused.code, harness.UNAVAILABLE, refused)
        plain = daemon.ctl("--host", f"localhost:{self.port}", "--plain", "devices")
        self.assertEqual(plain.code, harness.UNAVAILABLE, plain)
        missing = daemon.ctl("--host", f"localhost:{self.port}", "devices")
        self.assertEqual(missing.code, harness.USAGE)
        self.assertIn("--tls-ca", missing.err)
        # A node that cannot prove its name is none of ours.
        cert, key = self.cards["root of ops"]
        wrong = daemon.ctl("--host", f"localhost:{self.port}", "--tls-ca", other.ca, "--tls-cert", cert, "--tls-key", key,
                           "devices")
        self.assertEqual(wrong.code, harness.UNAVAILABLE)
        nobody_there = daemon.ctl("--host", f"localhost:{harness.free_ports()[0]}", "--plain", "devices")
        self.assertEqual(nobody_there.code, harness.UNAVAILABLE)
        for done, words in ((refused, "is --tls-cert signed by its remote.client_ca"), (plain, "with certificates or --plain"),
                            (wrong, "is its certificate signed by --tls-ca"), (nobody_there, "nothing listens at")):
            self.assertEqual(len(done.err.splitlines()), 1, done)
            self.assertIn(words, done.err)
            self.assertIn("localhost:", done.err)

    def test_files_that_do_not_fit_are_named_before_anything_is_sent(self):
        daemon = self.remote()
        ca, (cert, key) = self.authority.ca, self.cards["op"]
        other_key = self.cards["eye"][1]
        empty = self.scratch() / "empty.pem"
        empty.write_text("")
        locked = self.scratch() / "locked.key"
        authority.openssl("pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked)
        old = self.scratch() / "old.pem"
        request = cert.with_suffix(".csr")
        authority.openssl("x509", "-req", "-in", request, "-signkey", key, "-days", "-1", "-out", old)
        for files, words in (((ca, cert, other_key), f"--tls-key {other_key} is not the key of --tls-cert {cert}"),
                             ((ca, key, key), f"--tls-cert {key} holds no certificate"),
                             ((empty, cert, key), f"--tls-ca {empty} holds no certificate"),
                             ((ca, cert, cert), f"--tls-key {cert} holds no private key"),
                             ((ca, cert, locked), f"--tls-key {locked} holds no private key (PEM, without a password)"),
                             ((ca, old, key), f"--tls-cert {old} expired on "),
                             (("/no/such.pem", cert, key), "--tls-ca /no/such.pem")):
            for where in ("--host", "--hosts"):
                done = daemon.ctl(where, f"localhost:{self.port}", "--tls-ca", files[0], "--tls-cert", files[1], "--tls-key",
                                  files[2], "devices")
                self.assertIn(done.code, (harness.USAGE, harness.NOT_FOUND), done)
                self.assertEqual(len(done.err.splitlines()), 1, done)
                self.assertIn(words, done.err)

    def test_results_stay_in_the_spool(self):
        daemon = self.remote()
        refused = self.ask(daemon, "root of ops", "start", *KINDS, "--output", self.scratch())
        self.assertEqual(refused.code, harness.USAGE)
        self.assertIn("fetch", refused.err)
        self.assertEqual(daemon.ctl("list", "--json").json["sessions"], [])

    def test_a_fetch_goes_on_where_it_ended_and_checks_it_all(self):
        daemon = self.remote()
        session, directory = self.recorded(daemon)
        out = self.scratch()
        name = os.path.basename(directory)
        under_way = out / f".fetching_{name}"
        shutil.copytree(directory, under_way)
        kept = files_of(directory)
        # Cut off in the middle of a file; what comes later in the order of paths is not there yet.
        middle = max((path for path in kept if "slice" in path), key=lambda path: os.path.getsize(under_way / path))
        for path in kept:
            if path > middle:
                (under_way / path).unlink()
        os.truncate(under_way / middle, os.path.getsize(under_way / middle) // 2)
        fetched = self.ask(daemon, "eye", "fetch", session, "--out", out)
        self.assertEqual(fetched.code, harness.OK, fetched)
        self.assertEqual(filecmp.cmpfiles(directory, out / name, kept, shallow=False)[0], kept)
        self.assertFalse(under_way.exists())
        again = self.ask(daemon, "eye", "fetch", session, "--out", out)
        self.assertEqual(again.code, harness.OK)
        # A byte of what an earlier attempt brought is wrong: said, and mended by the next one.
        os.rename(out / name, under_way)
        for path in kept:
            if path > middle:
                (under_way / path).unlink()
        with open(under_way / middle, "r+b") as file:
            file.truncate(os.path.getsize(under_way / middle) // 2)
            first = file.read(1)
            file.seek(0)
            file.write(bytes([first[0] ^ 1]))
        bad = self.ask(daemon, "eye", "fetch", session, "--out", out)
        self.assertEqual(bad.code, harness.PARTIAL_LOSS, bad)
        self.assertIn("checksum", bad.err)
        self.assertEqual(self.ask(daemon, "eye", "fetch", session, "--out", out).code, harness.OK)
        self.assertEqual(filecmp.cmpfiles(directory, out / name, kept, shallow=False)[0], kept)

    def test_a_link_in_a_users_directory_leads_nowhere(self):
        daemon = self.remote()
        session, directory = self.recorded(daemon)
        os.symlink("/etc/shadow", pathlib.Path(directory) / "device_0" / "shadow")
        out = self.scratch()
        self.assertEqual(self.ask(daemon, "root of ops", "fetch", session, "--out", out).code, harness.OK)
        self.assertNotIn("device_0/shadow", files_of(out / os.path.basename(directory)))

    def test_a_revoked_certificate_gets_no_connection(self):
        gone, kept = (self.authority.issue("eye", file=name) for name in ("stolen", "new"))
        daemon = self.remote(revoked=self.authority.revoke(gone[0]))
        self.assertEqual(self.ask(daemon, kept, "devices").code, harness.OK)
        self.assertEqual(self.ask(daemon, gone, "devices").code, harness.UNAVAILABLE)
        self.assertEqual(self.ask(daemon, kept, "devices").code, harness.OK)

    def test_new_certificates_need_no_restart(self):
        own = self.authority.issue("node for now", "DNS:elsewhere.example", file="exchanged")
        daemon = self.remote(cert=own[0], key=own[1])
        self.assertEqual(self.ask(daemon, "eye", "devices").code, harness.UNAVAILABLE)
        for path, new in zip(own, self.node):
            shutil.copy(new, str(path) + ".new")
            os.replace(str(path) + ".new", path)
        harness.wait_until(lambda: self.ask(daemon, "eye", "devices").code == harness.OK, "the new certificate")

    def test_settings_that_do_not_listen(self):
        cert, key = self.node
        for settings, words in (({"cert": ""}, "remote.cert"),
                                ({"key": "/nowhere"}, "remote.key"),
                                ({"revoked": "/nowhere"}, "remote.revoked"),
                                ({"revoked": "/etc"}, "openssl rehash"),
                                ({"listen": "somewhere"}, "HOST:PORT"),
                                ({"viewers": "op"}, "another list"),
                                ({"users": "job"}, "NAME=ACCOUNT"),
                                ({"listen": "0.0.0.0:0", "plain": "viewer"}, "loopback")):
            with self.assertRaisesRegex(AssertionError, words):
                self.remote(**settings)
        open_key = self.authority.root / "open.key"
        shutil.copy(key, open_key)
        open_key.chmod(0o644)
        with self.assertRaisesRegex(AssertionError, "chmod"):
            self.remote(key=open_key)

    def test_without_certificates_on_loopback_and_only_when_told(self):
        daemon = self.remote(plain="viewer")
        host = ("--host", f"127.0.0.1:{self.port}", "--plain")
        self.assertEqual(daemon.ctl(*host, "devices").code, harness.OK)
        self.assertEqual(daemon.ctl(*host, "start", *KINDS).code, harness.PERMISSION)
        with_tls = self.ask(daemon, "op", "devices", host="127.0.0.1")
        self.assertEqual(with_tls.code, harness.UNAVAILABLE, with_tls)
        self.assertIn("does not speak TLS", with_tls.err)

    def test_connections_of_one_address_have_an_end(self):
        daemon = self.remote()
        crowd = []

        def knock(source):
            each = socket.create_connection(("127.0.0.1", self.port), source_address=(source, 0))
            self.addCleanup(each.close)
            each.settimeout(harness.PATIENCE_S)
            return each

        def is_closed(connection):
            connection.settimeout(0.2)
            try:
                return connection.recv(1) == b""
            except ConnectionError:
                return True
            except TimeoutError:
                return False

        crowd = [knock("127.0.0.2") for _ in range(200)]
        harness.wait_until(lambda: is_closed(crowd[-1]), "one too many to be closed")
        harness.wait_until(lambda: "127.0.0.2 has as many connections" in daemon.log.read_text(), "the log to say so")
        # Others come in, and those from there when some have gone (gRPC lets go of who says nothing for 10 s).
        self.assertEqual(self.ask(daemon, "eye", "devices", host="127.0.0.1").code, harness.OK)
        for each in crowd:
            each.close()
        harness.wait_until(lambda: not is_closed(knock("127.0.0.2")), "the address to have room again")

    def test_connections_of_one_certificate_have_an_end(self):
        self.remote(limits="limits:\n  connections_per_user: 2\n")

        def connect(card, source):
            context = ssl.create_default_context(cafile=self.authority.ca)
            context.load_cert_chain(*self.cards[card])
            context.set_alpn_protocols(["h2"])
            plain = socket.create_connection(("127.0.0.1", self.port), source_address=(source, 0))
            connection = raw_client.Connection(connected=context.wrap_socket(plain, server_hostname="localhost"))
            self.addCleanup(connection.close)
            return connection

        crowd = [connect("eye", f"127.0.0.{i}") for i in range(2, 5)]
        codes = [connection.call("List").code for connection in crowd]
        self.assertEqual(codes, [raw_client.OK, raw_client.OK, raw_client.RESOURCE_EXHAUSTED])
        refused = crowd[2].call("Hello")
        self.assertEqual(refused.code, raw_client.RESOURCE_EXHAUSTED)
        self.assertIn("limits.connections_per_user", refused.text)
        # Others are let in, admins however many; and who has too many, once some of them have gone.
        self.assertEqual(connect("op", "127.0.0.2").call("List").code, raw_client.OK)
        admins = [connect("root of ops", f"127.0.0.{i}") for i in range(5, 9)]
        self.assertEqual({connection.call("List").code for connection in admins}, {raw_client.OK})
        crowd[0].close()

        def let_in():
            try:
                another = connect("eye", "127.0.0.9")
            except ConnectionError:  # of one address there may be no more than of one user
                return False
            if another.call("List").code == raw_client.OK:
                return True
            another.close()
            return False
        harness.wait_until(let_in, "room for another")
        # Neither whom nobody knows nor who asks nothing stays.
        self.assertTrue(crowd[2].ended())
        self.assertTrue(connect("op", "127.0.0.10").ended())
        self.assertEqual(crowd[1].call("List").code, raw_client.OK)

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            with self.assertRaisesRegex(AssertionError, "remote.listen.*in use"):
                self.remote(listen=f"127.0.0.1:{other.getsockname()[1]}")

    def test_settings_of_the_client(self):
        daemon = self.remote()
        home = self.scratch()
        cert, key = self.cards["eye"]
        (home / ".config" / "profd").mkdir(parents=True)
        (home / ".config" / "profd" / "profctl.conf").write_text(
            f'tls-ca = "{self.authority.ca}"\ntls-cert = "{cert}"\ntls-key = "{key}"\n')
        done = subprocess.run([str(harness.PROFCTL), "--host", f"localhost:{self.port}", "devices"],
                              env=dict(daemon.environment, HOME=str(home)), capture_output=True, check=False)
        self.assertEqual(done.returncode, harness.OK, done)


if __name__ == "__main__":
    unittest.main()
