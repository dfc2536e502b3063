#!/usr/bin/env python3
"""profctl doctor --hardware and capture: every channel of a device once, what came, and that the simulator plays it again."""
import collections
import json
import pathlib
import pwd
import shutil
import socket
import struct
import tarfile
import tempfile
import unittest

import harness
import profcap

CHIPS = ["310", "910", "310P", "910B", "310B", "950"]
# Stamps that count from their channel's start: bytes of a record, and where in it what kind of number is.
FROM_START = {"hbm.data": (24, 0, "<Q"), "llc.data": (24, 0, "<Q"), "ddr.data": (20, 0, "<I"),
              "npu_mem.data": (32, 0, "<I"), "npu_mem.app": (32, 0, "<I"), "ub.data": (128, 8, "<Q")}
# Of the card library, which a capture does not have.
NOT_THE_DRIVER_S = "netdev"


def simulated(*chips):
    return "devices:\n" + "".join(f"  - {{chip: {chip}}}\n" for chip in chips)


class HardwareTest(harness.ProfdTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-hardware-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def doctor(self, daemon, *arguments, code=harness.OK):
        result = daemon.ctl("doctor", "--hardware", "--json", *arguments)
        self.assertEqual(result.code, code, result)
        return result.json

    def capture(self, daemon, name, *arguments):
        path = self.folder / name
        result = daemon.ctl("capture", "-o", path, *arguments)
        self.assertEqual(result.code, harness.OK, result)
        return path, result

    @staticmethod
    def kinds(device):
        return {f"{kind['kind']}:{kind['mode']}" if kind["mode"] else kind["kind"]: kind for kind in device["kinds"]}


class DoctorTest(HardwareTest):
    def test_each_chip_is_as_the_tables_have_it(self):
        daemon = self.profd(sim=simulated(*CHIPS) + "late_channels: {delay_s: 0, ids: [143, 144]}\n")
        report = self.doctor(daemon, "--for", "0.6s")
        self.assertTrue(report["ok"])
        self.assertEqual([device["device"] for device in report["devices"]], list(range(len(CHIPS))))
        delivered = collections.defaultdict(list)
        for line in daemon.truth_lines():
            if line.get("event") == "stop":
                delivered[line["device"], line["channel"]].append(line["delivered_bytes"])
        for chip, device in zip(CHIPS, report["devices"]):
            with self.subTest(chip=chip):
                self.assertTrue(device["chip_known"])
                self.assertGreater(len(device["kinds"]), 8)
                self.assertGreaterEqual(device["clocks"]["pairs"], 2)
                self.assertEqual(device["left_out"], {"calls": 0, "bytes": 0})
                self.assertEqual([doubt for doubt in device["doubts"] if "channels" not in doubt and "came" not in doubt], [])
                seen = collections.defaultdict(set)
                for kind in device["kinds"]:
                    self.assertIn(kind["verdict"], ("ok", "silent"), kind)
                    self.assertEqual(kind["lost"], 0, kind)
                    for channel in kind["channels"]:
                        self.assertEqual((channel["start_code"], channel["stop_code"], channel["odd"]), (0, 0, []), channel)
                        seen[channel["channel"]].add(channel["bytes"])
                        if channel["record_bytes"]:
                            self.assertEqual(channel["records"], channel["bytes"] // channel["record_bytes"], channel)
                for channel, counts in seen.items():
                    self.assertLessEqual(counts, set(delivered[device["device"], channel]), f"channel {channel}")
        of_910b = self.kinds(report["devices"][CHIPS.index("910B")])
        # Those that stand in each other's way have taken turns.
        self.assertLessEqual({"hbm", "llc:read", "llc:write", "aicore:PipeUtilization", "aicore-task:PipeUtilization", "task:tasks"},
                             set(of_910b))
        # By its own stamps a channel came as often as it was asked to.
        self.assertAlmostEqual(of_910b["hbm"]["channels"][0]["seen_hz"], of_910b["hbm"]["effective_hz"], delta=0.01)
        self.assertEqual(daemon.ctl("list", "--json").json["sessions"], [])

    def test_a_page_for_people(self):
        daemon = self.profd(sim=simulated("910B"))
        result = daemon.ctl("doctor", "--hardware", "--for", "0.3s")
        self.assertEqual(result.code, harness.OK, result)
        for text in ("device 0", "number 5", "KIND", "hbm", "drift", "in the tables 50 MHz", "API 0x"):
            self.assertIn(text, result.out)
        self.assertIn("device 0: ", result.err)

    def test_codes_of_the_driver(self):
        faults = ("faults:\n  - {call: start, ret: -10, channel: 1}\n  - {name: no_compute_process, channel: 50}\n"
                  "  - {name: biu_loss}\n  - {call: stop, delay_ms: 300, channel: 3}\n")
        daemon = self.profd(sim=simulated("910B") + faults)
        report = self.doctor(daemon, "--for", "0.3s", code=harness.FAILED)
        kinds = self.kinds(report["devices"][0])
        self.assertEqual((kinds["hbm"]["verdict"], kinds["hbm"]["channels"][0]["start_code"]), ("refused", -10))
        self.assertEqual(next(kind for name, kind in kinds.items() if name.startswith("task:"))["verdict"], "waits for a job")
        self.assertGreater(kinds["pcie"]["channels"][0]["stop_s"], 0.29)
        stops = {channel["stop_code"] for name, kind in kinds.items() if name.startswith("instr") for channel in kind["channels"]}
        self.assertEqual(stops, {0x916})
        self.assertIn("prof_drv_start -10", report["devices"][0]["failed_calls"])
        self.assertEqual(kinds["llc:read"]["verdict"], "ok")

    def test_bytes_that_are_no_records_are_shown(self):
        bad = self.folder / "hbm.bin"
        bad.write_bytes(struct.pack("<QQII", 20_000, 5, 0, 0) * 2 + bytes(range(200, 224)) + struct.pack("<QQII", 40_000, 5, 1, 0))
        daemon = self.profd(sim=simulated("910B") + f"replay: {{1: {bad}}}\n")
        report = self.doctor(daemon, "--for", "0.4s", code=harness.FAILED)
        hbm = self.kinds(report["devices"][0])["hbm"]
        self.assertEqual(hbm["verdict"], "odd bytes")
        [odd] = hbm["channels"][0]["odd"]
        self.assertEqual(odd["offset"], 48)
        self.assertTrue(odd["hex"].startswith(bytes(range(200, 224)).hex()), odd)
        self.assertIn("c8c9cacb", daemon.ctl("doctor", "--hardware", "--for", "0.3s").out)

    def test_a_device_that_is_gone(self):
        daemon = self.profd(sim=simulated("910B", "910B") + "faults:\n  - {name: device_lost, device: 1}\n")
        report = self.doctor(daemon, "--for", "0.3s", code=harness.FAILED)
        self.assertEqual([device["ok"] for device in report["devices"]], [True, False])

    def test_what_is_used_is_left_alone(self):
        daemon = self.profd(sim=simulated("910B", "910B"))
        daemon.begin("--devices", "1", "--collect", "hbm")
        refused = daemon.ctl("doctor", "--hardware", "--for", "0.3s")
        self.assertEqual(refused.code, harness.BUSY, refused)
        self.assertIn("--force", refused.err)
        self.doctor(daemon, "--for", "0.3s", "--devices", "0")
        result = daemon.ctl("doctor", "--hardware", "--for", "0.3s", "--devices", "1", "--force", "--json")
        self.assertIn(result.code, (harness.OK, harness.FAILED), result)
        self.assertEqual(daemon.ctl("doctor", "--hardware", "--devices", "7").code, harness.NOT_FOUND)

    def test_words_that_do_not_go_together(self):
        daemon = self.profd(sim=simulated("910B"))
        for arguments in (("--devices", "0"), ("--hardware", "--pid", "1"), ("--hardware", "--for", "2h"), ("--hardware", "--for", "x")):
            self.assertEqual(daemon.ctl("doctor", *arguments).code, harness.USAGE, arguments)
        self.assertEqual(daemon.ctl("capture").code, harness.USAGE)

    @harness.needs_root
    def test_only_an_admin_hears_the_driver(self):
        daemon = self.profd(sim=simulated("910B"))
        refused = daemon.ctl("doctor", "--hardware", "--for", "0.3s", user=harness.nobody())
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn("ask root", refused.err)


class CaptureTest(HardwareTest):
    def test_what_is_in_it(self):
        daemon = self.profd(sim=simulated("910B"))
        path, result = self.capture(daemon, "node.profcap", "--for", "0.3s")
        seen = profcap.Capture(path)
        for name in seen.members:
            self.assertIn(name, result.out)
        self.assertEqual({entry["name"] for entry in seen.index["members"]} | {"index.json"}, set(seen.members))
        self.assertEqual(seen.index["format"], "profcap")
        self.assertEqual(seen.index["calls"], len(seen.calls))
        # Every byte is of one read, and there is nothing beyond.
        for (device, channel), data in seen.channels().items():
            reads = sum(call["code"] for call in seen.of("prof_channel_read", device, channel) if call["code"] > 0)
            self.assertEqual(reads, len(data))
        hbm = seen.of("prof_drv_start", 0, 1)[0]
        given = bytes.fromhex(hbm["given"])
        self.assertEqual(struct.unpack("<iIII", given[:16]), (1, 20, 1, 20))
        self.assertEqual(struct.unpack("<5I", given[16:]), (20, 0xFFFFFFFF, 2, 0, 1))
        delivered = [line["delivered_bytes"] for line in daemon.truth_lines()
                     if line.get("event") == "stop" and line["channel"] == 1]
        self.assertEqual([len(run) for run in seen.runs()[0, 1]], delivered)
        self.assertEqual(daemon.ctl("capture", "-o", path).code, harness.BUSY, "there is one already")
        self.assertEqual(daemon.ctl("list", "--json").json["sessions"], [])

    def test_no_names_in_it(self):
        daemon = self.profd(sim=simulated("910B"))
        path, _ = self.capture(daemon, "node.profcap", "--for", "0.2s")
        data = path.read_bytes()
        words = {socket.gethostname(), socket.getfqdn(), *(user.pw_name for user in pwd.getpwall() if user.pw_uid >= 1000)}
        for word in words - {"localhost", "nobody"}:
            if len(word) >= 4:
                self.assertNotIn(word.encode(), data, word)
        self.assertNotIn(str(self.folder).encode(), data)
        self.assertNotIn(str(daemon.directory).encode(), data)
        [place] = [call for call in profcap.Capture(path).of("halGetDeviceInfoByBuff", 0)
                   if call["given"].startswith("06000000")][:1]
        self.assertEqual(set(place["answered"]), {"0"})
        with tarfile.open(path) as archive:
            for member in archive:
                self.assertEqual((member.uid, member.gid, member.uname, member.mtime), (0, 0, "", 0))

    def test_names_become_x(self):
        name = "127.0.0.1"  # an address of every machine; its name may be too short to be one
        told = self.folder / "told.txt"
        told.write_text(f"line of {name} and more\n" * 3)
        daemon = self.profd(sim=simulated("910B") + f"replay: {{4: {told}}}\n")
        path, result = self.capture(daemon, "node.profcap", "--for", "0.3s")
        seen = profcap.Capture(path)
        self.assertTrue(seen.channels()[0, 4].startswith(b"line of " + b"x" * len(name) + b" and more\n"), seen.channels()[0, 4])
        self.assertNotIn(name.encode(), path.read_bytes())
        self.assertGreaterEqual(seen.index["names_taken_out"], 3)
        self.assertIn("taken out", result.out)

    def test_only_said(self):
        daemon = self.profd(sim=simulated("310"))
        result = daemon.ctl("capture", "--dry-run", "--for", "0.2s")
        self.assertEqual(result.code, harness.OK, result)
        self.assertIn("calls.jsonl", result.out)
        self.assertEqual(list(self.folder.iterdir()), [])


class ReplayTest(HardwareTest):
    def replayed(self, path, **options):
        return self.profd(sim=f'replay: "{path}"\n', **options)

    def directories(self, daemon):
        """Of the sessions that were kept, the oldest first."""
        sessions = daemon.ctl("list", "--json").json["sessions"]
        return [pathlib.Path(daemon.status(entry["session"])["directory"]) for entry in reversed(sessions)]

    def in_the_time_of(self, first, second):
        """`second` as if it had been when `first` was: its own records and facts, the other's clocks. All that a replay cannot
        have from the capture is when it is played; so stamps of the host's clock are the recorded ones."""
        made = self.folder / "retimed" / first.name
        shutil.rmtree(made.parent, ignore_errors=True)
        shutil.copytree(second, made)
        for file in [*first.glob("*/start_info*"), *first.glob("*/end_info*"), *first.glob("*/*_start.log*")]:
            shutil.copy(file, made / file.relative_to(first))
        one, other = (json.loads((folder / ".profiler/manifest.json").read_text()) for folder in (first, made))
        for key in ("clocks", "begin_wall_ns", "elapsed_ns", "session", "perturbations"):
            if key in one:
                other[key] = one[key]
        shifts = {(stream["folder"], stream["file"]): stream for stream in one["streams"]}
        for stream in other["streams"]:
            of_first = shifts[stream["folder"], stream["file"]]
            more = of_first.get("shift_us", 0) - stream.get("shift_us", 0)
            for key in ("shift_us", "shift_error_ns"):
                if key in of_first:
                    stream[key] = of_first[key]
            kind = stream["file"].rsplit(".", 1)[0]
            if more == 0 or kind not in FROM_START:
                continue
            size, place, form = FROM_START[kind]
            for path in (made / stream["folder"] / "data").glob(stream["file"] + ".slice_*"):
                if path.suffix == ".done":
                    continue
                data = bytearray(path.read_bytes())
                for at in range(place, len(data), size):
                    struct.pack_into(form, data, at, struct.unpack_from(form, data, at)[0] + more)
                path.write_bytes(data)
        (made / ".profiler/manifest.json").write_text(json.dumps(other))
        return made

    def exported(self, daemon, directory, name):
        out = self.folder / name
        kinds = {kind["kind"] for kind in json.loads((directory / ".profiler/manifest.json").read_text())["kinds"]
                 if kind["verdict"] == "started"} - {NOT_THE_DRIVER_S}
        result = daemon.ctl("export", directory, "--out", out, "--format", "csv,chrome", "--kinds", ",".join(sorted(kinds)))
        # Kinds that ride on another's records, and counters of tasks without their log, have nothing of their own.
        self.assertIn(result.code, (harness.OK, harness.PARTIAL_LOSS), result)
        return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}

    def check(self, *chips):
        first = self.profd(sim=simulated(*chips) + "clock: {offset_ns: 123456789, drift_ppm: 20}\n")
        path, _ = self.capture(first, "first.profcap", "--for", "0.5s", "--keep")
        second = self.replayed(path)
        again, _ = self.capture(second, "second.profcap", "--for", "0.6s", "--keep")
        one, other = profcap.Capture(path), profcap.Capture(again)
        self.assertEqual(one.devices(), other.devices())
        self.assertEqual(set(one.runs()), set(other.runs()))
        for key, runs in one.runs().items():
            self.assertEqual(runs, other.runs()[key], f"device {key[0]}, channel {key[1]}")
        starts = [{(call["device"], call["channel"], call["given"], call["code"]) for call in seen.of("prof_drv_start")}
                  for seen in (one, other)]
        self.assertEqual(*starts)
        before, after = self.directories(first), self.directories(second)
        self.assertEqual(len(before), len(after))
        bytes_compared = 0
        for number, (was, now) in enumerate(zip(before, after)):
            retimed = self.in_the_time_of(was, now)
            verified = second.ctl("verify", now)
            self.assertEqual(verified.code, harness.OK, verified)
            want = self.exported(first, was, f"want_{number}")
            have = self.exported(second, retimed, f"have_{number}")
            self.assertEqual(set(want), set(have))
            bytes_compared += sum(map(len, want.values()))
            for name, data in want.items():
                self.assertEqual(data, have[name], f"{chips}, session {number}: {name}")
        self.assertGreater(bytes_compared, 100_000)

    def test_the_same_export_byte_for_byte_910b(self):
        self.check("910B")

    def test_the_same_export_byte_for_byte_950(self):
        self.check("950")

    def test_the_same_export_byte_for_byte_older_chips(self):
        self.check("310", "910", "310P", "310B")


class DamagedTest(HardwareTest):
    """Of a file that is no capture, or was damaged, the simulator says so, and goes on without devices."""

    def test_cut_changed_foreign(self):
        daemon = self.profd(sim=simulated("310"))
        path, _ = self.capture(daemon, "node.profcap", "--for", "0.2s")
        whole = path.read_bytes()
        seen = profcap.Capture(path)
        calls = seen.members["calls.jsonl"]
        for name, data in {"cut": whole[:len(whole) // 2], "empty": b"", "text": b"no tar\n" * 200, "zeros": bytes(4096)}.items():
            self.refused(name, data)
        for name, lines in {"no_json": calls + b"call\n", "in_each_other": calls + b'{"call":{"a":1}}\n',
                            "too_many_bytes": calls.replace(b'"call":"prof_channel_read"', b'"call":"prof_channel_read","took":1', 1)
                            .replace(b'"code":', b'"code":9', 999999),
                            "no_device": calls + b'{"call":"prof_stop","device":64,"channel":1,"at":1,"took":1,"code":0}\n',
                            "no_hex": calls + b'{"call":"a","device":0,"at":1,"took":1,"code":0,"given":"zz"}\n'}.items():
            seen.members["calls.jsonl"] = lines
            changed = self.folder / f"{name}.profcap"
            seen.write(changed)
            self.refused(name, changed.read_bytes())

    def refused(self, name, data):
        with self.subTest(name):
            bad = self.folder / f"{name}.bad"
            bad.write_bytes(data)
            daemon = self.profd(sim=f'replay: "{bad}"\n')
            self.assertEqual(daemon.ctl("devices", "--json").json["devices"], [])
            self.assertIn("ascend simulator: ", daemon.log.read_text())
            self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
