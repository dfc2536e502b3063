#!/usr/bin/env python3
"""A small training job to look at: it computes, touches memory, writes files, and waits for a slow data loader in every step.

    workload.py [SECONDS [STEP_MS]]

The data loader is the planted problem: it reads no batch in advance, so the program waits for it in every step.
Under `profctl run` the program tells its steps and ranges, and where there is a CANN toolkit (ASCEND_HOME_PATH) it loads
that as a training framework does. The simulated devices train by a clock of their own (docs/simulator.md, "The load"); a
step here keeps to it, so that the program waits for data while the devices do. STEP_MS is the simulator's `step_ms`."""
import contextlib
import ctypes
import os
import queue
import sys
import tempfile
import threading
import time

try:
    from profd import range as span, step
except ImportError:  # started without the agent

    def span(_):
        return contextlib.nullcontext()

    step = span

# Parts of a step: until when the devices wait for their input, and when the last kernel is launched.
INPUT, LAUNCHED = 0.1, 0.98


def load_cann():
    library = os.path.join(os.environ.get("ASCEND_HOME_PATH", ""), "lib64", "libprofapi.so")
    if os.path.exists(library):
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


class Steps:
    """When the devices' steps begin: `mix(seed)` of the simulator's page, for its seed of 1."""

    def __init__(self, length_s):
        self.length_ns = int(length_s * 1e9)
        word = (1 + 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        self.shift_ns = (word ^ word >> 31) % self.length_ns

    def past(self):
        """The part of a step that is over."""
        return (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + self.shift_ns) % self.length_ns / self.length_ns

    def until(self, part):
        """Seconds until this part of a step is over; who comes a little late waits no further step."""
        left = part - self.past()
        return max(0, left if left > -0.5 else left + 1) * self.length_ns / 1e9


class DataLoader:
    """Reads in a thread of its own, as a framework's does, but a batch only when it is asked for one."""

    def __init__(self, steps):
        self.steps, self.wanted, self.batches = steps, queue.Queue(), queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while self.wanted.get():
            batch = bytearray(os.urandom(1 << 20))
            time.sleep(self.steps.until(INPUT))  # the storage is slow
            self.batches.put(batch)

    def next_batch(self):
        self.wanted.put(True)
        return self.batches.get()


def train(seconds):
    """The host is busy as long as it launches."""
    end, total = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for i in range(1000):
            total += i * i
    return total


def main():
    seconds, step_ms = (float(word) for word in (sys.argv[1:] + ["10", "50"][len(sys.argv) - 1:]))
    end = time.monotonic() + seconds
    load_cann()
    steps, held, number = Steps(step_ms / 1000), [], 0
    loader = DataLoader(steps)
    with tempfile.TemporaryFile() as scratch:
        while time.monotonic() < end:
            with step(number):
                held.append(loader.next_batch())
                with span("train"):
                    train(steps.until(LAUNCHED))
                with span("checkpoint"):
                    scratch.seek(0)
                    scratch.write(held[-1])
                    scratch.flush()
                if len(held) > 32:
                    held.clear()
            number += 1


if __name__ == "__main__":
    main()
