#!/usr/bin/env python3
"""The strict reader against the vendor's own exports of the same directories: every value must be equal."""

import csv
import decimal
import glob
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

from prof_reader import MB, ProfDir, ProfError, check  # noqa: E402

CHIPS = ("910b", "310p")
PROF = "PROF_000001_20231114221320000_00004000ABCDEFGH"


def input_of(chip):
    return os.path.join(HERE, "data", chip, PROF)


class Exports:
    """What the vendor's analyser made of one directory."""

    def __init__(self, chip):
        self.folder = os.path.join(HERE, "data", chip, "vendor")
        self.output = os.path.join(self.folder, "mindstudio_profiler_output")
        with open(glob.glob(os.path.join(self.output, "msprof_*.json"))[0], encoding="utf-8") as file:
            events = json.load(file)
        self.counters = {}
        for event in events:
            if event["ph"] == "C":
                wall = int(decimal.Decimal(event["ts"]) * 1000)
                self.counters.setdefault(event["name"], []).append((wall, event["args"]))
        for values in self.counters.values():
            values.sort(key=lambda item: item[0])
        self.db = sqlite3.connect(f"file:{os.path.join(self.folder, 'msprof.db')}?immutable=1", uri=True)
        self.strings = dict(self.db.execute("select id, value from STRING_IDS"))

    def csv(self, name, device="0"):
        (path,) = glob.glob(os.path.join(self.output, f"{name}_2*.csv"))
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [{key: value.strip() for key, value in row.items()} for row in rows if row["Device_id"] == device]

    def table(self, query):
        return self.db.execute(query).fetchall()


