#!/usr/bin/env python3
"""Every chip, every kind: what is on disk is what the simulator generated, byte for byte, and an independent reader with
the vendor's formulas gets the values out that went in."""
import collections
import pathlib
import struct
import unittest
import zlib

import agent_reader
import harness
import prof_reader

CHIPS = ["310", "910", "310P", "910B", "310B", "950"]
# Every device kind; what a chip has not is skipped with the reason.
KINDS = ("hbm,ddr,llc,pcie,hccs,nic,roce,dvpp,npu-mem,npu-app-mem,npu-module-mem,qos,soc-profile,low-power,ub,tscpu,"
         "aicore,aivector,soc-pmu,l2,aicpu,task,ccu,ccu-task")
# Whose records have several sizes: their bytes are compared, and nobody counts them.
UNCOUNTED = (44, 46)
# Stamps that count from their channel's start: bytes of a record, and where in it what kind of number is.
FROM_START = {"hbm.data": (24, 0, "<Q"), "llc.data": (24, 0, "<Q"), "ddr.data": (20, 0, "<I"),
              "npu_mem.data": (32, 0, "<I"), "npu_mem.app": (32, 0, "<I"), "ub.data": (128, 8, "<Q")}


class ChipsTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        cls.daemon = harness.Profd(sim=f"devices:\n{devices}\nseed: 7\nlate_channels: {{delay_s: 1, ids: [143, 144]}}\n")
        started = cls.daemon.begin("--collect", KINDS, "--devices", "all")
        # What comes late takes the time that the machine needs to see it.
        harness.wait_until(lambda: all(kind["records"] for kind in cls.daemon.status(started["session"])["kinds"]
                                       if kind["kind"] == "aicpu" and kind["verdict"] != "skipped"), "kernels of AI CPUs")
        cls.daemon.let_run(started, 4)
        cls.session = cls.daemon.end(started["session"])
        cls.started = started
        cls.prof = prof_reader.ProfDir(cls.session["directory"])
        cls.truth = cls.daemon.truth_lines()
        cls.manifest = agent_reader.manifest(cls.session["directory"])

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def stops(self, device):
        return {line["channel"]: line for line in self.truth if line.get("event") == "stop" and line["device"] == device}

    def values(self, device, channel):
        return [line for line in self.truth if line.get("values") and line["device"] == device
                and line["channel"] == channel and not line.get("dropped")]

    def as_it_came(self, device, file, stream):
        """Stamps that count from a channel's start: less what the manifest says was added."""
        if file not in FROM_START:
            return stream
        size, place, form = FROM_START[file]
        (shift,) = [entry["shift_us"] for entry in self.manifest["streams"]
                    if (entry["folder"], entry["file"]) == (f"device_{device}", f"{file}.{device}")]
        came = bytearray(stream)
        for at in range(place, len(came), size):
            struct.pack_into(form, came, at, struct.unpack_from(form, came, at)[0] - shift)
        return bytes(came)

    def test_what_a_chip_samples_of_itself_names_its_streams(self):
        """Also where nobody asked for QoS by its name."""
        started = self.daemon.begin("--collect", "soc-profile", "--devices", CHIPS.index("950"))
        self.daemon.let_run(started, 0.5)
        directory = self.daemon.end(started["session"])["directory"]
        self.assertEqual(prof_reader.check(directory), [])
        (device,) = prof_reader.ProfDir(directory).devices.values()
        self.assertEqual(device.sample["qosEvents"], "stream1,stream2,stream3")
        self.assertGreater(len(device.stars()["qos"]), 0)

    def test_the_directory_is_valid(self):
        self.assertEqual(prof_reader.check(self.session["directory"]), [])

    def test_every_byte_that_was_generated_is_in_a_file_of_its_own(self):
        for device, chip in enumerate(CHIPS):
            files = self.prof.devices[device].slices
            content = collections.Counter()
            for file, slices in files.items():
                stream = b"".join(pathlib.Path(path).read_bytes() for path in slices)
                content[zlib.crc32(self.as_it_came(device, file, stream))] += 1
            stops = self.stops(device)
            self.assertGreaterEqual(len(stops), 5, chip)
            for channel, line in stops.items():
                with self.subTest(chip=chip, channel=channel):
                    self.assertEqual(line["generated_bytes"], line["delivered_bytes"])
                    # AI CPU records have a dictionary behind them and two channels in one file.
                    if line["generated_bytes"] == 0 or channel in (143, 144):
                        continue
                    self.assertIn(line["crc32"], content)

    def test_records_and_losses_add_up(self):
        generated = collections.Counter()
        for device in range(len(CHIPS)):
            for channel, line in self.stops(device).items():
                if channel not in (143, 144, *UNCOUNTED):
                    generated[f"device:{device}"] += line["generated_records"]
        kept = collections.Counter()
        for entry in self.session["kinds"]:
            if entry["unit"].startswith("device:") and entry["kind"] != "aicpu":
                kept[entry["unit"]] += entry["records"] + entry["lost"]
        self.assertEqual(kept, generated)

    def test_a_verdict_for_every_kind_on_every_device(self):
        for device, chip in enumerate(CHIPS):
            for kind in KINDS.split(","):
                entry = self.kind(self.started, kind, f"device:{device}")
                self.assertIn(entry["verdict"], ("started", "pending", "skipped"), entry)
                if entry["verdict"] == "skipped":
                    self.assertTrue(entry["reason"], entry)

    def test_late_channels_come_later(self):
        for device, chip in enumerate(CHIPS):
            if chip == "310":
                continue
            self.assertEqual(self.kind(self.started, "aicpu", f"device:{device}")["verdict"], "pending", chip)
            self.assertEqual(self.kind(self.session, "aicpu", f"device:{device}")["verdict"], "started", chip)
            self.assertGreater(self.kind(self.session, "aicpu", f"device:{device}")["records"], 0, chip)

    def test_hbm_values(self):
        seen = 0
        for device, chip in enumerate(CHIPS):
            truth = self.values(device, 1)
            if not truth:
                continue
            counts = [tuple(line["values"]["read_count"] + line["values"]["write_count"]) for line in truth]
            self.assertEqual([values for _, values in self.prof.devices[device].hbm_counts()], counts, chip)
            read = [sample["mb_s"] for _, sample in self.prof.devices[device].hbm()
                    if sample["event"] == "read" and sample["id"] == 2]
            for got, line in list(zip(read, truth))[1:]:
                self.assertAlmostEqual(got, line["values"]["read_mb_s"][2], delta=1, msg=chip)
            seen += 1
        self.assertGreaterEqual(seen, 3)

    def test_ddr_values(self):
        seen = 0
        for device, chip in enumerate(CHIPS):
            truth = self.values(device, 7)
            got = self.prof.devices[device].ddr() if truth else []
            self.assertEqual(len(got), len(truth), chip)
            # The first period seems to begin with the clock pair, not with the channel.
            for (_, sample), line in list(zip(got, truth))[1:]:
                self.assertAlmostEqual(sample["read"], line["values"]["read_mb_s"], delta=1, msg=chip)
                self.assertAlmostEqual(sample["write"], line["values"]["write_mb_s"], delta=1, msg=chip)
            seen += bool(truth)
        self.assertGreaterEqual(seen, 3)

    def test_hccs_values(self):
        for device, chip in enumerate(CHIPS):
            totals = [line["values"]["tx_bytes_total"] for line in self.values(device, 9)]
            stamps = [line["stamp"] for line in self.values(device, 9)]
            expected = [(b - a) / 2**20 / ((t - s) / 1e9) for a, b, s, t in zip(totals, totals[1:], stamps, stamps[1:])]
            got = [sample["tx"] for _, sample in self.prof.devices[device].hccs()] if totals else []
            self.assertEqual(len(got), max(0, len(totals) - 2), chip)
            for value, want in zip(got, expected):
                self.assertAlmostEqual(value, want, delta=0.01, msg=chip)

    def test_stamps_agree_with_the_hosts_clock(self):
        """A sample's stamp, through the control files' clock pairs, is the moment the simulator made it."""
        for device, chip in enumerate(CHIPS):
            start = self.prof.devices[device]
            for channel, read in ((3, "pcie"), (9, "hccs"), (4, "nic")):
                truth = self.values(device, channel)
                got = getattr(start, read)() if truth else []
                for (wall, _), line in zip(got, truth[1:] if read == "hccs" else truth):
                    self.assertLess(abs(wall - start.wall_minus_raw - line["host_raw_ns"]), 1_000_000, (chip, read))


if __name__ == "__main__":
    unittest.main(verbosity=2)
