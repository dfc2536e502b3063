#!/usr/bin/env python3
"""A lake in a bucket: recordings and the always-on summary come to a real store whole and once, whatever it does meanwhile, and
are asked there. The store is Ceph's gateway, which checks signatures, hashes, conditions, quotas and rights."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import s3_store
from harness import BUSY, NOT_FOUND, PERMISSION, UNAVAILABLE, USAGE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
from job_sim import Shape, make  # noqa: E402

PROFCTL = pathlib.Path(harness.PROFCTL)
LIBRARY = list((PROFCTL.parents[1] / "lake").glob("node_modules/@duckdb/*/libduckdb.so"))
ALL = "SELECT rank, step, step_us, compute_us FROM steps ORDER BY ALL"
LAKE = "s3://lake/of/jobs"
TABLES = ("steps", "kernels", "ops", "comm", "captures")
# What a key may that a node holds: to add files of its own name, and nothing else (docs/lake.md).
POLICY = {"Version": "2012-10-17",
          "Statement": [{"Effect": "Allow", "Principal": {"AWS": ["arn:aws:iam:::user/host0"]}, "Action": "s3:PutObject",
                         "Resource": [f"arn:aws:s3:::lake/of/jobs/hot/v1/{table}/?????????????/?/host0_*" for table in TABLES]}]}


@s3_store.needs_store
@unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
class ObjectStoreTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.store = s3_store.Store()
        cls.addClassCleanup(cls.store.close)
        cls.jobs = pathlib.Path(tempfile.mkdtemp(prefix="profd-jobs-"))
        cls.addClassCleanup(shutil.rmtree, cls.jobs)
        make(Shape(ranks=2, tp=1, steps=4, layers=2, seed=5), [], cls.jobs)

    def setUp(self):
        self.assertEqual(self.store.ask("PUT", "/lake")[0], 200)
        self.addCleanup(self.empty)

    def empty(self):
        for name in self.objects():
            self.store.ask("DELETE", "/lake/" + name)
        self.store.ask("DELETE", "/lake")

    def objects(self):
        code, body = self.store.ask("GET", "/lake", {"list-type": "2"})
        self.assertEqual(code, 200)
        return re.findall("<Key>(.*?)</Key>", body.decode())

    def profctl(self, *words, code=0, keys=s3_store.Store.KEYS, **environment):
        result = subprocess.run([str(PROFCTL), *map(str, words)], capture_output=True, text=True, check=False,
                                env={**self.store.environment(keys), **environment})
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def ship(self, what=None, to=LAKE, **more):
        return self.profctl("ship", what or self.jobs, "--to", to, **more)

    def recordings_of(self, host):
        """A folder for each rank, each of a node of its own."""
        [found] = [folder for folder in self.jobs.iterdir() if folder.is_dir() and host in self.node_of(folder)]
        return found

    def node_of(self, folder):
        return self.profctl("sql", "SELECT DISTINCT node FROM captures", "--from", folder, "--csv").stdout

    def ask(self, query, place=LAKE):
        return json.loads(self.profctl("sql", query, "--from", place, "--json").stdout)

    def test_recordings(self):
        self.assertRegex(self.ship().stdout, rf"^10 files shipped to {LAKE} at http://127.0.0.1:\d+\n$")
        self.assertEqual(len(self.objects()), 10)
        self.assertTrue(all(re.fullmatch(r"of/jobs/hot/v1/\w+/\d{8}T\d{4}/[0-9a-f]/host[01]_[0-9a-f]{8}_0.parquet", name)
                            for name in self.objects()), self.objects())
        self.assertRegex(self.ship().stdout, "^0 files shipped to .*; 10 were there\n$")
        # The same from a folder.
        with tempfile.TemporaryDirectory() as folder:
            self.ship(to=folder)
            wanted = json.loads(self.profctl("sql", ALL, "--from", folder, "--json").stdout)
        self.assertEqual(len(wanted), 8)
        self.assertEqual(self.ask(ALL), wanted)
        self.assertRegex(self.profctl("lake", "merge", LAKE).stdout, rf"^10 files merged into \d+ in {LAKE} at ")
        self.assertEqual(self.ask(ALL), wanted)
        for name in self.objects():
            if "/hot/" in name:
                self.store.ask("DELETE", "/lake/" + name)
        self.assertEqual(self.ask(ALL), wanted)
        # A lake is a folder of the bucket, and the whole bucket another one.
        for words in (("sql", ALL, "--from", "s3://lake/of"), ("lake", "merge", "s3://lake")):
            self.assertRegex(self.profctl(*words, code=NOT_FOUND).stderr, "there is no lake: nothing below hot/v1")
        self.assertEqual(self.ask("SELECT count(*) AS n FROM captures"), [{"n": 2}])

    def test_what_the_store_refuses(self):
        for says, code, words in (
                (r"the store answers 403 SignatureDoesNotMatch: the key ADMIN or its secret is wrong", PERMISSION, {"keys": ("ADMIN", "wrong")}),
                (r"the store answers 403 InvalidAccessKeyId: the key NOBODY", PERMISSION, {"keys": ("NOBODY", "secret")}),
                (r"the store answers 404 NoSuchBucket: check its name, or create it", NOT_FOUND, {"to": "s3://nothere/lake"}),
                (r"--to: no keys: set AWS_ACCESS_KEY_ID", USAGE, {"keys": ("", ""), "HOME": "/nonexistent"}),
                (r"AWS_ENDPOINT_URL=http://store.example: expected https://", USAGE, {"AWS_ENDPOINT_URL": "http://store.example"}),
                (r"--to: 's3://': expected s3://BUCKET", USAGE, {"to": "s3://"})):
            with self.subTest(says):
                error = self.ship(code=code, **words).stderr
                self.assertRegex(error, says)
                self.assertEqual(error.count("\n"), 1, error)
                self.assertNotIn("secret", error.replace("its secret", ""))
        self.assertEqual(self.objects(), [])

    def test_a_node_adds_its_own_and_nothing_else(self):
        keys = ("NODE0", "node0secret")
        self.store.add_user("host0", keys)
        self.assertIn(self.store.ask("PUT", "/lake", {"policy": ""}, json.dumps(POLICY).encode())[0], (200, 204))
        own, other = map(self.recordings_of, ("host0", "host1"))
        for _ in range(2):
            self.ship(own, keys=keys)
            self.assertEqual(len(self.objects()), 5)
        error = self.ship(other, keys=keys, code=PERMISSION).stderr
        self.assertRegex(error, "write hot/v1/steps/.*/host1_.*: the store answers 403 AccessDenied: the key NODE0 may not do this")
        self.assertRegex(self.profctl("sql", ALL, "--from", LAKE, keys=keys, code=PERMISSION).stderr, "list: the store answers 403")
        self.ship(other)
        [its], [others] = (sorted(name for name in self.objects() if host in name and "/steps/" in name)
                           for host in ("host0", "host1"))
        # What it put it may read again.
        self.assertEqual([self.store.ask(method, "/lake/" + name, keys=keys)[0] for method, name in (("GET", others), ("DELETE", its), ("DELETE", others))],
                         [403] * 3)
        self.assertEqual(len(self.objects()), 10)

    def test_a_store_that_is_away(self):
        """What cannot be shipped stays, is not acknowledged, and comes when the store is back."""
        with tempfile.TemporaryDirectory() as folder:
            rows, acked = pathlib.Path(folder, "rows"), pathlib.Path(folder, "acked")
            daemon = self.profd(sim="devices: 1\n", config=f"summary: {{folder: {rows}, file_s: 1, acked: {acked}}}\n")
            job = self.job(daemon, labels="job=llm,rank=3")
            job.order("steps 20")
            harness.wait_until(lambda: list(rows.glob("steps_*.rows")), "a file of rows")
            job.close()
            daemon.stop()
            files = len(list(rows.glob("*.rows")))
            words = ("ship", "--summary", rows, "--to", LAKE, "--acked", acked)
            self.store.kill_gateway()
            error = self.profctl(*words, code=UNAVAILABLE).stderr
            self.assertRegex(error, r"^profctl: s3://lake/of/jobs at http://127.0.0.1:\d+: write hot/v1/steps/.*: no answer: .*\n$")
            self.assertEqual(acked.read_text(), "")
            self.store.start_gateway()
            self.assertRegex(self.profctl(*words).stdout, f"^{files} files shipped")
            self.assertEqual(len(acked.read_text().splitlines()), files)
            self.assertRegex(self.profctl(*words).stdout, f"^0 files shipped to .*; {files} were there")
        self.assertEqual(self.ask('SELECT count(*) AS n, min(job) AS job, min("user") AS "user" FROM steps'),
                         [{"n": 20, "job": "llm", "user": "root"}])

    def test_a_full_store(self):
        keys = ("SMALL", "smallsecret")
        self.store.add_user("small", keys)
        self.store.limit("small", 3)
        self.assertEqual(self.store.ask("PUT", "/full", keys=keys)[0], 200)
        error = self.ship(to="s3://full", keys=keys, code=BUSY).stderr
        self.assertRegex(error, "QuotaExceeded: the store is full, or its quota for this key")


if __name__ == "__main__":
    unittest.main(verbosity=2)