class Golden(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = [(chip, ProfDir(input_of(chip)), Exports(chip)) for chip in CHIPS]

    def each(self):
        for chip, prof, exports in self.cases:
            with self.subTest(chip=chip):
                yield prof.devices[0], prof.host, exports

    def same(self, ours, theirs, places=6):
        """Lists of (wall_ns, number), in any order."""
        ours, theirs = sorted(ours), sorted(theirs)
        self.assertEqual(len(ours), len(theirs))
        self.assertGreater(len(ours), 0)
        for (our_wall, our_value), (their_wall, their_value) in zip(ours, theirs):
            self.assertEqual(our_wall, their_wall)
            self.assertAlmostEqual(float(our_value), float(their_value), places)

    def same_counter(self, exports, name, arg, ours, places=3):
        self.same(ours, [(wall, args[arg]) for wall, args in exports.counters[name]], places)

    def test_hbm(self):
        for device, _, exports in self.each():
            samples = device.hbm()
            for hbm_id in range(4):
                for event, arg in (("read", "Read"), ("write", "Write")):
                    mine = [(w, v["mb_s"]) for w, v in samples if v["id"] == hbm_id and v["event"] == event]
                    self.same_counter(exports, f"HBM {hbm_id}/{arg}", f"{arg}(MB/s)", mine)
                    (row,) = [row for row in exports.csv("hbm") if row["Metric"] == str(hbm_id)]
                    self.assertAlmostEqual(sum(v for _, v in mine) / len(mine), float(row[f"{arg}(MB/s)"]), 3)
            kinds = {"read": 0, "write": 0}
            rows = exports.table("select timestampNs, bandwidth, hbmId, type from HBM")
            self.same([(w, v["mb_s"] * MB) for w, v in samples], [(row[0], row[1]) for row in rows], 0)
            for _, value in samples:
                kinds[value["event"]] += 1
            names = [exports.strings[row[3]] for row in rows]
            self.assertEqual(kinds, {name: names.count(name) for name in kinds})

    def test_ddr(self):
        device, _, exports = self.cases[1][1].devices[0], None, self.cases[1][2]
        samples = device.ddr()
        self.same_counter(exports, "DDR/Write", "Write(MB/s)", [(w, v["write"]) for w, v in samples])
        rows = exports.table("select timestampNs, read, write from DDR")
        self.same([(w, v["read"] * MB) for w, v in samples], [(row[0], row[1]) for row in rows], 0)
        self.same([(w, v["write"] * MB) for w, v in samples], [(row[0], row[2]) for row in rows], 0)

    def test_llc(self):
        for device, _, exports in self.each():
            samples = device.llc()
            ids = sorted({v["id"] for _, v in samples})
            self.assertEqual(ids, sorted({row[0] for row in exports.table("select llcId from LLC")}))
            for llc_id in ids:
                mine = [(w, v) for w, v in samples if v["id"] == llc_id]
                self.same_counter(exports, f"LLC {llc_id} Read/Throughput", "Throughput(MB/s)",
                                  [(w, v["mb_s"]) for w, v in mine])
                self.same_counter(exports, f"LLC {llc_id} Read/Hit Rate", "Hit Rate(%)",
                                  [(w, v["hit_rate"]) for w, v in mine])
            rows = exports.table("select timestampNs, throughput, hitRate from LLC")
            self.same([(w, v["mb_s"] * MB) for w, v in samples], [(row[0], row[1]) for row in rows], 0)
            self.same([(w, v["hit_rate"] * 100) for w, v in samples], [(row[0], row[2]) for row in rows])

    def test_pcie(self):
        for device, _, exports in self.each():
            samples = device.pcie()
            for counter, stem in (("PCIe_post", "post"), ("PCIe_nonpost", "nonpost"), ("PCIe_cpl", "cpl")):
                for way in ("tx", "rx"):
                    self.same_counter(exports, counter, way.title(), [(w, v[f"{way}_{stem}"][2]) for w, v in samples])
            self.same_counter(exports, "PCIe_nonpost_latency", "Tx", [(w, v["tx_nonpost_latency"][2]) for w, v in samples])
            for stem, column, scale in (("tx_post", "txPost", MB), ("rx_cpl", "rxCpl", MB), ("rx_nonpost", "rxNonpost", MB),
                                        ("tx_nonpost_latency", "txNonpostLatency", 1000)):
                for i, end in enumerate(("Min", "Max", "Avg")):
                    rows = exports.table(f"select timestampNs, {column}{end} from PCIE")
                    self.same([(w, v[stem][i] * scale) for w, v in samples], rows, 0)

    def test_hccs(self):
        for device, _, exports in self.each():
            samples = device.hccs()
            self.same_counter(exports, "Tx", "Tx(MB/s)", [(w, v["tx"]) for w, v in samples])
            self.same_counter(exports, "Rx", "Rx(MB/s)", [(w, v["rx"]) for w, v in samples])
            self.same([(w, v["tx"] * MB) for w, v in samples],
                      exports.table("select timestampNs, txThroughput from HCCS"), 0)

    def test_network_ports(self):
        device, exports = self.cases[0][1].devices[0], self.cases[0][2]
        for samples, table in ((device.nic(), "NIC"), (device.roce(), "ROCE")):
            columns = {"rxPacketRate": "rxPacket/s", "rxByteRate": "rxByte/s", "rxPackets": "rxPackets",
                       "rxBytes": "rxBytes", "rxErrors": "rxErrors", "rxDropped": "rxDropped",
                       "txPacketRate": "txPacket/s", "txByteRate": "txByte/s", "txPackets": "txPackets",
                       "txBytes": "txBytes", "txErrors": "txErrors", "txDropped": "txDropped", "funcId": "funcId"}
            for column, name in columns.items():
                self.same([(w, v[name]) for w, v in samples], exports.table(f"select timestampNs, {column} from {table}"))
            self.same([(w, v["bandwidth"] * MB) for w, v in samples],
                      exports.table(f"select timestampNs, bandwidth from {table}"))
            # Both kinds carry the same load here and share the counter's name.
            for way in ("Rx", "Tx"):
                for arg, name in ((f"{way} Bandwidth Efficiency", "efficiency"), (f"{way} Error Rate", "error_rate"),
                                  (f"{way} Dropped Rate", "dropped_rate")):
                    self.same_counter(exports, f"Port 0/{way}", arg,
                                      2 * [(w, v[f"{way.lower()}_{name}"]) for w, v in samples])
                self.same_counter(exports, f"Port 0/{way}", f"{way} Packets",
                                  2 * [(w, v[f"{way.lower()}Packet/s"]) for w, v in samples])

    def test_dvpp(self):
        device, exports = self.cases[0][1].devices[0], self.cases[0][2]
        samples = [value for _, value in device.dvpp()]
        rows = exports.csv("dvpp")
        self.assertEqual([row["Engine Type"] for row in rows], ["JPEGD", "VPC"])
        for row in rows:
            mine = [v for v in samples if v["engine"] == row["Engine Type"] and v["engine_id"] == int(row["Engine ID"])]
            for key, column in (("all_time", "All Time(us)"), ("all_frame", "All Frame")):
                totals = [v[key] for v in mine]
                self.assertEqual(max(totals) - min(totals), float(row[column]))
            self.assertEqual(mine[-1]["all_utilization"], int(row["All Utilization(%)"]))
        # Without the dvpp_id column.
        self.assertEqual(len(self.cases[1][1].devices[0].dvpp()), 100)

    def test_npu_memory(self):
        for device, _, exports in self.each():
            samples = device.npu_mem() + device.npu_app_mem()
            rows = exports.table("select timestampNs, ddr, hbm, type from NPU_MEM")
            self.same([(w, v["ddr"]) for w, v in samples], [(row[0], row[1]) for row in rows])
            self.same([(w, v["hbm"]) for w, v in samples], [(row[0], row[2]) for row in rows])
            for event, counter in (("Device", "Device"), ("APP", "APP")):
                mine = [(w, v) for w, v in samples if v["event"] == event]
                self.same_counter(exports, f"{counter}/HBM", "KB", [(w, v["hbm"] / 1024) for w, v in mine])
                self.same_counter(exports, f"{counter}/Memory", "KB", [(w, (v["hbm"] + v["ddr"]) / 1024) for w, v in mine])
            modules = device.npu_module_mem()
            self.same([(w, v["bytes"]) for w, v in modules],
                      exports.table("select timestampNs, totalReserved from NPU_MODULE_MEM"))
            self.assertEqual({v["module"] for _, v in modules},
                             {row[0] for row in exports.table("select moduleId from NPU_MODULE_MEM")})

    def test_netdev(self):
        for device, _, exports in self.each():
            samples = device.netdev()
            columns = {"macTxPfcPkt": "macTxPfc", "macRxPfcPkt": "macRxPfc", "macTxByte": "macTxOct",
                       "macTxBandwidth": "macTxOct/s", "macRxByte": "macRxOct", "macRxBandwidth": "macRxOct/s",
                       "roceTxPkt": "roceTxAll", "roceRxPkt": "roceRxAll", "roceTxErrPkt": "roceTxErr",
                       "roceRxErrPkt": "roceRxErr", "roceTxCnpPkt": "roceTxCnp", "roceRxCnpPkt": "roceRxCnp",
                       "roceNewPktRty": "roceNewPktRty", "nicTxByte": "nicTxOct", "nicTxBandwidth": "nicTxOct/s",
                       "nicRxByte": "nicRxOct", "nicRxBandwidth": "nicRxOct/s"}
            for column, name in columns.items():
                self.same([(w, v[name]) for w, v in samples],
                          exports.table(f"select timestampNs, {column} from NETDEV_STATS"))

    def test_chip_sampling(self):
        device, exports = self.cases[0][1].devices[0], self.cases[0][2]
        stars = device.stars()
        for name in "req_rx rsp_rx snp_rx dat_rx req_tx rsp_tx snp_tx dat_tx".split():
            self.same_counter(exports, name, "die 0", [(w, v[name]) for w, v in stars["sio"]], 12)
        for counter, kind, key in (("PA Link Rx", "pa_link", "rx_or_write"), ("PA Link Tx", "pa_link", "tx_or_read"),
                                   ("PCIE Write Bandwidth", "pcie", "rx_or_write"),
                                   ("PCIE Read Bandwidth", "pcie", "tx_or_read"),
                                   ("L2 Buffer Bw Level", "soc_info", "l2_buffer"), ("Mata Bw Level", "soc_info", "mata")):
            self.same_counter(exports, counter, counter, [(w, v[key]) for w, v in stars[kind]])
        for name in ("read_bandwidth", "read_ost", "write_bandwidth", "write_ost"):
            self.same_counter(exports, name, "value", [(w, v[name]) for w, v in stars["acc_pmu"]])
        for stream in ("mpam1", "mpam2"):
            self.same_counter(exports, f"QoS {stream}", "value", [(w, v[stream]) for w, v in device.qos()])

    def test_frequency(self):
        device, exports = self.cases[0][1].devices[0], self.cases[0][2]
        # The analyser adds points of its own at both ends and shows the file twice on this chip.
        theirs = {(wall, args["MHz"]) for wall, args in exports.counters["AI Core Freq"]}
        mine = {(w, v["value"]) for w, v in device.low_power("lpmFreqConv.data")}
        self.assertEqual(len(mine), 50)
        self.assertLessEqual(mine, theirs)

    def test_ts_cpu(self):
        for device, _, exports in self.each():
            sums, cycles = {}, {}
            for _, sample in device.tscpu():
                for event, count in sample["events"].items():
                    sums[event] = sums.get(event, 0) + count
                cycles[sample["pc"]] = cycles.get(sample["pc"], 0) + sample["events"][0x11]
            for row in exports.csv("ts_cpu_pmu_events"):
                self.assertEqual(sums[int(row["Event"], 16)], int(row["Count"]))
            for row in exports.csv("ts_cpu_top_function"):
                self.assertEqual(cycles[int(row["Function"], 16)], int(row["Cycles"]))

    def test_device_and_host_os(self):
        for device, host, exports in self.each():
            for side, tag in ((device, "0"), (host, "host")):
                usage = side.cpu_classes()
                rows = exports.csv("cpu_usage", tag)
                self.assertEqual(sorted(usage), sorted(row["Cpu Type"] for row in rows))
                for row in rows:
                    for key, column in (("user", "User(%)"), ("sys", "Sys(%)"), ("iowait", "IoWait(%)"), ("irq", "Irq(%)"),
                                        ("soft", "Soft(%)"), ("idle", "Idle(%)")):
                        self.assertAlmostEqual(usage[row["Cpu Type"]][key], float(row[column]), 3)
                for row in exports.csv("process_cpu_usage", tag):
                    name, percent = side.process_cpu()[int(row["PID"])]
                    self.assertEqual(name, row["Name"])
                    self.assertAlmostEqual(percent, float(row["CPU(%)"]), 3)
                for row in exports.csv("process_mem", tag):
                    self.assertEqual(side.process_memory()[int(row["PID"])],
                                     (row["Name"], int(row["Size(pages)"]), int(row["Resident(pages)"]),
                                      int(row["Shared(pages)"])))
                (row,) = exports.csv("sys_mem", tag)
                self.assertEqual(list(side.sys_memory().values()), [int(v) for v in list(row.values())[1:]])

    def test_host_sampling(self):
        for _, host, exports in self.each():
            usage = host.cpu()
            for name in (0, 1, "Avg"):
                self.same_counter(exports, f"CPU {name}", "Usage(%)", [(w, v[name]) for w, v in usage])
            self.same(host.mem(), exports.table("select timestampNs, usage from HOST_MEM_USAGE"), 5)
            self.same(host.network(), exports.table("select timestampNs, usage from HOST_NETWORK_USAGE"), 6)
            disk = host.disk()
            for key, column in (("read", "readRate"), ("write", "writeRate"), ("io", "usage")):
                self.same([(w, v[key]) for w, v in disk], exports.table(f"select timestampNs, {column} from HOST_DISK_USAGE"))

    def test_rules_hold_for_the_vendors_directories(self):
        for chip in CHIPS:
            # The files lost their modes in the copy; a path in sample.json was shortened after its marker was written.
            left = [v for v in check(input_of(chip), sealed=True, modes=False) if "sample.json.done: says" not in v]
            self.assertEqual(left, [])


class Damage(unittest.TestCase):
    """Every rule of the reader is broken once; a rule that nothing trips is none."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.prof = os.path.join(self.folder, PROF)
        shutil.copytree(input_of("910b"), self.prof)
        for base, _, files in os.walk(self.prof):
            os.chmod(base, 0o750)
            for file in files:
                os.chmod(os.path.join(base, file), 0o640)
        for side in ("host", "device_0"):
            path = os.path.join(self.prof, side, "sample.json")
            self.write(f"{side}/sample.json.done", f"filesize: {os.path.getsize(path)}\n")
        self.assertEqual(check(self.prof, sealed=True), [])

    def path(self, name):
        return os.path.join(self.prof, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(self.path(name), 0o640)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def rewrite(self, name, change):
        self.write(name, change(self.read(name)))
        if os.path.exists(self.path(name + ".done")):
            marker = self.read(name + ".done").decode()
            blank = " " if marker.startswith("filesize: ") else ""
            rest = marker.split("\n", 1)[1]
            self.write(name + ".done", f"filesize:{blank}{os.path.getsize(self.path(name))}\n{rest}")

    def set_json(self, name, change):
        value = json.loads(self.read(name))
        change(value)
        self.rewrite(name, lambda _: json.dumps(value).encode())

    def expect(self, text, sealed=True):
        violations = check(self.prof, sealed=sealed)
        self.assertTrue(any(text in violation for violation in violations), (text, violations))
        return violations

    def test_missing_control_files(self):
        for name in ("info.json.0", "sample.json", "start_info.0", "host_start.log.0", "dev_start.log.0"):
            with self.subTest(name=name):
                content, marker = self.read(f"device_0/{name}"), self.read(f"device_0/{name}.done")
                os.remove(self.path(f"device_0/{name}"))
                self.expect(f"{name}: missing")
                with self.assertRaises(ProfError):
                    ProfDir(self.prof)
                self.write(f"device_0/{name}", content)
                self.write(f"device_0/{name}.done", marker)

    def test_end_info_is_needed_only_when_sealed(self):
        os.remove(self.path("device_0/end_info.0"))
        os.remove(self.path("device_0/end_info.0.done"))
        self.expect("end_info.0: missing", sealed=True)
        self.assertEqual(check(self.prof, sealed=False), [])

    def test_pretty_printed_json(self):
        self.rewrite("device_0/info.json.0", lambda text: json.dumps(json.loads(text), indent=1).encode())
        self.expect("no JSON")
        self.rewrite("device_0/info.json.0", lambda text: json.dumps(json.loads(text)).encode() + b"\n{}")
        self.expect("more than one line")

    def test_info_types(self):
        for key, value, text in (("platform_version", 5, "platform_version must be str"), ("memoryTotal", "1", "memoryTotal"),
                                 ("CPU", [], "CPU must have an entry"), ("devices", "1", "devices is '1'"),
                                 ("DeviceInfo", [], "DeviceInfo must describe")):
            with self.subTest(key=key):
                before = self.read("device_0/info.json.0")
                self.set_json("device_0/info.json.0", lambda info: info.__setitem__(key, value))
                self.expect(text)
                self.rewrite("device_0/info.json.0", lambda _: before)
        self.set_json("device_0/info.json.0", lambda info: info["DeviceInfo"][0].__setitem__("hwts_frequency", 50))
        self.expect("hwts_frequency must be a number in text")

    def test_wrong_device_number(self):
        self.set_json("device_0/sample.json", lambda sample: sample.__setitem__("devices", "64"))
        self.expect("devices is '64'")
        self.set_json("host/sample.json", lambda sample: sample.__setitem__("devices", "0"))
        self.expect("host/sample.json: devices is '0'")

    def test_settings_a_kind_needs(self):
        for key, value in (("hbm_profiling_events", ""), ("llc_profiling", ""), ("qosEvents", "")):
            self.set_json("device_0/sample.json", lambda sample, key=key, value=value: sample.__setitem__(key, value))
            self.expect(key)

    def test_partial_record(self):
        self.rewrite("device_0/data/hbm.data.0.slice_0", lambda data: data[:-5])
        self.expect("no whole records of 24")

    def test_reading_is_aligned_to_the_end(self):
        whole = ProfDir(self.prof).devices[0].raw("pcie.data")
        self.rewrite("device_0/data/pcie.data.0.slice_0", lambda data: data[10:])
        self.assertEqual(ProfDir(self.prof).devices[0].raw("pcie.data"), whole[1:])

    def test_slices_are_joined_by_number(self):
        data = self.read("device_0/data/pcie.data.0.slice_0")
        whole = ProfDir(self.prof).devices[0].pcie()
        os.remove(self.path("device_0/data/pcie.data.0.slice_0"))
        os.remove(self.path("device_0/data/pcie.data.0.slice_0.done"))
        for i, number in enumerate((2, 9, 10)):
            self.write(f"device_0/data/pcie.data.0.slice_{number}", data[i * 1600:(i + 1) * 1600])
        self.assertEqual(ProfDir(self.prof).devices[0].pcie(), whole)
        self.expect("have a gap", sealed=False)

    def test_markers(self):
        self.write("device_0/data/hbm.data.0.slice_0.done", "filesize:9601\nstarttime:0\nendtime  :0\n")
        self.expect("says 9601 bytes")
        self.write("device_0/data/hbm.data.0.slice_0.done", "filesize:9600\n")
        self.expect("not laid out as the vendor's")
        self.write("device_0/data/hbm.data.0.slice_9.done", "filesize:0\nstarttime:0\nendtime  :0\n")
        self.expect("marks a file that is not there")
        os.remove(self.path("device_0/data/hbm.data.0.slice_0.done"))
        self.expect("no .done marker")

    def test_modes(self):
        os.chmod(self.path("device_0/data/hbm.data.0.slice_0"), 0o644)
        self.expect("mode 0644")
        os.chmod(self.path("host"), 0o755)
        self.expect("mode 0755")

    def test_hccs_header(self):
        self.rewrite("device_0/data/hccs.data.0.slice_0", lambda data: data.split(b"\n", 1)[1])
        self.expect("no header line")

    def test_text_stamps(self):
        self.rewrite("device_0/data/nic.data.0.slice_0", lambda data: data.replace(b"3000:020000000", b"3000:20000000"))
        self.expect("no <seconds>:<9 digits> stamp")
        self.rewrite("device_0/data/roce.data.0.slice_0", lambda data: data[:-1])
        self.expect("ends in the middle of a line")

    def test_kinds_of_which_the_last_slice_wins(self):
        data = self.read("device_0/data/roce.data.0.slice_0")
        self.write("device_0/data/roce.data.0.slice_1", data[:data.index(b"\n", 2000) + 1])
        self.expect("keeps the last one only", sealed=False)
        self.assertLess(len(ProfDir(self.prof).devices[0].roce()), 50)

    def test_hbm_period(self):
        self.rewrite("device_0/data/hbm.data.0.slice_0", lambda data: data[:-24])
        self.expect("period at 1000000 µs")

    def test_stamps_that_go_backwards(self):
        self.rewrite("device_0/data/ddr.data.0.slice_0", lambda data: data[40:] + data[:40])
        self.expect("stamps go backwards")

    def test_stamps_in_a_wrong_unit(self):
        def as_ms(data):
            return b"".join(int.from_bytes(data[i:i + 8], "little").__mul__(1000).to_bytes(8, "little") + data[i + 8:i + 24]
                            for i in range(0, len(data), 24))
        self.rewrite("device_0/data/hbm.data.0.slice_0", as_ms)
        self.expect("stamps are outside the session")

    def test_magic(self):
        self.rewrite("device_0/data/stars_soc_profile.data.0.slice_0", lambda data: data[:2] + b"\0\0" + data[4:])
        self.expect("1 records without the magic")

    def test_files_in_the_wrong_place(self):
        self.write("device_0/data/hbm.data.1.slice_0", b"")
        self.write("device_0/data/notes.txt", b"")
        violations = self.expect("belongs to device 1", sealed=False)
        self.assertTrue(any("is no slice" in violation for violation in violations))

    def test_dates(self):
        self.rewrite("host/start_info", lambda text: text.replace(b"22:13:20.000000", b"22:13:20.339937"))
        self.expect("is not the time")

    def test_clock_sections(self):
        self.rewrite("device_0/host_start.log.0", lambda text: text.replace(b"Device0", b"Device1"))
        self.expect("section [Device1]")
        self.rewrite("device_0/dev_start.log.0", lambda text: b"cntvct: 5\n")
        self.expect("clock_monotonic_raw missing")

    def test_name_and_emptiness(self):
        os.makedirs(os.path.join(self.folder, "trace"), 0o750)
        violations = check(os.path.join(self.folder, "trace"), modes=False)
        self.assertTrue(any("none of a PROF directory" in violation for violation in violations))
        self.assertTrue(any("neither host nor device_N" in violation for violation in violations))

    def test_blank_in_a_process_name(self):
        self.rewrite("host/data/4242-CpuUsage.data.slice_0", lambda data: data.replace(b"(trainer)", b"(my trainer)"))
        self.expect("blank in the process name")

    def test_disk_without_a_start(self):
        self.rewrite("host/data/host_disk.data.slice_0", lambda data: data[:data.rindex(b"start_time")])
        self.expect("does not end in start_time")


if __name__ == "__main__":
    unittest.main()
