#!/usr/bin/env python3
"""Processes as weapons: registrations by the thousand, tickets of others, pids that are used again, processes that are frozen,
traced or hidden, and a kernel that makes no more threads. Each beside another user, who loses no record and is answered."""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import cgroup
import harness
import raw_client as raw
import siege

PTRACE_ATTACH = 16
NEVER = "the ticket is another user's"


@harness.needs_root
class HostileProcessTest(siege.Siege):
    def of_user(self, *command, **options):
        return self.workload(command=list(command), user=siege.USER, group=siege.USER, extra_groups=[], **options)

    # --- registrations

    def test_ten_thousand_registrations(self):
        """Short ones, and as many as are to be had at once: those beyond are turned away."""
        daemon = self.besieged()

        def come_and_go(_):
            for _ in range(2500):
                raw.Door(daemon.socket, raw.HELLO_AGENT).close()

        def stay(_):
            held, refused = [], 0
            for _ in range(2500):
                door = raw.Door(daemon.socket, raw.HELLO_AGENT)
                if door.status == raw.WELCOME:
                    held.append(door)
                else:
                    assert door.status == raw.BUSY, (door.status, door.reason)
                    refused += 1
                    door.close()
            assert refused > 0
            return held

        def over_the_stream(_):
            """By messages of one call, and by calls of one connection, which is closed where they are too much."""
            door = raw.Door(daemon.socket, raw.HELLO_AGENT)
            hello = raw.message(raw.text_field(1, b"\x08\x01" + raw.text_field(2, "0.1.0") + b"\x18\x01"))
            connection = raw.Connection(daemon.socket)
            call = connection.begin("/profd.v1.Agent/Register", ticket=door.ticket, whole=False)
            stream = connection.next_stream - 2
            for _ in range(2500):
                connection._send(raw.frame(raw.DATA, 0, stream, hello))
            while call.code is None and connection.read():
                pass
            connection.close()
            connection = raw.Connection(daemon.socket)
            for _ in range(2500):
                try:
                    call = connection.begin("/profd.v1.Agent/Register", b"", door.ticket)
                except OSError:
                    connection.close()
                    connection = raw.Connection(daemon.socket)
                    continue
                while call.code is None and connection.read():
                    pass
            connection.close()
            door.close()

        with self.witnessed(daemon, "10 000 registrations over four streams, and by calls"):
            siege.run_attackers(4, over_the_stream)
        with self.witnessed(daemon, "10 000 registrations that end"):
            siege.run_attackers(4, come_and_go)
        with self.witnessed(daemon, "10 000 registrations that stay"):
            siege.run_attackers(4, stay)

    # --- tickets

    def test_a_ticket_serves_its_holder_only(self):
        """Whoever has got hold of another user's ticket, or of his connection, has nothing."""
        daemon = self.besieged()
        door = raw.Door(daemon.socket)
        self.addCleanup(door.close)
        agent = raw.Door(daemon.socket, raw.HELLO_AGENT)
        self.addCleanup(agent.close)
        theirs, ours = socket.socketpair()
        self.addCleanup(theirs.close)
        self.addCleanup(ours.close)

        def steal(_):
            own = raw.Door(daemon.socket)
            connection = raw.Connection(daemon.socket)
            for method, body in (("List", b""), ("Start", raw.start_request([], ["host-sys-cpu"])), ("Devices", b""), ("Doctor", b""),
                                 ("Stop", b"\x10\x01"), ("Watch", b""), ("Live", b"")):
                call = connection.call(method, body, door.ticket)
                assert call.code == raw.UNAUTHENTICATED and NEVER in call.text, (method, call.code, call.text)
            register = connection.begin("/profd.v1.Agent/Register", b"", agent.ticket)
            while register.code is None and connection.read():
                pass
            assert register.code == raw.UNAUTHENTICATED, (register.code, register.text)
            assert connection.call("List", ticket=own.ticket).code == raw.OK
            unused = raw.Connection(daemon.socket)
            socket.send_fds(theirs, [own.ticket.encode()], [unused.socket.fileno()])
            return own

        attackers = siege.Attackers(1, steal)
        try:
            # A connection that was handed on is still his who made it.
            ours.settimeout(harness.PATIENCE_S)
            ticket, [passed], _, _ = socket.recv_fds(ours, 100, 1)
            handed_on = raw.Connection(connected=socket.socket(fileno=passed), preface=False)
            call = handed_on.call("List", ticket=door.ticket)
            self.assertEqual((call.code, NEVER in call.text), (raw.UNAUTHENTICATED, True), call.text)
            self.assertEqual(handed_on.call("List", ticket=ticket.decode()).code, raw.OK)
            handed_on.close()
        finally:
            attackers.go_home()
        self.assertEqual(raw.Connection(daemon.socket).call("List", ticket=door.ticket).code, raw.OK)

    def test_clients_that_are_traced(self):
        """They stand still in the middle of whatever they ask for."""
        daemon = self.besieged()
        work = self.of_user("sleep", "300")
        session = daemon.begin("--pid", work.pid, "--collect", "host-mem=50Hz", user=siege.USER)["session"]

        def trace(_):
            libc = ctypes.CDLL(None, use_errno=True)
            verbs = (("status", "--watch", session), ("top",), ("list",), ("targets",), ("doctor",), ("devices",))
            clients = [subprocess.Popen([harness.PROFCTL, *verb], env=daemon.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for verb in verbs * 4]
            for number, client in enumerate(clients):
                time.sleep(0.002 * number)  # each is caught at another point of its call
                libc.ptrace(PTRACE_ATTACH, client.pid, None, None)  # one that has ended already is none
            time.sleep(5)  # as long as somebody looks at frozen clients
            for client in clients:
                client.kill()
                client.wait()

        with self.witnessed(daemon, "clients that are traced"):
            siege.run_attackers(1, trace)
        self.assertEqual(daemon.end(session, user=siege.USER)["state"], "sealed")

    def test_a_setuid_program_asks_no_profd_of_its_caller_s(self):
        """Whoever answers it gets what it records, and may write into its memory."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-setuid-"))
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        os.chmod(place, 0o755)
        trap = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(trap.close)
        trap.bind(str(place / "profd.sock.door"))
        trap.listen()
        trap.settimeout(harness.PATIENCE_S)
        os.chmod(place / "profd.sock.door", 0o666)
        started = []
        for mode in (0o4755, 0o755):
            program = place / f"workload{mode}"
            shutil.copy(harness.PROGRAMS / "workload", program)
            os.chmod(program, mode)
            work = subprocess.Popen([program, "interactive"], env=dict(os.environ, PROFD_ADDRESS=str(place / "profd.sock")),
                                    user=siege.USER, group=siege.USER, extra_groups=[], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
            self.ends_with_the_test(work)
            work.stdout.readline()
            work.stdin.write("mark 1\n")
            work.stdin.flush()
            self.assertEqual(work.stdout.readline(), "done\n")
            started.append(work)
        status = pathlib.Path(f"/proc/{started[0].pid}/status").read_text()
        if "\nUid:\t%d\t0\t" % siege.USER not in status:
            self.skipTest("NOT RUN: programs get no rights from their files here (nosuid)")
        knock, _ = trap.accept()
        pid, _, _ = struct.unpack("3i", knock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        knock.close()
        self.assertEqual(pid, started[1].pid)

    def test_a_setuid_child_is_not_looked_into(self):
        """Nobody may trace a program with more rights than they have; below a process of theirs neither."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="profd-setuid-"))
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        os.chmod(place, 0o755)
        python = place / "python3"
        shutil.copy(os.path.realpath("/usr/bin/python3"), python)
        os.chmod(python, 0o4755)
        program = place / "program.py"
        program.write_text("import os\nif {0}: os.setresuid(0, 0, 0)\ndef secret():\n while True: sum(range(1000))\nsecret()\n")
        daemon = self.besieged()
        for becomes_root in (0, 1):
            script = program.with_name(f"{becomes_root}.py")
            script.write_text(program.read_text().format(becomes_root))
            # `own` is Python, too, and begins it when it is told.
            work = subprocess.Popen(["/usr/bin/python3", "-c", "import subprocess, sys\nsys.stdin.readline()\n"
                                     f"job = subprocess.Popen(['{python}', '{script}'])\ndef own():\n while True: sum(range(1000))\nown()"],
                                    user=siege.USER, group=siege.USER, extra_groups=[], stdin=subprocess.PIPE, text=True,
                                    env={"PATH": os.environ["PATH"], "PYTHONHOME": "/usr"})
            self.ends_with_the_test(work)
            session = daemon.begin("--pid", work.pid, "--collect", "host-cpu-profile", user=siege.USER)["session"]
            work.stdin.write("\n")
            work.stdin.flush()
            child = int(harness.wait_until(pathlib.Path(f"/proc/{work.pid}/task/{work.pid}/children").read_text, "its child"))
            self.addCleanup(os.kill, child, signal.SIGKILL)
            for pid in (work.pid, child):
                harness.wait_until(lambda p=pid: int(pathlib.Path(f"/proc/{p}/stat").read_text().split()[13]) > 50, "them to run")
            if "\t0\t" not in pathlib.Path(f"/proc/{child}/status").read_text().split("\nUid:")[1].split("\n")[0]:
                self.skipTest("NOT RUN: programs get no rights from their files here (nosuid)")
            harness.wait_until(lambda s=session: daemon.status(s)["kinds"][0]["records"] > 20, "samples")
            directory = daemon.end(session, user=siege.USER)["directory"]
            (names,) = pathlib.Path(directory).rglob("cpu-profile-names*slice_0")
            self.assertIn(b" own\t", names.read_bytes())
            self.assertNotIn(b" secret\t", names.read_bytes())

    # --- what becomes of processes

    def test_frozen_targets_and_agents(self):
        daemon = self.besieged(config="auth:\n  breakpoints: everybody\n")
        freezer = cgroup.freezer_for(self)
        work = self.of_user("/usr/bin/python3", "-c", "while True: pass")
        agent = subprocess.Popen([siege.AGENT, "steady", "1000"], env=daemon.environment, user=siege.USER, group=siege.USER,
                                 extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ends_with_the_test(agent)
        self.assertEqual(agent.stdout.readline(), "ready\n")
        self.registered(daemon, agent.pid)
        for pid in (work.pid, agent.pid):
            freezer.take(pid)
        kinds = "host-cpu,host-mem,host-cpu-profile,host-off-cpu,host-osrt,host-pthread,host-cgroup"

        def sessions():
            return [daemon.begin("--pid", work.pid, "--collect", kinds, user=siege.USER)["session"],
                    daemon.begin("--pid", agent.pid, "--collect", "agent-counter,host-mem", user=siege.USER)["session"]]

        with self.witnessed(daemon, "frozen while it is recorded"):
            begun = sessions()
            freezer.freeze()
            daemon.ctl("targets", user=siege.USER)
            daemon.ctl("doctor", "--pid", agent.pid, user=siege.USER)
            for session in begun:
                self.assertEqual(daemon.end(session, user=siege.USER)["state"], "sealed")
        with self.witnessed(daemon, "frozen before it is recorded"):
            results = [daemon.ctl("start", "--pid", pid, "--collect", what, "--json", user=siege.USER)
                       for pid, what in ((work.pid, kinds), (agent.pid, "agent-counter,host-mem"))]
            for result in results:
                self.assertIn(result.code, (harness.OK, harness.PARTLY_STARTED, harness.FAILED, harness.UNAVAILABLE), result)
                if result.out:
                    self.assertEqual(daemon.end(result.json["session"], user=siege.USER)["state"], "sealed")
        freezer.thaw()
        for session in sessions():
            self.assertEqual(daemon.end(session, user=siege.USER)["state"], "sealed")

    def test_a_proc_that_hides(self):
        """hidepid=2 hides processes from others, not from profd; who asks is told of his own all the same."""
        daemon = self.besieged(within=["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"])
        work = self.of_user("sleep", "300")
        with self.witnessed(daemon, "hidepid=2"):
            session = daemon.begin("--pid", work.pid, "--collect", "host-cpu=2Hz,host-mem=2Hz", user=siege.USER)["session"]
            harness.wait_until(lambda: daemon.status(session)["bytes"] > 100, "samples")
            self.assertEqual(daemon.end(session, user=siege.USER)["lost"], 0)
            refused = daemon.ctl("start", "--pid", os.getpid(), "--collect", "host-mem", user=siege.USER)
            self.assertEqual(refused.code, harness.PERMISSION, refused)

    def test_a_pid_that_is_used_again(self):
        """In a pid namespace of its own, where the next one can be chosen."""
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, __file__, "--reuse"],
                              check=False, capture_output=True, text=True, timeout=240)
        print(done.stderr, file=sys.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    # --- no more threads

    def test_no_more_threads_are_to_be_had(self):
        daemon = self.besieged()
        work = self.of_user("sleep", "300")
        running = [daemon.begin("--collect", "hbm")["session"],
                   daemon.begin("--pid", work.pid, "--collect", "host-mem", user=siege.USER)["session"]]
        with self.witnessed(daemon, "no more threads"):
            self.tasks.limit(1)  # below what there are: whoever ends leaves no room
            begun, refused = [], None
            for _ in range(20):
                for verb in (("devices",), ("targets",), ("doctor",), ("list",), ("status",), ("watch", "--once")):
                    daemon.ctl(*verb)
                for kinds in ("host-cpu-profile", "host-off-cpu", "host-pthread", "host-cpu"):
                    result = daemon.ctl("start", "--pid", work.pid, "--collect", kinds, "--json")
                    if result.code in (harness.OK, harness.PARTLY_STARTED):
                        begun.append(result.json["session"])
                    elif "TasksMax" in result.err:
                        refused = result
                self.assertIsNone(daemon.process.poll(), daemon.log.read_text()[-2000:])
                if refused:
                    break
            self.assertIsNotNone(refused)
            self.assertEqual(len(refused.err.strip().splitlines()), 1, refused)
            self.assertEqual(refused.code, harness.BUSY)
            for session in (*running, *begun):
                self.assertEqual(daemon.end(session)["state"], "sealed")
            self.tasks.limit(siege.TASKS)
            self.assertEqual(daemon.end(daemon.begin("--collect", "hbm,host-sys-cpu")["session"])["state"], "sealed")
        self.tasks.limit(self.tasks.used())
        self.assertEqual(daemon.stop(), 0)


    def test_it_ends_after_calls_without_threads(self):
        """Clients call while there are no threads, and are killed: whatever became of their calls, SIGTERM ends profd."""
        daemon = self.besieged()
        work = self.of_user("sleep", "300")
        self.tasks.limit(self.tasks.used())
        script = (f"while :; do for v in doctor targets devices list; do {harness.PROFCTL} $v; "
                  f"{harness.PROFCTL} start --pid {work.pid} --collect host-cpu-profile; done; done >/dev/null 2>&1")
        clients = [subprocess.Popen(["bash", "-c", script], env=daemon.environment, start_new_session=True) for _ in range(2)]
        time.sleep(6)  # for calls at every moment; nothing tells of them
        for client in clients:
            os.killpg(client.pid, signal.SIGKILL)
            client.wait()
        self.tasks.limit(siege.TASKS)
        began = time.monotonic()
        daemon.process.terminate()
        daemon.process.wait(timeout=30)
        self.assertLess(time.monotonic() - began, 5)


class ReuseOfPids(harness.ProfdTest):
    """Within a pid namespace of its own."""

    def again(self, pid, command=("sleep", "300"), **options):
        """Another process with this pid."""
        for _ in range(100):
            pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
            process = self.workload(command=list(command), **options)
            if process.pid == pid:
                return process
            process.kill()
            process.wait()
        self.fail(f"pid {pid} is not to be had again")

    def gone(self, process):
        process.kill()
        process.wait()

    def test_reuse(self):
        daemon = self.profd()
        os.chmod(daemon.socket, 0o666)
        of_user = {"user": siege.USER, "group": siege.USER, "extra_groups": []}
        for round_ in range(10):
            work = self.workload(command=["sleep", "300"], **of_user)
            session = daemon.begin("--pid", work.pid, "--collect", "host-mem=50Hz,host-cpu=50Hz", user=siege.USER)["session"]
            # Whom profd starts to look at it has a pid by then, not the one that is to be had again.
            harness.wait_until(lambda s=session: all(kind["records"] for kind in daemon.status(s)["kinds"]), "samples")
            self.gone(work)
            other = self.again(work.pid)
            sealed = harness.wait_until(lambda s=session: (now := daemon.status(s))["state"] == "sealed" and now, "the session's end")
            self.assertEqual(sealed["end_reason"], "target_exit", sealed)
            text = "".join(path.read_text(errors="replace") for path in pathlib.Path(sealed["directory"]).glob("host/data/*slice_0"))
            self.assertNotIn("root", text)
            refused = daemon.ctl("start", "--pid", other.pid, "--collect", "host-mem", user=siege.USER)
            self.assertEqual(refused.code, harness.PERMISSION, (round_, refused))
            self.gone(other)
        # Samples of the first meet the memory of the other one: they wait until the names of the kernel have been read.
        def has_run(pid, ticks):
            harness.wait_until(lambda: int(pathlib.Path(f"/proc/{pid}/stat").read_text().split()[13]) >= ticks, "the process to run")

        endless = "def {0}():\n while True: sum(range(1000))\n{0}()"
        for _ in range(20):
            work = self.workload(command=["/usr/bin/python3", "-c", endless.format("own")], **of_user)
            has_run(work.pid, 10)
            session = daemon.begin("--pid", work.pid, "--collect", "host-cpu-profile", user=siege.USER)["session"]
            has_run(work.pid, 20)
            self.gone(work)
            other = self.again(work.pid, command=["/usr/bin/python3", "-c", endless.format("of_another_s")])
            sealed = harness.wait_until(lambda s=session: (now := daemon.status(s))["state"] == "sealed" and now, "the session's end")
            for path in pathlib.Path(sealed["directory"]).rglob("cpu-profile-names*"):
                self.assertNotIn(b"of_another_s", path.read_bytes())
            self.gone(other)
        # What was an agent is none any more.
        agent = subprocess.Popen([siege.AGENT, "steady", "1000"], env=daemon.environment, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, **of_user)
        self.ends_with_the_test(agent)
        self.assertEqual(agent.stdout.readline(), "ready\n")
        self.registered(daemon, agent.pid)
        self.gone(agent)
        self.again(agent.pid)
        harness.wait_until(lambda: not any(target["pid"] == agent.pid and target["agent_version"]
                                           for target in daemon.ctl("targets", "--json").json["targets"]), "the agent to be none")


if __name__ == "__main__":
    reuse = "--reuse" in sys.argv
    unittest.main(argv=[sys.argv[0], "ReuseOfPids" if reuse else "HostileProcessTest"] if reuse or len(sys.argv) == 1 else sys.argv,
                  verbosity=2)
