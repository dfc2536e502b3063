#!/usr/bin/env python3
"""Side by side with the vendor's own collector on the simulator: for the same command line the same channels start with the
same bytes, and sample.json says the same, but for what docs/msprof.md tells of ("What differs on the device and in
sample.json"; collector_lines.py has it as rules)."""
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import unittest

import collector_lines
import harness
import own_folder
import vendor_tools
from harness import NOT_FOUND, USAGE

AT_ONCE = 4
WAITS = ("import pathlib, sys, time\n"
         "end = time.time() + 50\n"
         f"while time.time() < end and not list(pathlib.Path(sys.argv[1]).glob('PROF_*/{own_folder.MANIFEST}')): time.sleep(0.01)\n"
         "time.sleep(float(sys.argv[2]))\n")
SHORT_S, LONG_S = "0.3", "4"  # long: what is recorded begins later, or ends earlier
# Keys of sample.json that are each run's own.
OWN = {"result_dir", "job_id", "msprofBinPid", "host_sys_pid", "devices", "app", "app_dir", "app_parameters", "app_location", "app_env"}


class LinesTest(unittest.TestCase):
    def test_every_option_is_in_a_line(self):
        """On each chip that has it: a line is tried on all of them."""
        table = subprocess.run([str(harness.PROFCTL), "--help-options"], capture_output=True, text=True, check=True).stdout
        rows = re.findall(r"^\| (`--.*?) \|", table, re.M)
        self.assertGreater(len(rows), 60)
        used = {name for line in collector_lines.SYSTEM + collector_lines.PROGRAM for name in collector_lines.Line("", line, True).options}
        names = [re.findall(r"`--([\w-]+)`", row) for row in rows]
        self.assertEqual([row for row in names if row[0] not in used | set(collector_lines.APART)], [])
        self.assertEqual(used & set(collector_lines.APART), set())


