"""An attack beside somebody who records: whether she loses a record, how long `list` takes meanwhile, and what of profd's
memory, threads and descriptors stays behind. profd has what the packaged unit gives it."""
import contextlib
import os
import pathlib
import resource
import select
import subprocess
import sys
import threading
import time
import traceback
import warnings

import agent_reader
import cgroup
import harness
import raw_client as raw

USER = harness.nobody()  # who attacks
HONEST = 1234            # who records
AGENT = harness.PLAIN_BUILD / "tests" / "hostile_agent"
# profd.service.in
MEMORY, TASKS, DESCRIPTORS = 4 << 30, 1024, 65536
# What an attack may leave behind: the allocator's slack and libraries' pools, not a leak of anything per attempt.
SLACK_KIB, SLACK_THREADS, SLACK_DESCRIPTORS = 16 << 10, 8, 8
RATE, PORTION = 4000, 400  # of the witness's records
LIST_MS = 200  # what `list` may take, beyond what it takes of a profd that nobody attacks


class Attackers:
    """Processes with the rights of these users alone, in turn, that do `action` and then wait to be sent home."""

    def __init__(self, count, action, users=(USER,)):
        self.children = []
        for number in range(count):
            done, tell_done = os.pipe()
            go_home, tell_home = os.pipe()
            with harness.STARTING:
                child = os.fork()
            if child == 0:
                try:
                    os.close(done)
                    os.close(tell_home)
                    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
                    os.setgroups([])
                    user = users[number % len(users)]
                    os.setresgid(user, user, user)
                    os.setresuid(user, user, user)
                    warnings.simplefilter("ignore", ResourceWarning)  # what it leaves open is the attack
                    kept = action(number)
                    os.write(tell_done, b"+")
                    os.read(go_home, 1)
                    del kept
                    os._exit(0)
                except BaseException:  # noqa: BLE001
                    print(f"attacker {number}: {traceback.format_exc()}", file=sys.stderr)
                    os._exit(1)
            os.close(tell_done)
            os.close(go_home)
            self.children.append((child, done, tell_home))

    def finished(self):
        return all(select.select([done], [], [], 0)[0] for _, done, _ in self.children)

    def go_home(self):
        for _, _, tell_home in self.children:
            os.write(tell_home, b"-")  # its end alone would not do: later ones have inherited it
        for child, done, tell_home in self.children:
            os.close(tell_home)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.close(done)  # only now: who is not waited for may still have to say that he is done
            if code != 0:
                raise AssertionError(f"an attacker ended with {code}")
        self.children = []


def run_attackers(count, action, users=(USER,)):
    attackers = Attackers(count, action, users)
    try:
        harness.wait_until(attackers.finished, "the attackers", patience=240)
    finally:
        attackers.go_home()


class Asker:
    """Somebody's client that stays, and asks each of some profds in turn for its sessions: how long each answer takes, connecting
    included, without the start of a program. What the machine itself is slow in, all of them are."""

    def __init__(self, user, sockets):
        answers, tell = os.pipe()
        ends, self.end_it = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.close(self.end_it)  # its end is the sign
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                while not select.select([ends], [], [], 0.05)[0]:
                    os.write(tell, (" ".join(f"{1000 * self._ask(path):.1f}" for path in sockets) + "\n").encode())
                os._exit(0)
            except BaseException as error:  # noqa: BLE001
                print(f"asker: {error!r}", file=sys.stderr)
                os._exit(1)
        os.close(ends)
        os.close(tell)
        self.answers = os.fdopen(answers)

    @staticmethod
    def _ask(path):
        begin = time.monotonic()
        door = raw.Door(path)
        connection = raw.Connection(path)
        call = connection.call("List", ticket=door.ticket)
        took = time.monotonic() - begin
        assert call.code == raw.OK, (path, door.status, door.reason, call.code, call.text)
        connection.close()
        door.close()
        return took

    def end(self):
        """Of each profd its answers in ms, ascending."""
        os.close(self.end_it)
        rows = [list(map(float, line.split())) for line in self.answers]
        self.answers.close()
        if os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1]) != 0:
            raise AssertionError("the one who asks for `list` had no answer")
        return [sorted(column) for column in zip(*rows)]


