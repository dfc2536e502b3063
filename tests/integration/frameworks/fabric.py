"""Clients of the dynolog fabric as they were recorded (tests/unit/fabric/recorded.h): kineto's, and msMonitor's as torch_npu and
MindSpore have it. Run as a program it is a job: `fabric.py kineto|msmonitor|mindspore [seconds between polls]`; orders come on stdin,
what happens is said on stdout, a line of JSON each."""
import json
import os
import select
import socket
import struct
import sys
import time
import uuid

ABSTRACT = b"\0dynolog\0"  # the second zero is part of the name


def datagram(kind, body):
    return struct.pack("<Q32s", len(body), kind) + body


def poll(kinds, pids, job=0):
    return datagram(b"req", struct.pack(f"<iiq{len(pids)}i", kinds, len(pids), job, *pids))


def registration(rank, pid, job=0):
    return datagram(b"ctxt", struct.pack("<iiq", rank, pid, job))


def report(status, step, first, last, pid, kind=b"npuTraceStatus"):
    return datagram(kind, struct.pack("<iiiii4xq", status, step, first, last, pid, 0))


class Client:
    """One socket of a client's, in its process."""

    def __init__(self, folder=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"dynoconfigclient{uuid.uuid4()}"
        self.server = f"{folder}/dynolog" if folder else ABSTRACT
        self.socket.bind(f"{folder}/{name}" if folder else b"\0" + name.encode() + b"\0")

    def say(self, bytes_):
        self.socket.sendto(bytes_, self.server)

    def hear(self, patience):
        """The body of the next answer, None where there is none in time. An answer from elsewhere ends the process, as kineto."""
        if not select.select([self.socket], [], [], patience)[0]:
            return None
        got, sender = self.socket.recvfrom(65536)
        if sender != self.server:
            os.abort()
        size, _ = struct.unpack_from("<Q32s", got)
        if size != len(got) - 40:
            os.abort()
        return got[40:]


def settings(text):
    return dict(line.strip().split("=", 1) for line in text.decode().splitlines() if "=" in line)


def say(**what):
    print(json.dumps(what), flush=True)


def trace_path(path, pid):
    """Where kineto writes: its pid before the first .pt.trace.json, below /tmp alone."""
    assert path.startswith("/tmp/"), path
    return path.replace(".pt.trace.json", f"_{pid}.pt.trace.json", 1)


def run_kineto(period):
    client, pid = Client(os.environ.get("KINETO_IPC_SOCKET_DIR")), os.getpid()
    while True:
        client.say(poll(2, [pid, os.getppid()]))
        config = client.hear(0.09)  # 9 x 10 ms
        if config:
            want = settings(config)
            say(config=want)
            time.sleep(int(want.get("ACTIVITIES_DURATION_MSECS", 100)) / 1000)  # it records
            with open(trace_path(want["ACTIVITIES_LOG_FILE"], pid), "w", encoding="utf-8") as trace:
                json.dump({"traceEvents": [], "trace_id": want["REQUEST_TRACE_ID"]}, trace)
            say(wrote=trace.name)
        else:
            say(empty=config is not None)
        wait(period)


def run_monitor(period):
    client, pid = Client(), os.getpid()
    client.say(registration(5, pid))
    client.say(report(0, -1, -1, -1, pid))
    client.say(report(0, -1, -1, -1, pid, b"npuMonitorStatus"))
    while True:
        client.say(poll(3, [pid, os.getppid()]))
        config = client.hear(0.05)  # 5 x 10 ms
        if config and len(config) != 4:
            want = settings(config)
            say(config=want)
            steps = int(want["ACTIVITIES_ITERATIONS"])
            client.say(report(2, 9, 10, 10 + steps, pid))
            client.say(report(1, 10, 10, 10 + steps, pid))
            os.makedirs(want["ACTIVITIES_LOG_FILE"], exist_ok=True)
            client.say(report(0, 10 + steps, -1, -1, pid))
        else:
            say(empty=config is not None)
        wait(period)


def wait(period):
    """Until the next poll, or until it is told to end."""
    if select.select([sys.stdin], [], [], period)[0] and not sys.stdin.readline():
        sys.exit(0)


if __name__ == "__main__":
    {"kineto": run_kineto, "msmonitor": run_monitor, "mindspore": run_monitor}[sys.argv[1]](float(sys.argv[2]))
