#!/usr/bin/env python3
"""Metrics in the systems operators have: a real Prometheus, promtool, an OTLP collector's stand-in, and limits."""
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

import harness

CONFIG = harness.ROOT / "config"
LISTEN = 'metrics: {listen: "127.0.0.1:0"%s}\n'
# Of the machine's Python, which has gRPC; the one that runs the tests may be another.
SYSTEM_PYTHON = "/usr/bin/python3"


class MetricsTest(harness.ProfdTest):
    def address(self, daemon):
        return re.search(r"metrics at http://([^/]+)/metrics", daemon.log.read_text()).group(1)

    def get(self, daemon, method="GET", path="/metrics"):
        connection = http.client.HTTPConnection(self.address(daemon), timeout=harness.PATIENCE_S)
        self.addCleanup(connection.close)
        connection.request(method, path)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers["Content-Type"]

    def metrics(self, daemon, *wanted):
        """A text with all of it: values come beat by beat, and on a busy machine one may be late."""
        wanted = wanted or ["profd_host_cpu_utilization_ratio"]
        return harness.wait_until(lambda: next((text for text in [self.get(daemon)[1]] if all(each in text for each in wanted)), None),
                                  wanted)

    def tool(self, name):
        found = shutil.which(name)
        self.assertIsNotNone(found, f"{name} is not installed: scripts/test.sh installs it (Debian package prometheus)")
        return found

    def test_promtool_finds_nothing_to_say(self):
        daemon = self.profd(config=LISTEN % ", processes: true")
        self.job(daemon, labels="rank=1")
        daemon.begin("--collect", "hbm=50Hz,llc,pcie,hccs,nic,roce,dvpp,npu-mem,npu-module-mem,qos,soc-profile,low-power,aicore")
        text = self.metrics(daemon, "profd_device_dvpp_utilization_ratio", "profd_process_cpu_utilization_ratio",
                            'profd_device_aicore_rated_frequency_hertz{device="1"')
        done = subprocess.run([self.tool("promtool"), "check", "metrics"], input=text, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)))
        self.assertIn('profd_device_aicore_rated_frequency_hertz{device="1",chip="910B3"} 1800000000', text)
        self.assertRegex(text, r'profd_process_threads\{pid="\d+",name="workload",user="\w+",rank="1"\} ')

    def test_processes_and_sessions_are_not_for_whoever_reaches_the_port(self):
        daemon = self.profd(config=LISTEN % "")
        self.job(daemon)
        daemon.begin("--collect", "hbm=50Hz", "--devices", "0")
        text = self.metrics(daemon, "profd_device_hbm_bytes_per_second", "profd_agents 1\n")
        self.assertNotRegex(text, "profd_process|profd_session_|pid=")

    def test_series_have_a_limit_that_is_told(self):
        daemon = self.profd(config=LISTEN % ", processes: true, max_series: 100")
        for _ in range(8):
            self.job(daemon)
        # Whose values come beat by beat: one beat may be late.
        def left_some_out():
            text = self.metrics(daemon, "profd_live_values_left_out")
            return text if re.search(r"profd_live_values_left_out [1-9]", text) else ""
        text = harness.wait_until(left_some_out, "values to be left out")
        values = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(values), 100)

    def test_a_node_of_many_devices_tells_of_the_limit_too(self):
        """profd's own values stay when those of devices alone are beyond the limit."""
        daemon = self.profd(sim="devices: 16\nchip: 910B\n", config=LISTEN % ", max_series: 100")
        text = harness.wait_until(
            lambda: next((text for text in [self.get(daemon)[1]] if re.search(r"profd_live_values_left_out [1-9]", text)), ""),
            "values to be left out")
        self.assertIn("profd_build_info", text)

    def test_http_is_answered_and_bounded(self):
        daemon = self.profd(config=LISTEN % "")
        self.assertEqual(self.get(daemon)[0::2], (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertEqual(self.get(daemon, path="/")[0], 404)
        self.assertEqual(self.get(daemon, method="POST")[0], 405)
        self.assertEqual(self.get(daemon, method="HEAD")[:2], (200, ""))
        host, port = self.address(daemon).split(":")
        with socket.create_connection((host, int(port))) as large:
            large.sendall(b"GET /metrics HTTP/1.1\r\nx: " + b"y" * 9000)
            self.assertIn(b"431", large.recv(4096))
        with socket.create_connection((host, int(port))) as garbage:
            garbage.sendall(b"\x16\x03\x01\r\n\r\n")
            self.assertIn(b"400", garbage.recv(4096))
        # Those who connect and say nothing make way, the oldest first: nobody waits for their time to be up.
        idle = [socket.create_connection((host, int(port))) for _ in range(30)]
        self.assertEqual(self.get(daemon)[0], 200)
        self.assertEqual(idle[0].recv(1), b"")
        idle[-1].setblocking(False)
        with self.assertRaises(BlockingIOError):
            idle[-1].recv(1)
        for one in idle:
            one.close()
        self.assertEqual(daemon.ctl("list").code, harness.OK)

    def test_a_wrong_address_is_refused_at_the_start(self):
        for wrong in ("9477", "localhost", "127.0.0.1:x", "192.0.2.1:9477"):
            with self.assertRaises(AssertionError) as refused:
                self.profd(config=f'metrics: {{listen: "{wrong}"}}\n')
            self.assertIn("metrics.listen", str(refused.exception))
        with self.assertRaises(AssertionError) as refused:
            self.profd(config='metrics: {otlp: "collector"}\n')
        self.assertIn("metrics.otlp", str(refused.exception))

    def test_a_real_prometheus_scrapes_it_and_its_rules_hold(self):
        daemon = self.profd(config=LISTEN % "", sim="devices: 2\nchip: 910B\nfaults:\n  - {name: device_lost, device: 1, at_s: 3}\n")
        self.metrics(daemon)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="profd-prometheus-"))
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        # What waits for minutes in earnest fires at once here.
        rules = re.sub(r"for: \w+", "for: 0s", (CONFIG / "alerts.yaml").read_text())
        (directory / "alerts.yaml").write_text(rules)
        (directory / "prometheus.yml").write_text(
            "global: {scrape_interval: 4s, scrape_timeout: 4s, evaluation_interval: 1s}\n"
            "rule_files: [alerts.yaml]\n"
            "scrape_configs:\n  - job_name: profd\n    static_configs: [{targets: ['%s']}]\n" % self.address(daemon))
        port = harness.free_ports()[0]
        log = open(directory / "log", "wb")  # noqa: SIM115 - for the life of the process
        prometheus = subprocess.Popen([self.tool("prometheus"), f"--config.file={directory}/prometheus.yml",
                                       f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"],
                                      stdout=log, stderr=log)
        self.addCleanup(lambda: (prometheus.kill(), prometheus.wait(), log.close()))

        def ask(path, **arguments):
            url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
            try:
                with urllib.request.urlopen(url, timeout=harness.PATIENCE_S) as reply:
                    return json.load(reply)["data"]
            except OSError:
                return None

        def query(text):
            return [(one["metric"], float(one["value"][1])) for one in (ask("query", query=text) or {}).get("result", [])]

        harness.wait_until(lambda: query('up{job="profd"} == 1'), f"a scrape: {(directory / 'log').read_text()}")
        harness.wait_until(lambda: query("rate(profd_host_cpu_seconds_total[1m]) > 0"), "CPU time that grows")
        [(labels, hertz)] = query('profd_device_aicore_rated_frequency_hertz{device="0"}')
        self.assertEqual((labels["chip"], hertz), ("910B3", 1800e6))
        # Every expression of the dashboard is one, and those of what is there have an answer.
        dashboard = json.loads((CONFIG / "grafana-dashboard.json").read_text())
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$instance", ".*").replace("$device", ".*")
                self.assertEqual(ask("query", query=expression)["resultType"], "vector", expression)
                if "profd_host" in expression or "self" in expression or "aicore" in expression:
                    self.assertTrue(query(expression), expression)
        metadata = ask("targets/metadata", metric="profd_host_cpu_seconds_total")
        self.assertEqual(metadata[0]["type"], "counter")
        harness.wait_until(lambda: [alert for alert in (ask("alerts") or {}).get("alerts", [])
                                    if (alert["labels"]["alertname"], alert["labels"].get("device")) == ("NpuLost", "1")
                                    and alert["state"] == "firing"], "the alert of the lost device")
        fired = {alert["labels"]["alertname"] for alert in ask("alerts")["alerts"]}
        self.assertEqual(fired & {"ProfdGone", "ProfdLosesRecords", "ProfdSaves"}, set())

    def test_the_rules_are_right(self):
        done = subprocess.run([self.tool("promtool"), "check", "rules", str(CONFIG / "alerts.yaml")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # Names in rules and dashboard are names of metrics.
        known = set(re.findall(r'"(profd_\w+)"', (harness.ROOT / "daemon/live/values/metrics.h").read_text()))
        for name in ("alerts.yaml", "grafana-dashboard.json"):
            used = set(re.findall(r"profd_\w+", (CONFIG / name).read_text()))
            self.assertEqual(used - known, set(), name)

    def test_a_collector_gets_otlp(self):
        port = harness.free_ports()[0]
        daemon = self.profd(config=f'metrics: {{otlp: "127.0.0.1:{port}", otlp_every_s: 1, processes: true}}\n')
        self.job(daemon, labels="rank=5")
        harness.wait_until(lambda: "values are not taken" in daemon.log.read_text(), "a try without a collector")
        collector = subprocess.Popen([SYSTEM_PYTHON, str(pathlib.Path(__file__).parent / "otlp_collector.py"), str(port)],
                                     stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (collector.kill(), collector.wait(), collector.stdout.close()))
        self.assertEqual(collector.stdout.readline(), "listening\n")

        def whole():
            export = json.loads(collector.stdout.readline())
            return export if "profd_process_cpu_utilization_ratio" in export["metrics"] else None

        export = harness.wait_until(whole, "an export with processes")
        self.assertEqual(export["resource"]["service.name"], "profd")
        self.assertEqual(export["resource"]["host.name"], socket.gethostname())
        metrics = export["metrics"]
        clock = metrics["profd_device_aicore_rated_frequency_hertz"]
        self.assertEqual((clock["type"], clock["unit"]), ("gauge", "Hz"))
        self.assertIn({"attributes": {"device": "0", "chip": "910B3"}, "value": 1800e6}, clock["points"])
        cpu = metrics["profd_host_cpu_seconds_total"]
        self.assertEqual((cpu["type"], cpu["monotonic"], cpu["temporality"]), ("sum", True, 2))
        self.assertIn("5", [point["attributes"].get("rank") for point in metrics["profd_process_threads"]["points"]])
        self.assertLess(abs(export["time_ns"] - time.time_ns()), 60e9)
        harness.wait_until(lambda: "values are taken again" in daemon.log.read_text(), "the collector to be noticed")

        def counts():
            values = daemon.ctl("watch", "profd", "--json", "--count", 1).json["values"]
            return [v["value"] for v in values if v["name"] in ("profd_otlp_exports_total", "profd_otlp_failed_exports_total")]

        harness.wait_until(lambda: all(count > 0 for count in counts()), "both to be counted")

    def test_profd_that_takes_more_than_it_may_does_without_and_lives(self):
        # No profd is that small.
        daemon = self.profd(config='live: {hz: 10}\nlimits: {rss_mb: 1}\n')
        watching = daemon.popen_ctl("watch", "--json")
        self.addCleanup(lambda: (watching.kill(), watching.wait(), watching.stdout.close(), watching.stderr.close()))
        session = daemon.begin("--collect", "host-network=50Hz")

        def sees(level):
            values = json.loads(watching.stdout.readline())["values"]
            return [v for v in values if v["name"] == "profd_limits_level" and v["value"] >= level] and values

        saving = harness.wait_until(lambda: sees(2), "live values to end")
        self.assertEqual({v["kind"] for v in saving} - {"profd", "session"}, set())
        warned = harness.wait_until(lambda: daemon.status(session["session"])["warnings"], "the session's warning")
        self.assertIn("limits", warned[0])
        harness.wait_until(lambda: daemon.status(session["session"])["lost"] > 0, "samples to be left out")
        sealed = daemon.end(session["session"])
        network = self.kind(sealed, "host-network", "host")
        self.assertGreater(network["records"], 0)
        self.assertIn("does without", daemon.log.read_text())
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
