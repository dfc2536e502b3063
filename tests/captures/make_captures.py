#!/usr/bin/env python3
"""Makes the captures of tests/captures that are the simulator's.

    PROFD_BUILD_DIR=build PYTHONPATH=tests/support python3 tests/captures/make_captures.py
"""
import json
import lzma
import pathlib
import random
import tempfile

import harness
import profcap

FOLDER = harness.ROOT / "tests" / "captures"
CHIPS = ["310", "910", "310P", "910B", "310B", "950"]


def put(name, capture):
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "plain"
        capture.write(plain)
        (FOLDER / f"{name}.profcap.xz").write_bytes(lzma.compress(plain.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


def write_calls(capture):
    capture.members["calls.jsonl"] = b"".join(json.dumps(call, separators=(",", ":")).encode() + b"\n" for call in capture.calls)


def damaged(capture):
    """A driver that is not as it should be; what is done is the same each time."""
    chance = random.Random(1)
    reads = {}
    for call in capture.calls:
        channel = call.get("channel")
        if call["call"] == "prof_drv_start" and channel == 3:
            call["code"] = -10
        elif call["call"] == "prof_drv_start" and channel == 50:
            call["code"] = 115
        elif call["call"] == "prof_stop" and channel == 11:
            call["code"] = 0x916
        elif call["call"] == "prof_channel_read" and call["code"] > 0:
            reads.setdefault(channel, []).append(call)
    # What a start that failed has brought is nothing.
    for channel in (3, 50):
        for call in reads.pop(channel, []):
            capture.calls.remove(call)
        capture.members.pop(f"device_0/channel_{channel}.bin", None)
    hbm = bytearray(capture.members["device_0/channel_1.bin"])
    middle = len(hbm) // 2 // 24 * 24
    hbm[middle:middle + 24] = bytes(chance.randrange(256) for _ in range(24))
    capture.members["device_0/channel_1.bin"] = bytes(hbm)
    # Five bytes never came: everything behind them lies otherwise.
    memory = capture.members["device_0/channel_131.bin"]
    capture.members["device_0/channel_131.bin"] = memory[:37] + memory[42:]
    reads[131][0]["code"] -= 5
    # The first read of a channel fails.
    first = capture.calls.index(reads[133][0])
    capture.calls.insert(first, dict(reads[133][0], code=-1))
    write_calls(capture)


def main():
    FOLDER.mkdir(exist_ok=True)
    for chip in CHIPS:
        daemon = harness.Profd(sim=f"devices: 1\nchip: {chip}\nscenario: {{step_ms: 100}}\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "node.profcap"
            result = daemon.ctl("capture", "-o", path, "--for", "0.2s")
            if result.code != harness.OK:
                raise SystemExit(str(result))
            capture = profcap.Capture(path)
        daemon.close()
        put(f"sim-{chip}", capture)
        if chip == "910B":
            damaged(capture)
            put("sim-910B-damaged", capture)


if __name__ == "__main__":
    main()
