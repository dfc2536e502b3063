#!/usr/bin/env python3
"""The recording path where threads pay for their own fence (membarrier refused, as container engines do) and where stamps
come from clock_gettime (the kernel distrusts the TSC): the same tests under either. Usage: emitter_elsewhere_test.py TEST"""
import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
import tempfile
import unittest

COMMAND = [sys.argv.pop(1), "--gtest_brief=1", "--gtest_filter=EmitterTest.*"]
SYS_MEMBARRIER = {"x86_64": 324, "aarch64": 283}[platform.machine()]
CLOCKSOURCES = "/sys/devices/system/clocksource/clocksource0/available_clocksource"

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
RET_ERRNO, RET_ALLOW = 0x00050000, 0x7FFF0000


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def refuse_membarrier():
    program = b"".join(struct.pack("=HBBI", *instruction) for instruction in (
        (LOAD_NUMBER, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, SYS_MEMBARRIER),
        (RETURN, 0, 0, RET_ERRNO | errno.EPERM),
        (RETURN, 0, 0, RET_ALLOW)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Filter(4, program)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    if libc.syscall(SYS_MEMBARRIER, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
        raise OSError("membarrier is not refused")


class EmitterElsewhere(unittest.TestCase):
    def passes(self, command, **options):
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("[  PASSED  ]", run.stdout)

    def test_without_membarrier(self):
        self.passes(COMMAND, preexec_fn=refuse_membarrier)

    @unittest.skipUnless(platform.machine() == "x86_64" and os.path.exists(CLOCKSOURCES), "no TSC to distrust")
    @unittest.skipUnless(os.geteuid() == 0, "mounting asks for root")
    def test_without_a_counter(self):
        with tempfile.NamedTemporaryFile("w", prefix="profd-clocksources-") as instead:
            instead.write("hpet acpi_pm\n")
            instead.flush()
            script = f'mount --bind {instead.name} {CLOCKSOURCES} && grep -q "^hpet acpi_pm$" {CLOCKSOURCES} && exec "$@"'
            self.passes(["unshare", "-m", "sh", "-c", script, "sh", *COMMAND])


if __name__ == "__main__":
    unittest.main()
