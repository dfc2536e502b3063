"""Many profd on loopback, each with its own port, behind mutual TLS."""
import concurrent.futures
import json
import os
import pathlib
import tempfile

import authority
import harness

NODES = int(os.environ.get("PROFD_FLEET", "24"))
SIM = "devices: 1\nchip: 910B\n"


def lines(result):
    return [json.loads(line) for line in result.out.splitlines()]


class Fleet:
    """`settings` are lines below `remote:`, `more` above; each node has `names` addresses of loopback; the card "ops" is an admin,
    "eye" a viewer, the nodes' own is called "node"."""

    def __init__(self, nodes=NODES, settings="", more="", host="localhost", names=1):
        self.authority = authority.Authority()
        cert, key = self.authority.issue("node", "DNS:localhost," + ",".join(f"IP:127.0.0.{i + 1}" for i in range(names)))
        self.cards = {name: self.authority.issue(name) for name in ("ops", "eye")}
        self.ports = harness.free_ports(nodes)
        self.hosts = [f"{host}:{port}" for port in self.ports]
        remote = f"""{more}
remote:
  cert: "{cert}"
  key: "{key}"
  client_ca: "{self.authority.ca}"
  admins: "ops"
  viewers: "eye"
{settings}"""
        self.folder = tempfile.TemporaryDirectory(prefix="profd-fleet-")
        self.list = pathlib.Path(self.folder.name) / "hosts"
        self.list.write_text("# the fleet\n" + "".join(f"{host}\n" for host in self.hosts))
        listen = "127.0.0.1" if names == 1 else "0.0.0.0"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.nodes = list(pool.map(
                lambda port: harness.Profd(sim=SIM, config=remote + f'  listen: "{listen}:{port}"\n'), self.ports))

    def close(self):
        for node in self.nodes:
            node.close()
        self.folder.cleanup()
        self.authority.close()

    def options(self, card="ops"):
        cert, key = self.cards[card]
        return ("--tls-ca", self.authority.ca, "--tls-cert", cert, "--tls-key", key)

    def ask(self, *arguments, hosts=None, card="ops", timeout=120):
        return self.nodes[0].ctl("--hosts", hosts or f"@{self.list}", *self.options(card), *arguments, timeout=timeout)
