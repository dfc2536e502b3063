#!/usr/bin/env python3
"""A program that drives a device that never was, and stops now and then for real: by a lock, a sleep, or because its cgroup
lets it no more. Naps until there is a line on stdin; then it says, as JSON, what it did by its own clock.

  real_rank.py FAULT STEPS     FAULT: none, lock, held (a lock, always by one thread), sleep, stop (a signal, within a call that
                               launches), late (a signal, while it waits for its device), dump (of 10 ms, in every step)
"""
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time

OPERATORS, KERNEL_NS, LATENCY_NS, STALL_S = 100, 60_000, 6_000, 0.08
EVERY = 4  # steps
LOCK = threading.Lock()


def spin(ns):
    end = time.perf_counter_ns() + ns
    while time.perf_counter_ns() < end:
        pass


def hold_the_lock(has_it):
    with LOCK:
        has_it.set()
        time.sleep(STALL_S)  # the fault itself


def planted_lock():
    with LOCK:
        pass


ASKED, HAS_IT = threading.Semaphore(0), threading.Semaphore(0)


def hold_again():
    while True:
        ASKED.acquire()
        with LOCK:
            HAS_IT.release()
            time.sleep(STALL_S)  # the fault itself


def planted_held():
    with LOCK:
        pass


def planted_sleep():
    time.sleep(STALL_S)  # the fault itself


class Stopper:
    """Another process, which stops this one for a while and lets it go on."""

    def __init__(self):
        program = ("import os, sys, time\n"
                   "print('ready', flush=True)\n"
                   "for line in sys.stdin:\n"
                   f"  os.kill(os.getppid(), {int(signal.SIGSTOP)}); time.sleep({STALL_S}); os.kill(os.getppid(), {int(signal.SIGCONT)})\n")
        self.process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.process.stdout.readline()

    def ask(self):
        self.process.stdin.write("now\n")
        self.process.stdin.flush()

    def stop(self):
        asked = before = time.perf_counter_ns()
        self.ask()
        while before - asked < 5e9:  # until it has been stopped: nothing else here takes so long
            now = time.perf_counter_ns()
            if now - before > STALL_S * 0.9e9:
                return
            before = now


def planted_dump(rows):
    end = time.perf_counter_ns() + 10_000_000
    while time.perf_counter_ns() < end:
        json.dumps(rows)


def planted_nap():
    time.sleep(0.01)  # what is recorded of it


def stop(fault, step):
    if fault in ("none", "stop", "late", "dump") or step % EVERY != 1:
        return None
    if fault == "lock":
        has_it = threading.Event()
        threading.Thread(target=hold_the_lock, args=(has_it,)).start()
        has_it.wait()
    if fault == "held":
        ASKED.release()
        HAS_IT.acquire()
    begin = time.time_ns()
    {"lock": planted_lock, "held": planted_held, "sleep": planted_sleep}[fault]()
    return begin, time.time_ns()


def synchronise(device):
    while (left := device - time.time_ns()) > 0:
        time.sleep(left / 1e9)  # as a program waits for its device


def main():
    try:
        os.nice(-20)  # how busy the machine is otherwise is not what is looked at
    except PermissionError:
        pass
    fault, steps = sys.argv[1], int(sys.argv[2])
    print("ready", flush=True)
    # It waits as it will: whoever records it comes to know its code meanwhile.
    while not select.select([sys.stdin], [], [], 0)[0]:
        planted_nap()
    threading.Thread(target=hold_again, daemon=True).start()
    told = {"steps": [], "calls": [], "kernels": [], "stops": []}
    device = 0
    stopper = Stopper() if fault in ("stop", "late") else None
    rows = [{"loss": number / 7} for number in range(100)]
    for step in range(steps):
        begin = time.time_ns()
        for operator in range(OPERATORS):
            if operator == OPERATORS // 2 and (stopped := stop(fault, step)):
                told["stops"].append(stopped)
            spin(15_000)
            if operator == OPERATORS // 2 and fault == "dump":
                called = time.time_ns()
                synchronise(device)
                done = time.time_ns()
                told["calls"].append(("aclrtSynchronizeStream", called, done, 2_000_000 + step))
                planted_dump(rows)
                told["stops"].append((done, time.time_ns()))
            called = time.time_ns()
            spin(2_000)
            if fault == "stop" and operator == OPERATORS // 2 and step % EVERY == 1:
                stopper.stop()
                told["stops"].append((called, time.time_ns()))
            returned = time.time_ns()
            start = max(device + 1_000, returned + LATENCY_NS)
            device = start + KERNEL_NS
            told["calls"].append(("launch", called, returned, len(told["kernels"]) + 1))
            told["kernels"].append((start, device, operator))
        called = time.time_ns()
        if fault == "late" and step % EVERY == 1:
            stopper.ask()
        synchronise(device)
        if fault == "late" and step % EVERY == 1:
            told["stops"].append((device, time.time_ns()))
        told["calls"].append(("aclrtSynchronizeStream", called, time.time_ns(), 1_000_000 + step))
        told["steps"].append((step, begin, time.time_ns()))
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
