"""What a kernel or a container refuses, for the calling thread and whoever it starts."""
import ctypes
import errno
import os
import platform
import struct

_AT = ("x86_64", "aarch64").index(platform.machine())
SYS_MEMBARRIER, SYS_PERF_EVENT_OPEN, _SYS_SECCOMP = (numbers[_AT] for numbers in ((324, 283), (298, 241), (317, 277)))
_PR_SET_NO_NEW_PRIVS, _SET_MODE_FILTER, _NEW_LISTENER = 38, 1, 8
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_RET_ERRNO, _RET_ASK, _RET_ALLOW = 0x00050000, 0x7FC00000, 0x7FFF0000
libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def _install(number, action, flags):
    instructions = b"".join(struct.pack("=HBBI", *instruction) for instruction in (
        (_LOAD_NUMBER, 0, 0, 0),
        (_JUMP_IF_EQUAL, 0, 1, number),
        (_RETURN, 0, 0, action),
        (_RETURN, 0, 0, _RET_ALLOW)))
    result = libc.syscall(_SYS_SECCOMP, _SET_MODE_FILTER, flags, ctypes.byref(_Program(4, instructions)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "seccomp: " + os.strerror(ctypes.get_errno()))
    return result


def refuse(number):
    """The system call fails with EPERM from now on."""
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _install(number, _RET_ERRNO | errno.EPERM, 0)


def ask_about(number):
    """A descriptor that tells of each such call, which waits for the answer. Takes CAP_SYS_ADMIN."""
    return _install(number, _RET_ASK, _NEW_LISTENER)
