#!/usr/bin/env python3
"""`profctl sql`: its tables against `profctl analyze --report` and planted faults; what a query may not do."""
import calendar
import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analyze"))
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = pathlib.Path(harness.PROFCTL)
TABLES = ("steps", "kernels", "ops", "comm", "captures")
LIBRARY = list((PROFCTL.parents[1] / "lake").glob("node_modules/@duckdb/*/libduckdb.so"))


def profctl(*words, program=PROFCTL, env=None):
    return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False, env=env)


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

    def test_waits_are_those_of_analyze(self):
        report = json.loads(profctl("analyze", self.folder, "--report", "summary", "--json").stdout)["summary"]
        rows = {(row["rank"], row["step"]): row for row in self.ask("SELECT * FROM steps")}
        self.assertGreater(sum(row["waiting_us"] for row in report), 0)
        for row in report:
            mine = rows[row["rank"], row["step"]]
            self.assertAlmostEqual(mine["comm_wait_us"], row["waiting_us"], delta=1)
            self.assertAlmostEqual(mine["comm_wait_us"], mine["wait_tp_us"] + mine["wait_dp_us"], delta=2)
            self.assertIsNone(mine["wait_pp_us"], "the job has no pipeline")

    def test_steps_add_up_their_kernels(self):
        (told,) = self.ask("SELECT count(*) AS n FROM steps s JOIN (SELECT rank, step, count(*) AS n, sum(bytes) AS bytes, "
                           "max(n) AS last FROM kernels GROUP BY ALL) k USING (rank, step) "
                           "WHERE s.kernels <> k.n OR s.comm_bytes <> k.bytes OR k.last <> k.n - 1")
        self.assertEqual(told["n"], 0)
        tops = self.ask("SELECT s.top1_op, s.top1_us, s.clock_mhz, s.lost, arg_max(k.op, k.ns) AS op, max(k.ns) AS ns FROM steps s "
                        "JOIN (SELECT rank, step, op, sum(dur_ns) AS ns FROM kernels WHERE \"group\" IS NULL GROUP BY ALL) k "
                        "USING (rank, step) GROUP BY ALL")
        for row in tops:
            self.assertEqual((row["top1_op"], row["lost"]), (row["op"], 0))
            self.assertAlmostEqual(row["top1_us"], row["ns"] / 1000, delta=1)
            self.assertGreater(row["clock_mhz"], 500)

    def test_windows_have_all_kernels(self):
        rows = self.ask("SELECT * FROM kernels")
        begins = {self.ns(row["t"]) + row["start_ns"] for row in rows}
        own = self.ask("SELECT min(epoch_ns(t) + start_ns) AS first FROM kernels")
        self.assertEqual(own[0]["first"], min(begins))
        for table, is_one in (("ops", lambda row: row["group"] is None), ("comm", lambda row: row["group"] is not None)):
            made = self.ask(f"SELECT * FROM {table}")
            for row in made:
                self.assertEqual(self.ns(row["t"]) % (row["window_s"] * 10**9), 0)
                mine = [one for one in rows if is_one(one) and one["rank"] == row["rank"]
                        and 0 <= self.ns(one["t"]) + one["start_ns"] - self.ns(row["t"]) < row["window_s"] * 10**9]
                if table == "ops":
                    mine = [one for one in mine if (one["op"], one["type"]) == (row["op"], row["type"])]
                    lengths = sorted(one["dur_ns"] for one in mine)
                    self.assertEqual((row["min_ns"], row["max_ns"]), (lengths[0], lengths[-1]))
                    self.assertLessEqual(row["p50_ns"], row["p95_ns"])
                    self.assertIn(row["p95_ns"], lengths)
                else:
                    mine = [one for one in mine if (one["group"], one["type"]) == (row["group"], row["op"])
                            and 2**row["size_class"] <= one["bytes"] < 2**(row["size_class"] + 1)]
                    self.assertEqual(row["wait_ns"], sum(one["wait_ns"] for one in mine))
                    self.assertEqual(row["group_size"], 2)
                self.assertEqual((row["n"], row["total_ns"]), (len(mine), sum(one["dur_ns"] for one in mine)))
            self.assertEqual(sum(row["n"] for row in made), sum(map(is_one, rows)))

    @staticmethod
    def ns(text):
        """Of "2026-10-09 08:53:20.001002003"."""
        second, _, part = text.partition(".")
        return calendar.timegm(time.strptime(second, "%Y-%m-%d %H:%M:%S")) * 10**9 + int(part.ljust(9, "0"))

    def test_the_rank_that_is_late_is_named(self):
        result = profctl("sql", "--question", "late-ranks", "--from", self.folder, "--json")
        self.assertEqual(json.loads(result.stdout)[0]["rank"], 1, result.stdout)

    def test_natural_key(self):
        for table in TABLES:
            (row,) = self.ask(f"SELECT count(*) AS n, count(DISTINCT (node, instance, seq)) AS keys FROM {table}")
            self.assertGreater(row["n"], 0)
            self.assertEqual(row["n"], row["keys"], table)

    def test_every_question_answers(self):
        names = re.findall(r"^([-\w]+)  ", profctl("sql", "--questions").stdout, re.M)
        self.assertIn("slow-ranks", names)
        for name in names:
            result = profctl("sql", "--question", name, "--from", self.folder, "--csv")
            self.assertEqual(result.returncode, 0, result.stderr)
            # Of recordings of a healthy job these have nothing to say.
            least = 1 if name in ("slow-since", "hangs", "missing") else 2
            self.assertGreaterEqual(len(list(csv.reader(io.StringIO(result.stdout)))), least, name)

    def test_docs_have_the_schema(self):
        page = (harness.ROOT / "docs" / "lake.md").read_text()
        common, *tables = re.split(r"^`(\w+)`: ", page.split("## Tables")[1].split("## Questions")[0], flags=re.M)

        def columns(text):
            return re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, re.M)

        self.assertEqual(tuple(tables[::2]), (*TABLES, "loss"))
        for table, own in zip(tables[::2], tables[1::2]):
            told = [(row["column_name"], row["column_type"]) for row in self.ask(f"SELECT * FROM (DESCRIBE {table})")]
            self.assertEqual(told, columns(common) + columns(own), table)

    def test_the_cookbook_answers(self):
        page = (harness.ROOT / "docs" / "lake.md").read_text()
        queries = re.findall(r"```sql\n(.*?)```", page, re.S)
        self.assertGreater(len(queries), 4)
        for query in queries:
            self.ask(query)
        listed = re.findall(r"^\| `([-\w]+)` \| ", page.split("## Questions")[1].split("## Cookbook")[0], re.M)
        self.assertEqual(listed, re.findall(r"^([-\w]+)  ", profctl("sql", "--questions").stdout, re.M))

    def test_refused(self):
        out = self.folder / "out.csv"
        for query, says in (
            ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
            ("SELECT * FROM '/etc/passwd.csv'", "disabled by configuration|does not exist"),
            ("INSTALL httpfs", "expected a query that reads .*, and install does not"),
            ("SELECT DELETE FROM", "[Ss]yntax"),
            (f"COPY steps TO '{out}'", "and copy does not"),
            ("\n SET memory_limit = '9GB'", "and set does not"),
            ("delete FROM steps", "and delete does not"),
            (f"SELECT 1); COPY steps TO '{out}'; FROM (SELECT 1", "expected one SELECT"),
            ("SELECT 1); SET memory_limit = '9GB'; FROM (SELECT 1", "expected one SELECT"),
            ("SELECT 1); INSTALL httpfs; FROM (SELECT 1", "expected one SELECT"),
            ("SELECT * FROM nobody", "tables are steps, kernels, ops"),
        ):
            result = profctl("sql", query, "--from", self.folder)
            self.assertEqual(result.returncode, 2, (query, result.stdout, result.stderr))
            self.assertRegex(result.stderr, says, query)
            self.assertEqual(len(result.stderr.splitlines()), 1, query)
        self.assertFalse(out.exists())

    def test_parquet_answers_the_same(self):
        out = self.export()
        self.assertEqual(sorted(path.name for path in out.iterdir()), sorted(f"{table}.parquet" for table in TABLES))
        for query in [f"FROM {table} ORDER BY ALL" for table in TABLES]:
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

    def export(self):
        out = pathlib.Path(tempfile.mkdtemp(prefix="profd-parquet-"))
        self.addCleanup(shutil.rmtree, out)
        written = profctl("export", self.folder, "--format", "parquet", "--recursive", "--out", out)
        self.assertEqual(written.returncode, 0, written.stderr)
        return out

    def asked_of(self, query, *folders):
        result = profctl("sql", query, "--json", *(word for folder in folders for word in ("--from", folder)))
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_lake(self):
        """A tree of many files: hot/ and cold/, a row twice, names that hide, an older schema."""
        out, lake = self.export(), pathlib.Path(tempfile.mkdtemp(prefix="profd-lake-"))
        self.addCleanup(shutil.rmtree, lake)
        count = "SELECT count(*) AS n FROM steps"
        (whole,) = self.asked_of(count, out)
        self.assertGreater(whole["n"], 0)
        cold = lake / "cold/v1/steps/day=2026-11-23/hour=07"
        cold.mkdir(parents=True)
        for name in ("0a.parquet", "0b.parquet", ".tmp.0c.parquet"):
            shutil.copy(out / "steps.parquet", cold / name)
        (cold / ".tmp.0c.parquet").write_bytes(b"half")
        self.assertEqual(self.asked_of(count, lake), [whole], "the same rows twice are the same rows")
        self.assertEqual(self.asked_of(count, out, lake), [whole])
        columns = self.asked_of("SELECT * FROM steps LIMIT 1", out)[0].keys()
        self.assertEqual(self.asked_of("SELECT * FROM steps LIMIT 1", lake)[0].keys(), columns, "no day, no hour")
        self.assertEqual(self.asked_of("SELECT count(*) AS n FROM kernels", lake), [{"n": 0}], "of which there is no file")

        hot = lake / "hot/v1/steps/20261123T0710/3"
        hot.mkdir(parents=True)
        shutil.copy(out / "kernels.parquet", hot / "other-node_1a2b3c4d_7.parquet")
        (kernels,) = self.asked_of("SELECT count(*) AS n FROM kernels", out)
        rows = self.asked_of("SELECT node, count(*) AS n, count(step_us) AS known FROM steps GROUP BY node ORDER BY known", lake)
        self.assertEqual(rows[0], {"node": "other-node", "n": kernels["n"], "known": 0}, "columns that a file lacks are NULL")
        self.assertEqual(sum(row["known"] for row in rows), whole["n"])

        (lake / "cold/v1/steps/link.parquet").symlink_to("/etc/passwd")
        self.assertEqual(self.asked_of("SELECT count(*) AS n FROM steps WHERE step_us IS NOT NULL", lake), [whole])
        mixed = profctl("sql", count, "--from", lake, "--from", self.folder)
        self.assertEqual((mixed.returncode, len(mixed.stderr.splitlines())), (2, 1), mixed.stderr)

    def test_exports_of_each_node_are_one_lake(self):
        outs = []
        for node in ("host0", "host1"):
            outs.append(pathlib.Path(tempfile.mkdtemp(prefix="profd-node-")))
            self.addCleanup(shutil.rmtree, outs[-1])
            written = profctl("export", *self.folder.glob(f"{node}_*"), "--format", "parquet", "--out", outs[-1])
            self.assertEqual(written.returncode, 0, written.stderr)
        for table in ("steps", "kernels", "ops"):
            query = f"SELECT count(*) AS n, count(DISTINCT rank) AS ranks, count(DISTINCT node) AS nodes FROM {table}"
            self.assertEqual(self.asked_of(query, *outs), self.ask(query), table)
            self.assertEqual(self.asked_of(query, *outs, outs[0]), self.ask(query), f"{table}: one of them named twice")
            self.assertEqual(self.asked_of(query, *outs, self.export()), self.ask(query), f"{table}: and all of them again")

    def ship(self, *recordings, to, says=None, code=0):
        result = profctl("ship", *recordings, "--to", to, "--json")
        self.assertEqual(result.returncode, code, result.stderr)
        if code != 0:
            self.assertRegex(result.stderr.splitlines()[-1], says)
            return []
        return json.loads(result.stdout)

    def test_nodes_ship_into_one_lake(self):
        lake = pathlib.Path(tempfile.mkdtemp(prefix="profd-lake-"))
        self.addCleanup(shutil.rmtree, lake)
        for node in ("host0", "host1"):
            recordings = list(self.folder.glob(f"{node}_*"))
            files = self.ship(*recordings, to=lake)
            self.assertEqual(len(files), len(recordings) * len(TABLES))
            for one in files:
                self.assertRegex(one["file"], rf"^hot/v1/{one['table']}/\d{{8}}T\d{{3}}0/[0-9a-f]/{node}_[0-9a-f]{{8}}_0\.parquet$")
                self.assertTrue(one["new"] and (lake / one["file"]).is_file(), one)
        for table in TABLES:
            query = f"SELECT count(*) AS n, count(DISTINCT rank) AS ranks, count(DISTINCT node) AS nodes FROM {table}"
            self.assertEqual(self.asked_of(query, lake), self.ask(query), table)
        before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
        again = self.ship(*self.folder.glob("host*"), to=lake)
        self.assertFalse(any(one["new"] for one in again))
        self.assertEqual({path: path.stat().st_mtime_ns for path in lake.rglob("*")}, before, "nothing is written twice")

    def test_ship_refuses(self):
        lake = pathlib.Path(tempfile.mkdtemp(prefix="profd-lake-"))
        self.addCleanup(shutil.rmtree, lake)
        self.ship(self.folder, to=lake / "nowhere", says="there is no such folder: create", code=3)
        elsewhere = lake / "elsewhere"
        elsewhere.mkdir()
        os.chown(elsewhere, 12345, 12345)
        (lake / "hot").symlink_to(elsewhere)
        os.chown(lake / "hot", 12345, 12345, follow_symlinks=False)
        self.ship(next(self.folder.glob("host0_*")), to=lake, says="hot", code=4)
        self.assertEqual(list(elsewhere.iterdir()), [], "a link of somebody else's leads nowhere")

    def test_more_than_memory_has_place_for(self):
        """Sorting 800 MB under a limit of 512 MB; nothing of it is left."""
        query = "SELECT max(length(x)) AS n FROM (SELECT repeat('abcdefghij', 20) || i AS x FROM range(4000000) t(i) ORDER BY hash(i) OFFSET 1)"
        with tempfile.TemporaryDirectory() as folder:
            result = profctl("sql", query, "--from", self.folder, "--csv", env=dict(os.environ, TMPDIR=folder))
            self.assertEqual((result.returncode, result.stdout), (0, "n\n207\n"), result.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_interrupted(self):
        endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE hash(a.range + b.range) = 1"
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([str(PROFCTL), "sql", endless, "--from", str(self.folder)], text=True,
                                       stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=folder))
            harness.wait_until(lambda: list(pathlib.Path(folder).glob("*/filled")), "the engine to be filled")
            (own,) = pathlib.Path(folder).iterdir()
            self.assertEqual(own.stat().st_mode & 0o777, 0o700)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=harness.PATIENCE_S)
            self.assertEqual((process.returncode, said), (1, "profctl: interrupted\n"))
            self.assertEqual(os.listdir(folder), [])

    def test_hostile_texts(self):
        query = "SELECT chr(27) || '[31m' AS \"a\x1b[0mb\", 'x' || chr(10) || '=\"' AS c"
        self.assertNotIn("\x1b", profctl("sql", query, "--from", self.folder).stdout)
        self.assertEqual(self.ask(query)[0]["c"], 'x\n="')

    def test_csv_on_a_terminal_has_no_escapes(self):
        master, terminal = pty.openpty()
        query = "SELECT chr(27) || ']0;evil' AS \"a\x1b[0mb\""
        result = subprocess.run([str(PROFCTL), "sql", query, "--from", str(self.folder), "--csv"], stdout=terminal,
                                stderr=subprocess.PIPE, check=False)
        os.close(terminal)
        said = os.read(master, 4096)
        os.close(master)
        self.assertEqual((result.returncode, said), (0, b"a?[0mb\r\n?]0;evil\r\n"), result.stderr)
        # A script gets what there is.
        self.assertIn("\x1b]0;evil", profctl("sql", query, "--from", self.folder, "--csv").stdout)

    def test_csv_is_safe_in_a_spreadsheet(self):
        query = "SELECT '=cmd()' AS \"=name()\", -5 AS n, '-5' AS t, 'a,\"b\"' AS q, NULL AS e, '-inf'::DOUBLE AS f"
        result = profctl("sql", query, "--from", self.folder, "--csv")
        self.assertEqual(result.stdout, "\"'=name()\",n,t,q,e,f\n\"'=cmd()\",-5,-5,\"a,\"\"b\"\"\",,-inf\n")

    def test_values_of_all_types(self):
        query = ("SELECT 1::TINYINT AS a, 0.5 AS b, true AS c, [1, 2] AS d, DATE '2026-01-02' AS e, 'x' AS f, NULL AS g, "
                 "make_timestamp_ns(1234567890123456789) AS h, 'a' AS \"select\", 170141183460469231731687303715884105727 AS i")
        (row,) = self.ask(query)
        self.assertEqual(row, {"a": 1, "b": 0.5, "c": True, "d": "[1, 2]", "e": "2026-01-02", "f": "x", "g": None,
                               "h": "2009-02-13 23:31:30.123456789", "select": "a", "i": row["i"]})
        begins = self.ask("SELECT count(*) AS n FROM steps WHERE t IS NULL OR year(t) <> 2025")
        self.assertEqual(begins, [{"n": 0}])
        self.assertRegex(self.ask("SELECT t FROM steps LIMIT 1")[0]["t"], r"^2025-10-09 \d\d:\d\d:\d\d\.\d+$")

    def test_usage(self):
        for words in ((), ("SELECT 1", "--question", "comm"), ("--question", "nobody")):
            self.assertEqual(profctl("sql", *words).returncode, 2, words)


@unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
class SessionTest(harness.ProfdTest):
    def test_what_a_session_says_of_itself(self):
        daemon = self.profd(sim="devices: 2\nchip: 910B\n")
        session = daemon.begin("--devices", "0,1", "--collect", "task,hbm", "--label", "job=llm", "--label", "attempt=3")
        self.kind_has_records(daemon, session, "task")
        with tempfile.TemporaryDirectory() as lake:
            running = daemon.ctl("ship", session["session"], "--to", lake)
            self.assertNotEqual(running.code, 0)
            self.assertIn("still being recorded", running.err)
            self.assertEqual(os.listdir(lake), [])
        ended = daemon.end(session["session"])
        (row,) = daemon.ctl("sql", "SELECT *, epoch_ns(\"to\") - epoch_ns(\"from\") AS ns FROM captures", "--json").json
        self.assertEqual((row["user"], row["job"], row["attempt"], row["capture"]), ("root", "llm", 3, session["session"]))
        self.assertEqual((row["object"], row["kinds"]), (os.path.basename(ended["directory"]), "hbm,task"))
        self.assertEqual((row["verdict"], row["lost"], row["ver"]), ("whole", 0, 1))
        self.assertEqual(json.loads(row["labels"]), {"job": "llm", "attempt": "3"})
        self.assertGreater(min(row["bytes"], row["ns"]), 0)
        rows = daemon.ctl("sql", "SELECT DISTINCT job, attempt, instance, device FROM kernels ORDER BY ALL", "--json").json
        self.assertEqual([(one["job"], one["attempt"], one["instance"], one["device"]) for one in rows],
                         [("llm", 3, row["instance"], 0), ("llm", 3, row["instance"], 1)])

    @staticmethod
    def kind_has_records(daemon, session, kind):
        harness.wait_until(lambda: min(one["records"] for one in daemon.status(session["session"])["kinds"] if one["kind"] == kind) > 20,
                           f"records of {kind} on each device")


if __name__ == "__main__":
    unittest.main()
