#!/usr/bin/env python3
"""What the vendor's parser shows of kinds that its database has no table of, against what the simulator generated: PCIe, traffic
between chips, voltages, channels of collective units. Needs a checkout of it (tests/support/vendor_tools.py)."""
import contextlib
import csv
import decimal
import json
import pathlib
import sqlite3
import unittest

import harness
import vendor_tools
from vendor_tools import OUTPUT, needs_parser

DELTA_NS = 100_000
MB = 1 << 20
WRAP = 2**32  # its library's numbers of 32 bits; without one its Python part makes the timelines of all chips, and has longer ones
CHIPS = ("910", "910B", "310B", "950")
KINDS = "soc-profile,low-power,pcie,ccu"
PCIE, CHIP, POWER, UNITS = 3, 52, 132, (148, 151)
PACKET = 4096  # bytes that a channel's delay is of (viewer/ccu/ccu_channel_viewer.py)


@needs_parser
class VendorTimelineTest(harness.ProfdTest):
    def record(self, daemon, device):
        session = daemon.begin("--devices", device, "--collect", KINDS)
        daemon.let_run(session, 2)
        directory = pathlib.Path(daemon.end(session["session"])["directory"])
        info = json.loads((directory / "host" / "start_info").read_text(encoding="utf-8"))
        self.to_wall = int(info["collectionTimeBegin"]) * 1000 - int(info["clockMonotonicRaw"])
        lines = [line for line in daemon.truth_lines() if line["device"] == device and line.get("values")]
        return directory, lines

    def test_values(self):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS for _ in range(2))  # two of each: links are in use
        daemon = self.profd(sim=f"devices:\n{devices}\n")
        for number, chip in enumerate(CHIPS):
            with self.subTest(chip=chip):
                directory, lines = self.record(daemon, 2 * number)
                run = vendor_tools.parse(directory, "export", "timeline")
                self.assertEqual((run.code, run.errors), (0, []), run)
                counters = self.counters(directory)
                if chip != "310B":  # which has none
                    self.pcie(chip, counters, [line for line in lines if line["channel"] == PCIE])
                self.between_chips(chip, counters, [line for line in lines if line["values"].get("type") == "chip_trans"])
                if chip == "910B":
                    self.voltages(directory, [line for line in lines if line["channel"] == POWER])
                if chip == "950":
                    self.channels(directory, [line for line in lines if line["channel"] in UNITS])

    def counters(self, directory):
        """Its counters by name: (stamp, values) each."""
        counters = {}
        for path in (directory / OUTPUT).glob("msprof_*.json"):
            for event in json.loads(path.read_text(encoding="utf-8")):
                if event["ph"] == "C":
                    stamp = round(decimal.Decimal(event["ts"]) * 1000)
                    counters.setdefault(event["name"], []).append((stamp, event["args"]))
        return {name: sorted(events, key=lambda event: event[0]) for name, events in counters.items()}

    def same(self, events, lines, wanted):
        """Each sample once, at its time, with these values."""
        self.assertGreater(len(lines), 5)
        self.assertEqual(len(events), len(lines))
        for (stamp, shown), line in zip(events, lines):
            self.assertAlmostEqual(stamp, line["host_raw_ns"] + self.to_wall, delta=DELTA_NS)
            for name, value in wanted(line["values"]).items():
                self.assertAlmostEqual(float(shown[name]), value, delta=max(abs(value) * 1e-3, 0.01), msg=name)

    def pcie(self, chip, counters, lines):
        """Averages of bytes in a us, in MB/s; the latency in us."""
        def rate(bytes_us):
            in_second = bytes_us * 10**6
            wraps = vendor_tools.HAS_LIBRARY and chip != "910"
            return (in_second % WRAP if wraps else in_second) / MB

        for name, part in (("PCIe_post", "posted"), ("PCIe_nonpost", "nonposted"), ("PCIe_cpl", "completion")):
            self.same(counters[name], lines, lambda of, part=part: {way.capitalize(): rate(of[f"{way}_{part}_bytes_us"][2])
                                                                    for way in ("tx", "rx")})
        self.same(counters["PCIe_nonpost_latency"], lines, lambda of: {"Tx": of["tx_nonposted_latency_ns"][2] / 1000})

    def between_chips(self, chip, counters, lines):
        if chip == "910":  # which records nothing of it
            self.assertEqual(lines, [])
            return
        for way in ("Write", "Read"):
            name = f"PCIE {way} Bandwidth"
            self.same(counters[name], lines, lambda of, way=way, name=name: {
                "U-Die0" if chip == "950" else name: of[f"pcie_{way.lower()}_bytes"]})
        if chip == "950":  # of which it shows no such link
            self.assertNotIn("PA Link Rx", counters)
            return
        for way in ("Rx", "Tx"):
            name = f"PA Link {way}"
            self.same(counters[name], lines, lambda of, way=way, name=name: {name: of[f"link_{way.lower()}_bytes"]})
        self.assertGreater(max(line["values"]["link_rx_bytes"] for line in lines), 0)

    def voltages(self, directory, lines):
        """Its library draws none of a 910B; what its Python part read stands between its files. The first row is its own."""
        with contextlib.closing(sqlite3.connect(next(directory.glob("device_*/sqlite/voltage.db")))) as database:
            for table, key in (("AicVoltage", "core_mv"), ("BusVoltage", "bus_mv")):
                rows = database.execute(f"SELECT syscnt, voltage FROM {table} ORDER BY syscnt").fetchall()
                made = [row for line in lines for row in zip(line["values"]["ticks"], line["values"][key])]
                self.assertGreater(len(made), 5)
                self.assertEqual(rows[1:], made, table)

    def channels(self, directory, lines):
        """It makes bandwidths of delays, and a table of them."""
        run = vendor_tools.parse(directory, "export", "summary")
        self.assertEqual((run.code, run.errors), (0, []), run)
        (path,) = (directory / OUTPUT).glob("ccu_channel_*.csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = sorted((round(decimal.Decimal(row["Timestamp(us)"].strip()) * 1000), int(row["Channel Id"]),
                           float(row["Avg Bandwidth(MB/s)"])) for row in csv.DictReader(file))
        self.assertGreater(len(lines), 5)
        made = sorted((line["host_raw_ns"] + self.to_wall, channel, PACKET / delay_ns * 1e9 / MB)
                      for line in lines for channel, delay_ns in enumerate(line["values"]["average"]))
        self.assertEqual(len(rows), len(made))
        for (stamp, channel, shown), (at, of, wanted) in zip(rows, made):
            self.assertAlmostEqual(stamp, at, delta=DELTA_NS)
            self.assertEqual(channel, of)
            self.assertAlmostEqual(shown, wanted, delta=wanted * 1e-3)


if __name__ == "__main__":
    vendor_tools.main_unless(vendor_tools.PARSER)
