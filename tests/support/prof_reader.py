#!/usr/bin/env python3
"""A strict reader of PROF directories that behaves like the vendor's public analyser.

Written from the format description alone (docs/formats.md), independent of profd's own code: where both agree, the
bytes are right. Values come out with the analyser's formulas, quirks included. Standard library only.

    prof_reader.py DIR [--sealed] [--no-modes]     prints a summary and every violation; exit status 1 if there is one
"""

import argparse
import collections
import os
import re
import struct
import sys
from fractions import Fraction

import prof_rules
from prof_files import MB, ProfError, Side, load_start_log, read_bytes

DVPP_ENGINES = ["VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC", "SCD"]
CHIPS_WITH_DVPP_ID = {1, 5, 7, 8, 11, 15, 16}
TEN_EVENT_CHIPS = {15, 16, 17, 18}
LLC_SLOTS = {
    "read": [0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36],
    "write": [0x00, 0x01, 0x03, 0x14, 0x21, 0x23, 0x35, 0x37],
}
STARS_MAGIC = 0x6BD3
TSCPU_MAGIC = 0xABABABAB
NET_COLUMNS = ("bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped "
               "txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId").split()
NETDEV_COLUMNS = ("macTxPfc macRxPfc macTxOct macRxOct macTxBadOct macRxBadOct roceTxAll roceRxAll roceTxErr roceRxErr "
                  "roceTxCnp roceRxCnp roceNewPktRty nicTxOct nicRxOct").split()
PCIE_NAMES = "tx_post tx_nonpost tx_cpl tx_nonpost_latency rx_post rx_nonpost rx_cpl".split()


