#!/usr/bin/env python3
"""`profctl sql`: its tables against `profctl analyze --report` and planted faults; what a query may not do."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = pathlib.Path(harness.PROFCTL)
LIBRARY = list((PROFCTL.parents[1] / "lake").glob("node_modules/@duckdb/*/libduckdb.so"))


def profctl(*words, program=PROFCTL):
    return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False)


class WithoutLibraryTest(unittest.TestCase):
    def test_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "bin" / "profctl"
            copy.parent.mkdir()
            shutil.copy(PROFCTL, copy)
            if os.path.exists("/usr/lib/profd/libduckdb.so"):
                self.skipTest("the package profd-lake is installed")
            result = profctl("sql", "SELECT 1", "--from", folder, program=copy)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertRegex(result.stderr, r"^profctl: SQL needs .*profd-lake.*scripts/lake.sh\n$")


@unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
class SqlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-sql-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        make(Shape(ranks=4, tp=2, steps=4, layers=2, seed=5), [Fault("dataloader", rank=1, step=2, ms=25)], cls.folder)

    def ask(self, query):
        result = profctl("sql", query, "--from", self.folder, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_steps_are_those_of_analyze(self):
        report = json.loads(profctl("analyze", self.folder, "--report", "steps", "--json").stdout)["steps"]
        told = {(row["rank"], row["step"]): row for row in report}
        rows = {(row["rank"], row["step"]): row for row in self.ask("SELECT * FROM steps")}
        self.assertTrue(told)
        for key, row in told.items():
            for mine, theirs in (("step_us", "step_us"), ("compute_us", "computing_us"), ("comm_us", "communication_us")):
                self.assertAlmostEqual(rows[key][mine], row[theirs], delta=1, msg=(key, mine))

    def test_planted_step_is_the_slowest(self):
        result = profctl("sql", "--question", "slow-steps", "--from", self.folder, "--json")
        first = json.loads(result.stdout)[0]
        self.assertEqual((first["step"], first["slowest_rank"]), (2, 1))

    def test_natural_key(self):
        for table in ("steps", "kernels"):
            (row,) = self.ask(f"SELECT count(*) AS n, count(DISTINCT (node, instance, seq)) AS keys FROM {table}")
            self.assertGreater(row["n"], 0)
            self.assertEqual(row["n"], row["keys"], table)

    def test_every_question_answers(self):
        names = re.findall(r"^([-\w]+)  ", profctl("sql", "--questions").stdout, re.M)
        self.assertIn("slow-ranks", names)
        for name in names:
            result = profctl("sql", "--question", name, "--from", self.folder, "--csv")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(len(list(csv.reader(io.StringIO(result.stdout)))), 1, name)

    def test_docs_have_the_schema(self):
        page = (harness.ROOT / "docs" / "lake.md").read_text()
        columns = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page, re.M)
        common, steps, kernels = columns[:6], columns[6:14], columns[14:]
        for table, own in (("steps", steps), ("kernels", kernels)):
            told = [(row["column_name"], row["column_type"]) for row in self.ask(f"SELECT * FROM (DESCRIBE {table})")]
            self.assertEqual(told, common + own)

    def test_refused(self):
        out = self.folder / "out.csv"
        for query, says in (
            ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
            ("SELECT * FROM '/etc/passwd.csv'", "disabled by configuration|does not exist"),
            ("INSTALL httpfs", "[Ss]yntax"),
            (f"COPY steps TO '{out}'", "[Ss]yntax"),
            ("SET memory_limit = '9GB'", "[Ss]yntax"),
            (f"SELECT 1); COPY steps TO '{out}'; FROM (SELECT 1", "expected one SELECT"),
            ("SELECT 1); SET memory_limit = '9GB'; FROM (SELECT 1", "expected one SELECT"),
            ("SELECT 1); INSTALL httpfs; FROM (SELECT 1", "expected one SELECT"),
            ("SELECT * FROM nobody", "tables are steps, kernels"),
        ):
            result = profctl("sql", query, "--from", self.folder)
            self.assertEqual(result.returncode, 2, (query, result.stdout, result.stderr))
            self.assertRegex(result.stderr, says, query)
            self.assertEqual(len(result.stderr.splitlines()), 1, query)
        self.assertFalse(out.exists())

    def test_parquet_answers_the_same(self):
        out = pathlib.Path(tempfile.mkdtemp(prefix="profd-parquet-"))
        self.addCleanup(shutil.rmtree, out)
        written = profctl("export", self.folder, "--format", "parquet", "--recursive", "--out", out)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["kernels.parquet", "steps.parquet"])
        for query in ("FROM steps ORDER BY ALL", "FROM kernels ORDER BY ALL"):
            there = profctl("sql", query, "--from", out, "--csv")
            self.assertEqual(there.returncode, 0, there.stderr)
            self.assertEqual(there.stdout, profctl("sql", query, "--from", self.folder, "--csv").stdout)
        outside = profctl("sql", "SELECT * FROM read_text('/etc/passwd')", "--from", out)
        self.assertEqual((outside.returncode, len(outside.stderr.splitlines())), (2, 1), outside.stderr)
        with open(out / "kernels.parquet", "r+b") as torn:
            torn.truncate(100)
        result = profctl("sql", "SELECT 1", "--from", out)
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result.stderr)
        self.assertIn("kernels.parquet", result.stderr)

    def test_parquet_refuses(self):
        self.assertIn("--out", profctl("export", self.folder, "--format", "parquet").stderr)
        result = profctl("export", self.folder, "--format", "parquet", "--out", self.folder, "--gzip")
        self.assertEqual(result.returncode, 2)
        self.assertIn("leave --gzip out", result.stderr)
        for words in (["--layout", "framework"], ["--repair"], ["--per-device"], ["--vendor-compatible"], ["--kinds", "hbm"]):
            result = profctl("export", self.folder, "--format", "parquet", "--out", self.folder, *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertRegex(result.stderr, f"{words[0]}.* out\n", words)

    def test_parquet_says_how_far_the_reading_is(self):
        """As every verb that reads recordings does, on a terminal."""
        own, its = os.openpty()
        self.addCleanup(os.close, own)
        out = pathlib.Path(tempfile.mkdtemp(prefix="profd-parquet-"))
        self.addCleanup(shutil.rmtree, out)
        subprocess.run([str(PROFCTL), "export", str(self.folder), "--format", "parquet", "--recursive", "--out", str(out)],
                       stdout=subprocess.DEVNULL, stderr=its, check=True)
        os.close(its)
        self.assertIn(b"reading recordings: 4 of 4", os.read(own, 65536))

    def test_hostile_texts(self):
        query = "SELECT chr(27) || '[31m' AS \"a\x1b[0mb\", 'x' || chr(10) || '=\"' AS c"
        self.assertNotIn("\x1b", profctl("sql", query, "--from", self.folder).stdout)
        self.assertEqual(self.ask(query)[0]["c"], 'x\n="')

    def test_csv_is_safe_in_a_spreadsheet(self):
        query = "SELECT '=cmd()' AS \"=name()\", -5 AS n, '-5' AS t, 'a,\"b\"' AS q, NULL AS e, '-inf'::DOUBLE AS f"
        result = profctl("sql", query, "--from", self.folder, "--csv")
        self.assertEqual(result.stdout, "\"'=name()\",n,t,q,e,f\n\"'=cmd()\",-5,-5,\"a,\"\"b\"\"\",,-inf\n")

    def test_usage(self):
        for words in ((), ("SELECT 1", "--question", "comm"), ("--question", "nobody")):
            self.assertEqual(profctl("sql", *words).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
