"""A strict reader of what profd keeps of agents (format/events/agent_blocks.h, libagent/abi/): every rule that a file breaks is an
error. Python 3, standard library only."""
import struct

from own_folder import manifest, own_folder

HEADER = struct.Struct("<IHHIIIIQQQQII8I8I")
SLOT = struct.Struct("<QBBHIQII")
VALUE = struct.Struct("<QBBBBI16s")
NAME = struct.Struct("<IBBHII")
MAGIC, LANE, NAMES = 0x4B4C4250, 1, 2
KINDS = {1: "mark", 2: "push", 3: "pop", 4: "start", 5: "end", 6: "counter", 7: "step_begin", 8: "step_end",
         0x10: "kernel", 0x11: "comm", 0x12: "api", 0x13: "memory", 0x14: "device_mark", 0x15: "tensors", 0x80: "thread",
         0x81: "lost"}
INDEX = {"push": 0, "pop": 0, "start": 0, "end": 0, "mark": 1, "counter": 2, "step_begin": 3, "step_end": 3, "kernel": 4,
         "comm": 5, "api": 6, "memory": 7, "device_mark": 1}


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def blocks(data, check_crc):
    at = 0
    while at < len(data):
        assert len(data) - at >= HEADER.size, f"{len(data) - at} bytes behind the last block"
        fields = HEADER.unpack_from(data, at)
        magic, kind, header_bytes, size, crc, lane, tid, seq, first, last, before, records, reserved = fields[:13]
        assert magic == MAGIC and header_bytes == HEADER.size and kind in (LANE, NAMES) and reserved == 0, fields
        payload = data[at + header_bytes:at + header_bytes + size]
        assert len(payload) == size, "block goes beyond the file"
        if check_crc:
            whole = bytearray(data[at:at + header_bytes + size])
            whole[12:16] = bytes(4)
            assert crc32c(whole) == crc, f"checksum at {at}"
        yield {"type": kind, "lane": lane, "tid": tid, "seq": seq, "first": first, "last": last, "before": before,
               "records": records, "kind_records": fields[13:21], "payload": payload}
        at += header_bytes + size


class Agent:
    """One process of a trace: `names` by reference, `records` as dicts in lane order, `lanes` → records."""

    def __init__(self, directory, entry, check_crc=True):
        self.entry = entry
        self.folder = own_folder(directory)
        self.check_crc = check_crc
        self.names, self.records, self.lanes = {0: ""}, [], {}
        self._read_names()
        self._read_lanes()

    def _slices(self, name):
        number = 0
        while (path := self.folder / f"{name}.slice_{number}").exists():
            yield path.read_bytes()
            number += 1

    def _read_names(self):
        expected_at, seq = None, 0
        for data in self._slices(self.entry["names_file"]):
            for block in blocks(data, self.check_crc):
                assert block["type"] == NAMES and block["seq"] == seq, block
                seq += 1
                assert expected_at in (None, block["before"]), "names are missing"
                at, start = block["before"], block["before"]
                while at - start < len(block["payload"]):
                    size = NAME.unpack_from(block["payload"], at - start)[0]
                    text = block["payload"][at - start + NAME.size:at - start + NAME.size + size]
                    self.names[at // 8] = text.decode("utf-8", "replace")
                    at += (NAME.size + size + 8) // 8 * 8
                expected_at = at

    def _read_lanes(self):
        seqs = {}
        for data in self._slices(self.entry["lanes_file"]):
            for block in blocks(data, self.check_crc):
                lane = block["lane"]
                assert block["type"] == LANE and block["seq"] == seqs.get(lane, 0), (block["seq"], seqs)
                seqs[lane] = block["seq"] + 1
                self._read_block(block)

    def _read_block(self, block):
        payload, at, tid, count = block["payload"], 0, block["tid"], [0] * 8
        mine = self.lanes.setdefault(block["lane"], [])
        while at < len(payload):
            stamp, kind, more, domain, name, value, category, detail = SLOT.unpack_from(payload, at)
            assert kind in KINDS and stamp != 0, f"kind {kind} at {at}"
            at += SLOT.size
            record = {"stamp": stamp, "kind": KINDS[kind], "domain": domain, "value": value, "category": category,
                      "detail": detail, "tid": tid, "lane": block["lane"], "values": {}}
            if record["kind"] == "thread":
                tid = value
            elif record["kind"] not in ("lost", "tensors"):
                record["name"] = self.names[name]
                count[INDEX[record["kind"]]] += 1
            for left in range(more - 1, -1, -1):
                slot_stamp, slot_kind, slot_more, slot_type, size, key, raw = VALUE.unpack_from(payload, at)
                assert slot_kind == 0x40 and slot_stamp == stamp and slot_more == left, "value slot"
                at += VALUE.size
                if slot_type == 4:
                    before = record["values"].get(self.names[key], "")
                    record["values"][self.names[key]] = before + raw[:size & 0x7F].decode("utf-8", "replace")
                elif slot_type == 7:
                    record["bytes"] = record.get("bytes", b"") + raw[:size]
                elif slot_type == 6:
                    record["begin_ns"], record["end_ns"] = struct.unpack("<QQ", raw)
                else:
                    number = struct.unpack({1: "<Q", 2: "<q", 3: "<d", 5: "<Q"}[slot_type], raw[:8])[0]
                    record["values"][self.names[key]] = self.names[number] if slot_type == 5 else number
            if record["kind"] not in ("thread", "lost", "tensors"):
                mine.append(record)
                self.records.append(record)
        assert list(block["kind_records"]) == count and block["records"] == sum(count), (block, count)

    def of(self, *kinds):
        return [record for record in self.records if record["kind"] in kinds]

    @property
    def lost(self):
        return sum(lane["lost"] + lane["write_lost"] for lane in self.entry["lanes"]) + self.entry["lost_without_lane"]


def agents(directory, check_crc=True):
    """Of one PROF directory; the manifest's counts are those of the files."""
    found = [Agent(directory, entry, check_crc) for entry in manifest(directory)["agents"]]
    if manifest(directory)["state"] == "sealed":
        for agent in found:
            for lane in agent.entry["lanes"]:
                assert lane["records"] == len(agent.lanes.get(lane["lane"], [])), (lane, agent.entry["pid"])
    return found
