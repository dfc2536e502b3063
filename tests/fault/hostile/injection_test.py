#!/usr/bin/env python3
"""Names as weapons: of sessions, processes, labels, domains and ranges. No terminal obeys them, no spreadsheet takes them for a
formula, no page for markup, and every file stays one that its readers can read."""
import csv
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.append(str(harness.ROOT / "tests" / "analyze"))
from job_sim import TYPES, Shape, make  # noqa: E402

# The program takes names without spaces, of 63 bytes.
NAMES = ("=cmd|'/c'!A1", "+1+A1", "-A1", "@SUM(1,2)", "\t=1", '"quoted",', "<script>alert(1)</script>", "</script><img/onerror=x>",
         "\x1b[31mred\x1b]0;title\x07", "\x9b31m", "a\u202eb", "');drop_table;--", "${jndi:ldap}", "%n%s", "\\\\u0041\\", "{}[]\\",
         "\xff\xfe".encode("latin-1").decode("utf-8", "surrogateescape"))
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


class InjectionTest(harness.ProfdTest):
    def shown_is_tame(self, daemon, arguments):
        done = subprocess.run([harness.PROFCTL, *map(str, arguments)], env=daemon.environment, capture_output=True, check=False,
                              timeout=harness.PATIENCE_S, stdin=subprocess.DEVNULL)
        for line in (done.stdout + done.stderr).split(b"\n"):
            text = line.decode()  # is UTF-8, too
            for character in text:
                self.assertFalse(ord(character) < 32 or 127 <= ord(character) < 160, (arguments, text))
        return done

    def session(self, daemon):
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-injection-"))
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        program = place / "=1+\x1b[31m<b>,\"x"
        shutil.copy("/bin/sleep", program)
        other = self.workload(command=[program, "300"])
        job = self.job(daemon, labels="job==1+1,\x1b[31mrank=<b>")
        for name in NAMES:
            os.write(job.process.stdin.fileno(), b"domain " + name.encode("utf-8", "surrogateescape").strip() + b" 3\n")
            self.assertEqual(job.process.stdout.readline(), "done\n")
        begun = daemon.begin("--pid", f"{job.pid},{other.pid}", "--name", "=1+1 <script>", "--label", "what==1+A1",
                             "--collect", "agent-range,agent-mark,host-cpu,host-mem")
        for name in NAMES:
            os.write(job.process.stdin.fileno(), b"domain " + name.encode("utf-8", "surrogateescape").strip() + b" 3\n")
            self.assertEqual(job.process.stdout.readline(), "done\n")
        return begun["session"], other

    def no_formulas(self, file):
        """The texts of a table; a spreadsheet would calculate with none of them."""
        texts = set()
        for row in csv.reader(io.StringIO(file.read_text(encoding="utf-8"), newline="")):
            texts.update(row)
            for cell in row:
                harmless = not cell.startswith(FORMULA) or is_number(cell) or len(cell) == 1
                self.assertTrue(harmless, (file.name, row))
        return texts

    def test_names_of_a_job(self):
        """Of kernels, in the databases of a framework, which anybody may have written."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-injection-"))
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        job, out = place / "job", place / "tables"
        make(Shape(ranks=2, tp=1, steps=4, layers=1), [], job)
        evil = "=cmd|'/c'!\x1b[31m<script>alert(1)</script>"
        for path in job.rglob("*.db"):
            with sqlite3.connect(path) as database:
                database.execute(f"update STRING_IDS set value = ? || value where value in ({','.join('?' * len(TYPES))})",
                                 (evil, *TYPES))
        out.mkdir()
        shown = []
        for arguments in (("--report", "kernels,kernels-by-shape,launches,api"), ("--report", "kernels", "--csv", out), (),
                          ("--json",)):
            shown.append(subprocess.run([harness.PROFCTL, "analyze", job, *arguments], capture_output=True, check=False).stdout)
            self.assertNotRegex(shown[-1].decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertIn(b"=cmd|", shown[0])
        self.assertTrue(any(text.startswith("'=cmd|") for text in self.no_formulas(out / "kernels.csv")))
        page = place / "report.html"
        subprocess.run([harness.PROFCTL, "report", job, "-o", page], capture_output=True, check=True)
        self.assertNotIn("<script>alert", page.read_text(encoding="utf-8"))

    def test_names(self):
        daemon = self.profd()
        session, other = self.session(daemon)
        for arguments in (("list",), ("status",), ("status", session), ("targets",), ("doctor",), ("doctor", "--pid", other.pid),
                          ("watch", "--once"), ("list", "--json"), ("status", session, "--json"), ("targets", "--json"),
                          ("start", "--pid", other.pid, "--collect", "\x1b[31m"), ("stop", "\x1b[31m")):
            self.shown_is_tame(daemon, arguments)
        directory = daemon.end(session)["directory"]
        out = pathlib.Path(directory) / "exported"
        out.mkdir()
        for arguments in (("export", directory, "--format", "chrome,perfetto,csv,json,db", "--out", out), ("query", directory),
                          ("query", directory, "--json"), ("verify", directory)):
            done = self.shown_is_tame(daemon, arguments)
            self.assertIn(done.returncode, (harness.OK, harness.PARTIAL_LOSS), (arguments, done))
        texts = set()
        for file in out.rglob("*"):
            if file.suffix == ".csv":
                texts |= self.no_formulas(file)
            elif file.suffix == ".json":
                json.loads(file.read_text(encoding="utf-8"))
            elif file.suffix in (".db", ".sqlite"):
                with sqlite3.connect(file) as database:
                    self.assertEqual(database.execute("pragma integrity_check").fetchone(), ("ok",))
                    names = {value for (value,) in database.execute("select value from STRING_IDS")}
                self.assertIn("=cmd|'/c'!A1", names)  # as it was: nobody calculates there
        self.assertIn("'=cmd|'/c'!A1", texts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
