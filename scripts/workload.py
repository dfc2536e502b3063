#!/usr/bin/env python3
"""A small real workload to sample: computes, touches memory and writes files for the given number of seconds."""
import os
import sys
import tempfile
import threading
import time


def compute(end):
    total = 0
    while time.monotonic() < end:
        for i in range(20000):
            total += i * i
        time.sleep(0.005)
    return total


def main():
    end = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 10)
    threading.Thread(target=compute, args=(end,), daemon=True).start()
    held = []
    with tempfile.TemporaryFile() as scratch:
        while time.monotonic() < end:
            held.append(bytearray(os.urandom(1 << 20)))
            if len(held) > 32:
                held.clear()
            scratch.seek(0)
            scratch.write(held[-1] if held else b"")
            scratch.flush()
            os.fsync(scratch.fileno())
            time.sleep(0.05)


if __name__ == "__main__":
    main()