class Device(Side):
    """device_N/. Every kind is a list of (wall_ns, {name: value}); raw(kind) gives the records as they lie there."""

    LAYOUTS = {
        "hbm.data": "QQII", "ddr.data": "5I", "llc.data": "QQII", "pcie.data": "QI21I", "npu_mem.data": "IIQQQ",
        "npu_mem.app": "IIQQQ", "npu_module_mem.data": "IIQQ", "lpmFreqConv.data": "II" + "QII" * 55,
        "lpmInfoConv.data": "II" + "QII" * 55, "qos.data": "2IQQ10I", "ub.data": "4xH2x15Q", "tscpu.data": "II20QIIQQ14Q",
        "stars_soc_profile.data": "HHIQ48s", "aicore.data": "BB3H8QQQBB6x", "aiVectorCore.data": "BB3H8QQQBB6x",
        "ffts_profile.data": "BB3H8QQQBB6x", "socpmu.data": "8B4H8Q", "aicpu.data": "HHIIIQ232s",
        "stars_soc.data": "HHHHQ48s", "hwts.data": "BBHHHQ12I", "l2_cache.data": "4H8Q",
        "ccu0.instr": "64s", "ccu1.instr": "64s", "ccu0.stat": "2816s", "ccu1.stat": "2816s",
    }
    TEXT = {"hccs.data", "nic.data", "roce.data", "dvpp.data", "netdev_stats.data"}

    def __init__(self, path, device):
        super().__init__(path, device)
        _, device_log = load_start_log(os.path.join(path, f"dev_start.log.{device}"))
        self.dev_mono, self.dev_cntvct = device_log["clock_monotonic_raw"], device_log["cntvct"]
        if len(self.devices_info) != 1:
            raise ProfError(f"{path}: info.json.{device} must describe one device")
        self.facts = self.devices_info[0]
        try:
            self.counter_mhz = Fraction(self.facts["hwts_frequency"])
        except (KeyError, ValueError, TypeError):
            raise ProfError(f"{path}: hwts_frequency is missing or no number in text") from None
        if str(self.sample.get("devices")) != str(device):
            raise ProfError(f"{path}: sample.json is of device {self.sample.get('devices')!r}")

    def layout(self, file):
        if self.version == "2.0" and file in ("hbm.data", "llc.data", "npu_mem.data", "npu_mem.app"):
            return {"hbm.data": "IIIIQQ", "llc.data": "IIIIQ"}.get(file, "IIQQQ")
        if file == "ffts_profile.data" and self.chip in TEN_EVENT_CHIPS:
            return "BB3H10QQQBB6x"
        if file == "stars_soc.data" and self.chip in TEN_EVENT_CHIPS:
            return "HHHHQ16s"
        if file == "tscpu.data" and self.chip in (2, 3):
            return "II20IIIQ10Q"
        return self.LAYOUTS[file]

    def raw(self, file):
        if file in self.TEXT:
            return [line.split() for line in self._text_lines(file)]
        return self.records(file, self.layout(file))

    # --- clocks

    def start_us_to_wall(self, time_us):  # T1
        return time_us * 1000 + self.host_mono + self.wall_minus_raw

    def device_ns_to_wall(self, time_ns):  # T2
        return time_ns - self.dev_mono + self.host_mono + self.wall_minus_raw

    def ticks_to_wall(self, ticks):  # T3
        return round((ticks - self.dev_cntvct) * 1000 / self.counter_mhz) + self.host_mono + self.wall_minus_raw

    def block_wall(self, stamp):
        return self.device_ns_to_wall(stamp)

    @staticmethod
    def text_ns(stamp):
        """The analyser drops the colon; nine digits of nanoseconds make that a number of ns."""
        return int(stamp.replace(":", ""))

    # --- memory

    def hbm(self):
        v2 = self.version == "2.0"
        rows = [(r[5], r[2], r[3], r[4]) if v2 else (r[0], r[2], r[3], r[1]) for r in self.raw("hbm.data")]
        rows.sort(key=lambda row: row[:3])
        # Four ids are taken for granted; the events are those sample.json names.
        back = 4 * len(self.sample["hbm_profiling_events"].split(","))
        result = []
        for i, (time, event, hbm_id, count) in enumerate(rows):
            unit = 10**9 if v2 else 10**6
            before = rows[i - back][0] if i >= back else time
            value = count * 32 / MB / ((time - before) / unit) if time > before else (0 if i < back else count)
            wall = time if v2 else self.start_us_to_wall(time)
            result.append((wall, {"id": hbm_id, "event": "write" if event else "read", "mb_s": value}))
        return result

    def hbm_counts(self):
        """[(wall_ns, counts of the period in the order of event, then id)]"""
        periods = collections.defaultdict(list)
        for time, count, event, hbm_id in self.raw("hbm.data"):
            periods[time].append((event, hbm_id, count))
        return [(self.start_us_to_wall(time), tuple(count for _, _, count in sorted(rows)))
                for time, rows in sorted(periods.items())]

    def ddr(self):
        sums = collections.defaultdict(lambda: [0, 0])
        for time, count, event, _, _ in self.raw("ddr.data"):
            sums[time][1 if event else 0] += count
        width = 256 if self.chip in (1, 2, 3, 4) else 128
        result, before = [], 0
        for time in sorted(sums):
            seconds = (time - before) / 10**6
            rates = [count * width / 8 / MB / seconds if seconds else 0 for count in sums[time]]
            result.append((self.start_us_to_wall(time), {"read": rates[0], "write": rates[1]}))
            before = time
        return result

    def llc(self):
        mode = self.sample["llc_profiling"]
        if mode not in LLC_SLOTS:
            return []
        slots = {event: i for i, event in enumerate(LLC_SLOTS[mode])}
        ids = {7: {0}, 8: {0}, 11: {0}, 5: {0, 1}}.get(self.chip, {0, 1, 2, 3})
        v2 = self.version == "2.0"
        periods = collections.defaultdict(lambda: [0] * 8)
        for record in self.raw("llc.data"):
            time, count, event, llc_id = (record[4], *record[1:4]) if v2 else record
            if event in slots and llc_id in ids:
                periods[llc_id, time][slots[event]] += count
        result, before = [], {}
        for (llc_id, time), e in sorted(periods.items()):
            seconds = (time - before.get(llc_id, time)) / (10**9 if v2 else 10**6)
            wall = time if v2 else self.start_us_to_wall(time)
            result.append((wall, {
                "id": llc_id,
                "hit_rate": (e[2] + e[3] + e[5] + e[7]) / (e[4] + e[6]) if e[4] + e[6] else 0,
                "mb_s": (e[0] + e[1]) * 64 * 64 / MB / seconds if seconds else 0,
            }))
            before[llc_id] = time
        return sorted(result, key=lambda sample: sample[0])

    def npu_mem(self, file="npu_mem.data"):
        result = []
        for a, event, b, ddr, hbm in self.raw(file):
            wall = self.start_us_to_wall(b if self.version == "2.0" else a)
            result.append((wall, {"event": "Device" if event else "APP", "ddr": ddr, "hbm": hbm}))
        return result

    def npu_app_mem(self):
        return self.npu_mem("npu_mem.app")

    def npu_module_mem(self):
        return [(self.host_counter_to_wall(time), {"module": module, "type": memory_type, "bytes": size})
                for module, memory_type, time, size in self.raw("npu_module_mem.data")]

    def qos(self):
        names = [name for name in self.sample.get("qosEvents", "").split(",") if name]
        return [(self.ticks_to_wall(r[3]), dict(zip(names, r[4:]))) for r in self.raw("qos.data")]

    # --- links and ports

    def pcie(self):
        """MB/s as (min, max, avg); latency in µs."""
        result = []
        for record in self.raw("pcie.data"):
            triples = {}
            for i, name in enumerate(PCIE_NAMES):
                low, high, mean = record[2 + 3 * i:5 + 3 * i]
                triples[name] = (0 if low == 0xFFFFF else low, high, mean)
            if triples["tx_post"][1] < triples["tx_post"][0]:
                continue
            scale = lambda name: 1 / 1000 if name.endswith("latency") else 10**6 / MB
            result.append((self.device_ns_to_wall(record[0]),
                           {name: tuple(v * scale(name) for v in triple) for name, triple in triples.items()}))
        return result

    def _text_lines(self, file):
        lines = self.lines(file, last_slice_only=file in ("roce.data", "dvpp.data"))
        if file == "hccs.data":  # whatever it is, the first line of every slice is taken for a header
            lines = [line for path in self.slices.get(file, []) for line in
                     read_bytes(path).decode("ascii", "replace").splitlines()[1:]]
        header = {"nic.data": "rxPacket/s", "roce.data": "rxPacket/s", "dvpp.data": "engine_type"}.get(file)
        return [line for line in lines if not (header and header in line)]

    def hccs(self):
        rows = [(self.text_ns(time), int(tx), int(rx)) for time, tx, rx in self.raw("hccs.data")]
        result = []
        for (t0, tx0, rx0), (t1, tx1, rx1) in zip(rows, rows[1:-1]):  # the last pair is always lost
            if tx1 < tx0 or rx1 < rx0 or t1 <= t0:
                continue
            seconds = (t1 - t0) / 10**9
            result.append((self.device_ns_to_wall(t1), {"tx": (tx1 - tx0) / MB / seconds, "rx": (rx1 - rx0) / MB / seconds}))
        return result

    def _net(self, file, least_columns):
        result = []
        for row in self.raw(file):
            if not least_columns <= len(row) <= 16:
                raise ProfError(f"{file}: {len(row)} columns in {' '.join(row)!r}")
            values = [int(value) for value in row[1:15]] + ([0] if len(row) == 14 else [])
            port = dict(zip(NET_COLUMNS, values))
            for way in ("rx", "tx"):
                bits = port["bandwidth"] * MB
                port[f"{way}_efficiency"] = round(port[f"{way}Byte/s"] * 8 / bits, 3) if bits else 0
                packets = port[f"{way}Packets"]
                port[f"{way}_error_rate"] = port[f"{way}Errors"] / packets if packets else 0
                port[f"{way}_dropped_rate"] = port[f"{way}Dropped"] / packets if packets else 0
            result.append((self.device_ns_to_wall(self.text_ns(row[0])), port))
        return result

    def nic(self):
        return self._net("nic.data", 14)

    def roce(self):
        return self._net("roce.data", 15)

    def dvpp(self):
        has_id = self.chip in CHIPS_WITH_DVPP_ID
        result = []
        for row in self.raw("dvpp.data"):
            if len(row) != 11 + has_id:
                continue
            dvpp_id = int(row.pop(1)) if has_id else 0
            result.append((self.device_ns_to_wall(self.text_ns(row[0])), {
                "dvpp_id": dvpp_id, "engine": DVPP_ENGINES[int(row[1])], "engine_id": int(row[2]),
                "all_time": int(row[3]), "all_frame": int(row[4]), "all_utilization": int(row[5].rstrip("%")),
            }))
        return result

    def ub(self):
        return [(self.start_us_to_wall(r[1]), {"port": r[0], "rx": r[2], "tx": r[3]}) for r in self.raw("ub.data")]

    def netdev(self):
        rows = [[int(value) for value in row] for row in self.raw("netdev_stats.data")]
        result = []
        for before, now in zip(rows, rows[1:]):
            seconds = (now[0] - before[0]) / 10**9
            values = {name: b - a for name, a, b in zip(NETDEV_COLUMNS, before[1:], now[1:])}
            for name in ("macTxOct", "macRxOct", "nicTxOct", "nicRxOct"):
                values[name + "/s"] = values[name] / seconds
            result.append((self.raw_to_wall(now[0]), values))
        return result

    # --- chip

    def low_power(self, file):
        """[(wall_ns, {type, value})] of every change; those before the device's start set the value at the start."""
        result = []
        for count, kind, *cells in self.raw(file):
            for i in range(count):
                ticks, value = cells[3 * i:3 * i + 2]
                result.append((max(self.ticks_to_wall(ticks), self.ticks_to_wall(self.dev_cntvct)),
                               {"type": kind, "value": value}))
        return result

    def stars(self):
        """{type name: [(wall_ns, values)]}; records without the magic are skipped."""
        result, sio_before = collections.defaultdict(list), {}
        for header, magic, _, ticks, body in self.raw("stars_soc_profile.data"):
            if magic != STARS_MAGIC:
                continue
            kind, tag, wall = header & 0x3F, header >> 10, self.ticks_to_wall(ticks)
            unit = struct.unpack_from("<H", body, 2)[0]
            wide = struct.unpack_from("<4Q", body, 16)
            if kind == 0b011000:
                result["qos"].append((wall, {"die": tag, "values": struct.unpack_from("<8I", body, 16)}))
            elif kind == 0b011001:
                names = "req_rx rsp_rx snp_rx dat_rx req_tx rsp_tx snp_tx dat_tx".split()
                if self.chip in TEN_EVENT_CHIPS:  # numbers 1–4 and 6–9 of ten, from 0; the die in the header
                    ten = struct.unpack_from("<10I", body, 8)
                    die, moved = tag, ten[1:5] + ten[6:]
                else:
                    die, moved = unit, struct.unpack_from("<8I", body, 16)
                if die in sio_before:  # the first one only starts the clock
                    seconds = (wall - sio_before[die]) / 10**9
                    result["sio"].append((wall, {"die": die, **{n: v / MB / seconds for n, v in zip(names, moved)}}))
                sio_before[die] = wall
            elif kind == 0b011010:
                names = "write_bandwidth read_bandwidth write_ost read_ost".split()
                result["acc_pmu"].append((wall, {"unit": unit, **dict(zip(names, wide))}))
            elif kind == 0b011011 and self.chip in TEN_EVENT_CHIPS:
                write, read = struct.unpack_from("<2Q", body)
                if 2**64 - 1 not in (write, read):
                    result["pcie"].append((wall, {"id": tag, "rx_or_write": write, "tx_or_read": read}))
            elif kind == 0b011011:
                name = {0b111111: "pa_link", 0b100010: "pcie"}.get(tag)
                if name:
                    result[name].append((wall, {"id": unit & 63, "rx_or_write": wide[0], "tx_or_read": wide[1]}))
            elif kind == 0b011100:
                levels = struct.unpack_from("<H", body, 16)[0]
                result["soc_info"].append((wall, {"l2_buffer": levels & 7, "mata": levels >> 3 & 0xFF}))
            elif kind == 0b011101 and tag < 2:  # dies with cores; value 10, the halves of each pair exchanged
                result["low_power"].append((wall, {"die": tag, "mhz": struct.unpack_from("<20H", body, 8)[11]}))
        return dict(result)

    def tscpu(self):
        """[(wall_ns, {pc, counts by event})]"""
        result = []
        for record in self.raw("tscpu.data"):
            if record[0] != TSCPU_MAGIC:
                raise ProfError("tscpu.data: record without its magic")
            events = record[26:] if len(record) == 40 else record[25:]
            pc, ticks = (record[24], record[25]) if len(record) == 40 else (record[23], record[24])
            result.append((self.ticks_to_wall(ticks), {"pc": pc, "events": dict(zip(events[::2], events[1::2]))}))
        return result

    def core_samples(self, file):
        """[(wall_ns, {core, cycles, events})]; a record of mode 0 ends the file."""
        result, ten = [], self.chip in TEN_EVENT_CHIPS
        for record in self.raw(file):
            if record[0] == 0:
                break
            events, (cycles, time, counters, core) = record[5:-4], record[-4:]
            wall = self.ticks_to_wall(time) if ten else self.device_ns_to_wall(time)
            result.append((wall, {"core": core, "cycles": cycles, "events": events[:counters]}))
        return result

    # --- device OS

    def cpu_classes(self):
        lists = {name: {int(n) for n in self.facts[key].split(",") if n}
                 for name, key in (("ctrlcpu", "ctrl_cpu"), ("aicpu", "ai_cpu"))}
        return self.cpu_usage("SystemCpuUsage.data",
                              lambda cpu: next((name for name, cpus in lists.items() if cpu in cpus), None))

    def sys_memory(self):
        return self.memory("Memory.data")

    KINDS = {"hbm.data": hbm, "ddr.data": ddr, "llc.data": llc, "pcie.data": pcie, "hccs.data": hccs, "nic.data": nic,
             "roce.data": roce, "dvpp.data": dvpp, "npu_mem.data": npu_mem, "npu_mem.app": npu_app_mem,
             "npu_module_mem.data": npu_module_mem, "qos.data": qos, "ub.data": ub, "netdev_stats.data": netdev,
             "tscpu.data": tscpu}

    def samples(self, file):
        """The values of a kind by its file name; None for kinds whose values have another shape or no meaning here."""
        if file in self.KINDS:
            return self.KINDS[file](self)
        if file in ("lpmFreqConv.data", "lpmInfoConv.data"):
            return self.low_power(file)
        if file in ("aicore.data", "aiVectorCore.data", "ffts_profile.data"):
            return self.core_samples(file)
        if file == "stars_soc_profile.data":
            return sorted(sum(self.stars().values(), []), key=lambda sample: sample[0])
        return None


