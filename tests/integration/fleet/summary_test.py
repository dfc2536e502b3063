#!/usr/bin/env python3
"""The always-on summary: each step of a training loop becomes a row, recorded or not, and comes to the lake once."""
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

import harness

PROFCTL = pathlib.Path(harness.PROFCTL)
LIBRARY = list((PROFCTL.parents[1] / "lake").glob("node_modules/@duckdb/*/libduckdb.so"))
SIM = "devices: 1\n"


class SummaryTest(harness.ProfdTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-summary-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rows, self.lake, self.acked = (self.folder / name for name in ("rows", "lake", "acked"))
        self.lake.mkdir()
        self.settings = f"summary: {{folder: {self.rows}, file_s: 1, acked: {self.acked}}}\n"

    def sealed(self, table="steps"):
        return sorted(path for path in self.rows.glob(f"{table}_*.rows"))

    def lines(self, path):
        head, columns, *rows, last = path.read_text().splitlines()
        self.assertTrue(head.startswith("# profd rows 1 table="), head)
        self.assertTrue(last.startswith(f"# rows={len(rows)} "), last)
        names = [name.strip('"') for name in columns.split(",")]
        return [dict(zip(names, row.split(","))) for row in rows]

    def all_rows(self, table="steps"):
        return [row for path in self.sealed(table) for row in self.lines(path)]

    def ship(self, code=0):
        result = subprocess.run([str(PROFCTL), "ship", "--summary", self.rows, "--to", self.lake, "--acked", self.acked, "--json"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout) if code in (0, harness.PARTIAL_LOSS) else result.stderr

    def ask(self, query):
        result = subprocess.run([str(PROFCTL), "sql", query, "--from", self.lake, "--json"], capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_each_step_is_a_row(self):
        daemon = self.profd(sim=SIM, config=self.settings)
        job = self.job(daemon, labels="job=llm,rank=3,attempt=1")
        for _ in range(5):
            job.order("steps 10")
            before = len(self.all_rows())
            harness.wait_until(lambda: len(self.all_rows()) == before + 10, "ten rows")
        rows = self.all_rows()
        self.assertEqual([int(row["step"]) for row in rows], list(range(50)))
        self.assertEqual([int(row["seq"]) for row in rows], list(range(50)))
        self.assertEqual({(row["user"], row["job"], row["rank"], row["attempt"], row["ver"], row["open"]) for row in rows},
                         {('"root"', '"llm"', "3", "1", "1", "0")})
        self.assertEqual(len({row["proc"] for row in rows}), 1)
        self.assertEqual(sorted(int(row["t"]) for row in rows), [int(row["t"]) for row in rows])
        self.assertEqual(self.all_rows("loss"), [])
        self.assertEqual({stat.S_IMODE(path.stat().st_mode) for path in self.sealed()}, {0o640})
        # A session beside it changes nothing.
        session = daemon.begin("--pid", job.pid, "--collect", "agent-step")
        job.order("steps 7")
        harness.wait_until(lambda: len(self.all_rows()) == 57, "the rows of recorded steps")
        daemon.end(session["session"])

    def test_steps_that_come_too_fast_are_counted(self):
        daemon = self.profd(sim=SIM, config=self.settings)
        job = self.job(daemon)
        job.order("steps 5000")
        job.close()

        def all_told():
            lost = sum(int(row["rows"]) for row in self.all_rows("loss"))
            return lost > 0 and lost + len(self.all_rows()) == 5000

        harness.wait_until(all_told, "every step to be a row or counted")
        self.assertEqual({row["why"] for row in self.all_rows("loss")}, {'"overwritten"'})

    def test_profd_is_killed(self):
        daemon = self.profd(sim=SIM, config=self.settings.replace("file_s: 1,", "file_s: 3600,"))
        job = self.job(daemon)
        job.order("steps 20")
        harness.wait_until(lambda: [path.read_text().count("\n") for path in self.rows.glob(".steps*")] == [22], "the rows")
        daemon.kill()
        self.assertEqual(self.sealed(), [])
        daemon.start()
        self.assertEqual([int(row["step"]) for row in self.all_rows()], list(range(20)))
        self.registered(daemon, job.pid)
        # The next profd counts on, under a name of its own.
        job.order("steps 3")
        daemon.stop()
        self.assertEqual([int(row["step"]) for row in self.all_rows()], list(range(23)))
        self.assertEqual(len({path.name.split("_")[1] for path in self.sealed()}), 2)

    def test_idle_without_programs(self):
        daemon = self.profd(sim=SIM, config=self.settings)
        self.assertEqual(list(self.rows.iterdir()), [])
        daemon.stop()
        self.assertEqual(list(self.rows.iterdir()), [])

    def test_a_folder_that_cannot_be(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        with self.assertRaises(AssertionError) as failed:
            self.profd(sim=SIM, config=self.settings.replace(str(self.rows), str(blocked)))
        self.assertIn("summary.folder: ", str(failed.exception))

    @unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
    def test_rows_come_to_the_lake_once(self):
        daemon = self.profd(sim=SIM, config=self.settings)
        jobs = [self.job(daemon, labels=f"job=llm,rank={rank}") for rank in (0, 1)]
        for job in jobs:
            job.order("steps 30")
        harness.wait_until(lambda: len(self.all_rows()) == 60, "all rows")
        files = len(self.sealed())
        shipped = self.ship()
        self.assertEqual([(one["table"], one["new"]) for one in shipped], [("steps", True)] * files)
        question = "SELECT rank, job, count(*) AS n, count(DISTINCT step) AS steps, min(step_us) >= 0 AS timed FROM steps GROUP BY ALL ORDER BY rank"
        told = [{"rank": rank, "job": "llm", "n": 30, "steps": 30, "timed": True} for rank in (0, 1)]
        self.assertEqual(self.ask(question), told)
        (node,) = self.ask("SELECT DISTINCT node, instance FROM steps")
        self.assertEqual(node["node"], os.uname().nodename)
        self.assertEqual(self.ask("SELECT * FROM loss"), [])
        # What is there already is not written again, and profd removes its own when it looks next.
        self.assertEqual({one["new"] for one in self.ship()}, {False})
        for step in (30, 31):
            jobs[0].order("steps 1")
            harness.wait_until(lambda: str(step) in [row["step"] for row in self.all_rows()], "a file to be sealed")
        harness.wait_until(lambda: len(self.sealed()) <= 2, "shipped files to go")
        self.ship()
        self.assertEqual(sum(row["n"] for row in self.ask(question)), 62)

    @unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
    def test_damaged_files_stay_and_hold_up_nobody(self):
        self.rows.mkdir()

        def file(name, head, rows, crc=None):
            text = f"{head}\n\"seq\",\"t\",\"step\",\"newer\"\n{rows}"
            found = self.crc32c(text.encode())
            (self.rows / name).write_text(f"{text}# rows=1 first_ns=1700000000000000000 last_ns=0 crc32c={crc or found:08x}\n")

        head = "# profd rows 1 table=steps node=n1 instance=0000000a sequence="
        file("steps_0000000a_0.rows", head + "0", "0,1700000000000000000,7,\"what this profctl does not know\"\n")
        file("steps_0000000a_1.rows", head + "1", "0,1,1,\n", crc=1)
        file("steps_0000000a_2.rows", head + "3", "0,1,1,\n")
        file("steps_0000000a_4.rows", head.replace("n1", "../n1") + "4", "0,1,1,\n")
        file("wishes_0000000a_5.rows", head.replace("steps", "wishes") + "5", "0,1,1,\n")
        file("steps_0000000a_6.rows", head + "6", "0,x,1,\n")
        (self.rows / "steps_0000000a_7.rows").write_text("")
        shipped = self.ship(code=harness.PARTIAL_LOSS)
        self.assertEqual([pathlib.Path(one["file"]).name for one in shipped], ["n1_0000000a_0.parquet"])
        self.assertEqual(self.acked.read_text(), "steps_0000000a_0.rows\n")
        self.assertEqual(self.ask("SELECT step, node, epoch_ns(t) AS t FROM steps"),
                         [{"step": 7, "node": "n1", "t": 1700000000000000000}])
        self.assertEqual([path.name for path in self.lake.rglob("*") if path.is_file()], ["n1_0000000a_0.parquet"])

    @staticmethod
    def crc32c(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        return crc ^ 0xFFFFFFFF

    def test_usage(self):
        for words in ((), ("a", "--summary", "b")):
            result = subprocess.run([str(PROFCTL), "ship", *words, "--to", self.lake], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("--summary", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
