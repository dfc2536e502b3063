#!/usr/bin/env python3
"""What a node costs when a whole fleet is asked: real profd on loopback ports behind mutual TLS, `profctl --hosts` directly and
through relays that ask for the first time or have connections from before, against one profctl after the other. Everybody shares
this machine, so what counts is CPU time by party, fitted over several sizes; from it follows what 10 000 nodes of their own would
take. Prints; judges nothing.

  fleet_bench.py [--nodes N] [--rounds N]
"""
import argparse
import os
import pathlib
import resource
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import fleet  # noqa: E402
import harness  # noqa: E402

MANY = 10_000
POLLERS = (4, 16)  # threads of gRPC's that share the work: half the cores, 2 to 16; nodes of accelerators have many
NAMES = 8  # of a node: each is a node of its own to profctl, which has to have many for the cost of an answer to show
SETTINGS = '  operators: "node"\n  relay: "127.0.0.*:*"\n'
LIMITS = "limits:\n  connections_per_user: 4096\n  requests_per_s: 1000\n"
VERBS = {"status": ("status",), "start": ("start", "--devices", "all", "--collect", "hbm"), "stop": ("stop", "--all")}


def cpu_of(process):
    return time.clock_gettime(~process.pid << 3 | 2)  # the clock of that process; /proc/PID/stat counts 10 ms