@vendor_tools.needs_collector
class VendorCollectorTest(harness.ProfdTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)

    def samples(self, output):
        return {path.parent.name: json.loads(path.read_text()) for path in output.glob("PROF_*/*/sample.json")}

    def starts(self, lines):
        """Channel → period and payload; a channel 52 with every switch off gives nothing."""
        return {line["channel"]: (line["period_ms"], line["user_data"]) for line in lines
                if line.get("event") == "start" and not (line["channel"] == 52 and not int(line["user_data"] or "0", 16))}

    def vendor(self, chip, arguments):
        work = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        (work / "sim.yaml").write_text(f"devices: 1\nchip: {chip}\ntruth: {work}/truth\n")
        done = vendor_tools.collect(work / "sim.yaml", harness.HAL.parent, f"--output={work}/out", *arguments)
        truth = work / "truth"
        lines = [json.loads(line) for line in truth.read_text().splitlines()] if truth.exists() else []
        return done, self.starts(lines), self.samples(work / "out")

    def ours(self, daemon, line, *environment):
        output = pathlib.Path(tempfile.mkdtemp(dir=self.top)) / "out"
        before = len(daemon.truth_lines()) if daemon.truth.exists() else 0
        words = [f"--output={output}", "--type=db", *self.words(line), *environment]
        lasts = LONG_S if self.is_timed(line) else SHORT_S
        done = daemon.ctl("msprof", *words, *([sys.executable, "-c", WAITS, output, lasts] if line.program else []))
        lines = daemon.truth_lines()[before:] if daemon.truth.exists() else []
        return done, self.starts(lines), self.samples(output)

    def words(self, line):
        words = line.text.format(pid=os.getpid()).split()
        return words if line.program else ["--sys-period=1", "--sys-devices=0", *words]

    def is_timed(self, line):
        return "delay" in line.options or "duration" in line.options

    def their(self, line):
        lasts = [LONG_S] if self.is_timed(line) else []
        return self.vendor(line.chip, [*self.words(line), *([str(vendor_tools.PROGRAM), *lasts] if line.program else [])])

    def cann(self):
        """A toolkit whose MSPTI tells of kernels: the option that gives a program its environment."""
        home = self.top / "cann"
        (home / "lib64").mkdir(parents=True)
        for name in ("libmspti.so", "libprofapi.so"):
            (home / "lib64" / name).symlink_to(harness.PLAIN_BUILD / "sim" / name)
        (home / "sim.yaml").write_text("mspti: {auto: true}\n")
        return (f"--environment=ASCEND_HOME_PATH={home};PROFD_SIM_CONFIG={home}/sim.yaml;"
                f"LD_PRELOAD={home}/lib64/libprofapi.so")

    def compare(self, line, theirs, ours):
        done, their_starts, their_samples = theirs
        result, our_starts, our_samples = ours
        # It asks `sudo /usr/bin/msprof_data_collection.sh get-version TOOL`, which a stand-in on PATH can answer "TOOL 1".
        if tool := re.search(r"The tool \w+ is invalid", done.stdout):
            self.skipTest(f"not here: {tool[0]}")
        if not their_samples:
            if line.goes_further():
                self.assertTrue(our_samples, result)
            else:
                self.assertIn(result.code, (USAGE, NOT_FOUND), f"refused by the vendor: {done.stdout}")
            return
        if line.refusal():
            self.assertEqual(result.code, USAGE, result)
            self.assertIn(line.refusal(), result.err)
            return
        expected = line.starts({channel: (period, collector_lines.words(payload))
                                for channel, (period, payload) in their_starts.items()})
        if not line.either_way() & our_starts.keys():
            expected = {channel: start for channel, start in expected.items() if channel not in line.either_way()}
        self.assertEqual({channel: (period, collector_lines.words(payload)) for channel, (period, payload) in our_starts.items()},
                         expected, result)
        for side, theirs in their_samples.items():
            ours = our_samples.get(side)
            if ours is None:  # nothing of that device is collected
                self.assertEqual(expected, {}, side)
                continue
            wanted = line.sample(side, theirs, ours, alone=set(our_samples) == {"host"})
            self.assertEqual({key: (theirs[key], value, ours.get(key)) for key, value in wanted.items()
                              if key not in OWN and value != ours.get(key)}, {}, f"{side}: the vendor's, due, ours")

    def daemon(self, chip):
        # The collector is of a CANN that counts a 950's main memory anew.
        info = self.top / "toolkit/share/info/runtime/version.info"
        info.parent.mkdir(parents=True, exist_ok=True)
        info.write_text("Version=9.2.0\n")
        return self.profd(sim=f"devices: 1\nchip: {chip}\n", config=f"driver:\n  toolkit: {self.top}/toolkit\n",
                          within=harness.tracefs())

    def all_lines(self, chip, texts, program):
        # Most of a run is waiting: several at once, each beside a daemon that has nothing else to do.
        daemons = queue.SimpleQueue()
        for _ in range(AT_ONCE):
            daemons.put(self.daemon(chip))
        lines = [[collector_lines.Line(chip, text, program, kernels) for kernels in ((False, True) if program else (False,))]
                 for text in texts]
        environment = self.cann() if program else ""

        def run(ways):
            daemon = daemons.get()
            try:
                return self.their(ways[0]), [self.ours(daemon, line, *([environment] if line.kernels else [])) for line in ways]
            finally:
                daemons.put(daemon)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(run, lines))
        for ways, (theirs, all_ours) in zip(lines, results):
            for line, ours in zip(ways, all_ours):
                with self.subTest(line):
                    self.compare(line, theirs, ours)


def add(chip):
    def system(self):
        self.all_lines(chip, collector_lines.SYSTEM, program=False)

    def program(self):
        """Without CANN, and with one whose MSPTI tells of kernels."""
        self.all_lines(chip, collector_lines.PROGRAM, program=True)

    setattr(VendorCollectorTest, f"test_system_of_a_{chip}", system)
    setattr(VendorCollectorTest, f"test_program_on_a_{chip}", vendor_tools.needs_program(program))


for each in collector_lines.CHIPS:
    add(each)


if __name__ == "__main__":
    tried = unittest.main(verbosity=2, exit=False)
    if not tried.result.wasSuccessful():
        sys.exit(1)
    if vendor_tools.COLLECTOR is None:
        print("not here: PROFD_VENDOR_COLLECTOR names no folder with the vendor's collector")
        sys.exit(vendor_tools.NOT_HERE)
