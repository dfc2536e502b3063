#!/usr/bin/env python3
"""The always-on summary: each step of a training loop becomes a row, recorded or not, and comes to the lake once."""
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import time
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
        try:
            text = path.read_text()
        except FileNotFoundError:  # it is shipped
            return []
        head, columns, *rows, last = text.splitlines()
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
        job = self.job(daemon, labels="job=fast,rank=2")
        job.order("steps 5000")
        job.close()

        def all_told():
            lost = sum(int(row["rows"]) for row in self.all_rows("loss"))
            return lost > 0 and lost + len(self.all_rows()) == 5000

        harness.wait_until(all_told, "every step to be a row or counted")
        self.assertEqual({(row["why"], row["user"], row["job"], row["rank"]) for row in self.all_rows("loss")},
                         {('"overwritten"', '"root"', '"fast"', "2")})

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
        self.assertEqual(sorted(int(row["step"]) for row in self.all_rows()), list(range(23)))
        self.assertEqual(len({path.name.split("_")[1] for path in self.sealed()}), 2)

    def test_doctor_says_what_waits(self):
        daemon = self.profd(sim=SIM, config=self.settings)
        self.job(daemon).order("steps 20")
        harness.wait_until(self.sealed, "a file of rows")

        def said():
            [check] = [check for check in daemon.ctl("doctor", "--json").json["checks"] if check["name"] == "summary"]
            return check["outcome"], check["detail"]

        self.assertRegex(": ".join(said()), f"^ok: {self.rows}, [1-9][0-9]* closed files, 0 MiB, the oldest of 0 min ago$")
        long_ago = time.time() - 7200
        os.utime(self.sealed()[0], (long_ago, long_ago))
        self.assertRegex(": ".join(said()), "^warn: .*, the oldest of 120 min ago$")

    def test_idle_without_programs(self):
        daemon = self.profd(sim=SIM, config=self.settings)
        self.assertEqual(list(self.rows.iterdir()), [])
        daemon.stop()
        self.assertEqual(list(self.rows.iterdir()), [])

    def test_a_folder_that_cannot_be(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        self.profd(sim=SIM, config=self.settings)
        for folder, says in ((blocked, "is no folder"), ("rows", "expected a path that begins with /"),
                             (self.rows, "used by another profd")):
            with self.assertRaises(AssertionError) as failed:
                self.profd(sim=SIM, config=self.settings.replace(str(self.rows), str(folder)))
            self.assertIn("summary.folder: ", str(failed.exception))
            self.assertIn(says, str(failed.exception))

    @unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
    def test_pipes_and_links_are_no_files_of_rows(self):
        self.rows.mkdir()
        os.mkfifo(self.rows / "steps_0a_0.rows")
        (self.rows / "steps_0a_1.rows").symlink_to("/dev/zero")
        self.assertEqual(self.ship(), [])

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
        # What is there already is not written again, and profd removes its own while it has work.
        self.assertEqual({one["new"] for one in self.ship()}, {False})
        old, more = {path.name for path in self.sealed()}, 0
        while old & {path.name for path in self.sealed()}:
            jobs[0].order("steps 1")
            more += 1
            harness.wait_until(lambda: str(29 + more) in [row["step"] for row in self.all_rows()], "its row")
        self.ship()
        self.assertEqual(sum(row["n"] for row in self.ask(question)), 60 + more)

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

    @unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
    def test_a_step_that_hung_is_one_row(self):
        self.rows.mkdir()
        t = 1700000000000000000
        self.put("steps", "0000000b", 0, ("seq", "t", "ver", "step", "open", "step_us"),
                 [(0, t, 0, 5, 1, 10000000), (1, t, 1, 4, 0, 20000), (0, t, 1, 5, 0, 15000000)])
        self.ship()
        self.assertEqual(self.ask("SELECT step, open, step_us FROM steps ORDER BY step"),
                         [{"step": 4, "open": 0, "step_us": 20000}, {"step": 5, "open": 0, "step_us": 15000000}])

    def put(self, table, instance, sequence, columns, rows, first_ns=1700000000000000000):
        """A file of rows as profd closes it."""
        lines = [f"# profd rows 1 table={table} node=n1 instance={instance} sequence={sequence}", ",".join(f'"{name}"' for name in columns)]
        text = "".join(line + "\n" for line in lines + [",".join(map(str, row)) for row in rows])
        (self.rows / f"{table}_{instance}_{sequence}.rows").write_text(
            f"{text}# rows={len(rows)} first_ns={first_ns} last_ns=0 crc32c={self.crc32c(text.encode()):08x}\n")

    @unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
    def test_questions_of_operators(self):
        """Rank 1 takes twice as long from step 60 on and hangs in the last; rank 0 was slow for a while, and its last step is long.
        Ten rows were removed, and twenty never came."""
        self.rows.mkdir()
        columns = ("seq", "t", "ver", "step", "open", "step_us", "rank", "proc")

        def row(seq, rank, step, us, is_open=0):
            return (seq, 1700000000000000000 + step * 10**9, 1 - is_open, step, is_open, us, rank, f'"p{rank}"')

        slow = {0: {*range(30, 56), 99}, 1: range(60, 100)}
        steps = [row(2 * step + rank, rank, step, 2000 if step in slow[rank] else 1000 + step % 3) for step in range(100) for rank in (0, 1)]
        self.put("steps", "0000000b", 0, columns, steps[10:60])
        self.put("steps", "0000000b", 1, columns, [*steps[80:], row(200, 1, 100, 10_000_000, 1)])
        # The next profd saw how the step of another rank ended, which the one before had told of.
        self.put("steps", "0000000c", 0, columns, [row(0, 2, 7, 12_000_000, 1)])
        self.put("steps", "0000000d", 0, columns, [row(0, 2, 7, 490_000_000)])
        self.put("loss", "0000000b", 0, ("seq", "t", "table", "rows", "from", "to", "why"),
                 [(0, 1700000000000000000, '"steps"', 10, 1700000000000000000, 1700000004000000000, '"folder full"'),
                  (1, 1700000000000000000, '"steps"', 3, 1700000001000000000, 1700000001000000000, '"overwritten"')])
        self.ship()

        def answer(question):
            result = subprocess.run([str(PROFCTL), "sql", "--question", question, "--from", self.lake, "--json"], capture_output=True,
                                    text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)

        self.assertEqual([(one["rank"], one["since_step"], one["times_longer"]) for one in answer("slow-since")], [(1, 60, 2.0)])
        self.assertEqual([(one["rank"], one["step"], one["step_us"], one["open"]) for one in answer("hangs")],
                         [(2, 7, 490_000_000, 0), (1, 100, 10_000_000, 1)])
        self.assertEqual([(one["why"], one["rows"]) for one in answer("missing")],
                         [("not shipped, or lost with the node", 20), ("folder full", 10), ("overwritten", 3)])

    @unittest.skipUnless(LIBRARY, "scripts/lake.sh has not fetched the library")
    def test_small_files_become_large_ones(self):
        """Every row once before, meanwhile and after, with the node of its file's name, whoever dies in between."""
        self.rows.mkdir()
        columns, hour = ("seq", "t", "ver", "step", "open", "step_us", "rank"), 3600 * 10**9
        for number in range(6):  # two hours; the step that is open at the end of a file is closed in the next
            begin = 1700000000000000000 + number * hour // 3
            self.put("steps", "0000000b", number, columns,
                     [(10 * number + at, begin + at * 10**9, int(at < 9), 10 * number + at, int(at == 9), 1000 + at, 1) for at in range(10)] +
                     ([(10 * number - 1, begin - hour // 3 + 9 * 10**9, 1, 10 * number - 1, 0, 9999, 1)] if number else []))
        self.ship()

        def merge(*words, code=0):
            result = subprocess.run([str(PROFCTL), "lake", "merge", self.lake, *words], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, code, result.stderr)
            return result.stdout

        def rows():
            return self.ask("FROM steps ORDER BY ALL")

        wanted = rows()
        self.assertEqual((len(wanted), sum(row["open"] for row in wanted), {row["node"] for row in wanted}), (60, 1, {"n1"}))
        self.assertRegex(merge(), rf"^6 files merged into 2 in {self.lake}, 60 rows\n$")
        cold = sorted(path.relative_to(self.lake).as_posix() for path in self.lake.glob("cold/**/*.parquet"))
        self.assertEqual([name.rsplit("/", 1)[0] for name in cold],
                         [f"cold/v1/steps/day=2023-11-{day}/hour={of}" for day, of in ((14, 22), (14, 23))])
        self.assertEqual(rows(), wanted)
        self.assertEqual(merge(), f"nothing to merge in {self.lake}\n")
        # Its inputs may go now.
        [manifest] = self.lake.glob("catalog/v1/merged/*.json")
        for name in json.loads(manifest.read_text())["inputs"]:
            (self.lake / name).unlink()
        self.assertEqual(rows(), wanted)
        self.ship()
        # One that died before its manifest was written, and a manifest that is damaged: the same rows.
        for breaks in (manifest.unlink, lambda: manifest.write_text("{")):
            breaks()
            self.assertEqual(rows(), wanted)
            manifest.unlink(missing_ok=True)
            self.assertIn("6 files merged into 2", merge())
            self.assertEqual(sorted(path.relative_to(self.lake).as_posix() for path in self.lake.glob("cold/**/*.parquet")), cold)
            self.assertEqual(rows(), wanted)
        # What has just come waits until nothing more comes in its ten minutes.
        now = time.time_ns()
        self.put("steps", "0000000c", 0, columns, [(0, now, 1, 0, 0, 5, 1)], first_ns=now)
        self.ship()
        self.assertEqual(merge(), f"nothing to merge in {self.lake}: 1 files are newer than 20 minutes (--now)\n")
        self.assertEqual(merge("--now"), f"1 files merged into 1 in {self.lake}, 1 rows\n")
        self.assertEqual(len(rows()), 61)

    @staticmethod
    def crc32c(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        return crc ^ 0xFFFFFFFF

    def test_usage(self):
        of = ("--summary", self.folder)
        for words, code, says in (((), 2, "name one of the two"), (("a", *of), 2, "name one of the two"),
                                  ((*of, "--node", "n1"), 2, "leave them out with --summary"),
                                  (("a", "--acked", "b"), 2, "--acked goes with --summary"),
                                  (("--summary", self.folder / "nowhere"), 3, "name profd's summary.folder"),
                                  ((*of, "--acked", self.folder), 2, "name a file"),
                                  ((*of, "--acked", self.folder / "nowhere" / "acked"), 3, "create it first")):
            result = subprocess.run([str(PROFCTL), "ship", *words, "--to", self.lake], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(says, result.stderr)
        if LIBRARY:
            result = subprocess.run([str(PROFCTL), "ship", *of, "--to", self.lake], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (0, f"0 files shipped to {self.lake}\n"))
            self.assertIn("holds no closed files of rows", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
