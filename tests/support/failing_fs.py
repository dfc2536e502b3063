"""A file system in front of a folder, whose calls fail or wait as a file says (tests/fault/failing_fs.cc)."""
import os
import subprocess

import harness

PROGRAM = harness.BUILD / "tests" / "failing_fs"


def mount(test, place, prepare=None):
    """As long as the test lasts, below `place`: where it is, and the file that says what it does. `prepare` gets the folder
    behind it before it is there. The test is skipped, saying so, where there is no FUSE."""
    if not PROGRAM.exists() or not os.path.exists("/dev/fuse"):
        test.skipTest("NOT RUN: no FUSE here")
    source, where, fault = place / "source", place / "mnt", place / "fault"
    source.mkdir()
    where.mkdir()
    fault.write_text("")
    if prepare is not None:
        prepare(source)
    server = subprocess.Popen([PROGRAM, fault, source, where], stdin=subprocess.DEVNULL)

    def end():
        fault.write_text("")
        subprocess.run(["umount", "-l", where], check=False, stderr=subprocess.DEVNULL)
        server.kill()
        server.wait()

    test.addCleanup(end)
    harness.wait_until(lambda: os.path.ismount(where), "the file system to be mounted")
    return where, fault
