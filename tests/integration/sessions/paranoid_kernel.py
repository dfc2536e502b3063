#!/usr/bin/env python3
"""Runs a command as on a kernel that opens perf events for CAP_SYS_ADMIN only: Linux before 5.8, and those of Debian and
Ubuntu as they come (kernel.perf_event_paranoid above 2). Usage: paranoid_kernel.py COMMAND [ARGUMENTS]"""
import errno
import fcntl
import os
import pathlib
import select
import socket
import struct
import sys

import seccomp

CAP_SYS_ADMIN = 21
NOTIF_RECV, NOTIF_SEND, CONTINUE = 0xC0502100, 0xC0182101, 1


def answer(listener):
    """For each call: the kernel's own answer to those who have the right now, else EACCES."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        if any(event & select.POLLHUP for _, event in poll.poll()):
            return  # nobody is left
        asked = bytearray(80)
        try:
            fcntl.ioctl(listener, NOTIF_RECV, asked)
            number, thread = struct.unpack_from("=QI", asked)
            status = pathlib.Path(f"/proc/{thread}/status").read_text()
            effective = int(status.split("CapEff:\t")[1].split()[0], 16)
            allowed = effective >> CAP_SYS_ADMIN & 1
            fcntl.ioctl(listener, NOTIF_SEND, struct.pack("=QqiI", number, 0, 0 if allowed else -errno.EACCES,
                                                          CONTINUE if allowed else 0))
        except OSError:
            pass  # the thread is no more


def main():
    here, there = socket.socketpair()
    if os.fork() == 0:
        os.setsid()
        _, [listener], _, _ = socket.recv_fds(there, 1, 1)
        here.close()
        there.close()
        os._exit(answer(listener))
    listener = seccomp.ask_about(seccomp.SYS_PERF_EVENT_OPEN)
    socket.send_fds(here, [b"!"], [listener])
    os.close(listener)
    here.close()
    there.close()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
