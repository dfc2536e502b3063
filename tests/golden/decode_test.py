#!/usr/bin/env python3
"""profd's decoders against the strict reader: of the golden directories, and of made ones for every chip."""

import math
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

import foreign_dir  # noqa: E402
from prof_reader import DVPP_ENGINES, MB, ProfDir  # noqa: E402

CHIPS = ("910b", "310p")
PROF = "PROF_000001_20231114221320000_00004000ABCDEFGH"
DUMP = sys.argv.pop(1) if len(sys.argv) > 1 else ""


class Rows:
    """What rows_dump prints of a directory: {series: {device: [(wall, keys and values)]}}"""

    def __init__(self, path, *options):
        run = subprocess.run([DUMP, path, *options], capture_output=True, text=True, check=True, timeout=300)
        self.series, self.labels = {}, {}
        for line in run.stdout.splitlines():
            kind, series, device, *rest = line.split("\t")
            if kind == "label":
                self.labels[series, int(device), int(rest[0]), int(rest[1])] = rest[2]
            else:
                row = (int(rest[0]), [float(number) for number in rest[1:]])
                self.series.setdefault(series, {}).setdefault(int(device), []).append(row)
        self.skipped = [line.split("\t")[1:] for line in run.stderr.splitlines() if line.startswith("skipped")]

    def of(self, series, device):
        return self.series.get(series, {}).get(device, [])


def pcie(sample):
    return [value * (1000 if name.endswith("latency") else MB) for name, triple in sample.items() for value in triple]


def port(sample):
    names = ("Packet/s", "Byte/s", "Packets", "Bytes", "Errors", "Dropped")
    values = [sample["funcId"], sample["bandwidth"] * MB / 8]
    values += [sample[way + name] for way in ("rx", "tx") for name in names]
    for way in ("rx", "tx"):
        bits = sample["bandwidth"] * MB
        values += [sample[way + "Byte/s"] * 8 / bits if bits else 0, sample[way + "_error_rate"],
                   sample[way + "_dropped_rate"]]
    return values


def netdev(sample):
    values = []
    for name, value in sample.items():
        if not name.endswith("/s"):
            values.append(value)
            if name + "/s" in sample:
                values.append(sample[name + "/s"])
    return values


# Series → what the reader calls its samples, and how one becomes keys and values of ours.
EXPECTED = {
    "hbm": ("hbm.data", lambda s: [s["id"], s["event"] == "write", s["mb_s"] * MB]),
    "ddr": ("ddr.data", lambda s: [s["read"] * MB, s["write"] * MB]),
    "llc": ("llc.data", lambda s: [s["id"], s["mode"] == "write", s["hit_rate"], s["mb_s"] * MB / 64]),
    "pcie": ("pcie.data", pcie),
    "hccs": ("hccs.data", lambda s: [s["tx"] * MB, s["rx"] * MB]),
    "nic": ("nic.data", port),
    "roce": ("roce.data", port),
    "netdev": ("netdev_stats.data", netdev),
    "ub": ("ub.data", lambda s: [s["port"], s["rx"] * MB, s["tx"] * MB]),
    "npu_module_mem": ("npu_module_mem.data", lambda s: [s["module"], s["bytes"]]),
}
STARS = {
    "sio": ("sio", lambda s: [s["die"], *[value * MB for name, value in s.items() if name != "die"]]),
    "acc_pmu": ("acc_pmu", lambda s: [s["unit"], s["read_bandwidth"], s["write_bandwidth"], s["read_ost"],
                                      s["write_ost"]]),
    "pa_link": ("pa_link", lambda s: [s["id"], s["rx_or_write"], s["tx_or_read"]]),
    "pcie_link": ("pcie", lambda s: [s["id"], s["rx_or_write"], s["tx_or_read"]]),
    "soc_info": ("soc_info", lambda s: [s["l2_buffer"], s["mata"]]),
}


