"""Writes PROF directories as another collector would: from docs/formats.md alone, sharing nothing with profd or with
the readers. Loads vary from sample to sample; slices are cut where they are full, records or not."""

import json
import os
import random
import struct

CHIPS = (0, 1, 4, 5, 7, 15)
VARIANTS = ({}, {"slices": 3}, {"slices": 4, "aged": 1}, {"version": "2.0", "llc": "write"}, {"devices": (0, 3), "slices": 2})
NAME = "PROF_000001_20231114221320000_00004000ABCDEFGH"

BEGIN_US = 1_700_000_000_000_000
HOST_RAW = 5_000_000_000_000
MHZ = {0: 19.2, 1: 100, 4: 38.4, 5: 50, 7: 48, 15: 1000}
AIC_MHZ = {0: 680, 1: 800, 4: 1150, 5: 1800, 7: 1250, 15: 800}
LLC_EVENTS = {"read": (0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36),
              "write": (0x00, 0x01, 0x03, 0x14, 0x21, 0x23, 0x35, 0x37)}
HAS = {  # by kind: the chips whose files the vendor's parser reads
    "hbm": CHIPS, "ddr": (0, 1, 4, 7), "llc": (1, 4, 5, 7, 15), "pcie": (0, 1, 4, 5, 15), "hccs": (0, 1, 4, 5),
    "nic": (0, 1, 5, 7), "roce": (0, 1, 5), "dvpp": (0, 1, 5, 7, 15), "qos": (5,), "ub": (15,),
    "netdev": (0, 1, 4, 5, 7), "npu_mem": CHIPS, "npu_module_mem": (1, 4, 5, 7, 15), "freq": (7, 15), "info": (5,),
    "stars": (5, 7, 15), "aicore": (0, 1, 4), "aivector": (4,), "ffts": (5, 7, 15),
}


