#!/usr/bin/env python3
"""Values that are always at hand: profctl watch and top, with and without sessions."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import unittest

import harness

MB = 2**20


def pick(values, name, **labels):
    return [v["value"] for v in values["values"]
            if v["name"] == name and all(v["labels"].get(key) == text for key, text in labels.items())]


def text(path):
    return pathlib.Path(path).read_text(encoding="ascii")


class Terminal:
    """profctl top on a terminal of its own."""

    def __init__(self, test, daemon, *arguments, rows=40, columns=160):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.text = ""
        self.process = subprocess.Popen([str(harness.PROFCTL), "top", *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        env=dict(daemon.environment, TERM="xterm"), start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        test.addCleanup(self.close)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def key(self, text):
        os.write(self.master, text.encode())

    def read(self):
        while select.select([self.master], [], [], 0.02)[0]:
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                return

    def screen(self):
        """The newest that is there as a whole: a busy machine brings one piece by piece."""
        self.read()
        whole = self.text.rpartition("\x1b[J")[0].split("\x1b[H")[1:]
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", whole[-1]) if whole else ""

    def until(self, condition, what):
        def holds():
            screen = self.screen()
            return screen if screen and condition(screen) else None

        return harness.wait_until(holds, what)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            try:
                os.close(descriptor)
            except OSError:
                pass

    def restored(self, test):
        self.read()
        test.assertEqual(termios.tcgetattr(self.slave), self.before)
        test.assertIn("\x1b[?1049h", self.text)
        test.assertTrue(self.text.rstrip().endswith("\x1b[?1049l"), repr(self.text[-80:]))
        test.assertGreater(self.text.rindex("\x1b[?25h"), self.text.rindex("\x1b[?25l"))


class LiveTest(harness.ProfdTest):
    def watch(self, daemon, *kinds, count=2, **options):
        result = daemon.ctl("watch", *kinds, "--json", "--count", count, **options)
        self.assertEqual(result.code, harness.OK, f"{result}\n{daemon.log.read_text()}")
        return [json.loads(line) for line in result.out.splitlines()]

    def test_what_has_no_values_says_why(self):
        daemon = self.profd()
        result = daemon.ctl("watch", "hbm", "process", "host-cpu", "--count", "2")
        self.assertEqual(result.code, harness.OK, result)
        self.assertEqual(len(result.err.strip().splitlines()), 2, result)
        self.assertIn("hbm: no values yet: they come while a session samples it (profctl start --collect hbm), ", result.err)
        self.assertIn("process: no values yet: no process with an agent", result.err)

    def test_why_there_is_no_value_is_a_word_for_scripts(self):
        daemon = self.profd(config="live: {off: [host-cpu]}\n")
        values = self.watch(daemon, "hbm", "ub", "host-cpu", "profd")[-1]
        self.assertEqual({lack["kind"]: lack["why"] for lack in values["lacks"]},
                         {"hbm": "no-data", "ub": "not-supported", "host-cpu": "off"})

    def test_who_comes_later_gets_what_was(self):
        daemon = self.profd(config="live: {hz: 10, history_s: 600}\n")
        watching = daemon.popen_ctl("watch", "profd", "device", "--json")
        self.addCleanup(lambda: (watching.kill(), watching.wait(), watching.stdout.close(), watching.stderr.close()))
        seen = [json.loads(watching.stdout.readline())]
        while seen[-1]["number"] < 12:
            seen.append(json.loads(watching.stdout.readline()))
        first = {values["number"]: values for values in seen}
        late = self.watch(daemon, "profd", "device", "--since", "10m", count=12)
        self.assertEqual([values["number"] for values in late], list(range(1, 13)))
        for values in late:
            if values["number"] in first:
                self.assertEqual(values, first[values["number"]])
            for value in values["values"]:
                self.assertLess(abs(value["wall_ns"] - values["wall_ns"]), 60e9)
        every_third = self.watch(daemon, "profd", "--since", "10m", "--interval", "300ms", count=3)
        self.assertEqual(every_third[0]["number"], 1)
        self.assertGreaterEqual(every_third[1]["number"], 3)
        watching.kill()
        watching.wait()
        # Nobody looks: it is kept for a while, but shown to those only who ask for it.
        self.assertEqual(self.watch(daemon, "profd", "--since", "10m", count=1)[0]["number"], 1)
        self.assertGreater(self.watch(daemon, "profd", count=1)[0]["number"], 12)
        none = self.profd(config="live: {hz: 10, history_s: 0}\n")
        self.watch(none, "profd", count=3)
        self.assertGreater(self.watch(none, "profd", "--since", "10m", count=1)[0]["number"], 3)

    def test_devices_host_and_profd_without_a_session(self):
        daemon = self.profd()
        # A device or the host may answer after a beat is over, on a busy machine: two sets that have all of it.
        sets = self.watch(daemon, count=5)
        self.assertEqual([values["number"] for values in sets], list(range(sets[0]["number"], sets[0]["number"] + 5)))
        first = next(values for values in sets if pick(values, "profd_host_cpus"))
        second = next(values for values in sets if pick(values, "profd_host_cpu_utilization_ratio") and
                      len(pick(values, "profd_device_aicore_utilization_ratio")) == 2)
        self.assertEqual(second["period_s"], 1)
        for device in ("0", "1"):
            self.assertEqual(pick(second, "profd_device_status", device=device, chip="910B3"), [1])
            self.assertEqual(pick(second, "profd_device_aicore_rated_frequency_hertz", device=device), [1800e6])
            [hertz] = pick(second, "profd_device_aicore_frequency_hertz", device=device)
            self.assertTrue(0 < hertz <= 1800e6, hertz)
            [busy] = pick(second, "profd_device_aicore_utilization_ratio", device=device)
            self.assertTrue(0 <= busy <= 1, busy)
        meminfo = dict(re.findall(r"(\w+): +(\d+) kB", text("/proc/meminfo")))
        self.assertEqual(pick(second, "profd_host_memory_bytes", part="total"), [int(meminfo["MemTotal"]) * 1024])
        idle = int(text("/proc/stat").split()[4]) / os.sysconf("SC_CLK_TCK")
        before, after = (pick(v, "profd_host_cpu_seconds_total", mode="idle")[0] for v in (first, second))
        self.assertLessEqual(before, after)
        self.assertLessEqual(after, idle + 0.001)  # both are ticks, divided
        self.assertEqual(pick(second, "profd_host_cpus"), [os.cpu_count()])
        self.assertEqual(len(pick(first, "profd_host_cpu_utilization_ratio")), 0)  # needs two readings
        self.assertEqual(len(pick(second, "profd_host_cpu_utilization_ratio")), 1)
        stat = text(f"/proc/{daemon.process.pid}/stat").rsplit(")", 1)[1].split()
        own = (int(stat[11]) + int(stat[12]) + 2) / os.sysconf("SC_CLK_TCK")
        self.assertTrue(0 < pick(second, "profd_self_cpu_seconds_total")[0] <= own)
        self.assertEqual(pick(second, "profd_live_values"), [len(second["values"])])
        # None of it took a channel.
        self.assertEqual([line for line in (daemon.truth_lines() if daemon.truth.exists() else [])
                          if line.get("event") == "start"], [])
        self.assertEqual(pick(second, "profd_device_kinds_held"), [0, 0])
        for entry in second["values"]:
            self.assertNotIn(entry["kind"], ("hbm", "llc", "pcie", "process", "session"))

    def test_kinds_have_values_while_a_session_samples_them(self):
        daemon = self.profd()
        session = daemon.begin("--collect", "hbm=50Hz,llc=50Hz,pcie=50Hz,hccs=50Hz", "--devices", "0")
        newest = harness.wait_until(lambda: [v for v in self.watch(daemon, "hbm", "llc", "pcie", "hccs", count=3)
                                             if {e["kind"] for e in v["values"]} == {"hbm", "llc", "pcie", "hccs"}],
                                    "values of all four")[-1]
        self.assertEqual({e["labels"]["device"] for e in newest["values"]}, {"0"})
        sealed = daemon.end(session["session"])
        truth = [line["values"] for line in daemon.truth_lines() if "values" in line and line["channel"] == 1]
        for direction in ("read", "write"):
            [value] = pick(newest, "profd_device_hbm_bytes_per_second", direction=direction)
            known = [sum(values[f"{direction}_mb_s"]) * MB for values in truth]
            self.assertTrue(any(abs(value - one) <= 1e-6 * one for one in known), f"{value} is none of {known[-20:]}")
        self.assertEqual(sealed["lost"], 0)
        after = self.watch(daemon)[-1]
        self.assertEqual([e for e in after["values"] if e["kind"] == "hbm"], [])
        self.assertGreater(pick(after, "profd_stored_bytes_total", source="device")[0], 0)

    def test_what_has_ended_still_counts(self):
        daemon = self.profd()
        watching = daemon.popen_ctl("watch", "profd", "--json")
        self.addCleanup(lambda: (watching.kill(), watching.wait(), watching.stdout.close(), watching.stderr.close()))
        session = daemon.begin("--collect", "hbm=50Hz", "--devices", "0")
        harness.wait_until(lambda: pick(json.loads(watching.stdout.readline()), "profd_sessions", state="running") == [1],
                           "the session to be seen")
        sealed = daemon.end(session["session"])
        last = harness.wait_until(
            lambda: next((v for v in [json.loads(watching.stdout.readline())]
                          if pick(v, "profd_sessions", state="running") == [0]), None), "its end")
        self.assertEqual(pick(last, "profd_stored_bytes_total", source="device"), [sealed["bytes"]])

    def test_what_nobody_saw_running_counts(self):
        daemon = self.profd()
        stored = 0
        for _ in range(3):
            session = daemon.begin("--collect", "hbm=50Hz", "--devices", "0")
            daemon.let_run(session, 0.2)
            stored += daemon.end(session["session"])["bytes"]
        self.assertGreater(stored, 0)
        self.assertEqual(pick(self.watch(daemon)[-1], "profd_stored_bytes_total", source="device"), [stored])

    def test_a_driver_that_hangs_takes_nothing_else_with_it(self):
        daemon = self.profd(sim="devices: 2\nchip: 910B\nfaults:\n  - {call: info, device: 1, at_s: 2, delay_ms: 600000, ret: 0}\n")
        harness.wait_until(lambda: pick(self.watch(daemon, "device")[-1], "profd_device_status", device="1") == [-1], "it to hang")

        def whole():
            """Sets in which all others have answered: on a busy machine one may be late for a beat."""
            return [values for values in self.watch(daemon, "device", "host-cpu", "profd", count=4)[1:]
                    if len(pick(values, "profd_device_aicore_utilization_ratio")) == len(pick(values, "profd_host_cpus")) == 1]

        sets = []
        harness.wait_until(lambda: sets.extend(whole()) or len(sets) >= 3, "three of them")
        for values in sets:
            self.assertEqual(pick(values, "profd_device_status", device="0"), [1])
            self.assertEqual(pick(values, "profd_device_status", device="1"), [-1])
            self.assertEqual(pick(values, "profd_driver_unanswered_calls"), [1])
        session = daemon.begin("--collect", "hbm", "--devices", "0")
        daemon.end(session["session"])

    @harness.needs_root
    def test_others_see_the_node_but_not_its_kinds_nor_processes(self):
        daemon = self.profd()
        daemon.begin("--collect", "hbm=50Hz", "--devices", "0")
        self.job(daemon, labels="rank=3,job=train")
        # Whose values come beat by beat: one may be late.
        mine = harness.wait_until(lambda: next((values for values in self.watch(daemon, count=3) if
                                                {"process", "session", "hbm"} <= {e["kind"] for e in values["values"]}), None), "all")
        [cpu] = [e for e in mine["values"] if e["name"] == "profd_process_cpu_seconds_total"]
        self.assertEqual((cpu["labels"]["rank"], cpu["labels"]["job"], cpu["labels"]["name"]), ("3", "train", "workload"))
        self.assertTrue(pick(mine, "profd_device_hbm_bytes_per_second"))
        self.assertTrue(pick(mine, "profd_session_stored_bytes"))
        others = self.watch(daemon, count=3, user=harness.nobody())
        self.assertEqual({e["kind"] for values in others for e in values["values"]} & {"process", "session", "hbm"}, set())
        self.assertIn([1, 1], [pick(values, "profd_device_status") for values in others])
        [lack] = self.watch(daemon, "hbm", "--since", "30s", user=harness.nobody())[-1]["lacks"]
        self.assertEqual((lack["kind"], lack["why"]), ("hbm", "no-permission"))

    def test_steps_show_without_a_recording(self):
        daemon = self.profd()
        job = self.job(daemon, labels="rank=3,job=train")
        self.assertFalse(pick(self.watch(daemon, count=1)[0], "profd_process_steps_total"), "none has begun")
        job.order("steps 5")
        values = harness.wait_until(lambda: next((one for one in self.watch(daemon, count=2)
                                                  if pick(one, "profd_process_steps_total", rank="3") == [5]), None), "five steps")
        [seconds] = pick(values, "profd_process_step_seconds", rank="3")
        self.assertGreater(seconds, 0)

    def test_how_devices_are(self):
        daemon = self.profd(sim="devices: 2\nhealth: {alarm: 2, uncorrected: 3, hbm_used_mb: 1024}\n")
        values = harness.wait_until(lambda: next((one for one in self.watch(daemon, "health", count=2) if one["values"]), None), "health")
        self.assertEqual(pick(values, "profd_device_alarm"), [2, 2])
        self.assertEqual(pick(values, "profd_device_temperature_celsius", part="chip"), [48, 49])
        self.assertEqual(pick(values, "profd_device_power_watts"), [92.5, 93.5])
        self.assertEqual(pick(values, "profd_device_hbm_bytes", part="used", device="1"), [1 << 30])
        self.assertEqual(pick(values, "profd_device_ecc_errors_total", severity="uncorrected"), [3, 3])
        screen = daemon.ctl("top", "--once").out
        self.assertRegex(screen, r"49 °C +94 W +1\.1 GB")

    def test_a_card_library_that_hangs_costs_its_values_only(self):
        daemon = self.profd(sim="devices: 1\nfaults: [{call: card_health, delay_ms: 600000}]\n")
        begun = daemon.begin("--collect", "hbm", "--devices", "0")
        for values in self.watch(daemon, count=3)[1:]:
            self.assertEqual(pick(values, "profd_device_status"), [1])
            self.assertFalse(pick(values, "profd_device_alarm"))
        [lack] = self.watch(daemon, "health")[-1]["lacks"]
        self.assertEqual((lack["kind"], lack["why"]), ("health", "no-data"))
        self.assertEqual(daemon.end(begun["session"])["state"], "sealed")
        daemon.signal(signal.SIGTERM)
        harness.wait_until(lambda: daemon.process.poll() is not None, "its end")
        self.assertEqual(daemon.process.returncode, 0)

    def test_settings_say_what_is_off(self):
        daemon = self.profd(config="live: {hz: 5, off: [host-cpu, device]}\n")
        seen = []

        def kinds_now():
            seen.append(self.watch(daemon)[-1])
            return {e["kind"] for e in seen[-1]["values"]}

        harness.wait_until(lambda: "host-mem" in kinds_now(), "the host's values")
        values = seen[-1]
        self.assertEqual(values["period_s"], 0.2)
        kinds = {e["kind"] for e in values["values"]}
        self.assertEqual(kinds & {"host-cpu", "device"}, set())
        unknown = daemon.ctl("watch", "hbn")
        self.assertEqual(unknown.code, harness.USAGE, unknown)
        self.assertIn("hbm", unknown.err)
        off = self.profd(config="live: {hz: 0}\n").ctl("watch")
        self.assertEqual(off.code, harness.FAILED, off)
        self.assertIn("live.hz is 0", off.err)

    def test_streams_end_with_the_timeout(self):
        daemon = self.profd()
        session = daemon.begin("--collect", "host-sys-cpu")["session"]
        for verb in (("watch", "profd"), ("status", session, "--watch", "--json")):
            ended = daemon.ctl(*verb, "--timeout", "5s")
            self.assertEqual(ended.code, harness.UNAVAILABLE, ended)
            self.assertIn("did not finish in time", ended.err)
            self.assertTrue(ended.out)

    def test_a_reader_that_sleeps_wakes_to_the_newest(self):
        daemon = self.profd(config="live: {hz: 10}\n")
        watching = daemon.popen_ctl("watch", "--json")
        self.addCleanup(lambda: (watching.kill(), watching.wait(), watching.stdout.close(), watching.stderr.close()))
        numbers = [json.loads(watching.stdout.readline())["number"]]
        watching.send_signal(signal.SIGSTOP)
        reached = self.watch(daemon, "profd", count=80)[-1]["number"]  # another reader lost nothing meanwhile
        watching.send_signal(signal.SIGCONT)
        while numbers[-1] < reached:
            numbers.append(json.loads(watching.stdout.readline())["number"])
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertLess(len(numbers), reached - numbers[0], "every set was kept for a reader that slept")

    def test_held_channels_have_values_and_yield(self):
        daemon = self.profd(config="live: {hz: 2, channels: [hbm]}\n")
        watching = daemon.popen_ctl("watch", "hbm", "profd", "--json")
        self.addCleanup(lambda: (watching.kill(), watching.wait(), watching.stdout.close(), watching.stderr.close()))

        def has_hbm():
            return pick(json.loads(watching.stdout.readline()), "profd_device_hbm_bytes_per_second", direction="read")

        harness.wait_until(lambda: len(has_hbm()) == 2, "values of both devices without a session")
        holders = {h["holder"] for d in daemon.ctl("devices", "--json").json["devices"] for h in d["holders"]}
        self.assertEqual(holders, {"live.channels"})
        session = daemon.begin("--collect", "hbm=50Hz", "--devices", "all")
        for unit in ("device:0", "device:1"):
            kind = self.kind(session, "hbm", unit)
            self.assertEqual((kind["verdict"], kind["effective_hz"]), ("started", 50), kind)
        harness.wait_until(lambda: len(has_hbm()) == 2, "the session's values")
        sealed = daemon.end(session["session"])
        self.assertEqual(sealed["lost"], 0)
        harness.wait_until(lambda: {h["holder"] for d in daemon.ctl("devices", "--json").json["devices"]
                                    for h in d["holders"]} == {"live.channels"}, "the channels to be held again")
        watching.kill()
        harness.wait_until(lambda: not any(d["holders"] for d in daemon.ctl("devices", "--json").json["devices"]),
                           "the channels to be given back")
        self.assertEqual(daemon.stop(), 0)
        with self.assertRaises(AssertionError) as refused:
            self.profd(config="live: {channels: [host-cpu]}\n")
        self.assertIn("live.channels", str(refused.exception))

    def test_top_once_and_what_it_refuses(self):
        daemon = self.profd()
        daemon.begin("--collect", "hbm=50Hz,npu-mem=50Hz", "--devices", "0", "--name", "x")
        self.job(daemon, labels="rank=7")

        def with_values():
            shown = daemon.ctl("top", "--once")
            self.assertEqual(shown.code, harness.OK, shown)
            return shown if "GB/s" in shown.out and "workload" in shown.out else None

        once = harness.wait_until(with_values, "values of both, which come beat by beat")
        self.assertRegex(once.out, r"DEV +CHIP +STATE +AI CORE")
        self.assertRegex(once.out, r"\n +0 +910B3 +ok .* GB/s")
        self.assertRegex(once.out, r"SESSION +USER")
        self.assertRegex(once.out, r"PID +USER .*\n.* 7 .* workload\n")
        self.assertNotIn("\x1b", once.out)
        self.assertEqual(daemon.ctl("top").code, harness.USAGE)
        self.assertIn("cpu", daemon.ctl("top", "--once", "--sort", "size").err)

    def test_top_on_a_terminal(self):
        daemon = self.profd()
        daemon.begin("--collect", "hbm=50Hz", "--devices", "1")
        terminal = Terminal(self, daemon)
        terminal.until(lambda text: "AI CORE" in text and "q quit" in text, "the screen")
        by_number = terminal.until(lambda text: "GB/s" in text, "values of the session")
        self.assertLess(by_number.index("\n  0"), by_number.index("\n  1"))
        terminal.key("h")
        terminal.until(lambda text: -1 < text.find("\n  1") < text.find("\n  0"), "the busier device first")
        terminal.key("R")
        terminal.until(lambda text: -1 < text.find("\n  0") < text.find("\n  1"), "it last")
        terminal.resize(6, 30)
        terminal.process.send_signal(signal.SIGWINCH)
        small = terminal.until(lambda text: text.count("\n") == 5, "six lines")
        self.assertLessEqual(max(len(line.strip("\r")) for line in small.split("\n")), 30)
        terminal.key("q")
        self.assertEqual(terminal.process.wait(harness.PATIENCE_S), 0)
        terminal.restored(self)

    def test_top_gives_the_terminal_back_whatever_ends_it(self):
        daemon = self.profd()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            terminal = Terminal(self, daemon)
            terminal.until(lambda text: "AI CORE" in text, "the screen")
            terminal.process.send_signal(number)
            self.assertEqual(terminal.process.wait(harness.PATIENCE_S), 0)
            terminal.restored(self)
        terminal = Terminal(self, daemon)
        terminal.until(lambda text: "AI CORE" in text, "the screen")
        daemon.kill()
        self.assertEqual(terminal.process.wait(harness.PATIENCE_S), harness.UNAVAILABLE)
        terminal.read()
        self.assertIn("\x1b[?1049l", terminal.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
