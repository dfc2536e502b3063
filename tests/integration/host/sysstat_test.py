#!/usr/bin/env python3
"""Host figures against pidstat's and sar's of the same load: what it used of the CPU, wrote, held in memory and sent over the
loopback, as profctl's database has it, within two parts in a hundred."""
import glob
import itertools
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness

MIB = 1 << 20
CPU_S, WRITTEN, HELD, SENT = 5, 200 * MIB, 300 * MIB, 1 << 30
LOAD = f"""
import os, socket, sys, tempfile, threading, time
sys.stdin.read(1)
held = b"x" * {HELD}
begin = time.process_time()
with tempfile.TemporaryFile(dir=sys.argv[1]) as file:
    block = os.urandom({MIB})
    for _ in range({WRITTEN // MIB}):
        file.write(block)
    file.flush()
    os.fsync(file.fileno())
here = socket.create_server(("127.0.0.1", 0))
def take():
    taken, left = here.accept()[0], {SENT}
    while left > 0:
        left -= len(taken.recv({MIB}))
thread = threading.Thread(target=take)
thread.start()
with socket.create_connection(here.getsockname()) as there:
    for _ in range({SENT // MIB}):
        there.sendall(block)
    thread.join()
while time.process_time() - begin < {CPU_S}:
    pass
print("!", flush=True)
sys.stdin.read()
"""


@unittest.skipUnless(shutil.which("pidstat") and shutil.which("sar"), "sysstat is not there")
class SysstatTest(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd()
        self.out = tempfile.TemporaryDirectory(prefix="profd-sysstat-")
        self.addCleanup(self.out.cleanup)

    def watch(self, *arguments):
        """Its lines so far, each with the time at which it came, and what ends it."""
        environment = os.environ | {"LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
        watcher = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
        self.ends_with_the_test(watcher)
        lines = []

        def read():
            for line in watcher.stdout:
                lines.append((time.monotonic(), line))
        reader = threading.Thread(target=read)
        reader.start()

        def end():
            watcher.send_signal(signal.SIGINT)
            watcher.wait()
            reader.join()
        return lines, end

    def a_period_ends(self, *watched):
        """Of each."""
        def periods():
            return [sum(row.get("IFACE", "lo") == "lo" for row in self.table(list(lines))) for lines in watched]

        before = periods()
        harness.wait_until(lambda: all(now > then for now, then in zip(periods(), before)), "periods of all that watch")

    @staticmethod
    def table(lines):
        """Rows by column, each with the seconds since the row before of the same."""
        rows, heads, before = [], [], {}
        for now, line in lines:
            words = line.removeprefix("#").split()
            if "Command" in words or "IFACE" in words:
                heads = words
            elif heads and len(words) == len(heads) and not line.startswith("Average"):
                row = dict(zip(heads, words))
                of = row.get("IFACE")
                rows.append(row | {"seconds": now - before.get(of, now - 1)})
                before[of] = now
        return rows

    def total(self, columns, where="", begins=False):
        """Of a rate that holds since the row before, or `begins` at its stamp."""
        rows = self.database.execute(f"SELECT timestampNs, {columns} {where} GROUP BY timestampNs ORDER BY timestampNs").fetchall()
        self.assertGreater(len(rows), 50)
        return sum((rate if begins else next_rate) * (next_ns - ns) / 1e9
                   for (ns, rate), (next_ns, next_rate) in itertools.pairwise(rows))

    def near(self, ours, theirs, least):
        self.assertGreater(theirs, least)
        self.assertLess(abs(ours - theirs), 0.02 * theirs, (ours, theirs))

    def test_figures_of_a_load(self):
        load = subprocess.Popen([sys.executable, "-c", LOAD, self.out.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ends_with_the_test(load)
        session = self.daemon.begin("--pid", load.pid, "--collect", "host-cpu,host-mem,host-disk,host-network")["session"]
        process, end_process = self.watch("pidstat", "-h", "-u", "-r", "-d", "-p", str(load.pid), "1")
        ports, end_ports = self.watch("sar", "-n", "DEV", "1")
        self.a_period_ends(process, ports)  # without the load
        load.stdin.write(b"!")
        load.stdin.flush()
        load.stdout.readline()
        self.a_period_ends(process, ports)  # behind the load
        end_process()
        end_ports()
        process, ports = self.table(process), self.table(ports)
        ended = self.daemon.end(session)
        self.assertEqual(self.daemon.ctl("export", ended["directory"], "--format", "db", "--out", self.out.name).code, harness.OK)
        (path,) = glob.glob(f"{self.out.name}/*.db")
        self.database = sqlite3.connect(path)
        self.addCleanup(self.database.close)

        self.near(self.total("sum(usage) / 100 FROM CPU_USAGE", begins=True), sum(float(row["%CPU"]) * row["seconds"] for row in process) / 100,
                  CPU_S * 0.9)
        self.near(self.total("writeRate FROM HOST_DISK_USAGE"), sum(float(row["kB_wr/s"]) * row["seconds"] for row in process) * 1024,
                  WRITTEN * 0.9)
        memory_kib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1024
        # While it is held, in the middle: what the loopback takes besides, for less than a second, pidstat may miss.
        ours = [share / 100 * memory_kib for (share,) in self.database.execute("SELECT usage FROM HOST_MEM_USAGE")]
        self.near(*(statistics.median(kib for kib in rows if kib > HELD / 1024) for rows in (ours, [float(row["RSS"]) for row in process])),
                  HELD / 1024)
        self.near(self.total("rx FROM HOST_PORT JOIN STRING_IDS ON name = id", "WHERE value = 'lo'", begins=True),
                  sum(float(row["rxkB/s"]) * row["seconds"] for row in ports if row["IFACE"] == "lo") * 1024, SENT * 0.9)


if __name__ == "__main__":
    unittest.main()
