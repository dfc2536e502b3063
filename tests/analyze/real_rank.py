#!/usr/bin/env python3
"""A program that drives a device that never was, and stops now and then for real: by a lock, a sleep, or because its cgroup
lets it no more. Naps until there is a line on stdin; then it says, as JSON, what it did by its own clock.

  real_rank.py FAULT STEPS     FAULT: none, lock, held (a lock, always by one thread), sleep
"""
import json
import os
import select
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


def planted_nap():
    time.sleep(0.01)  # what is recorded of it


def stop(fault, step):
    if fault == "none" or step % EVERY != 1:
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
    for step in range(steps):
        begin = time.time_ns()
        for operator in range(OPERATORS):
            if operator == OPERATORS // 2 and (stopped := stop(fault, step)):
                told["stops"].append(stopped)
            spin(15_000)
            called = time.time_ns()
            spin(2_000)
            returned = time.time_ns()
            start = max(device + 1_000, returned + LATENCY_NS)
            device = start + KERNEL_NS
            told["calls"].append(("launch", called, returned, len(told["kernels"]) + 1))
            told["kernels"].append((start, device, operator))
        called = time.time_ns()
        synchronise(device)
        told["calls"].append(("aclrtSynchronizeStream", called, time.time_ns(), 1_000_000 + step))
        told["steps"].append((step, begin, time.time_ns()))
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
