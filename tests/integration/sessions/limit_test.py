#!/usr/bin/env python3
"""--storage-limit: what the directories take on disk at every moment, what is left of every kind, and the sum of it."""
import collections
import os
import pathlib
import re
import signal
import struct
import threading
import time
import unittest

import agent_reader
import harness
import own_folder
import prof_reader

LIMIT = 200_000_000
SLICE_BYTES = 2 << 20
# A flood repeats its prepared records, stamps included: what the reader says of time says nothing of ageing.
OF_THE_FLOOD = re.compile(r"stamps go backwards|stamps are outside the session|periods are not in the order|"
                          r": period at \d+ ")


def flood(rate_mb_s):
    return f"devices: 2\nchip: 910B\nmode: flood\nrate_mb_s: {round(rate_mb_s * harness.FLOOD_SHARE)}\n"


def disk_bytes(path):
    """As du counts: blocks of files and folders."""
    total = os.lstat(path).st_blocks * 512
    for entry in os.scandir(path):
        folder = entry.is_dir(follow_symlinks=False)
        total += disk_bytes(entry.path) if folder else entry.stat(follow_symlinks=False).st_blocks * 512
    return total


class Watcher:
    """Looks at the spool every 50 ms, with profd stopped, so that all is of one moment; where that takes long, less often: profd has
    most of the time."""

    def __init__(self, daemon):
        self.daemon, self.most, self.looks, self.ending = daemon, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        took = 0
        while not self.ending.wait(max(0.05, 4 * took)):
            begin = time.monotonic()
            self.daemon.signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.daemon.process.pid, os.WSTOPPED | os.WNOWAIT)
            self.most = max(self.most, sum(disk_bytes(path) for path in self.daemon.spool.glob("*/PROF_*")))
            self.looks += 1
            self.daemon.signal(signal.SIGCONT)
            took = time.monotonic() - begin

    def end(self):
        if not self.ending.is_set():
            self.ending.set()
            self.thread.join()


