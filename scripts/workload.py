#!/usr/bin/env python3
"""A small real workload to sample: computes, touches memory and writes files for the given number of seconds. Under
`profctl run` it says what it does, step by step, and where there is a CANN toolkit (ASCEND_HOME_PATH) it loads that as a
training framework does."""
import contextlib
import ctypes
import os
import sys
import tempfile
import threading
import time

try:
    from profd import range as span, steps
except ImportError:  # started without the agent

    def steps(iterable):
        return iterable

    def span(_):
        return contextlib.nullcontext()


def load_cann():
    library = os.path.join(os.environ.get("ASCEND_HOME_PATH", ""), "lib64", "libprofapi.so")
    if os.path.exists(library):
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


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
    load_cann()
    held = []
    with tempfile.TemporaryFile() as scratch:
        for _ in steps(iter(lambda: time.monotonic() < end, False)):
            with span("load"):
                held.append(bytearray(os.urandom(1 << 20)))
                if len(held) > 32:
                    held.clear()
            with span("checkpoint"):
                scratch.seek(0)
                scratch.write(held[-1] if held else b"")
                scratch.flush()
                os.fsync(scratch.fileno())
            time.sleep(0.05)


if __name__ == "__main__":
    main()
