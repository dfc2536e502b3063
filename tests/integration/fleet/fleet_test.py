#!/usr/bin/env python3
"""Many profd at once: who answers, who does not, and how far apart they begin."""
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import agent_reader
import fleet
import harness
import live_test

NODES = fleet.NODES
lines = fleet.lines


class FleetTest(harness.ProfdTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = fleet.Fleet()
        cls.addClassCleanup(cls.fleet.close)
        cls.nodes, cls.hosts, cls.ask = cls.fleet.nodes, cls.fleet.hosts, cls.fleet.ask

    def stop_all(self):
        self.ask("stop", "--all")

    def soon(self, *way):
        """An instant that lies behind what it takes to tell all of it, as this machine is now: who hears of it later refuses."""
        begin = time.monotonic()
        self.assertEqual(self.ask(*way, "devices", "--json").code, harness.OK)
        return f"+{3 + math.ceil(8 * (time.monotonic() - begin))}s"

    def test_every_verb_on_every_node(self):
        self.addCleanup(self.stop_all)
        begun = self.ask("start", "--devices", "all", "--collect", "hbm", "--name", "fleet", "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        answers = lines(begun)
        self.assertEqual([answer["host"] for answer in answers], self.hosts)
        self.assertEqual({answer["reply"]["state"] for answer in answers}, {"running"})
        self.assertEqual(len({answer["reply"]["session"] for answer in answers}), NODES)
        table = self.ask("devices")
        self.assertEqual(table.code, harness.OK)
        self.assertEqual(table.out.splitlines()[0].split()[0], "HOST")
        for host in self.hosts:
            self.assertIn(host, table.out)
        # They have the same devices: which is said once.
        self.assertEqual(table.out.count("910B"), self.nodes[0].ctl("devices").out.count("910B"), table.out)
        for node, answer in zip(self.nodes, answers):
            self.assertEqual(node.status(answer["reply"]["session"])["name"], "fleet")
        ended = self.ask("stop", "--all", "--json")
        self.assertEqual(ended.code, harness.OK, ended)
        self.assertEqual({answer["reply"]["sessions"][0]["state"] for answer in lines(ended)}, {"sealed"})

    def test_all_begin_at_one_instant(self):
        self.addCleanup(self.stop_all)
        # Who waits for the instant takes nobody's turn.
        few = ("--parallel", "4")
        begun = self.ask(*few, "start", "--devices", "all", "--collect", "hbm", "--at", self.soon(*few), "--json")
        self.assertEqual(begun.code, harness.OK, begun)
        *answers, skew = lines(begun)
        self.assertEqual(skew["fired"], NODES)
        starts = [answer["reply"]["started_at"] for answer in answers]
        self.assertEqual(len(starts), NODES)
        for answer in answers:
            self.assertIn("clock_ahead_ns", answer["reply"]["labels"])
        # One machine has one clock: what the nodes say of their begin and what was measured through it agree.
        self.assertGreaterEqual(skew["skew_ns"], 0)
        self.assertGreaterEqual(skew["last_late_ns"] + skew["clock_uncertainty_ns"], 0)

    def test_all_begin_with_one_step(self):
        self.addCleanup(self.stop_all)
        nodes = self.nodes[:2]
        jobs = [self.job(node, labels="job=llm") for node in nodes]
        others = [self.job(node, labels="job=other") for node in nodes]
        jobs[1].order("steps 3")  # their loops are not equally far
        begun = self.ask("start", "--all-agents", "--label", "job=llm", "--collect", "agent-step", "--step", "5", "--json",
                         hosts=",".join(self.hosts[:2]))
        self.assertEqual(begun.code, harness.OK, begun)
        for job in jobs + others:
            job.order("steps 8")
        for i, (node, answer) in enumerate(zip(nodes, lines(begun))):
            self.assertEqual(answer["reply"]["pids"], [jobs[i].pid])
            sealed = node.end(answer["reply"]["session"])
            [agent] = agent_reader.agents(sealed["directory"])
            self.assertEqual([record["value"] for record in agent.of("step_begin")], list(range(5, (8, 11)[i])))

    def test_a_third_of_them_does_not_answer(self):
        self.addCleanup(self.stop_all)
        killed, hung = self.nodes[1::6], self.nodes[2::6]
        for node in killed:
            node.kill()
            self.addCleanup(node.start)
        for node in hung:
            node.signal(signal.SIGSTOP)
            self.addCleanup(node.signal, signal.SIGCONT)
        begin = time.monotonic()
        begun = self.ask("--timeout", "20s", "start", "--devices", "all", "--collect", "hbm", "--json")
        took = time.monotonic() - begin
        self.assertEqual(begun.code, 9, begun)
        answers = lines(begun)
        self.assertEqual(len(answers), NODES)
        for node, answer in zip(self.nodes, answers):
            if node in killed or node in hung:
                self.assertEqual(answer["exit"], harness.UNAVAILABLE, answer)
                self.assertTrue(answer["error"])
            else:
                self.assertEqual(answer["exit"], harness.OK, answer)
        self.assertLess(took, 20 + harness.PATIENCE_S)  # the deadline is for all together
        # Who is silent holds up nobody: fewer at once than are hung.
        said = self.ask("--timeout", "15s", "--parallel", str(max(2, NODES // 12)), "list")
        self.assertEqual(said.code, 9)
        self.assertLessEqual(len(said.err.splitlines()), 4, said.err)  # grouped by what is wrong
        self.assertIn(f"{len(killed)} of {NODES} hosts", said.err)

    def test_the_screen_names_the_slowest_ranks(self):
        job = self.job(self.nodes[1], labels="rank=3,job=train")
        job.order("steps 5")

        def ranks():
            _, _, table = self.ask("top", "--once", "--sort", "step", hosts=",".join(self.hosts[:3])).out.partition("slowest ranks, of ")
            return [line.split() for line in table.splitlines()]

        said = harness.wait_until(ranks, "the rank")
        self.assertEqual((said[0][0], said[2][:4]), ("1", ["3", "train", self.hosts[1], str(job.pid)]))

    def test_a_screen_of_all_nodes(self):
        killed = self.nodes[3]
        killed.kill()
        self.addCleanup(lambda: killed.process.poll() is None or killed.start())
        shown = self.ask("--timeout", "20s", "top", "--once")
        self.assertEqual(shown.code, 9, shown)
        text = shown.out.splitlines()
        self.assertTrue(text[0].startswith(f"{NODES} nodes, {NODES - 1} answer; {NODES - 1} devices, all ok"), shown.out)
        self.assertEqual(text[2].split()[0], "HOST")
        self.assertEqual(text[3].split()[0], self.hosts[3], "what is wrong stands first")
        rows = [line for line in text if line.endswith(" ok")]
        self.assertEqual([row.split()[0] for row in rows], self.hosts[:3] + self.hosts[4:])
        self.assertTrue(all("%" in row for row in rows), shown.out)
        for wrong, said in ((("--devices", "0"), "--devices and --pid work with one node"), (("--sort", "rss"), "--sort 'rss'")):
            refused = self.ask("top", "--once", *wrong)
            self.assertEqual(refused.code, harness.USAGE, refused)
            self.assertIn(said, refused.err)
        screen = live_test.Terminal(self, self.nodes[0], "--hosts", f"@{self.fleet.list}", *self.fleet.options(), rows=NODES + 10)
        screen.until(lambda text: f"{NODES} nodes, {NODES - 1} answer" in text, "all that answer")
        killed.start()
        screen.until(lambda text: f"{NODES} nodes, all answer" in text, "the one that is back")
        screen.key("R")
        screen.until(lambda text: self.hosts[-1] in text.split("\n")[3], "the order to be turned")
        screen.key("q")
        harness.wait_until(lambda: screen.process.poll() is not None, "the end")
        self.assertEqual(screen.process.returncode, 0)
        screen.restored(self)

    def test_one_that_hangs_keeps_no_other_from_its_instant(self):
        self.addCleanup(self.stop_all)
        hung, at = self.nodes[1], self.soon()
        hung.signal(signal.SIGSTOP)
        self.addCleanup(hung.signal, signal.SIGCONT)
        begun = self.ask("--timeout", "8s", "start", "--collect", "hbm", "--at", at, "--duration", "1s", "--json")
        self.assertEqual(begun.code, 9, begun)
        for node, answer in zip(self.nodes, lines(begun)):
            self.assertEqual(answer["exit"], harness.UNAVAILABLE if node is hung else harness.OK, answer)

    def test_none_does(self):
        refused = self.ask("start", "--collect", "nonsense", "--devices", "all")
        self.assertEqual(refused.code, harness.USAGE, refused)
        self.assertEqual(len(refused.err.splitlines()), 1)
        self.assertIn(f"{NODES} of {NODES} hosts", refused.err)

    def test_fetch_brings_all_of_them(self):
        begun = lines(self.ask("start", "--devices", "all", "--collect", "hbm", "--duration", "1s", "--json"))
        sessions = {answer["host"]: answer["reply"]["session"] for answer in begun}
        harness.wait_until(lambda: {info["state"] for answer in lines(self.ask("list", "--json"))
                                    for info in answer["reply"]["sessions"]} == {"sealed"}, "all to end")
        folder = tempfile.TemporaryDirectory(prefix="profd-fetch-")
        self.addCleanup(folder.cleanup)
        out = pathlib.Path(folder.name)
        for host, session in list(sessions.items())[:4]:
            self.assertEqual(self.ask("fetch", session, "--out", out, hosts=host).code, harness.OK)
        directories = list(out.iterdir())
        self.assertEqual(len(directories), 4)
        for directory in directories:
            self.assertEqual(self.nodes[0].ctl("verify", directory).code, harness.OK)


class HostsTest(harness.ProfdTest):
    """The language of --hosts; nobody listens there."""

    def hosts(self, text, path=""):
        done = subprocess.run([str(harness.PROFCTL), "--hosts", text, "--plain", "--timeout", "2s", "list", "--json"],
                              env=dict(os.environ, PATH=f"{path}:{os.environ['PATH']}"), capture_output=True, text=True,
                              check=False)
        return [json.loads(line)["host"] for line in done.stdout.splitlines()] or done

    def test_ranges(self):
        self.assertEqual(self.hosts("127.0.0.[1-2,9]:1"), ["127.0.0.1:1", "127.0.0.2:1", "127.0.0.9:1"])
        self.assertEqual(self.hosts("127.0.0.[008-010]:1,127.0.0.1:1"),
                         ["127.0.0.008:1", "127.0.0.009:1", "127.0.0.010:1", "127.0.0.1:1"])
        self.assertEqual(self.hosts("127.0.[0-1].[1-2]:1"), ["127.0.0.1:1", "127.0.0.2:1", "127.0.1.1:1", "127.0.1.2:1"])
        self.assertEqual(self.hosts("127.0.0.1,127.0.0.1:9478"), ["127.0.0.1:9478"])
        self.assertEqual(self.hosts("[::1]:7,::1"), ["[::1]:7", "[::1]:9478"])

    def test_what_is_none(self):
        for text in ("n[3-1]", "n[1", "a,,b", "@/nowhere", "slurm:", "n[a-b]", "a/b"):
            done = self.hosts(text)
            self.assertEqual(done.returncode, harness.USAGE, done)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_schedulers_say_which(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("squeue", 'test "$*" = "-h -o %N -j 77" && echo "n[1-2]"'),
                               ("scontrol", 'test "$3" = "n[1-2]" && printf "127.0.0.1\\n127.0.0.2\\n"'),
                               ("kubectl", 'case "$*" in *"-l app=train"*) printf "127.0.0.3\\n127.0.0.4\\n127.0.0.3\\n";; esac')):
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\n{text}\n")
                program.chmod(0o755)
            self.assertEqual(self.hosts("slurm:77", folder), ["127.0.0.1:9478", "127.0.0.2:9478"])
            self.assertEqual(self.hosts("k8s:app=train", folder), ["127.0.0.3:9478", "127.0.0.4:9478"])
            self.assertEqual(self.hosts("slurm:78", folder).returncode, harness.USAGE)


if __name__ == "__main__":
    unittest.main()