def client_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fit(rows, values):
    """Least squares: the x of rows·x ≈ values."""
    size = len(rows[0])
    matrix = [[sum(row[i] * row[j] for row in rows) for j in range(size)] +
              [sum(row[i] * value for row, value in zip(rows, values))] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(matrix[k][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for k in range(size):
            if k != i:
                factor = matrix[k][i] / matrix[i][i]
                matrix[k] = [a - factor * b for a, b in zip(matrix[k], matrix[i])]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]


class Bench:
    def __init__(self, nodes, rounds):
        # By address: a name of two (localhost is often one) costs the asker a second TLS context, which is half of all.
        self.fleet = fleet.Fleet(nodes=nodes, settings=SETTINGS, more=LIMITS, host="127.0.0.1", names=NAMES)
        self.names = [f"127.0.0.{i + 1}:{port}" for i in range(NAMES) for port in self.fleet.ports]
        self.an_answer = {}  # of status, by when
        self.rounds = rounds

    def once(self, verb, hosts, relays=()):
        """Wall time, CPU time of profctl, of the relays, of all nodes."""
        options = ("--relays", ",".join(relays)) if relays else ()
        asking = [node for node, host in zip(self.fleet.nodes, self.fleet.hosts) if host in relays]
        before = client_cpu(), sum(cpu_of(node.process) for node in asking), sum(cpu_of(node.process) for node in self.fleet.nodes)
        begin = time.monotonic()
        done = self.fleet.ask(*options, "--timeout", "100s", *VERBS[verb], hosts=",".join(hosts))
        wall = time.monotonic() - begin
        if done.code != harness.OK:
            raise AssertionError(done)
        after = client_cpu(), sum(cpu_of(node.process) for node in asking), sum(cpu_of(node.process) for node in self.fleet.nodes)
        return wall, *(b - a for a, b in zip(before, after))

    def forget(self):
        """Relays whose certificates have changed keep no connection."""
        with open(self.fleet.authority.ca, "a", encoding="utf-8") as file:
            file.write("\n")

    def measure(self, verb, hosts, relays=(), anew=False):
        samples = []
        for _ in range(self.rounds):
            if verb == "stop":
                self.once("start", hosts)
            if anew:
                self.forget()
            samples.append(self.once(verb, hosts, relays))
            if verb == "start":
                self.once("stop", hosts)
        return [statistics.median(column) for column in zip(*samples)]

    def in_sequence(self, hosts):
        begin, before = time.monotonic(), client_cpu()
        for host in hosts:
            done = self.fleet.nodes[0].ctl("--host", host, *self.fleet.options(), "status")
            if done.code != harness.OK:
                raise AssertionError(done)
        return (time.monotonic() - begin) / len(hosts), (client_cpu() - before) / len(hosts)

    def run(self):
        hosts, most = self.fleet.hosts, len(self.fleet.hosts)
        sizes = sorted({max(2, most // part) for part in (8, 4, 2, 1)})
        print(f"{most} nodes, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians of {self.rounds}")
        one_wall, one_cpu = self.in_sequence(hosts[:20])
        print(f"one profctl per node in sequence: {1e3 * one_wall:.1f} ms a node, {1e3 * one_cpu:.1f} ms CPU; "
              f"{MANY} nodes: {MANY * one_wall:.0f} s\n")
        print(f"{'verb':8}{'nodes':>6}{'relays':>12}{'wall ms':>9}{'profctl':>9}{'relays':>9}{'all nodes':>10}  CPU ms")
        for verb in VERBS:
            flat = []
            for size in sizes:
                flat.append((size, self.measure(verb, hosts[:size])))
                self.show(verb, size, "0", flat[-1][1])
            for anew in (True, False):
                tree = []
                few, some = max(2, most // 8), max(3, most // 4)
                shapes = [(most, 1), (most, few), (most, some), (most // 2, 1), (most // 2, few)]
                if verb == "status":
                    shapes += [(NAMES * most, 1), (NAMES * most, few)]
                for size, relays in shapes:
                    if not anew:
                        self.once("status", self.names[:size], hosts[:relays])
                    tree.append((size, relays, self.measure(verb, self.names[:size], hosts[:relays], anew)))
                    self.show(verb, size, f"{relays} {'first' if anew else 'again'}", tree[-1][2])
                self.extrapolate(verb, "for the first time" if anew else "again", flat, tree)

    @staticmethod
    def show(verb, size, relays, result):
        wall, client, relaying, nodes = (1e3 * value for value in result)
        print(f"{verb:8}{size:6}{relays:>12}{wall:9.1f}{client:9.1f}{relaying:9.1f}{nodes:10.1f}")

    def extrapolate(self, verb, when, flat, tree):
        base, a_node = fit([(1, size) for size, _ in flat], [result[1] for _, result in flat])
        _, of_node = fit([(1, size) for size, _ in flat], [result[3] for _, result in flat])
        if verb == "status":
            self.an_answer[when] = fit([(1, relays, size) for size, relays, _ in tree], [result[1] for _, _, result in tree])[2]
        an_answer = self.an_answer[when]  # too little to be seen in a few
        base_tree, a_relay = fit([(1, relays) for _, relays, _ in tree],
                                 [result[1] - size * an_answer for size, _, result in tree])
        # What a relay spends is its part as a node and one for each node it asks.
        as_node, a_child = fit([(relays, size) for size, relays, _ in tree], [result[2] for _, _, result in tree])
        relays = MANY ** 0.5
        client = base_tree + relays * a_relay + MANY * an_answer
        relay = as_node + MANY / relays * a_child
        shared = "; ".join(f"on {2 * threads} cores {1e3 * (base_tree + (client - base_tree + relay) / threads + of_node):.0f} ms"
                           for threads in POLLERS)
        print(f"  directly: profctl {1e3 * base:.0f} ms + {1e3 * a_node:.3f} ms a node; a node {1e3 * of_node:.2f} ms\n"
              f"  by relays {when}: profctl {1e3 * base_tree:.0f} ms + {1e3 * a_relay:.2f} ms a relay + {1e3 * an_answer:.3f} ms a node; "
              f"a relay {1e3 * as_node:.1f} ms + {1e3 * a_child:.2f} ms a node\n"
              f"  {MANY} nodes, one core each: directly {1e3 * (base + MANY * a_node):.0f} ms; by {relays:.0f} relays profctl "
              f"{1e3 * client:.0f} ms, a relay {1e3 * relay:.0f} ms, one after the other {1e3 * (client + relay + of_node):.0f} ms; "
              f"{shared}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    bench = Bench(arguments.nodes, arguments.rounds)
    try:
        bench.run()
    finally:
        bench.fleet.close()


if __name__ == "__main__":
    main()
