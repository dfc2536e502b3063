"""Reads Perfetto traces as far as the tests need it; the wire format by hand, independent of the writer."""

import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a varint without an end")


def fields(data):
    """(number, value) of a message: int for varints, 8 bytes for fixed64, bytes for what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = bytes(data[at:at + 8]), at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field is cut off")
        else:
            raise ValueError(f"wire type {wire}")
        yield number, value


def message(data):
    """As a dict of lists."""
    result = {}
    for number, value in fields(data):
        result.setdefault(number, []).append(value)
    return result


def text(found, number, default=None):
    return bytes(found[number][0]).decode() if number in found else default


def double(value):
    return struct.unpack("<d", value)[0]


def fixed64(value):
    return struct.unpack("<Q", value)[0]


class Track:
    def __init__(self, found):
        self.uuid = found[1][0]
        self.parent = found.get(5, [0])[0]
        self.name = text(found, 2)
        self.counter = 8 in found
        self.unit = text(message(found[8][0]), 6) if self.counter else None
        self.process = message(found[3][0]) if 3 in found else None
        self.thread = message(found[4][0]) if 4 in found else None

    def title(self):
        if self.process:
            return f"process {self.process[1][0]}"
        if self.thread:
            return f"thread {self.thread[2][0]}"
        return self.name


class Trace:
    """`counters`: {path of tracks: [(ns, value)]}; `slices`: [{track, begin, end, name, args, flows, ends}];
    `instants` alike. Slices are put together as Perfetto's own importer does it: by stamps, then by place."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = memoryview(file.read())
        self.tracks, self.counters, self.slices, self.instants, self.clocks = {}, {}, [], [], {}
        interns, events = {2: {}, 3: {}, 29: {}}, []  # names of events, names and texts of their arguments
        for number, packet in fields(data):
            assert number == 1, number
            packet = message(packet)
            for interned in packet.get(12, []):
                for kind, entries in message(interned).items():
                    for entry in map(message, entries):
                        assert entry[1][0] not in interns[kind], "a number is given twice"
                        interns[kind][entry[1][0]] = text(entry, 2, "")
            for found in packet.get(60, []):
                track = Track(message(found))
                assert track.uuid not in self.tracks, "a track is described twice"
                assert track.parent == 0 or track.parent in self.tracks, "a track without a parent"
                self.tracks[track.uuid] = track
            for clocks in packet.get(6, []):
                for clock in message(clocks)[1]:
                    clock = message(clock)
                    self.clocks[clock[1][0]] = clock[2][0]
            for event in packet.get(11, []):
                event = message(event)
                if 10 in event:
                    assert packet[13] == [2], "a packet with interned names that doesn't say so"
                    event["name"] = interns[2][event[10][0]]
                event["args"] = {}
                for annotation in map(message, event.get(4, [])):
                    event["args"][interns[3][annotation[1][0]]] = (
                        annotation[3][0] if 3 in annotation else annotation[4][0] if 4 in annotation
                        else double(annotation[5][0]) if 5 in annotation else interns[29][annotation[17][0]])
                events.append((packet[8][0], event))
        self._read(sorted(events, key=lambda pair: pair[0]))

    def path(self, uuid):
        track = self.tracks[uuid]
        return (self.path(track.parent) if track.parent else ()) + (track.title(),)

    def _read(self, events):
        open_slices = {}
        for stamp, event in events:
            kind, uuid = event[9][0], event[11][0]
            if kind == 4:
                assert self.tracks[uuid].counter
                self.counters.setdefault(self.path(uuid), []).append((stamp, double(event[44][0])))
            elif kind == 2:
                open_slices[uuid].pop()["end"] = stamp
            else:
                one = {"track": uuid, "begin": stamp, "args": event["args"],
                       "name": event["name"] if "name" in event else text(event, 23),
                       "flows": [fixed64(flow) for flow in event.get(47, [])],
                       "ends": [fixed64(flow) for flow in event.get(48, [])]}
                if kind == 3:
                    self.instants.append(one)
                else:
                    open_slices.setdefault(uuid, []).append(one)
                    self.slices.append(one)
        assert not any(open_slices.values()), "slices without an end"
