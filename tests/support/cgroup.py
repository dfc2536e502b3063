"""Real cgroups of either version: with a CPU quota, with a limit of memory or of threads, frozen."""
import os
import pathlib

import harness

CGROUPS = pathlib.Path("/sys/fs/cgroup")


def remove(folder):
    def removed():
        try:
            folder.rmdir()
            return True
        except OSError:
            return False

    harness.wait_until(removed, "the cgroup to be empty")


def within(folder):
    """What a program is started by to be in there from its first byte on."""
    return ["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "$@"', "sh"]


def for_test(test, make, what):
    """The cgroup that `make` makes, as long as the test lasts; it is skipped, saying so, where none can be made."""
    try:
        made = make()
    except OSError as error:
        test.skipTest(f"no cgroup {what} can be made here: {error}")
    test.addCleanup(made.close)
    return made


class Quota:
    """A cgroup that may use a tenth of a CPU; OSError where none can be made."""

    def __init__(self):
        self.v1 = (CGROUPS / "cpu" / "cpu.cfs_quota_us").exists() or (CGROUPS / "cpu" / "cpu.shares").exists()
        self.folder = (CGROUPS / "cpu" if self.v1 else CGROUPS) / f"profd-test-{os.getpid()}"
        self.folder.mkdir()
        try:
            if self.v1:
                (self.folder / "cpu.cfs_period_us").write_text("20000")
                (self.folder / "cpu.cfs_quota_us").write_text("2000")
            else:
                (self.folder / "cpu.max").write_text("2000 20000")
        except OSError:
            self.close()
            raise

    def take(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def throttled(self):
        stat = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(stat["nr_throttled"])

    @property
    def name(self):
        return f"/{self.folder.name}"

    def close(self):
        remove(self.folder)


def quota_for(test):
    return for_test(test, Quota, "with a CPU quota")


class Memory:
    """A cgroup that may use so many bytes; OSError where none can be made."""

    def __init__(self, limit, name):
        self.v1 = (CGROUPS / "memory" / "memory.limit_in_bytes").exists()
        self.folder = (CGROUPS / "memory" if self.v1 else CGROUPS) / f"profd-{name}-{os.getpid()}"
        self.folder.mkdir()
        try:
            (self.folder / ("memory.limit_in_bytes" if self.v1 else "memory.max")).write_text(str(limit))
        except OSError:
            self.close()
            raise

    @property
    def within(self):
        return within(self.folder)

    def used(self):
        return int((self.folder / ("memory.usage_in_bytes" if self.v1 else "memory.current")).read_text())

    def close(self):
        remove(self.folder)


def memory_for(test, limit, name="test"):
    return for_test(test, lambda: Memory(limit, name), "with a limit of memory")


class Tasks:
    """A cgroup that may have so many threads; OSError where none can be made."""

    def __init__(self, limit, name):
        self.folder = (CGROUPS / "pids" if (CGROUPS / "pids").exists() else CGROUPS) / f"profd-{name}-{os.getpid()}"
        self.folder.mkdir()
        try:
            self.limit(limit)
        except OSError:
            self.close()
            raise

    @property
    def within(self):
        return within(self.folder)

    def limit(self, most):
        (self.folder / "pids.max").write_text(str(most))

    def used(self):
        return int((self.folder / "pids.current").read_text())

    def close(self):
        remove(self.folder)


def tasks_for(test, limit, name="tasks"):
    return for_test(test, lambda: Tasks(limit, name), "with a limit of threads")


class Freezer:
    """A cgroup whose processes can be held; OSError where none can be made."""

    def __init__(self, name):
        self.v1 = (CGROUPS / "freezer").exists()
        self.folder = (CGROUPS / "freezer" if self.v1 else CGROUPS) / f"profd-{name}-{os.getpid()}"
        self.folder.mkdir()
        if not self.v1 and not (self.folder / "cgroup.freeze").exists():
            self.folder.rmdir()
            raise OSError("this kernel freezes no cgroup")

    def take(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def freeze(self):
        self._say("FROZEN", "1")
        harness.wait_until(lambda: self._state() in ("FROZEN", "1"), "the cgroup to be frozen")

    def thaw(self):
        self._say("THAWED", "0")

    def _say(self, v1, v2):
        (self.folder / ("freezer.state" if self.v1 else "cgroup.freeze")).write_text(v1 if self.v1 else v2)

    def _state(self):
        if self.v1:
            return (self.folder / "freezer.state").read_text().strip()
        return dict(line.split() for line in (self.folder / "cgroup.events").read_text().splitlines())["frozen"]

    def close(self):
        self.thaw()
        remove(self.folder)


def freezer_for(test, name="freezer"):
    return for_test(test, lambda: Freezer(name), "that can be frozen")