class Device:
    def __init__(self, chip, number, version, llc, samples):
        self.chip, self.number, self.v2, self.llc = chip, number, version == "2.0", llc
        self.mhz = MHZ[chip]
        self.random = random.Random(chip * 100 + number)
        self.device_ns, self.counter = 3_000_000_000_000 + number, 145_000_000_000 + number
        # µs since the start, not quite regular.
        self.times = [20_000 * (i + 1) + self.random.randrange(300) for i in range(samples)]

    def some(self, most=1_000_000):
        return self.random.randrange(most)

    def ns(self, us):
        return self.device_ns + us * 1000 + 7

    def ticks(self, us):
        return self.counter + round(us * self.mhz)

    def wall(self, us):
        return BEGIN_US * 1000 + us * 1000

    def text_time(self, us):
        return f"{self.ns(us) // 10**9}:{self.ns(us) % 10**9:09d}"

    # --- one function per file: a list of records (bytes) or lines (str)

    def hbm(self):
        for us in self.times:
            for event in (0, 1):
                for stack in range(4):
                    if self.v2:
                        yield struct.pack("<IIIIQQ", 0, 0, event, stack, self.some(), self.wall(us))
                    else:
                        yield struct.pack("<QQII", us, self.some(), event, stack)

    def ddr(self):
        for us in self.times:
            for controller in range(2):
                for event in (0, 1):
                    yield struct.pack("<5I", us, self.some(), event, controller, 0xFFFFFFFF)

    def llc_records(self):
        for us in self.times:
            for cache in range({5: 2, 7: 1}.get(self.chip, 4)):
                for event in LLC_EVENTS[self.llc]:
                    if self.v2:
                        yield struct.pack("<IIIIQ", 0, self.some(), event, cache, self.wall(us))
                    else:
                        yield struct.pack("<QQII", us, self.some(), event, cache)

    def pcie(self):
        for us in self.times:
            triples = []
            for i in range(7):
                low, mean, high = sorted(self.some(100_000) for _ in range(3))
                triples += [0xFFFFF if i == 1 else low, high, mean]
            yield struct.pack("<QI21I", self.ns(us), self.number, *triples)

    def totals(self, us, count, step):
        return [us * step + i * 1000 + self.some(10) for i in range(count)]

    def hccs(self):
        for us in self.times:
            tx, rx = self.totals(us, 2, 300)
            yield f"{self.text_time(us)} {tx} {rx}"

    def port(self, columns):
        for us in self.times:
            for port in range(2 if columns > 14 else 1):
                rates = [self.some(1000), self.some(10**9)]
                row = [100_000, *rates, *self.totals(us, 4, 2), *rates, *self.totals(us, 4, 3), port, 0][:columns - 1]
                yield " ".join([self.text_time(us), *map(str, row)])

    def dvpp(self):
        for us in self.times:
            for engine_type in (1, 4):
                head = ["0"] if self.chip != 0 else []
                row = [engine_type, 0, us, us // 100, "30%", us // 2, us // 200, "25%", 5, 1]
                yield " ".join([self.text_time(us), *head, *map(str, row)])

    def netdev(self):
        for us in self.times:
            yield " ".join(map(str, [HOST_RAW + us * 1000, *self.totals(us, 15, 4)]))

    def npu_mem(self, event):
        for us in self.times:
            head = struct.pack("<IIQ", 0, event, us) if self.v2 else struct.pack("<IIQ", us, event, 0)
            yield head + struct.pack("<QQ", self.some(2**40), self.some(2**40))

    def npu_module_mem(self):
        for us in self.times:
            yield struct.pack("<IIQQ", self.some(64), 0, HOST_RAW + us * 1000, self.some(2**40))

    def low_power(self, typed):
        for begin in range(0, len(self.times), 40):
            part = self.times[begin:begin + 40]
            for kind in range(3 if typed else 1):
                cells = [(self.ticks(us - 20_000 if begin == 0 else us), 700 + self.some(1000)) for us in part]
                record = struct.pack("<II", len(cells), kind)
                record += b"".join(struct.pack("<QII", *cell, 0) for cell in cells)
                yield record.ljust(888, b"\0")

    def qos(self):
        for us in self.times:
            yield struct.pack("<2IQQ10I", 0, 0, 0, self.ticks(us), *(self.some(10**6) for _ in range(10)))

    def ub(self):
        magic = 0x6BD3
        for us in self.times:
            for port in range(3):
                yield struct.pack("<HHHHQQQ96x", magic, 0, port, 0, us, self.some(), self.some())

    def stars(self):
        magic = 0x6BD3
        for us in self.times:
            head = lambda kind, tag: struct.pack("<HHIQ", kind | tag << 10, magic, 0, self.ticks(us))
            ten = struct.pack("<10I", *(self.some() for _ in range(10)))
            yield head(0b011010, 0) + struct.pack("<HH3I4Q", 0, 7, 0, 0, 0, *(self.some() for _ in range(4)))
            yield head(0b011100, 0) + struct.pack("<4IH30x", 0, 0, 0, 0, self.some(2**11))
            if self.chip == 15:
                yield head(0b011000, 1) + struct.pack("<Q", 0) + ten
                yield head(0b011001, 2) + struct.pack("<Q", 0) + ten
                yield head(0b011011, 1) + struct.pack("<2Q32x", self.some(), self.some())
                yield head(0b011011, 1) + struct.pack("<2Q32x", 2**64 - 1, self.some())
                for die in (0, 1, 2):
                    yield head(0b011101, die) + struct.pack("<Q20H", 0, *(self.some(2**11) for _ in range(20)))
            else:
                yield head(0b011001, 0) + struct.pack("<HH3I", 0, 1, 0, 0, 0) + ten[:32]
                for tag in (0b111111, 0b100010):
                    yield head(0b011011, tag) + struct.pack("<HH3I2Q16x", 0, 3, 0, 0, 0, self.some(), self.some())

    def cores(self):
        ten = self.chip == 15
        for us in self.times:
            for core in (0, 1, 30, 40):
                events = [self.some() for _ in range(10 if ten else 8)]
                yield struct.pack(f"<BB3H{len(events)}QQQBB6x", 1, 0, 0, 0, 0, *events, self.some(10**7),
                                  self.ticks(us) if ten else self.ns(us), 8, core)

    def files(self):
        """{file: (records or lines, header line of the first slice, of every slice)}"""
        has = lambda kind: self.chip in HAS[kind]
        all_files = {
            "hbm.data": ("hbm", self.hbm), "ddr.data": ("ddr", self.ddr), "llc.data": ("llc", self.llc_records),
            "pcie.data": ("pcie", self.pcie), "hccs.data": ("hccs", self.hccs),
            "nic.data": ("nic", lambda: self.port(14)), "roce.data": ("roce", lambda: self.port(16)),
            "dvpp.data": ("dvpp", self.dvpp), "netdev_stats.data": ("netdev", self.netdev),
            "npu_mem.app": ("npu_mem", lambda: self.npu_mem(0)), "npu_mem.data": ("npu_mem", lambda: self.npu_mem(1)),
            "npu_module_mem.data": ("npu_module_mem", self.npu_module_mem),
            "lpmFreqConv.data": ("freq", lambda: self.low_power(False)),
            "lpmInfoConv.data": ("info", lambda: self.low_power(True)), "qos.data": ("qos", self.qos),
            "ub.data": ("ub", self.ub), "stars_soc_profile.data": ("stars", self.stars),
            "aicore.data": ("aicore", self.cores), "aiVectorCore.data": ("aivector", self.cores),
            "ffts_profile.data": ("ffts", self.cores),
        }
        return {file: list(make()) for file, (kind, make) in all_files.items() if has(kind)}


HEADERS = {"nic.data": "time_stamp(s):time_stamp(ns) bandwidth(Mb/s) rxPacket/s rxByte/s",
           "dvpp.data": "time_stamp(s):time_stamp(ns) engine_type engine_id"}
HCCS_HEADER = "time_stamp(s):time_stamp(ns) send_amount receive_amount"


def cut(file, records, slices):
    """The bytes of each slice. Binary records are cut anywhere, lines between two."""
    if isinstance(records[0], str):
        size = -(-len(records) // slices)
        parts = [records[i:i + size] for i in range(0, len(records), size)]
        if file in HEADERS:
            parts[0] = [HEADERS[file], *parts[0]]
        if file == "hccs.data":
            parts = [[HCCS_HEADER, *part] for part in parts]
        return ["".join(line + "\n" for line in part).encode() for part in parts]
    data = b"".join(records)
    size = len(data) // slices + 5
    return [data[i:i + size] for i in range(0, len(data), size)]


def put(path, content):
    with open(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)


def times(end_us, begin):
    stamp = str(end_us)
    return json.dumps({"collectionDateBegin": "", "collectionDateEnd": "",
                       "collectionTimeBegin": stamp if begin else "", "collectionTimeEnd": "" if begin else stamp,
                       "clockMonotonicRaw": str(HOST_RAW + (end_us - BEGIN_US) * 1000)})


def info(chip, version, device):
    base = {"version": version, "platform_version": str(chip), "pid": "4242", "pid_name": "trainer", "hostname": "h",
            "CPU": [{"Id": 0, "Name": "x", "Frequency": "", "Logical_CPU_Count": "8", "Type": "y"}], "netCard": [],
            "memoryTotal": 67108864, "cpuNums": 8, "sysClockFreq": 100, "devices": "", "DeviceInfo": [], "rank_id": -1}
    if device is not None:
        base["devices"] = str(device)
        base["DeviceInfo"] = [{"id": device, "hwts_frequency": str(MHZ[chip]), "aic_frequency": str(AIC_MHZ[chip]),
                               "aiv_frequency": str(AIC_MHZ[chip]), "ctrl_cpu": "0", "ai_cpu": "1,2,3",
                               "ai_core_num": 24, "aiv_num": 48}]
    return json.dumps(base)


def sample(device, llc):
    return json.dumps({"devices": "64" if device is None else str(device), "hbm_profiling_events": "read,write",
                       "llc_profiling": llc, "qosEvents": "mpam1,mpam2", "ai_core_profiling_mode": "sample-based",
                       "aiv_profiling_mode": "sample-based", "ai_core_profiling_events": "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"})


def write(folder, chip, slices=1, aged=0, version="1.0", llc="read", devices=(0,), samples=50):
    """The path of the new directory. `aged`: how many slices are gone at the front."""
    path = os.path.join(folder, NAME)
    os.makedirs(os.path.join(path, "host", "data"))
    end_us = BEGIN_US + 20_000 * (samples + 2)
    for device in (None, *devices):
        side = os.path.join(path, "host" if device is None else f"device_{device}")
        os.makedirs(os.path.join(side, "data"), exist_ok=True)
        tag = "" if device is None else f".{device}"
        put(f"{side}/info.json{tag}", info(chip, version, device))
        put(f"{side}/sample.json", sample(device, llc))
        put(f"{side}/start_info{tag}", times(BEGIN_US, True))
        put(f"{side}/end_info{tag}", times(end_us, False))
        section = "[Host]" if device is None else f"[Device{device}]"
        put(f"{side}/host_start.log{tag}", f"{section}\nclock_monotonic_raw: {HOST_RAW}\ncntvct: 77\ncntvct_diff: 0\n")
        if device is None:
            continue
        made = Device(chip, device, version, llc, samples)
        put(f"{side}/dev_start.log{tag}", f"clock_monotonic_raw: {made.device_ns}\ncntvct: {made.counter}\n")
        for file, records in made.files().items():
            for number, content in enumerate(cut(file, records, slices)):
                if number >= aged:
                    put(f"{side}/data/{file}{tag}.slice_{number}", content)
    return path
