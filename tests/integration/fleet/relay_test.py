#!/usr/bin/env python3
"""A few nodes ask the others: complete and truthful answers, also when relays and nodes die or hang in between."""
import json
import signal
import subprocess
import time
import unittest

import fleet
import harness
import raw_client

NODES = fleet.NODES
COLLECT = ("--devices", "all", "--collect", "hbm")
# The name in the certificate of every node: what relays may do on the others.
SETTINGS = '  operators: "node"\n  relay: "elsewhere:*, localhost:*"\n'


class RelayTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = fleet.Fleet(settings=SETTINGS)
        cls.addClassCleanup(cls.fleet.close)
        cls.nodes, cls.hosts = cls.fleet.nodes, cls.fleet.hosts
        cls.relays = cls.hosts[:3]

    def ask(self, *arguments, relays=None, **options):
        return self.fleet.ask("--relays", ",".join(relays or self.relays), *arguments, **options)

    def stop_all(self):
        self.fleet.ask("stop", "--all")

    def sessions(self, node, name):
        return [info for info in node.ctl("list", "--json").json["sessions"] if info["name"] == name]

    def test_every_node_by_its_relay(self):
        self.addCleanup(self.stop_all)
        begun = self.ask("start", *COLLECT, "--name", "tree", "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        answers = fleet.lines(begun)
        self.assertEqual([answer["host"] for answer in answers], self.hosts)
        self.assertEqual({answer["reply"]["state"] for answer in answers}, {"running"})
        self.assertEqual([answer["via"] for answer in answers], [self.relays[i * 3 // NODES] for i in range(NODES)])
        for node, answer in zip(self.nodes, answers):
            [info] = self.sessions(node, "tree")
            self.assertEqual(info["session"], answer["reply"]["session"])
            self.assertEqual(info["user"], "node")  # a node knows the relay's certificate
        for verb in (("status",), ("list",), ("devices",), ("targets",), ("doctor",), ("lease", "list")):
            done = self.ask("--json", *verb)
            self.assertEqual(done.code, harness.OK, f"{verb}: {done}")
            self.assertEqual({answer["via"] for answer in fleet.lines(done)}, set(self.relays))
        table = self.ask("list")
        self.assertEqual(len([line for line in table.out.splitlines() if "tree" in line]), NODES, table)
        ended = self.ask("stop", "--all", "--json")
        self.assertEqual(ended.code, harness.OK, ended)
        self.assertEqual({answer["reply"]["sessions"][0]["state"] for answer in fleet.lines(ended)}, {"sealed"})

    def test_all_begin_at_one_instant(self):
        self.addCleanup(self.stop_all)
        # The instant is as far ahead as the machine needs to have told all of them: it has half of that time for it, and what is
        # left for a second try without the relays.
        begin = time.monotonic()
        for verb in (("start", *COLLECT), ("stop", "--all")):
            self.assertEqual(self.ask(*verb).code, harness.OK)
        ahead_s = 4 + NODES // 20 + 4 * (time.monotonic() - begin)
        begun = self.ask("start", *COLLECT, "--at", f"+{ahead_s:.1f}s", "--json", "--timeout", f"{ahead_s + harness.PATIENCE_S:.0f}s",
                         timeout=ahead_s + 2 * harness.PATIENCE_S)
        self.assertEqual(begun.code, harness.OK, f"{begun}, {ahead_s:.1f} s ahead")
        *answers, skew = fleet.lines(begun)
        self.assertEqual(skew["fired"], NODES)
        self.assertEqual({answer["reply"]["state"] for answer in answers}, {"running"})
        # One machine has one clock: two distances were added up, each as sure as was measured.
        for answer in answers:
            labels = answer["reply"]["labels"]
            self.assertLessEqual(abs(int(labels["clock_ahead_ns"])), int(labels["clock_uncertainty_ns"]) + 20_000_000)
        self.assertGreaterEqual(skew["last_late_ns"] + skew["clock_uncertainty_ns"], 0)

    def test_a_third_dies_or_hangs_in_the_middle(self):
        self.addCleanup(self.stop_all)
        relays = [self.hosts[i] for i in (0, NODES // 3, NODES // 2, NODES * 3 // 4)]
        dead = self.nodes[1::6] + [self.nodes[NODES // 3]]
        hung = [node for node in self.nodes[2::6] if node not in dead] + [self.nodes[NODES // 2]]
        for node in dead:
            self.addCleanup(lambda node=node: node.process.poll() is None or node.start())
        for node in hung:
            self.addCleanup(node.signal, signal.SIGCONT)
        begin = time.monotonic()
        command = [str(harness.PROFCTL), "--hosts", f"@{self.fleet.list}", "--relays", ",".join(relays), "--timeout", "24s",
                   *map(str, self.fleet.options()), "start", *COLLECT, "--name", "middle", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
            time.sleep(0.05)  # in the middle of the call
            for node in dead:
                node.kill()
            for node in hung:
                node.signal(signal.SIGSTOP)
            out, err = asking.communicate(timeout=24 + harness.PATIENCE_S)
        self.assertLess(time.monotonic() - begin, 24 + harness.PATIENCE_S)
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([answer["host"] for answer in answers], self.hosts, err)
        for node, answer in zip(self.nodes, answers):
            if answer["exit"] == harness.OK:
                self.assertEqual(answer["reply"]["name"], "middle")
            else:
                # Truthful: who neither died nor hung has answered.
                self.assertTrue(node in dead or node in hung, f"{answer}\n{err}")
                self.assertEqual(answer["exit"], harness.UNAVAILABLE, answer)
                self.assertTrue(answer["error"])
            if node not in dead and node not in hung:
                # Asked twice where the relay was lost, started once.
                self.assertEqual([info["session"] for info in self.sessions(node, "middle")],
                                 [answer["reply"]["session"]])
        self.assertIn(relays[1], err)
        self.assertIn(relays[2], err)
        self.assertEqual(asking.returncode, 9, err)

    def test_without_its_relay_a_node_is_asked_directly(self):
        dead = self.nodes[NODES // 2]
        dead.kill()
        self.addCleanup(dead.start)
        done = self.ask("list", "--json", relays=[self.hosts[0], self.hosts[NODES // 2]])
        answers = {answer["host"]: answer for answer in fleet.lines(done)}
        self.assertEqual(len(answers), NODES)
        for i, host in enumerate(self.hosts):
            if i == NODES // 2:
                self.assertEqual(answers[host]["exit"], harness.UNAVAILABLE)
            else:
                self.assertEqual(answers[host]["exit"], harness.OK)
                self.assertEqual(answers[host].get("via"), self.hosts[0] if i < NODES // 2 else None)
        self.assertIn(f"relay {self.hosts[NODES // 2]}: ", done.err)
        self.assertIn(f"asking {NODES - NODES // 2} of its nodes directly", done.err)

    def test_answers_travel_together_for_those_who_take_them_so(self):
        door = raw_client.Door(self.nodes[0].socket)
        self.addCleanup(door.close)

        hosts = self.hosts[:24]

        def answers(*more):
            """Of List: the hosts in each message."""
            connection = raw_client.Connection(self.nodes[0].socket)
            self.addCleanup(connection.close)
            request = raw_client.text_field(1, "List") + b"".join(
                raw_client.text_field(3, raw_client.text_field(1, host)) for host in hosts) + b"".join(more)
            call = connection.begin("/profd.v1.Relay/Ask", request, door.ticket, keep=True)
            while call.code is None and connection.read():
                pass
            self.assertEqual(call.code, raw_client.OK, call.text)
            messages = []
            for message in raw_client.messages_of(call.body):
                fields = list(raw_client.fields_of(message))
                others = [dict(raw_client.fields_of(value)) for number, value in fields if number == 6]
                messages.append([each[1].decode() for each in (dict(fields), *others)])
                self.assertTrue(all(each[4] == 1 and 2 not in each for each in (dict(fields), *others)))
            self.assertEqual(sorted(sum(messages, [])), sorted(hosts))
            return messages

        self.assertEqual(len(answers()), len(hosts))
        together = raw_client.varint(4 << 3) + raw_client.varint(1)
        harness.wait_until(lambda: len(answers(together)) < len(hosts), "two answers in one message")

    def test_a_node_that_began_anew_between_two_calls(self):
        for _ in range(2):
            self.assertEqual(self.ask("list", relays=[self.hosts[0]]).code, harness.OK)
            for node in self.nodes[1:4]:
                node.kill()
                node.start()
        self.assertEqual(self.ask("list", relays=[self.hosts[0]]).code, harness.OK)

    def test_no_more_than_the_caller_may(self):
        seen = self.ask("list", "--json", card="eye")
        self.assertEqual(seen.code, harness.OK, seen)
        self.assertEqual({answer["via"] for answer in fleet.lines(seen)}, set(self.relays))
        refused = self.ask("start", *COLLECT, card="eye")
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        for relay in self.relays:
            self.assertIn(f"relay {relay}: user eye may not change anything as a viewer", refused.err)
        # Nor more than the relay: it is an operator on the others, who remove nothing.
        begun = fleet.lines(self.ask("start", *COLLECT, "--duration", "1s", "--json", hosts=self.hosts[5]))
        session = begun[0]["reply"]["session"]
        harness.wait_until(lambda: self.nodes[5].status(session)["state"] == "sealed", "the session to end")
        refused = self.ask("rm", session, hosts=self.hosts[5], relays=[self.hosts[4]])
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn("user node may not", refused.err)
        self.assertEqual(self.fleet.ask("rm", session, hosts=self.hosts[5]).code, harness.OK)


class RelaySettingsTest(harness.ProfdTest):
    def test_only_where_it_is_set_and_only_to_nodes_that_are_named(self):
        for settings, words in (("", "asks no other nodes"), ('  relay: "localhost:1, n[0-9]:*"\n', "not one of the nodes")):
            nodes = fleet.Fleet(nodes=2, settings='  operators: "node"\n' + settings)
            self.addCleanup(nodes.close)
            done = nodes.ask("--relays", nodes.hosts[0], "list", "--json")
            self.assertEqual(done.code, harness.OK, done)
            self.assertIn(words, done.err)
            self.assertTrue(all("via" not in answer for answer in fleet.lines(done)))

    def test_it_needs_certificates(self):
        with self.assertRaisesRegex(AssertionError, "remote.relay"):
            self.profd(config='remote:\n  relay: "*"\n')


if __name__ == "__main__":
    unittest.main()