class DecodeTest(unittest.TestCase):
    maxDiff = 4000

    def same(self, ours, theirs, what):
        ours, theirs = sorted(ours), sorted((wall, [float(value) for value in row]) for wall, row in theirs)
        self.assertEqual(len(ours), len(theirs), what)
        for (our_wall, our_row), (their_wall, their_row) in zip(ours, theirs):
            # 48 MHz ticks land on half nanoseconds, which a slope in floating point rounds either way.
            self.assertLessEqual(abs(our_wall - their_wall), 1, what)
            self.assertEqual(len(our_row), len(their_row), what)
            for ours_value, theirs_value in zip(our_row, their_row):
                self.assertTrue(math.isclose(ours_value, theirs_value, rel_tol=1e-9, abs_tol=1e-6),
                                f"{what} at {our_wall}: {our_row} against {their_row}")

    def compare(self, path, least):
        """All that the vendor's formulas say of a directory; at least so many series must have rows."""
        rows, prof, compared = Rows(path, "--vendor-compatible"), ProfDir(path), set()
        self.assertEqual(rows.skipped, [])
        for number, device in prof.devices.items():
            for series, (file, convert) in EXPECTED.items():
                ours = rows.of(series, number)
                if not ours:
                    continue
                samples = device.samples(file)
                if series == "llc":
                    samples = [(wall, {**s, "mode": device.sample["llc_profiling"]}) for wall, s in samples]
                self.same(ours, [(wall, convert(s)) for wall, s in samples], series)
                compared.add(series)
            stars = device.stars() if device.has("stars_soc_profile.data") else {}
            for series, (name, convert) in STARS.items():
                if ours := rows.of(series, number):
                    self.same(ours, [(wall, convert(s)) for wall, s in stars[name]], series)
                    compared.add(series)
            compared |= self.compare_others(rows, number, device, stars)
        self.assertGreaterEqual(len(compared), least, compared)

    def compare_others(self, rows, number, device, stars):
        compared = set()
        if ours := rows.of("npu_mem", number):
            theirs = [(wall, [s["event"] == "Device", s["ddr"], s["hbm"]])
                      for file in ("npu_mem.app", "npu_mem.data") if device.has(file) for wall, s in device.samples(file)]
            self.same(ours, theirs, "npu_mem")
            compared.add("npu_mem")
        if ours := rows.of("dvpp", number):
            theirs = [(wall, [s["dvpp_id"], DVPP_ENGINES.index(s["engine"]), s["engine_id"], s["all_time"] * 1000,
                              s["all_frame"], s["all_utilization"] / 100]) for wall, s in device.dvpp()]
            self.same([(wall, row[:6]) for wall, row in ours], theirs, "dvpp")
            compared.add("dvpp")
        if ours := rows.of("qos", number):
            names = [name for name in device.sample.get("qosEvents", "").split(",") if name]
            for i, name in enumerate(names):
                self.assertEqual(rows.labels["qos", number, 0, i], name)
            if device.chip == 5:  # the only one whose qos.data the vendor reads
                theirs = [(wall, [i, -1, s[name] * MB]) for wall, s in device.qos() for i, name in enumerate(names)]
            else:
                theirs = [(wall, [i, s["die"], s["values"][i] * MB]) for wall, s in stars["qos"]
                          for i in range(len(names))]
            self.same(ours, theirs, "qos")
            compared.add("qos")
        for series, low_power_types in (("core_freq", {0}), ("voltage", {1, 2})):
            # By dies they are of another file.
            if not (ours := [row for row in rows.of(series, number) if series == "voltage" or row[1][0] < 0]):
                continue
            info = device.has("lpmInfoConv.data")
            changes = device.low_power("lpmInfoConv.data" if info else "lpmFreqConv.data")
            start = device.ticks_to_wall(device.dev_cntvct)
            for kind in low_power_types:
                theirs = [(wall, s["value"]) for wall, s in changes if (s["type"] if info else 0) == kind]
                at_start = [value for wall, value in theirs if wall <= start]
                if at_start or kind == 0:
                    value = at_start[-1] if at_start else float(device.facts["aic_frequency"])
                    theirs = [(start, value)] + [(wall, value) for wall, value in theirs if wall > start]
                scale = 10**6 if kind == 0 else 1
                key = -1 if kind == 0 else kind
                self.same([row for row in ours if row[1][0] == key],
                          [(wall, [key, value * scale]) for wall, value in theirs], series)
            compared.add(series)
        if dies := [row for row in rows.of("core_freq", number) if row[1][0] >= 0]:
            self.same(dies, [(wall, [s["die"], s["mhz"] * 10**6]) for wall, s in stars["low_power"]], "core_freq of dies")
        if ours := rows.of("core_sample", number):
            theirs = []
            for file in ("aicore.data", "aiVectorCore.data", "ffts_profile.data"):
                for wall, s in device.core_samples(file) if device.has(file) else []:
                    last_ai_core = {5: 24, 7: 0, 8: 0, 11: 0, 15: 35, 16: 35}.get(device.chip, 255)
                    vector = file == "aiVectorCore.data" or s["core"] > last_ai_core
                    theirs.append((wall, [s["core"], vector, s["cycles"], *s["events"]]))
            self.same([(wall, row[:3] + [v for v in row[5:] if not math.isnan(v)]) for wall, row in ours if row[0] >= 0],
                      theirs, "core_sample")
            compared.add("core_sample")
        return compared

    def test_golden(self):
        for chip in CHIPS:
            with self.subTest(chip=chip):
                self.compare(os.path.join(HERE, "data", chip, PROF), 6)

    def test_right_values(self):
        """Without the vendor's faults: no first period, every pair of totals, what the chip's parser passes over."""
        path = os.path.join(HERE, "data", "910b", PROF)
        vendor, right = Rows(path, "--vendor-compatible"), Rows(path)
        self.assertEqual(right.skipped, [])
        first = vendor.of("hbm", 0)[0][0]
        for (_, row), (wall, ours) in zip(vendor.of("hbm", 0), right.of("hbm", 0)):
            self.assertEqual(math.isnan(ours[2]), wall == first)
            if wall != first:
                self.assertEqual(ours, row)
        self.assertEqual(len(right.of("hccs", 0)), len(vendor.of("hccs", 0)) + 1)
        self.assertEqual(vendor.of("ddr", 0), [])
        self.assertGreater(len(right.of("ddr", 0)), 0)
        self.assertGreater(len(right.of("ub", 0)), 0)

    def test_foreign(self):
        for chip in foreign_dir.CHIPS:
            for options in foreign_dir.VARIANTS:
                with self.subTest(chip=chip, **options), tempfile.TemporaryDirectory() as folder:
                    path = foreign_dir.write(folder, chip, **options)
                    self.compare(path, 8)


if __name__ == "__main__":
    unittest.main()