class Host(Side):
    """host/: what was sampled of the machine and its processes."""

    def __init__(self, path):
        super().__init__(path)
        if self.devices_info:
            raise ProfError(f"{path}: info.json of the host must have an empty DeviceInfo")

    def timed_groups(self, file):
        """[(raw ns, lines)] of files that begin every sample with "time <raw ns>"."""
        groups = []
        for line in self.lines(file):
            if match := re.fullmatch(r"time (\d+)", line):
                groups.append((int(match[1]), []))
            elif groups and line.strip():
                groups[-1][1].append(line)
        return groups

    def cpu(self):
        """[(wall_ns at the start of the interval, {cpu number or "Avg": percent})]"""
        samples = []
        for raw, (uptime, *threads) in self.timed_groups("host_cpu.data"):
            rows = [line.split() for line in threads]
            samples.append((raw, Fraction(uptime.split()[0]) * self.info["sysClockFreq"],
                            {int(row[0]): (int(row[13]) + int(row[14]), int(row[38])) for row in rows}))
        result = []
        for (raw0, ticks0, threads0), (_, ticks1, threads1) in zip(samples, samples[1:]):
            elapsed = ticks1 - ticks0
            if elapsed <= 0:
                continue
            usage, total = collections.defaultdict(int), 0
            for tid, (ticks, cpu) in threads1.items():
                if tid in threads0:
                    usage[cpu] += ticks - threads0[tid][0]
                    total += ticks - threads0[tid][0]
            values = {cpu: float(100 * ticks / elapsed) for cpu, ticks in usage.items()}
            values["Avg"] = float(100 * total / (elapsed * self.info["cpuNums"]))
            result.append((self.raw_to_wall(raw0), {cpu: value for cpu, value in values.items() if value <= 100}))
        return result

    def mem(self):
        """[(wall_ns, percent of the machine's memory)]; the page size is taken for 4 KiB."""
        rows = [line.split() for line in self.lines("host_mem.data")]
        return [(self.raw_to_wall(int(row[0])), int(row[2]) * 4 / self.info["memoryTotal"] * 100) for row in rows[:-1]]

    def network(self):
        """[(wall_ns at the start of the interval, percent of the port's speed)]"""
        cards = {card["netCardName"]: card["speed"] for card in self.info["netCard"]}
        samples = []
        for raw, lines in self.timed_groups("host_network.data"):
            ports = {}
            for line in lines:
                name, numbers = line.split(":", 1)
                columns = numbers.split()
                ports[name.strip()] = int(columns[0]) + int(columns[8])
            samples.append((raw, ports))
        result = []
        for (raw0, ports0), (raw1, ports1) in zip(samples, samples[1:]):
            moved = [ports1[name] - ports0[name] for name in cards if name in ports0 and name in ports1]
            if moved:
                rate = sum(moved) / len(moved) / ((raw1 - raw0) / 10**9)
                result.append((self.raw_to_wall(raw0), rate / (list(cards.values())[-1] * 10**6 / 8) * 100))
        return result

    def disk(self):
        """[(wall_ns, {read, write in bytes/s, io in %})]; a line "start_time <raw ns>" ends every piece."""
        unit = {"B/s": 1, "K/s": 1024, "M/s": MB, "G/s": 2**30}
        result, piece = [], []
        for line in self.lines("host_disk.data"):
            words = line.split()
            if len(words) == 2 and words[0] == "start_time":
                step = 10**9 // self.sample["host_disk_freq"]
                result += [(self.raw_to_wall(int(words[1]) + i * step), values) for i, values in enumerate(piece)]
                piece = []
            elif len(words) >= 12 and words[1].isdigit() and words[5] in unit and words[7] in unit:
                piece.append({"read": float(words[4]) * unit[words[5]], "write": float(words[6]) * unit[words[7]],
                              "io": float(words[10])})
        return result

    def cpu_classes(self):
        return self.cpu_usage("host_sys_cpu.data", lambda cpu: "host")

    def sys_memory(self):
        return self.memory("host_sys_mem.data")