class Witness:
    """Records without a pause."""

    def __init__(self, test, daemon, output):
        self.daemon, self.emitted = daemon, 0
        self.agent = subprocess.Popen([AGENT, "steady", str(RATE)], env=daemon.environment, user=HONEST, group=HONEST,
                                      extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.ends_with_the_test(self.agent)
        test.assertEqual(self.agent.stdout.readline(), "ready\n")
        test.registered(daemon, self.agent.pid)
        where = ("--output", output) if output else ()
        self.session = daemon.begin("--pid", self.agent.pid, "--collect", "agent-counter,host-mem=2Hz", *where, user=HONEST)["session"]
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._record, daemon=True)
        self.thread.start()

    def _record(self):
        while not self.ending.is_set():
            self.agent.stdin.write(f"go {PORTION}\n")
            self.agent.stdin.flush()
            if self.agent.stdout.readline() != "done\n":
                return
            self.emitted += PORTION

    def end(self, test):
        """Nothing of hers is lost."""
        self.ending.set()
        self.thread.join()
        sealed = self.daemon.end(self.session, user=HONEST)
        self.agent.kill()
        # A sample's moment may pass where there are too few processors: that is nobody's fault here.
        test.assertEqual([kind["lost"] for kind in sealed["kinds"] if kind["kind"] == "agent-counter"], [0], sealed)
        found = agent_reader.agents(sealed["directory"])
        test.assertEqual([(len(each.of("counter")), each.lost) for each in found], [(self.emitted, 0)])


class Siege(harness.ProfdTest):
    """A test with a profd as the packaged unit limits it."""

    def besieged(self, tasks=TASKS, within=(), **options):
        self.memory = cgroup.memory_for(self, MEMORY, "siege")
        self.tasks = cgroup.tasks_for(self, tasks)
        descriptors = ["prlimit", f"--nofile={min(DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])}"]
        daemon = self.profd(within=[*self.memory.within, *self.tasks.within, *descriptors, *within], **options)
        # One that nobody attacks, to compare with.
        self.quiet = self.profd()
        for each in (daemon, self.quiet):
            os.chmod(each.socket, 0o666)
        return daemon

    def held(self, daemon):
        """KiB, threads and descriptors of profd."""
        process = pathlib.Path(f"/proc/{daemon.process.pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]), int(status["Threads"]), len(os.listdir(process / "fd"))

    @contextlib.contextmanager
    def witnessed(self, daemon, what, output=None, is_timed=True):
        """Around the attack. Nobody else notices anything of it, and nothing of it stays."""
        witness = Witness(self, daemon, output)
        harness.wait_until(lambda: witness.emitted > PORTION, "the witness")
        before = self.held(daemon)
        asker = Asker(HONEST, [daemon.socket, self.quiet.socket])
        try:
            yield witness
        finally:
            took, of_quiet = asker.end()
        self.assertIsNone(daemon.process.poll(), daemon.log.read_text()[-2000:])
        slack = SLACK_KIB, SLACK_THREADS, SLACK_DESCRIPTORS
        if harness.IS_SANITIZED:  # it keeps what is freed, and its shadow of what was touched
            slack = 1 << 30, *slack[1:]

        def returned():
            return all(now <= then + more for now, then, more in zip(self.held(daemon), before, slack))

        try:
            harness.wait_until(returned, "memory, threads and descriptors")
        except AssertionError:
            self.fail(f"{what}: KiB, threads, descriptors {before} before, {self.held(daemon)} after")
        witness.end(self)
        print(f"{what}: list took {took[-1]:.0f} ms at most of {len(took)}, median {took[len(took) // 2]:.0f}; of a profd that "
              f"nobody attacks {of_quiet[-1]:.0f}, median {of_quiet[len(took) // 2]:.0f}; {witness.emitted} records, lost 0; "
              f"KiB, threads, descriptors {before} before, {self.held(daemon)} after", file=sys.stderr)
        if not is_timed or harness.IS_SANITIZED:
            return
        # On a machine with too few processors for all that runs there one answer or another waits for its turn.
        self.assertLessEqual(took[int(0.95 * len(took))], LIST_MS + of_quiet[-1])
