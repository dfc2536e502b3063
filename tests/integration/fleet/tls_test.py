#!/usr/bin/env python3
"""profctl tls: the certificates that it makes are taken by a real profd on TCP and by profctl, and by nobody else."""
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

import harness
from harness import BUSY, NOT_FOUND, OK, USAGE


class TlsTest(harness.ProfdTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-tls-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "tls")
        os.chmod(folder.name, 0o755)

    def tls(self, *words, folder=None, code=OK):
        done = subprocess.run([str(harness.PROFCTL), "tls", *words, "--dir", str(folder or self.folder)], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def text(self, name):
        return subprocess.run(["openssl", "x509", "-in", self.folder / name, "-noout", "-text"], check=True, capture_output=True,
                              text=True).stdout

    def test_a_node_and_its_callers(self):
        self.tls("init")
        self.tls("node", "localhost", "127.0.0.1")
        self.tls("client", "ada")
        port = harness.free_ports()[0]
        settings = {"listen": f"127.0.0.1:{port}", "cert": self.folder / "localhost.pem", "key": self.folder / "localhost.key",
                    "client_ca": self.folder / "ca.pem", "operators": "ada"}
        daemon = self.profd(sim="devices: 2\nchip: 910B\n",
                            config="remote:\n" + "".join(f'  {key}: "{value}"\n' for key, value in settings.items()))

        def ask(*words, card="ada", ca=None, where=("--hosts", f"localhost:{port}")):
            return daemon.ctl(*where, "--tls-ca", ca or self.folder / "ca.pem", "--tls-cert", self.folder / f"{card}.pem",
                              "--tls-key", self.folder / f"{card}.key", *words)

        for where in (("--hosts", f"localhost:{port}"), ("--hosts", f"127.0.0.1:{port}"), ("--host", f"127.0.0.1:{port}")):
            seen = ask("devices", where=where)
            self.assertEqual(seen.code, OK, seen)
            self.assertIn("910B3", seen.out)
        begun = ask("start", "--collect", "hbm", "--devices", "0", "--json", where=("--host", f"localhost:{port}"))
        self.assertEqual(begun.code, OK, begun)
        # Somebody whom no list names; somebody of another authority; a node that another authority made.
        self.tls("client", "eve")
        self.assertEqual(ask("list", card="eve", where=("--host", f"localhost:{port}")).code, harness.PERMISSION)
        other = self.folder.parent / "other"
        self.tls("init", folder=other)
        self.tls("client", "ada", folder=other)
        for name in ("ada.pem", "ada.key"):
            (self.folder / f"false_{name}").write_bytes((other / name).read_bytes())
        self.assertNotEqual(ask("list", card="false_ada").code, OK)
        self.assertNotEqual(ask("list", ca=other / "ca.pem").code, OK)

    def test_what_the_files_are(self):
        self.tls("init", "--name", "our authority")
        self.tls("node", "n7", "n7.cluster.example", "10.0.0.7", "fd00::7")
        self.tls("client", "ada@example")
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
        for name in ("ca", "n7", "ada@example"):
            self.assertEqual(stat.S_IMODE((self.folder / f"{name}.key").stat().st_mode), 0o600)
        authority, node, client = self.text("ca.pem"), self.text("n7.pem"), self.text("ada@example.pem")
        self.assertIn("CA:TRUE, pathlen:0", authority)
        self.assertIn("CN = our authority", authority)
        for of in (node, client):
            self.assertIn("CA:FALSE", of)
            self.assertIn("prime256v1", of)
            self.assertIn("Issuer: CN = our authority", of)
        self.assertIn("TLS Web Server Authentication, TLS Web Client Authentication", node)
        self.assertRegex(node, r"DNS:n7, DNS:n7.cluster.example, IP Address:10.0.0.7, IP Address:FD00(:0)+:7")
        self.assertIn("TLS Web Client Authentication", client)
        self.assertNotIn("Server Authentication", client)
        for name in ("n7.pem", "ada@example.pem"):
            subprocess.run(["openssl", "verify", "-x509_strict", "-CAfile", self.folder / "ca.pem", self.folder / name], check=True,
                           capture_output=True)

    def made(self, name, *key, digest="sha256"):
        """A certificate of the authority in our folder, with a key of that kind, or signed with that hash."""
        openssl = ["openssl", "req", "-new", "-nodes", "-newkey", *key, "-subj", f"/CN={name}", "-keyout", self.folder / f"{name}.key",
                   "-out", self.folder / f"{name}.csr"]
        subprocess.run(openssl, check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", f"-{digest}", "-days", "2", "-in", self.folder / f"{name}.csr", "-CA", self.folder / "ca.pem",
                        "-CAkey", self.folder / "ca.key", "-CAcreateserial", "-out", self.folder / f"{name}.pem"], check=True,
                       capture_output=True)
        os.chmod(self.folder / f"{name}.key", 0o600)
        return name

    def test_what_is_too_weak_for_tls(self):
        """It would be a port that ends every connection without a word."""
        self.tls("init")
        self.tls("node", "localhost", "127.0.0.1")
        self.tls("client", "ada")
        curve = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        weak = [(self.made("short", "rsa:1024"), "RSA key of 1024 bits, too weak for TLS"),
                (self.made("curve", "ec", "-pkeyopt", "ec_paramgen_curve:prime192v1"), "key of 192 bits, too weak for TLS"),
                (self.made("hash", *curve, digest="sha1"), "signed with SHA1, too weak for TLS")]
        config = self.folder / "profd.yaml"

        def checked(cert, key=None, ca="ca", check=("--check-config",)):
            config.write_text("remote:\n  listen: 127.0.0.1:1\n" + "".join(
                f'  {setting}: "{self.folder / file}"\n'
                for setting, file in (("cert", f"{cert}.pem"), ("key", f"{key or cert}.key"), ("client_ca", f"{ca}.pem"))))
            return subprocess.run([str(harness.PROFD), *check, "--config", config, "--socket", self.folder / "socket"],
                                  text=True, capture_output=True, check=False)

        for name, why in weak:
            for check in (("--check-config",), ()):
                done = checked(name, check=check)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), (name, done))
                self.assertIn(f"remote.cert {self.folder / name}.pem", done.stderr)
                self.assertIn(why, done.stderr)
                self.assertIn("expected EC P-256 or RSA of 3072 bits", done.stderr)
        done = checked("localhost", ca="short")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("remote.client_ca", done.stderr)
        done = checked("localhost", key="ada")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("is not the key of remote.cert", done.stderr)
        # What TLS takes and nobody should use any more is a warning.
        done = checked(self.made("usual", "rsa:2048"))
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, r"^profd: warning: remote.cert \S+ has an RSA key of 2048 bits; expected EC P-256 or RSA of 3072 bits.*\n$")
        for good in ("localhost", self.made("long", "rsa:3072")):
            self.assertEqual((checked(good).returncode, checked(good).stderr), (0, ""), good)
        # The caller's side looks at what it would show, and says so before it connects.
        for name, why in weak:
            shown = ("--tls-cert", self.folder / f"{name}.pem", "--tls-key", self.folder / f"{name}.key", "--tls-ca", self.folder / "ca.pem")
            done = subprocess.run([str(harness.PROFCTL), "--host", "localhost:1", *map(str, shown), "list"], text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, USAGE, done)
            self.assertIn("--tls-cert", done.stderr)
            self.assertIn(why, done.stderr)

    def test_what_is_refused(self):
        self.assertIn("profctl tls init", self.tls("node", "n7", code=NOT_FOUND))
        self.tls("init")
        before = (self.folder / "ca.key").read_bytes()
        self.assertIn("nothing is overwritten", self.tls("init", code=BUSY))
        self.tls("client", "ada")
        self.assertIn("nothing is overwritten", self.tls("client", "ada", code=BUSY))
        self.assertEqual((self.folder / "ca.key").read_bytes(), before)
        for words in (("node", "n7:9478"), ("node", "../n7"), ("node", "a,DNS:b"), ("client", "a/b"), ("client", "ca"), ("node",),
                      ("client", "x" * 65), ("init", "--days", "0"), ("client", "")):
            self.tls(*words, code=USAGE)
        (self.folder / "eve.pem").symlink_to("/nonexistent/file")
        self.tls("client", "eve", code=BUSY)
        self.assertFalse((self.folder / "eve.key").exists())


if __name__ == "__main__":
    unittest.main()
