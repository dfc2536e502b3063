#!/usr/bin/env python3
"""The recording path where threads pay for their own fence (membarrier refused, as container engines do) and where stamps
come from clock_gettime (the kernel distrusts the TSC): the same tests under either. Usage: emitter_elsewhere_test.py TEST"""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import seccomp  # noqa: E402

COMMAND = [sys.argv.pop(1), "--gtest_brief=1", "--gtest_filter=EmitterTest.*"]
CLOCKSOURCES = "/sys/devices/system/clocksource/clocksource0/available_clocksource"


def without_membarrier():
    seccomp.refuse(seccomp.SYS_MEMBARRIER)
    if seccomp.libc.syscall(seccomp.SYS_MEMBARRIER, 0, 0, 0) != -1:
        raise OSError("membarrier is not refused")


class EmitterElsewhere(unittest.TestCase):
    def passes(self, command, **options):
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("[  PASSED  ]", run.stdout)

    def test_without_membarrier(self):
        self.passes(COMMAND, preexec_fn=without_membarrier)

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