class ProfDir:
    """A PROF directory. Raises ProfError for what makes the vendor's analyser give up."""

    def __init__(self, path):
        self.path = path
        self.devices = {}
        self.host = Host(os.path.join(path, "host")) if os.path.isdir(os.path.join(path, "host")) else None
        for name in sorted(os.listdir(path)):
            if match := re.fullmatch(r"device_(\d+)", name):
                self.devices[int(match[1])] = Device(os.path.join(path, name), int(match[1]))
        if self.host is None and not self.devices:
            raise ProfError(f"{path}: neither host nor device_N")

    def summary(self):
        lines = []
        for name, side in [("host", self.host)] + [(f"device_{n}", d) for n, d in self.devices.items()]:
            if side is None:
                continue
            length = f"{(side.end_us - side.begin_us) / 10**6:.3f} s" if side.end_us else "not ended"
            lines.append(f"{name}: chip {side.chip}, {length}")
            for file, paths in sorted(side.slices.items()):
                samples = side.samples(file) if isinstance(side, Device) else None
                span = ""
                if samples:
                    span = (f", {len(samples)} samples, +{(samples[0][0] - side.begin_us * 1000) / 10**9:.3f} s … "
                            f"+{(samples[-1][0] - side.begin_us * 1000) / 10**9:.3f} s")
                size = sum(os.path.getsize(path) for path in paths)
                lines.append(f"  {file}: {len(paths)} slice(s), {size} bytes{span}")
        return "\n".join(lines)


def check(path, sealed=False, modes=True):
    """Everything a writer does wrong, as lines of text; see prof_rules."""
    return prof_rules.check(path, sealed, modes, ProfDir)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--sealed", action="store_true", help="the session is over: end_info and all .done must be there")
    parser.add_argument("--no-modes", action="store_true", help="the files were copied: do not look at their modes")
    options = parser.parse_args()
    violations = check(options.directory, options.sealed, not options.no_modes)
    try:
        print(ProfDir(options.directory).summary())
    except ProfError as error:
        print(error, file=sys.stderr)
    for violation in violations:
        print(f"violation: {violation}", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
