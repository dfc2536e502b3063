#!/usr/bin/env python3
"""Processes whose memory does not answer: whoever looks at them through profd is told so in time, everybody else notices
nothing, and nothing of it is left of profd when it goes."""
import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import failing_fs
import harness
import raw_client as raw
from quiet import Quiet

USER = harness.nobody()
HONEST = 1234
CALLS = 30
PROGRAM = pathlib.Path(__file__).with_name("hanging_memory.py")


@harness.needs_root
class HangingMemoryTest(harness.ProfdTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.profd(env=harness.WITHOUT_LEAKS)  # one that asks for the program of a client that hangs hangs, too
        os.chmod(self.daemon.socket, 0o666)
        self.honest = self.workload(command=["/usr/bin/python3", "-c", "while True: pass"], user=HONEST, group=HONEST,
                                    extra_groups=[])
        result = self.daemon.ctl("start", "--pid", self.honest.pid, "--collect", "host-cpu-profile,host-pid-cpu", "--json",
                                 user=HONEST)
        if result.code != harness.OK:
            self.skipTest(f"NOT RUN: no CPU profiles here: {result}")
        self.session = result.json["session"]
        self.quiet = Quiet(self, "--pid", self.honest.pid, "--collect", "host-cpu-profile,host-pid-cpu", user=HONEST)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="profd-hang-"))
        os.chmod(self.place, 0o755)
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def target(self, *arguments, **options):
        process = subprocess.Popen([sys.executable, PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **options)
        self.ends_with_the_test(process)
        return process

    def ready(self, process, word="ready"):
        if process.stdout.readline() != word + "\n":
            self.skipTest("NOT RUN: this kernel has no such memory")

    def mounted(self, *command):
        subprocess.run([*map(str, command), self.place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.place], check=False)

    def records(self):
        return self.daemon.status(self.session)["kinds"][0]["records"]

    def stand_ins(self):
        """Processes that profd has started, but for the one that they are forked from."""
        (nursery,) = children(self.daemon.process.pid)
        return children(nursery)

    def honest_goes_on(self):
        before = self.records()
        harness.wait_until(lambda: self.records() > before + 10, "samples of the other user's")

    def honest_has_lost_nothing(self):
        ended = self.daemon.end(self.session, user=HONEST)
        self.assertEqual(ended["state"], "sealed")
        kinds = {kind["kind"]: kind for kind in ended["kinds"]}
        # A sample's moment may pass, and the ring of a third of a second run over, where there are too few processors, for a profd
        # beside that nobody attacks, too; nobody waits for another's process, which would be for four seconds and more. A
        # sanitizer's build is that slow.
        if not harness.IS_SANITIZED:
            self.assertLess(kinds["host-pid-cpu"]["lost"], 20 + 2 * self.quiet.lost("host-pid-cpu"), kinds)
            self.assertLess(self.longest_gap(ended["directory"]), 3 + self.longest_gap(self.quiet.directory()), kinds)
        self.assertEqual(ended["degraded"], [])

    def longest_gap(self, directory):
        """Seconds between two samples of the honest one's, who always works."""
        rows = [line.split() for path in pathlib.Path(directory).rglob("cpu-profile.data.slice_*[0-9]")
                for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        stamps = sorted(int(row[0]) for row in rows if int(row[1]) == self.honest.pid)
        self.assertGreater(len(stamps), 10)
        return max(later - stamp for stamp, later in itertools.pairwise(stamps)) / 1e9

    def threads(self):
        """Profd's own. gRPC keeps those that it once needed, two for each processor at most."""
        tasks = pathlib.Path(f"/proc/{self.daemon.process.pid}/task")
        names = []
        for task in os.listdir(tasks):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                names.append((tasks / task / "comm").read_text())
        return sum(not name.startswith(("default-execut", "grpc_global")) for name in names)

    def attack(self, target, kind="host-cpu-profile", release=lambda: None):
        """Of it this kind ends early, and says so, or is refused; nothing of it stays, once it is released."""
        stand_ins, threads = len(self.stand_ins()), self.threads()
        sessions = []
        for _ in range(3):
            started = self.daemon.begin("--pid", target.pid, "--collect", f"{kind},host-mem", user=USER)
            sessions.append(started["session"])
            self.honest_goes_on()
        kinds = []
        for session in sessions:
            ended = self.daemon.end(session, user=USER)
            self.assertEqual(ended["state"], "sealed")
            kinds.append(self.kind(ended, kind, f"pid:{target.pid}"))
        release()
        harness.wait_until(lambda: len(self.stand_ins()) <= stand_ins, "those that hang to be killed")
        harness.wait_until(lambda: self.threads() <= threads, "the threads")
        return kinds

    def killed_at_once(self):
        """profd, with all that it has started, however that hangs."""
        left = children(self.daemon.process.pid) + self.stand_ins()
        self.daemon.process.send_signal(signal.SIGKILL)
        self.daemon.process.wait(harness.PATIENCE_S)
        harness.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in left), "its processes to go, too")

    def held_lock(self):
        """A target whose lock is held, and whoever asks for its memory waits."""

        def prepare(source):
            (source / "file").write_text("something")
            os.chmod(source / "file", 0o644)

        where, fault = failing_fs.mount(self, self.place, prepare)
        target = self.target("lock", USER, where / "file")
        self.ready(target, "mapped")
        self.addCleanup(fault.write_text, "")  # or it cannot be killed
        fault.write_text("stall\n")
        target.stdin.write("go\n")
        target.stdin.flush()
        self.ready(target)
        states = lambda: [pathlib.Path(f"/proc/{target.pid}/task/{task}/stat").read_text().rsplit(")", 1)[1].split()[0]  # noqa: E731
                          for task in os.listdir(f"/proc/{target.pid}/task")]
        harness.wait_until(lambda: states().count("D") == 2, "the lock to be held")
        return target

    def test_code_on_a_page_that_nobody_brings(self):
        self.mounted("mount", "-t", "tmpfs", "profd-test")
        target = self.target("code", USER, self.place / "code")
        self.ready(target)
        self.attack(target)
        self.honest_has_lost_nothing()
        self.killed_at_once()

    def test_many_calls_that_look_at_it(self):
        """Those of one user take turns, instead of a thread each: here of root, whom no other limit concerns."""
        target = self.held_lock()
        threads = self.threads()
        door, connection = raw.Door(self.daemon.socket), raw.Connection(self.daemon.socket)
        body = b"\x08" + raw.varint(target.pid)
        calls = [connection.begin("/profd.v1.Control/Stacks", body, door.ticket) for _ in range(CALLS)]
        most = 0
        while any(call.code is None for call in calls) and connection.read():
            most = max(most, self.threads() - threads)
        self.assertEqual([call.code for call in calls].count(None), 0)
        self.assertLess(most, CALLS / 2)
        connection.close()
        door.close()
        harness.wait_until(lambda: self.threads() <= threads, "the threads")
        self.honest_goes_on()

    def test_a_lock_that_is_never_given_back(self):
        for kind in self.attack(self.held_lock()):
            if kind["verdict"] == "failed":
                self.assertIn(f"the memory of user {USER}'s processes", kind["reason"])
            else:
                self.assertGreater(kind["lost"], 0)  # that something is missing is said
        self.honest_has_lost_nothing()
        self.assertEqual(self.daemon.stop(), 0)

    def hangs(self, session, what, which="reading its memory has not returned"):
        """The line of `status` that says so, which its kind says, too."""
        said = f"{what} hangs: {which} since "
        found = harness.wait_until(lambda: [each for each in self.daemon.status(session)["degraded"] if said in each], said)
        self.assertRegex(found[0], r"since \d\d:\d\d:\d\d UTC")
        return found[0]

    def test_who_hangs_is_named(self):
        target = self.held_lock()
        session = self.daemon.begin("--pid", target.pid, "--collect", "host-cpu-profile,host-mem", user=USER)["session"]
        line = self.hangs(session, f"host-cpu-profile of pid {target.pid}")
        kind = self.kind(self.daemon.status(session), "host-cpu-profile", f"pid:{target.pid}")
        self.assertTrue(kind["reason"].startswith(line), kind)
        self.assertGreater(kind["lost"], 0)
        self.assertEqual(self.daemon.end(session, user=USER)["state"], "sealed")
        self.honest_has_lost_nothing()

    def test_one_user_of_several_hangs(self):
        """Of a session of root's over processes of two users the other one's part goes on."""
        target = self.held_lock()
        session = self.daemon.begin("--pid", f"{target.pid},{self.honest.pid}", "--collect", "host-cpu-profile")["session"]
        self.hangs(session, f"host-cpu-profile of pid {target.pid}")
        records = lambda: self.daemon.status(session)["kinds"][0]["records"]  # noqa: E731
        before = records()
        harness.wait_until(lambda: records() > before + 100, "samples of the one that answers")
        ended = self.daemon.end(session)
        self.assertEqual(ended["state"], "sealed")
        rows = [line.split() for path in pathlib.Path(ended["directory"]).rglob("cpu-profile.data.slice_*[0-9]")
                for line in path.read_text().splitlines()]
        of_honest = [int(time) for time, pid, *_ in rows if int(pid) == self.honest.pid]
        self.assertGreater(len(of_honest), before + 100)
        with tempfile.TemporaryDirectory() as out:
            result = self.daemon.ctl("export", ended["directory"], "--format", "collapsed", "--out", out)
            self.assertIn(result.code, (harness.OK, harness.PARTIAL_LOSS), result)
        self.honest_has_lost_nothing()

    def test_breakpoints_in_a_library_that_does_not_answer(self):
        """To set them the kernel looks for the file, on a mount that answers nothing any more."""
        within = harness.tracefs()
        if within is None:
            self.skipTest("the kernel has no tracefs")
        self.daemon = self.profd(within=within, config="auth:\n  breakpoints: everybody\n")
        os.chmod(self.daemon.socket, 0o666)
        self.session = self.daemon.begin("--pid", self.honest.pid, "--collect", "host-cpu-profile,host-pid-cpu",
                                         user=HONEST)["session"]
        library = next(line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line)
        where, fault = failing_fs.mount(self, self.place, lambda source: shutil.copy(library, source / "libc.so.6"))
        target = self.workload(command=["/usr/bin/python3", "-c", "while True: pass"], user=USER, group=USER, extra_groups=[],
                               env={**os.environ, "LD_LIBRARY_PATH": str(where)})
        maps = pathlib.Path(f"/proc/{target.pid}/maps")
        harness.wait_until(lambda: f"{where}/libc.so.6" in maps.read_text(), "its own library")
        time.sleep(0.5)  # the program begins to compute, which nothing tells
        self.addCleanup(fault.write_text, "")
        fault.write_text("stall\n")

        def release():
            """What the kernel has asked the server of a mount is waited for, killed or not. Nobody else waits for it."""
            session = self.daemon.begin("--pid", self.honest.pid, "--collect", "host-pthread", user=HONEST)
            kind = self.kind(session, "host-pthread", f"pid:{self.honest.pid}")
            self.assertEqual(kind["verdict"], "started", kind)
            ended = self.daemon.end(session["session"], user=HONEST)
            self.assertEqual((ended["state"], ended["degraded"]), ("sealed", []))
            fault.write_text("")

        for kind in self.attack(target, "host-pthread", release):
            self.assertRegex(kind["reason"], f"pid {target.pid} hangs|the memory of user {USER}'s processes|somebody else answers for")
        self.honest_has_lost_nothing()
        self.assertEqual(self.daemon.stop(), 0)

    def stuck_in_execution(self, *door, before=lambda parent: None):
        """A process that hangs while it executes, and its parent, whose memory is locked; `before` it is born."""
        where, fault = failing_fs.mount(self, self.place, lambda source: (source / "file").write_text("something"))
        program = harness.PLAIN_BUILD / "tests" / "hanging_exec"
        parent = subprocess.Popen([program, str(USER), where / "file", *door], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        self.ends_with_the_test(parent)
        self.ready(parent, "mapped")
        before(parent.pid)
        fault.write_text("stall\n")
        parent.stdin.write("go\n")
        parent.stdin.flush()
        word, pid = parent.stdout.readline().split()
        self.assertEqual(word, "ready")

        def release():
            fault.write_text("")
            os.kill(int(pid), signal.SIGKILL)

        self.addCleanup(release)
        status = pathlib.Path(f"/proc/{pid}/status")
        harness.wait_until(lambda: "disk sleep" in status.read_text(), "it to hang")
        self.release = lambda: fault.write_text("")
        return int(pid)

    def test_a_client_that_hangs_while_it_executes(self):
        """Whoever asks the kernel for its program, its start or its I/O waits for it: not profd, in front of everybody."""
        stuck = self.stuck_in_execution(str(self.daemon.socket) + ".door")
        for user in (HONEST, USER, None):
            self.assertEqual(self.daemon.ctl("list", user=user).code, harness.OK)
        self.assertEqual(self.daemon.ctl("targets", user=HONEST).code, harness.OK)
        self.honest_goes_on()
        refused = self.daemon.ctl("start", "--pid", stuck, "--collect", "host-mem", user=USER)
        self.assertNotEqual(refused.code, harness.OK)
        self.assertIn(f"pid {stuck} does not answer", refused.err)
        self.daemon.ctl("doctor", "--pid", stuck, user=USER)
        self.daemon.ctl("targets", user=USER)
        self.honest_goes_on()
        self.honest_has_lost_nothing()
        self.assertEqual(self.daemon.stop(), 0)

    def test_a_child_that_hangs_while_it_executes(self):
        """Whoever samples it waits for it. Its session and one over the whole host say who hangs, and have the others; nobody else
        notices anything; once it does not hang any more, it is sampled, too."""
        sessions = {}

        def sample(parent):
            kinds = "host-cpu,host-disk,host-pid-cpu,host-mem"
            sessions[USER] = self.daemon.begin("--pid", parent, "--collect", kinds, user=USER)["session"]
            sessions[None] = self.daemon.begin("--collect", "host-pid-cpu,host-pid-mem")["session"]

        stuck = self.stuck_in_execution(before=sample)
        self.honest_goes_on()
        for user, session in sessions.items():
            self.hangs(session, f"host-pid-cpu of pid {stuck}", "what the kernel says of it has not come")
            before = {kind["kind"]: kind["records"] for kind in self.daemon.status(session)["kinds"]}

            def all_go_on():
                return all(kind["records"] > before[kind["kind"]] + 10 for kind in self.daemon.status(session)["kinds"])

            harness.wait_until(all_go_on, f"samples of the others, in the session of user {user}")
        self.honest_goes_on()
        self.honest_has_lost_nothing()
        self.release()
        directory = pathlib.Path(self.daemon.status(sessions[USER])["directory"])

        def sampled():
            return list(directory.rglob(f"{stuck}-CpuUsage.data*"))

        harness.wait_until(sampled, "the one that hung")
        for user, session in sessions.items():
            self.assertEqual(self.daemon.end(session, user=user)["state"], "sealed")
        harness.wait_until(lambda: not self.stand_ins(), "those that have read to be gone")
        self.assertEqual(self.daemon.stop(), 0)

    def test_killed_while_it_hangs(self):
        target = self.held_lock()
        self.daemon.begin("--pid", target.pid, "--collect", "host-cpu-profile,host-mem", user=USER)
        self.killed_at_once()

    def test_an_environment_that_nobody_brings(self):
        target = self.target("environ", USER, env={**os.environ, "PADDING": "x" * 100_000})
        self.ready(target)
        threads = self.threads()
        # What it would say is done without; nobody waits for it for long, and the third time not at all.
        for _ in range(3):
            result = self.daemon.ctl("doctor", "--pid", target.pid, user=USER)
            self.assertNotIn("no answer", result.out + result.err)
        session = self.daemon.begin("--pid", target.pid, "--collect", "host-mem", user=USER)["session"]
        self.honest_goes_on()
        self.assertEqual(self.daemon.end(session, user=USER)["state"], "sealed")
        harness.wait_until(lambda: self.threads() <= threads, "the threads")
        self.honest_has_lost_nothing()
        self.assertEqual(self.daemon.stop(), 0)


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may have ended by now
            found += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


if __name__ == "__main__":
    unittest.main()
