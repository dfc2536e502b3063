#!/usr/bin/env python3
"""Processes that use their lanes as weapons, of an unprivileged user: against profd's memory, and against the records of
others. Whoever lies is cut off and told so; nobody else notices."""
import os
import subprocess
import unittest

import agent_reader
import cgroup
import harness

USER = harness.nobody()
HONEST = 1234
PROGRAM = harness.PLAIN_BUILD / "tests" / "hostile_agent"
# What profd may take, and how much more beside an attack; a sanitizer's build has its shadow of all that besides.
MEMORY, MORE = (4 << 30, 1 << 30) if harness.IS_SANITIZED else (192 << 20, 64 << 20)


class Agent:
    def __init__(self, test, daemon, *arguments, user=USER, within=()):
        self.process = subprocess.Popen([*within, PROGRAM, *map(str, arguments)], env=daemon.environment, user=user, group=user,
                                        extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.ends_with_the_test(self.process)
        self.user, self.pid = user, self.process.pid
        test.assertEqual(self.process.stdout.readline(), "ready\n")

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().strip()


@harness.needs_root
class HostileAgentTest(harness.ProfdTest):
    def agents(self, daemon, count, *arguments, **options):
        agents = [Agent(self, daemon, *arguments, **options) for _ in range(count)]
        self.registered(daemon, *(agent.pid for agent in agents))
        return agents

    def record(self, daemon, agent):
        return daemon.begin("--pid", agent.pid, "--collect", "agent-counter", user=agent.user)["session"]

    def stored_of(self, daemon, session, emitted):
        """Of what the victim emitted; every record is accounted for."""
        sealed = daemon.end(session)
        found = agent_reader.agents(sealed["directory"])
        self.assertEqual(len(found), 1)
        stored = len(found[0].of("counter"))
        self.assertEqual(stored + found[0].lost, emitted)
        return stored

    def test_forged_heads_cost_profd_nothing(self):
        """Sixteen agents with 256 MiB of lanes each, all of which they say are full: profd has 192 MiB."""
        memory = cgroup.memory_for(self, MEMORY)
        daemon = self.profd(config="limits:\n  sessions_per_user: 64\n", within=memory.within)
        os.chmod(daemon.socket, 0o666)
        victim = self.agents(daemon, 1, "steady", 20_000, user=HONEST)[0]
        session = self.record(daemon, victim)
        liars = self.agents(daemon, 16, "forge")
        sessions = [self.record(daemon, liar) for liar in liars]
        daemon.ctl("list")
        before = memory.used()
        emitted = 60_000
        victim.order(f"go {emitted}")
        for liar in liars:
            liar.order("go")
        for of_liar in sessions:
            harness.wait_until(lambda s=of_liar: "hold what no agent writes" in str(daemon.status(s)["warnings"] +
                                                                                 daemon.status(s)["degraded"]),
                               "the liar to be told")
        self.assertEqual(victim.hear(), "done")
        # What is theirs is theirs to pay; files that profd writes are in its cache, which the kernel may have back.
        self.assertLess(memory.used() - before, MORE)
        self.assertIsNone(daemon.process.poll())
        self.assertEqual(self.stored_of(daemon, session, emitted), emitted)
        for of_liar in sessions:
            sealed = daemon.end(of_liar, user=USER)
            self.assertEqual(agent_reader.manifest(sealed["directory"])["agents"][0]["end"], "cut off")
        self.assertEqual(daemon.ctl("list").code, harness.OK)

    def test_lanes_that_change_beneath_profd(self):
        """What it has mapped of eight agents holds anything, and of eight others comes and goes."""
        memory = cgroup.memory_for(self, MEMORY)
        daemon = self.profd(config="limits:\n  sessions_per_user: 64\n", within=memory.within)
        os.chmod(daemon.socket, 0o666)
        victim = self.agents(daemon, 1, "steady", 20_000, user=HONEST)[0]
        session = self.record(daemon, victim)
        hostile = self.agents(daemon, 8, "scribble") + self.agents(daemon, 8, "holes")
        sessions = [self.record(daemon, each) for each in hostile]
        before = memory.used()
        for each in hostile:
            each.order("go")
        emitted = 60_000
        victim.order(f"go {emitted}")
        self.assertEqual(victim.hear(), "done")
        self.assertEqual([each.process.poll() for each in hostile], [None] * len(hostile))
        self.assertLess(memory.used() - before, MORE)
        self.assertEqual(self.stored_of(daemon, session, emitted), emitted)
        for each in sessions:
            self.assertEqual(daemon.end(each, user=USER)["state"], "sealed")
        for each in hostile:
            each.process.kill()
        self.assertEqual(daemon.ctl("list").code, harness.OK)
        self.assertEqual(daemon.stop(), 0)

    def beside_floods(self, daemon, attackers, seconds=5, rate=48_000):
        """Of a victim's records beside so many attackers that record as fast as they can: emitted, stored."""
        victim = self.agents(daemon, 1, "steady", rate, user=HONEST)[0]
        session = self.record(daemon, victim)
        floods = self.agents(daemon, attackers, "flood", 1)
        sessions = [self.record(daemon, flood) for flood in floods]
        for flood in floods:
            flood.order("go")
        harness.wait_until(lambda: all(daemon.status(each)["lost"] > 0 for each in sessions), "the flood to be too much")
        emitted = seconds * rate
        victim.order(f"go {emitted}")
        self.assertEqual(victim.hear(), "done")
        stored = self.stored_of(daemon, session, emitted)
        for flood in floods:
            flood.process.kill()
        return emitted, stored

    def test_a_flood_costs_the_flooders_records(self):
        daemon = self.profd(config="store:\n  quota_per_user_bytes: 200000000\n")
        os.chmod(daemon.socket, 0o666)
        emitted, stored = self.beside_floods(daemon, 8)
        self.assertGreaterEqual(stored, emitted * 0.99)


if __name__ == "__main__":
    unittest.main()