class LimitTest(harness.ProfdTest):
    def watch(self, daemon):
        watcher = Watcher(daemon)
        self.addCleanup(watcher.end)
        return watcher

    def wait_for_ageing(self, daemon, session, least_bytes):
        return harness.wait_until(lambda: (status := daemon.status(session))["aged_bytes"] >= least_bytes and status,
                                  f"{least_bytes} bytes to age", patience=4 * harness.PATIENCE_S)

    def records_on_disk(self, directory):
        """(folder, file as in the manifest) → records that lie there."""
        found = collections.Counter()
        for side in prof_reader.ProfDir(directory).devices.values():
            folder = os.path.basename(side.path)
            for file, paths in side.slices.items():
                name = f"{file}.{side.device}"
                if file in side.TEXT or file.startswith("dvpp."):
                    found[folder, name] = sum(not line[:1].isalpha() for line in side.lines(file))
                else:
                    size = struct.calcsize("<" + side.layout(file))
                    for path in paths:
                        self.assertEqual(os.path.getsize(path) % size, 0, path)
                        found[folder, name] += os.path.getsize(path) // size
        return found

    def check_streams(self, directory):
        """What lies there is what the manifest says is left of what was stored."""
        manifest = agent_reader.manifest(directory)
        on_disk = self.records_on_disk(directory)
        stored = collections.Counter()
        for stream in manifest["streams"]:
            where = pathlib.Path(directory) / stream["folder"]
            data = where if stream["folder"] == own_folder.OWN_FOLDER else where / "data"
            numbers = sorted(int(match["slice"]) for name in os.listdir(data)
                             if (match := re.fullmatch(re.escape(stream["file"]) + r"\.slice_(?P<slice>\d+)", name)))
            self.assertEqual(numbers, list(range(stream["aged"]["slices"], stream["slices"])), stream["file"])
            if stream["unit"].startswith("device:"):
                stored[stream["folder"], stream["file"]] += stream["records"] - stream["aged"]["records"]
        self.assertEqual(+stored, +on_disk)
        return manifest

    def check_windows(self, manifest, window_s):
        """Every stream has lost the same time: an eighth of the window is a slice's."""
        ends = {stream["file"]: stream["aged"]["to_ns"] for stream in manifest["streams"] if stream["aged"]["slices"]}
        spread = (max(ends.values()) - min(ends.values())) / 1e9
        self.assertLessEqual(spread, window_s / 2 + 0.5, ends)

    def violations(self, directory):
        return [line for line in prof_reader.check(directory, sealed=True) if not OF_THE_FLOOD.search(line)]

    def test_never_over_the_limit_and_one_window_of_every_kind(self):
        daemon = self.profd(sim=flood(40))
        job = self.job(daemon)
        watcher = self.watch(daemon)
        session = daemon.begin("--pid", job.pid, "--devices", "all", "--storage-limit", "200MB")["session"]
        emitting = threading.Event()
        emitted = 0

        def emit():
            nonlocal emitted
            while not emitting.is_set():
                job.order("mark 20000")
                emitted += 20000
                time.sleep(0.05)  # the rate of what comes, not a wait

        emitter = threading.Thread(target=emit)
        emitter.start()
        try:
            status = self.wait_for_ageing(daemon, session, 2 * LIMIT)
        finally:
            emitting.set()
            emitter.join()
        self.assertEqual(status["storage_limit_bytes"], LIMIT)
        self.assertLessEqual(status["used_bytes"], LIMIT)
        self.assertGreater(status["used_bytes"], LIMIT / 2)
        self.assertGreater(status["window_s"], 0)
        shown = daemon.ctl("status", session).out
        self.assertRegex(shown, r"on disk .* of 200.0 MB  the last .*  aged ")
        sealed = daemon.end(session)
        watcher.end()
        self.assertGreater(watcher.looks, 20)
        self.assertLessEqual(watcher.most, LIMIT + SLICE_BYTES)
        directory = sealed["directory"]
        self.assertLessEqual(disk_bytes(directory), LIMIT + SLICE_BYTES)
        self.assertLessEqual(abs(sealed["used_bytes"] - disk_bytes(directory)), SLICE_BYTES)

        self.assertEqual(self.violations(directory), [])
        manifest = self.check_streams(directory)
        self.check_windows(manifest, sealed["window_s"])
        streams = manifest["streams"]
        self.assertEqual(sum(stream["aged"]["bytes"] for stream in streams), sealed["aged_bytes"])
        self.assertEqual(sum(stream["aged"]["records"] for stream in streams), sealed["aged_records"])
        # generated = on disk + aged + lost: the streams' own sum is checked above, here against the simulator.
        delivered = collections.Counter()
        for line in daemon.truth_lines():
            if line.get("event") == "stop":
                delivered[f"device:{line['device']}"] += line["generated_records"] - line["dropped_records"]
        for device in ("device:0", "device:1"):
            told = sum(stream["records"] + stream["lost_records"] for stream in streams if stream["unit"] == device)
            if any("discarded" in reason for reason in sealed["degraded"]):
                self.assertLess(told, delivered[device], device)
            else:
                self.assertEqual(told, delivered[device], device)
        self.check_agent(directory, manifest, emitted)

    def check_agent(self, directory, manifest, emitted):
        entry = manifest["agents"][0]
        lanes = [stream for stream in manifest["streams"] if stream["file"] == entry["lanes_file"]][0]
        self.assertGreater(lanes["aged"]["records"], 0)
        left, seqs = 0, {}
        for number in range(lanes["aged"]["slices"], lanes["slices"]):
            data = (own_folder.own_folder(directory) / f"{lanes['file']}.slice_{number}").read_bytes()
            for block in agent_reader.blocks(data, check_crc=False):
                self.assertEqual(block["seq"], seqs.get(block["lane"], block["seq"]))
                seqs[block["lane"]] = block["seq"] + 1
                left += block["records"]
        lost = sum(lane["lost"] + lane["write_lost"] for lane in entry["lanes"]) + entry["lost_without_lane"]
        self.assertEqual(left, lanes["records"] - lanes["aged"]["records"])
        self.assertEqual(left + lanes["aged"]["records"] + lost, emitted)
        # What the records' texts are is never aged.
        self.assertTrue((own_folder.own_folder(directory) / f"{entry['names_file']}.slice_0").exists())

    def test_a_killed_profd_leaves_what_a_reader_takes(self):
        daemon = self.profd(sim=flood(40))
        session = daemon.begin("--devices", "all", "--storage-limit", "200MB")
        self.wait_for_ageing(daemon, session["session"], LIMIT / 4)
        daemon.kill()
        directory = session["directory"]
        # A kill between the two writes of an append leaves zeros (docs/formats.md).
        found = [line for line in prof_reader.check(directory) if not OF_THE_FLOOD.search(line)]
        self.assertEqual([line for line in found if r"\x00" not in line], [])
        self.assertLessEqual(len(found), 1)
        self.assertLessEqual(disk_bytes(directory), LIMIT + SLICE_BYTES)
        for side in prof_reader.ProfDir(directory).devices.values():
            numbers = {file: [int(path.rsplit("_", 1)[1]) for path in paths] for file, paths in side.slices.items()}
            for file, found in numbers.items():
                self.assertEqual(found, list(range(found[0], found[-1] + 1)), file)

    def test_the_limit_is_for_all_directories_of_a_session(self):
        daemon = self.profd(sim=flood(30), config="store:\n  roll_after_s: 5\n")
        watcher = self.watch(daemon)
        session = daemon.begin("--devices", "all", "--preset", "node", "--storage-limit", "200MB")["session"]
        harness.wait_until(lambda: len((now := daemon.status(session))["directories"]) >= 3 and now["bytes"] > 3 * LIMIT,
                           "two rolls")
        sealed = daemon.end(session)
        watcher.end()
        self.assertLessEqual(watcher.most, LIMIT + SLICE_BYTES)
        self.assertLessEqual(sum(disk_bytes(path) for path in sealed["directories"]), LIMIT + SLICE_BYTES)
        aged = 0
        for directory in sealed["directories"]:
            self.assertEqual(self.violations(directory), [])
            manifest = self.check_streams(directory)
            self.assertEqual(manifest["state"], "sealed")
            aged += sum(stream["aged"]["records"] for stream in manifest["streams"])
        self.assertEqual(aged, sealed["aged_records"])
        # The oldest is all gone before the newest has lost anything.
        first = agent_reader.manifest(sealed["directories"][0])["streams"]
        for stream in first:
            if stream["unit"].startswith("device:"):
                self.assertEqual(stream["aged"]["records"], stream["records"], stream["file"])


if __name__ == "__main__":
    unittest.main()
