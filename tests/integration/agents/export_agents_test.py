#!/usr/bin/env python3
"""What a process records of itself, exported: every record with its value and its time, as an independent reader has
them; and from damaged files what is left."""
import collections
import csv
import decimal
import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import unittest

import agent_reader
import harness
import own_folder

PACKAGE = harness.ROOT / "libagent" / "python"
LIBRARY = harness.PLAIN_BUILD / "lib" / "libprofd_agent.so"


class ExportAgentsTest(harness.ProfdTest):
    def session(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid)
        job.order("mark 300")
        job.order("steps 20")
        job.order("mark 5")
        return daemon.end(session["session"])["directory"]

    def export(self, directory, out, formats="csv,db"):
        done = subprocess.run([os.path.join(os.environ["PROFD_BUILD_DIR"], "bin", "profctl"), "export", directory,
                               "--format", formats, "--out", out], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    @staticmethod
    def wall(directory, agent):
        """Ticks to ns of the wall clock, by the two pairs of the process and those of the host."""
        first, latest = agent.entry["first"], agent.entry["latest"]
        slope = (latest["raw_ns"] - first["raw_ns"]) / (latest["ticks"] - first["ticks"])
        pairs = sorted((clock["host_raw_ns"], clock["wall_ns"]) for clock in agent_reader.manifest(directory)["clocks"])

        def convert(ticks):
            raw = first["raw_ns"] + (ticks - first["ticks"]) * slope
            near = min(pairs, key=lambda pair: abs(pair[0] - raw))
            return near[1] + raw - near[0]
        return convert

    def test_every_record_at_its_time(self):
        directory = self.session()
        (agent,) = agent_reader.agents(directory)
        wall = self.wall(directory, agent)
        out = os.path.join(directory, "exported")
        os.mkdir(out)
        status, said = self.export(directory, out)
        self.assertEqual(status, 0, said)
        (name,) = glob.glob(os.path.join(out, "*.db"))
        with sqlite3.connect(name) as db:
            texts = dict(db.execute("select id, value from STRING_IDS"))
            columns = [row[1] for row in db.execute("pragma table_info(PROFD_COUNTER)")]
            counters = [dict(zip(columns, row)) for row in db.execute("select * from PROFD_COUNTER")]
        value = next(column for column in columns if column.lower() == "value")
        stamp = next(column for column in columns if column.lower().startswith("timestamp"))
        expected = agent.of("counter")
        self.assertEqual(len(expected), 305)
        self.assertEqual(sorted(row[value] for row in counters), sorted(float(r["value"]) for r in expected))
        ours = sorted(row[stamp] for row in counters)
        for mine, theirs in zip(ours, sorted(wall(r["stamp"]) for r in expected)):
            self.assertLess(abs(mine - theirs), 50_000)  # the wall clock may be slewed between two pairs
        (name,) = glob.glob(os.path.join(out, "*", "msprof_tx_*.csv"))
        with open(name, encoding="utf-8", newline="") as file:
            ranges = list(csv.DictReader(file))
        pushes = collections.Counter(record["name"] for record in agent.of("push"))
        self.assertEqual(collections.Counter(row["message"] for row in ranges), pushes)
        self.assertEqual({int(row["pid"]) for row in ranges}, {agent.entry["pid"]})
        begins = sorted(round(float(row["Start_time(us)"].strip()), 3) for row in ranges)
        for mine, theirs in zip(begins, sorted(wall(r["stamp"]) / 1000 for r in agent.of("push"))):
            self.assertLess(abs(mine - theirs), 50)
        self.assertTrue(texts)
        counted, steps = self.table(out, "agent_counter"), self.table(out, "agent_step")
        self.assertEqual(sorted(float(row["Value"]) for row in counted), sorted(float(r["value"]) for r in expected))
        self.assertEqual(sorted(int(decimal.Decimal(row["Timestamp(us)"].strip()) * 1000) for row in counted), ours)
        self.assertEqual(sorted(int(row["Step"]) for row in steps),
                         sorted(record["value"] for record in agent.of("step_begin")))
        for row in counted + steps:
            self.assertEqual((row["Device_id"], int(row["pid"])), ("host", agent.entry["pid"]))
        self.assertGreater(len(steps), 0)

    def test_a_program_that_marks_steps_alone(self):
        """Nothing of it has a name, so there is no table of names, and nothing is missing."""
        daemon = self.profd()
        program = ("import sys, profd\n"
                   "with profd.step(0): pass\n"  # which registers it
                   "for number, _ in enumerate(sys.stdin, 1):\n"
                   "    with profd.step(number): pass\n"
                   "    print('done', flush=True)\n")
        job = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(daemon.environment, PYTHONPATH=str(PACKAGE), PROFD_AGENT_LIBRARY=str(LIBRARY)))
        self.ends_with_the_test(job)
        self.registered(daemon, job.pid)
        session = daemon.begin("--pid", job.pid, "--collect", "agent-step")
        for _ in range(5):
            job.stdin.write("\n")
            job.stdin.flush()
            job.stdout.readline()
        directory = daemon.end(session["session"])["directory"]
        self.assertEqual(glob.glob(os.path.join(directory, own_folder.OWN_FOLDER, "*.names*")), [])
        status, said = self.export(directory, directory)
        self.assertEqual(status, 0, said)
        self.assertEqual([int(row["Step"]) for row in self.table(directory, "agent_step")], [1, 2, 3, 4, 5])
        self.assertEqual(daemon.ctl("query", directory).code, 0)

    @staticmethod
    def table(out, kind):
        (name,) = glob.glob(os.path.join(out, "*", kind + "_[0-9]*.csv"))
        with open(name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_the_timeline_says_whose_it_is(self):
        daemon = self.profd()
        job = self.job(daemon, labels="rank=3")
        session = daemon.begin("--pid", job.pid, "--name", "train-7")
        job.order("mark 5")
        directory = daemon.end(session["session"])["directory"]
        (agent,) = agent_reader.agents(directory)
        status, said = self.export(directory, directory, "chrome,perfetto")
        self.assertEqual(status, 0, said)
        (path,) = glob.glob(os.path.join(directory, "*", "msprof_*.json"))
        with open(path, encoding="utf-8") as file:
            names = {event["args"]["name"] for event in json.load(file) if event["name"] == "process_name"}
        self.assertIn(f"{os.path.basename(agent.entry['executable'])} {job.pid} (rank 3, train-7)", names)

    def test_damage_is_named_with_its_place(self):
        daemon = self.profd()
        job = self.job(daemon)
        session = daemon.begin("--pid", job.pid)
        written = 0
        for _ in range(3):  # a block each: the next one when the one before is on disk
            job.order("mark 30")
            before, written = written, 0
            while written <= before:
                time.sleep(0.05)  # between two looks at the folder
                files = list(daemon.spool.rglob("agent_*.lanes.slice_0"))
                written = sum(map(os.path.getsize, files))
        directory = daemon.end(session["session"])["directory"]
        (path,) = glob.glob(os.path.join(directory, own_folder.OWN_FOLDER, "agent_*.lanes.slice_0"))
        with open(path, "rb") as file:
            sizes = [128 + len(block["payload"]) for block in agent_reader.blocks(file.read(), True)]
        self.assertGreater(len(sizes), 1)
        at, size = sizes[0], sizes[1]
        with open(path, "r+b") as file:
            file.seek(at + 128)
            file.write(b"\xff" * 8)
        status, said = self.export(directory, directory)
        self.assertEqual(status, 7, said)
        name = os.path.relpath(path, directory)
        self.assertIn(f"{name}: at {at}: {size} bytes left out: no whole blocks", said)
        self.assertNotIn("cut by the begin", said)

    def test_damaged_files(self):
        directory, dice = self.session(), random.Random(3)
        files = sorted(os.path.relpath(name, directory) for name in glob.glob(os.path.join(directory, own_folder.OWN_FOLDER, "agent_*.slice_0")))
        self.assertEqual(len(files), 2)
        for number in range(24):
            copy = os.path.join(os.path.dirname(directory), "copy", os.path.basename(directory))
            shutil.rmtree(os.path.dirname(copy), ignore_errors=True)
            shutil.copytree(directory, copy)
            name = files[number % 2]
            path = os.path.join(copy, name)
            with open(path, "rb") as file:
                data = bytearray(file.read())
            if number % 8 < 2:
                data = data[:dice.randrange(len(data))]
            elif number % 8 < 4:
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            elif number % 8 < 6:
                data = bytearray(dice.randbytes(len(data)))
            else:
                data = None
            if data is None:
                os.remove(path)
            else:
                with open(path, "wb") as file:
                    file.write(data)
            status, said = self.export(copy, os.path.dirname(copy), "csv,perfetto")
            self.assertEqual(status, 7, (number, said))
            self.assertIn(name.rsplit(".slice_", 1)[0], said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
