#!/usr/bin/env python3
"""Every fault of the simulator's list: the daemon stays up, other channels are unharmed, the reason is in status and in
the manifest, and `--wait` does not end with 0."""
import concurrent.futures
import itertools
import pathlib
import re
import sys
import time
import unittest

import agent_reader
import harness
import own_folder
import prof_reader
from harness import OK

# What profd calls of the vendor's libraries, and what the simulator's faults call it.
CHANNELS = {"prof_drv_get_channels": "get_channels", "prof_drv_start": "start", "prof_stop": "stop", "prof_channel_read": "read",
            "halProfDataFlush": "flush", "drvGetDevNum": "dev_num", "halGetDeviceInfo": "info", "drvDeviceStatus": "status"}
FACTS = {"drvGetDevIDs": "dev_ids", "halGetAPIVersion": "api_version", "drvDeviceGetPhyIdByIndex": "physical_id",
         "halGetDeviceInfoByBuff": "info_by_buffer", "halGetPairDevicesInfo": "pair_info", "halGetChipInfo": "chip_info",
         "drvGetDeviceSplitMode": "split_mode", "dcmi_get_netdev_pkt_stats_info": "port_totals",
         "ProcessCloseSubProcList": "close_process"}
AT_THE_START = {"halEschedAttachDevice": "attach", "halEschedQueryInfo": "query_group", "halEschedCreateGrpEx": "create_group",
                "halEschedSubscribeEvent": "subscribe", "halEschedWaitEvent": "wait_event", "TsdCapabilityGet": "can_process",
                "TsdProcessOpen": "open_process", "TsdGetProcListStatus": "process_states", "dcmi_init": "init_cards",
                "dcmi_get_card_list": "card_list", "dcmi_get_device_num_in_card": "devices_of_card",
                "dcmi_get_device_logic_id": "device_number"}
# The first is bound, to know a driver by, and never called; no session asks for a device's health (live_test); the others
# are those of a newer card library.
HEALTH = ("power_info", "temperature", "health", "ecc_info", "hbm_info", "network_health")
ELSEWHERE = {"prof_channel_poll", *(f"{age}_get_device_{what}" for age in ("dcmi", "dcmiv2") for what in HEALTH),
             "dcmi_get_device_errorcode_v2", "dcmiv2_get_device_error_code_list", "dcmiv2_init",
             "dcmiv2_get_netdev_pkt_stats_info"}
OF_NO_DEVICE = ("dev_num", "dev_ids", "api_version", "init_cards", "card_list", "devices_of_card", "device_number")
OF_CARDS = OF_NO_DEVICE[3:]
# An error that there is, an answer of nothing but one bits, a code of nobody's (of a read: so many bytes, which it has not
# written), more than was asked for.
FAULTS = {"hang": "delay_ms: 600000", "error": "ret: -1", "ones": "ones: true"}
MORE_FAULTS = {"stale bytes": "ret: 4711", "garbage": "ret: 2147483647", "negative garbage": "ret: -2147483648"}
MOMENTS = ("start", "running", "stop")
AT_ONCE = 6  # most of the time they wait

ONE = "devices: 2\nchip: 910B\nfaults:\n"


class FaultsTest(harness.ProfdTest):
    def run_through(self, faults, collect="hbm,llc,pcie,hccs", seconds=3):
        """One session with --wait over the fault; returns the sealed session and profctl's exit code."""
        daemon = self.profd(sim=ONE + faults)
        waiting = daemon.ctl("start", "--collect", collect, "--duration", f"{seconds}s", "--wait", "--json",
                             timeout=seconds + harness.PATIENCE_S)
        return self.sealed(daemon), waiting.code, daemon

    def all_go_on(self, daemon, session):
        """Until every kind has new data."""
        before = daemon.status(session)["kinds"]
        harness.wait_until(lambda: all(now["records"] > then["records"] for now, then in
                                       zip(daemon.status(session)["kinds"], before)), "data of every kind")

    def in_the_middle(self, fault, seen, over=None, collect="hbm,llc,pcie,hccs", torn_periods=False):
        """The same, of a fault that begins when there are data of all kinds, until `seen` (of the session) says that profd has
        noticed; where it has an end, `over` says what comes then."""
        daemon = self.profd(sim=ONE + f"  - {{while: $DIR/fault, {fault}}}\n")
        # However much comes beside what is lost: how long all this takes is the machine's.
        waiting = daemon.popen_ctl("start", "--collect", collect, "--wait", "--max-loss", "0%", "--json")
        session = harness.wait_until(lambda: daemon.ctl("list", "--json").json["sessions"], "the session")[0]["session"]
        harness.wait_until(lambda: daemon.status(session)["state"] == "running", "it to run")
        self.all_go_on(daemon, session)
        daemon.begin_fault()
        harness.wait_until(lambda: seen(daemon.status(session)), "the fault to be noticed")
        if over:
            daemon.end_fault()
            harness.wait_until(lambda: over(daemon.status(session)), "the fault to be over")
            self.all_go_on(daemon, session)
        daemon.ctl("stop", session)
        waiting.communicate(timeout=harness.PATIENCE_S)
        return self.sealed(daemon, torn_periods), waiting.returncode, daemon

    def sealed(self, daemon, torn_periods=False):
        """profd's only session."""
        self.assertIsNone(daemon.process.poll(), daemon.log.read_text())
        (session,) = daemon.ctl("list", "--json").json["sessions"]
        self.assertEqual(session["state"], "sealed")
        found = prof_reader.check(session["directory"])
        if torn_periods:  # what the driver overwrote is gone, half a period may be left beside it
            found = [line for line in found if ": period at " not in line]
        self.assertEqual(found, [])
        return session

    def unharmed(self, session, *but):
        """Every started kind except `but` ((kind, unit) pairs) has all its data."""
        for entry in session["kinds"]:
            if (entry["kind"], entry["unit"]) in but:
                continue
            self.assertEqual(entry["verdict"], "started", entry)
            self.assertEqual(entry["lost"], 0, entry)
            self.assertGreater(entry["records"], 0, entry)

    def refused_start(self, ret, word):
        session, code, _ = self.run_through(f"  - {{device: 0, channel: 1, call: start, ret: {ret}}}\n")
        hbm = self.kind(session, "hbm", "device:0")
        self.assertEqual(hbm["verdict"], "failed")
        self.assertIn(word, hbm["reason"])
        self.unharmed(session, ("hbm", "device:0"))
        self.assertNotEqual(code, OK)
        manifest = own_folder.manifest(session["directory"])
        kinds = {(k["kind"], k["unit"]): k for k in manifest["kinds"]}
        self.assertIn(word, kinds["hbm", "device:0"]["reason"])

    def test_channel_held_by_another_process(self):
        self.refused_start(-10, "-10")

    def test_all_sub_channels_taken(self):
        self.refused_start(-11, "-11")

    def test_no_compute_process(self):
        self.refused_start(115, "115")

    def test_the_task_log_waits_for_a_compute_process(self):
        daemon = self.profd(sim=ONE + "  - {device: 0, name: no_compute_process, while: $DIR/fault}\n")
        daemon.begin_fault()
        started = daemon.begin("--collect", "task,hbm")
        task = self.kind(started, "task", "device:0")
        self.assertEqual(task["verdict"], "pending", task)
        self.assertEqual(self.kind(started, "hbm", "device:0")["verdict"], "started")
        daemon.end_fault()
        harness.wait_until(lambda: self.kind(daemon.status(started["session"]), "task", "device:0")["bytes"] > 0, "tasks")
        sealed = daemon.end(started["session"])
        self.assertEqual(self.kind(sealed, "task", "device:0")["verdict"], "started")
        self.unharmed(sealed, ("task", "device:0"))

    def test_not_supported(self):
        self.refused_start(0xfffe, "65534")

    def test_unknown_code(self):
        self.refused_start(7, "7")

    def test_a_start_without_a_reply_does_not_hold_the_others_up(self):
        daemon = self.profd(sim=ONE + "  - {device: 0, channel: 1, name: start_no_reply}\n",
                            config="driver:\n  timeout_ms: 1500\n")
        started = daemon.begin("--collect", "hbm,llc")
        self.assertEqual(self.kind(started, "hbm", "device:0")["verdict"], "failed")
        daemon.let_run(started, 0.5)
        sealed = daemon.end(started["session"])
        self.unharmed(sealed, ("hbm", "device:0"))
        self.assertEqual(prof_reader.check(sealed["directory"]), [])

    def test_nothing_but_a_start_without_a_reply_says_so(self):
        daemon = self.profd(sim=ONE + "  - {device: 0, channel: 1, name: start_no_reply}\n", config="driver:\n  timeout_ms: 500\n")
        refused = daemon.ctl("start", "--devices", "0", "--collect", "hbm")
        self.assertEqual(refused.code, harness.UNAVAILABLE, refused)
        self.assertIn("the driver did not answer within 500 ms", refused.err)

    def test_everything_refused_leaves_nothing(self):
        daemon = self.profd(sim=ONE + "  - {call: start, ret: -10}\n")
        refused = daemon.ctl("start", "--collect", "hbm,llc")
        self.assertEqual(refused.code, harness.BUSY, refused)
        self.assertIn("-10", refused.err)
        self.assertEqual(list(daemon.spool.rglob("PROF_*")), [])
        self.assertEqual(daemon.ctl("list", "--json").json["sessions"], [])

    def test_reads_fail_for_a_while(self):
        session, code, _ = self.in_the_middle("device: 1, channel: 8, call: read, ret: -1",
                                              lambda now: any("llc" in reason for reason in now["degraded"]),
                                              lambda now: self.kind(now, "llc", "device:1")["verdict"] == "started")
        self.unharmed(session, ("llc", "device:1"))
        self.assertGreater(self.kind(session, "llc", "device:1")["records"], 0)
        self.assertTrue(any("llc" in reason for reason in session["degraded"]), session["degraded"])
        self.assertNotEqual(code, OK)

    def test_a_device_is_lost(self):
        session, code, _ = self.in_the_middle("device: 1, name: device_lost",
                                              lambda now: any("lost" in reason for reason in now["degraded"]))
        lost = [(entry["kind"], entry["unit"]) for entry in session["kinds"] if entry["unit"] == "device:1"]
        self.unharmed(session, *lost)
        self.assertTrue(any("lost" in reason for reason in session["degraded"]), session["degraded"])
        self.assertNotEqual(code, OK)

    def test_ten_slots_are_lost_and_counted(self):
        session, code, daemon = self.in_the_middle("device: 0, channel: 1, name: lose_slots",
                                                   lambda now: self.kind(now, "hbm", "device:0")["lost"] > 0, collect="hbm,llc")
        hbm = self.kind(session, "hbm", "device:0")
        self.assertGreater(hbm["lost"], 0)
        self.unharmed(session, ("hbm", "device:0"))
        self.assertNotEqual(code, OK)
        made = [line for line in daemon.truth_lines()
                if line.get("event") == "stop" and line["device"] == 0 and line["channel"] == 1]
        self.assertEqual(hbm["records"] + hbm["lost"], made[0]["generated_records"])
        manifest = own_folder.manifest(session["directory"])
        stream = next(s for s in manifest["streams"] if s["file"] == "hbm.data.0")
        self.assertTrue(stream["losses"])

    def test_a_channel_that_falls_silent(self):
        # Reads give nothing, for ever: the session cannot know why, but says since when.
        session, _, daemon = self.in_the_middle("device: 0, channel: 1, call: read, ret: 0",
                                                lambda now: "no data for " in self.kind(now, "hbm", "device:0")["reason"],
                                                collect="hbm=50Hz,llc")
        hbm = self.kind(session, "hbm", "device:0")
        self.assertRegex(hbm["reason"], r"no data for \d+ s")
        self.unharmed(session, ("hbm", "device:0"))
        for unit in ("hbm", "device:1"), ("llc", "device:0"):
            self.assertNotIn("no data", self.kind(session, *unit)["reason"])
        manifest = own_folder.manifest(session["directory"])
        self.assertIn(hbm["reason"], [kind["reason"] for kind in manifest["kinds"]])

    def test_a_device_that_never_says_a_word(self):
        # Each read is answered with nothing but one bits, which is no record: also a short session says so.
        session, _, _ = self.run_through("  - {device: 1, call: read, ones: true}\n", collect="hbm=50Hz,llc,dev-cpu", seconds=2)
        silent = [entry for entry in session["kinds"] if entry["unit"] == "device:1"]
        self.assertEqual([entry["records"] for entry in silent], [0, 0, 0])
        for entry in silent:  # "no data for 2 s", or that its stop did not end
            self.assertTrue(entry["reason"], entry)
            self.assertLessEqual(entry["reason"].count("no data"), 1, entry)
        self.unharmed(session, *((entry["kind"], "device:1") for entry in silent))
        reasons = {(kind["kind"], kind["unit"]): kind["reason"] for kind in own_folder.manifest(session["directory"])["kinds"]}
        self.assertEqual([reasons[entry["kind"], "device:1"] for entry in silent], [entry["reason"] for entry in silent])

    def test_a_stop_that_stalls(self):
        daemon = self.profd(sim=ONE + "  - {device: 0, channel: 1, name: stop_stall}\n",
                            config="driver:\n  timeout_ms: 1500\n")
        started = daemon.begin("--collect", "hbm,llc")
        daemon.let_run(started, 1)
        sealed = daemon.end(started["session"])
        self.unharmed(sealed, ("hbm", "device:0"))
        self.assertTrue(any("hbm" in reason for reason in sealed["degraded"]), sealed["degraded"])
        self.assertEqual(prof_reader.check(sealed["directory"]), [])
        # The next session does without the stuck channel, and says so.
        again = daemon.begin("--collect", "hbm,llc")
        self.assertEqual(self.kind(again, "hbm", "device:0")["verdict"], "failed")
        self.assertEqual(self.kind(again, "hbm", "device:1")["verdict"], "started")
        daemon.end(again["session"])

    def test_a_read_that_hangs_costs_its_device_only(self):
        daemon = self.profd(sim=ONE + "  - {while: $DIR/fault, device: 1, call: read, delay_ms: 600000}\n")
        started = daemon.begin("--collect", "hbm,llc")
        self.all_go_on(daemon, started["session"])
        daemon.begin_fault()
        hung = lambda: self.kind(daemon.status(started["session"]), "llc", "device:1")["reason"]  # noqa: E731
        harness.wait_until(lambda: "device 1 hangs: a read of" in hung(), "the hung read to be noticed")
        records = self.kind(daemon.status(started["session"]), "hbm", "device:0")["records"]
        harness.wait_until(lambda: self.kind(daemon.status(started["session"]), "hbm", "device:0")["records"] > records + 100,
                           "device 0 to be read on")
        sealed = daemon.end(started["session"])
        self.assertEqual(sealed["state"], "sealed")
        self.unharmed(sealed, ("hbm", "device:1"), ("llc", "device:1"))
        self.assertTrue(any("device 1 hangs" in reason for reason in sealed["degraded"]), sealed["degraded"])
        self.assertEqual(prof_reader.check(sealed["directory"]), [])
        # The next one does without the device, and says so.
        again = daemon.begin("--collect", "hbm")
        self.assertEqual(self.kind(again, "hbm", "device:0")["verdict"], "started")
        self.assertIn("device 1 hangs", self.kind(again, "hbm", "device:1")["reason"])
        daemon.end(again["session"])

    def test_a_device_that_is_not_read_ends_as_soon_with_many_kinds(self):
        """Each stop takes the driver a second then, in which it waits to be read empty."""
        for fault in ("ret: -1", "delay_ms: 600000"):
            took = []
            for collect in ("hbm", "hbm,llc,pcie,hccs,roce,nic,dvpp,dev-cpu,netdev"):
                daemon = self.profd(sim=ONE + f"  - {{while: $DIR/fault, device: 1, call: read, {fault}}}\n")
                session = daemon.begin("--collect", collect)["session"]
                harness.wait_until(lambda: self.kind(daemon.status(session), "hbm", "device:1")["records"], "data")
                daemon.begin_fault()
                harness.wait_until(lambda: daemon.status(session)["degraded"], "the fault to be noticed")
                begin = time.monotonic()
                sealed = daemon.end(session)
                took.append(time.monotonic() - begin)
                self.unharmed(sealed, *((kind["kind"], "device:1") for kind in sealed["kinds"]))
            with self.subTest(fault=fault):
                self.assertLess(took[1], 2.5 * took[0], took)

    def test_a_read_that_comes_back_goes_on(self):
        daemon = self.profd(sim=ONE + "  - {while: $DIR/fault, device: 1, channel: 1, call: read, delay_ms: 600000}\n")
        started = daemon.begin("--collect", "hbm")
        self.all_go_on(daemon, started["session"])
        daemon.begin_fault()
        status = lambda: daemon.status(started["session"])  # noqa: E731
        harness.wait_until(lambda: "hangs" in self.kind(status(), "hbm", "device:1")["reason"], "the hang to be noticed")
        daemon.end_fault()
        harness.wait_until(lambda: self.kind(status(), "hbm", "device:1")["verdict"] == "started", "the device to be back")
        records = self.kind(status(), "hbm", "device:1")["records"]
        harness.wait_until(lambda: self.kind(status(), "hbm", "device:1")["records"] > records, "data of the device")
        sealed = daemon.end(started["session"])
        made = {line["device"]: line for line in daemon.truth_lines() if line.get("event") == "stop" and line["channel"] == 1}
        for device in (0, 1):
            hbm = self.kind(sealed, "hbm", f"device:{device}")
            self.assertEqual(hbm["records"] + hbm["lost"], made[device]["generated_records"])

    def test_whatever_hangs_sessions_end_and_so_does_profd(self):
        for calls in (["read"], ["stop"], ["read", "stop"], ["get_channels"], ["info", "status"],
                      ["read", "stop", "start", "get_channels", "info", "status", "flush"]):
            with self.subTest(calls=calls):
                faults = "".join(f"  - {{while: $DIR/fault, device: 1, call: {call}, delay_ms: 600000}}\n" for call in calls)
                daemon = self.profd(sim=ONE + faults)
                begin = time.monotonic()
                one = daemon.begin("--collect", "hbm,llc,pcie")
                self.all_go_on(daemon, one["session"])
                # The same again takes as long as the machine needs for it, and is over before this one ends.
                duration_s = 2 + 3 * (time.monotonic() - begin)
                timed = daemon.begin("--collect", "hbm,llc,pcie", "--duration", f"{duration_s:.1f}s")
                self.all_go_on(daemon, timed["session"])
                daemon.begin_fault()
                harness.wait_until(lambda: daemon.status(timed["session"])["state"] == "sealed", "a session to end by itself")
                self.unharmed(daemon.status(timed["session"]), *((kind, "device:1") for kind in ("hbm", "llc", "pcie")))
                daemon.stop()
                self.assertEqual(prof_reader.check(one["directory"]), [])
                self.assertEqual(agent_reader.manifest(one["directory"])["state"], "sealed")

    # --- every call, whatever it does, whenever it begins to

    def one_fault(self, call, fault, moment):
        """Device 1 does it; device 0 and everybody's answers are as ever. What is wrong, in words."""
        later = "" if moment == "start" else "while: $DIR/fault, "
        of_device = "" if call in OF_NO_DEVICE else "device: 1, "
        daemon = self.profd(sim=ONE + f"  - {{{later}{of_device}call: {call}, {(FAULTS | MORE_FAULTS)[fault]}}}\n",
                            config="driver:\n  timeout_ms: 1500\n")
        started = daemon.ctl("start", "--collect", "hbm,llc,pcie,dev-cpu,netdev=10Hz", "--json")
        if started.code not in (OK, harness.PARTLY_STARTED, harness.PARTIAL_LOSS):
            # Without any device that can be counted on there is nothing to begin.
            if call not in OF_NO_DEVICE or len(started.err.strip().splitlines()) != 1:
                return f"start: {started}"
        else:
            session = started.json["session"]
            if call not in OF_NO_DEVICE:  # what comes with the device's process does so in a moment
                harness.wait_until(lambda: not any(kind["unit"] == "device:0" and kind["verdict"] == "pending"
                                                   for kind in daemon.status(session)["kinds"]), "all of device 0")
            if moment != "start":
                harness.wait_until(lambda: all(kind["records"] for kind in daemon.status(session)["kinds"] if kind["kind"] == "hbm"),
                                   "data")
                daemon.begin_fault()
            if moment == "running":
                daemon.ctl("devices")  # asks for the facts anew
                records = self.kind(daemon.status(session), "hbm", "device:0")["records"]
                harness.wait_until(lambda: self.kind(daemon.status(session), "hbm", "device:0")["records"] > records + 50,
                                   "device 0 to go on")
            sealed = daemon.end(session)
            # Behind a card library that hangs the device's other calls take a moment longer than this session.
            may_be = ("started", "pending") if call in OF_CARDS else ("started",)
            harmed = [entry for entry in sealed["kinds"] if entry["unit"] == "device:0" and
                      (entry["verdict"] not in may_be or entry["lost"]) and
                      not (call in OF_CARDS and entry["kind"] == "netdev")]
            if harmed and (call not in OF_NO_DEVICE or call in OF_CARDS):
                return f"device 0: {harmed}"
            found = prof_reader.check(sealed["directory"])
            if call == "read" and fault == "stale bytes":  # of which nobody can know that they are none
                found = [line for line in found if not line.startswith("device_1/")]
            if found:
                return f"the directory: {found}"
            if fault == "hang" and call in ("read", "stop"):  # which device hangs, in which call, since when
                says = {"read": r"a read of \S+", "stop": "a stop"}[call] + r" has not returned since \d\d:\d\d:\d\d UTC"
                told = [line for line in sealed["degraded"] if line.startswith("device 1")]
                found = re.match(rf"device 1 ([^:]+): device 1 hangs: {says}", told[0]) if len(told) == 1 else None
                if not found or not {"hbm", "llc", "pcie", "dev-cpu"} <= set(found[1].split(", ")):
                    return f"one hang is not one line that names all kinds: {sealed['degraded']}"
        if daemon.ctl("list").code != OK or daemon.stop() != 0:
            return "it did not go on"
        return None

    def test_every_call_at_every_moment(self):
        cases = [*itertools.product(CHANNELS.values(), FAULTS | MORE_FAULTS, MOMENTS),
                 *itertools.product(FACTS.values(), FAULTS, MOMENTS),
                 *itertools.product(AT_THE_START.values(), FAULTS, MOMENTS[:1])]

        def run(case):
            try:
                return self.one_fault(*case)
            except BaseException as error:  # noqa: BLE001
                return repr(error)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as several:
            for case, wrong in zip(cases, several.map(run, cases)):
                with self.subTest(call=case[0], fault=case[1], moment=case[2]):
                    self.assertIsNone(wrong)
        print(f"{len(cases)} faults of {len({case[0] for case in cases})} calls", file=sys.stderr)

    def test_no_call_is_left_out(self):
        bound = set()
        for source in (harness.ROOT / "daemon" / "driver").rglob("*.cc"):
            bound |= set(re.findall(r'(?:Bind|Find)\([a-z0-9_.>-]+, "(\w+)"\)', source.read_text()))
        self.assertEqual(bound, ELSEWHERE | set(CHANNELS) | set(FACTS) | set(AT_THE_START))

    def test_a_chip_and_a_clock_that_nobody_knows(self):
        daemon = self.profd(sim=ONE + "  - {device: 1, call: info, ones: true}\n")
        started = daemon.begin("--collect", "hbm,llc")
        for kind in ("hbm", "llc"):
            self.assertEqual(self.kind(started, kind, "device:0")["verdict"], "started")
            refused = self.kind(started, kind, "device:1")
            self.assertNotEqual(refused["verdict"], "started")
            self.assertIn("nor the speed of the device's counter", refused["reason"])
        sealed = daemon.end(started["session"])
        self.assertFalse(pathlib.Path(sealed["directory"], "device_1").exists())

    def test_a_card_library_that_hangs_does_not_hold_profd_up(self):
        daemon = self.profd(sim=ONE + "  - {while: $DIR/fault, call: port_totals, delay_ms: 600000}\n")
        self.all_go_on(daemon, daemon.begin("--collect", "netdev")["session"])
        daemon.begin_fault()
        port = lambda: self.kind(daemon.status(daemon.ctl("list", "--json").json["sessions"][0]["session"]), "netdev", "device:0")
        records = -1
        while records != (records := port()["records"]) or records == 0:
            time.sleep(1)  # ten times the time between two records: none is no more than the library's silence
        self.assertEqual(daemon.stop(), 0)

    def test_a_port_that_hangs_costs_its_device_only(self):
        daemon = self.profd(sim=ONE.replace("devices: 2", "devices: 3") +
                            "  - {while: $DIR/fault, device: 1, call: port_totals, delay_ms: 600000}\n")
        session = daemon.begin("--collect", "netdev=100Hz")["session"]
        records = lambda device: self.kind(daemon.status(session), "netdev", f"device:{device}")["records"]  # noqa: E731
        threads = lambda: sum(path.read_text() == "ports\n" for path in  # noqa: E731
                              pathlib.Path(f"/proc/{daemon.process.pid}/task").glob("*/comm"))
        self.all_go_on(daemon, session)
        self.assertEqual(threads(), 1)
        daemon.begin_fault()
        for _ in range(2):  # the first of these may have been read before the fault
            before = [records(device) for device in (0, 2)]
            harness.wait_until(lambda: all(records(device) > known + 100 for device, known in zip((0, 2), before)), "the others")
        self.assertEqual(threads(), 2)
        stuck = records(1)
        daemon.end_fault()
        harness.wait_until(lambda: records(1) > stuck + 100, "the device to be back")
        sealed = daemon.end(session)
        self.unharmed(sealed)
        self.assertEqual(threads(), 0)

    def test_what_hangs_from_the_start_delays_nothing_of_the_host(self):
        """profd asks the driver for its devices until it has an answer, or until the driver's time is over: here never."""
        for call in ("dev_ids", "get_channels"):
            with self.subTest(call):
                daemon = self.profd(sim=ONE + f"  - {{call: {call}, delay_ms: 600000}}\n", config="driver:\n  timeout_ms: 120000\n")
                work = self.workload()
                for kinds in (("--collect", "host-cpu"), ("--preset", "host")):
                    session = daemon.begin("--pid", work.pid, *kinds)["session"]
                    self.assertEqual(daemon.end(session)["state"], "sealed")
                waits = daemon.popen_ctl("start", "--collect", "hbm")
                self.addCleanup(waits.communicate)
                self.addCleanup(waits.kill)
                self.assertEqual(daemon.end(daemon.begin("--collect", "host-sys-cpu")["session"])["state"], "sealed")
                self.assertIsNone(waits.poll(), "it is the driver's answer that this one waits for")

    def test_a_channel_list_that_stalls(self):
        daemon = self.profd(sim=ONE + "  - {device: 0, name: list_stall}\n", config="driver:\n  timeout_ms: 1500\n")
        started = daemon.begin("--collect", "hbm")
        self.assertNotEqual(self.kind(started, "hbm", "device:0")["verdict"], "started")
        self.assertEqual(self.kind(started, "hbm", "device:1")["verdict"], "started")
        daemon.end(started["session"])

    def test_the_wall_clock_steps(self):
        session, code, _ = self.run_through("  - {name: clock_step, step_s: 3600}\n")
        self.unharmed(session)
        self.assertEqual(code, OK)

    def test_poll_lies(self):
        session, code, _ = self.run_through("  - {name: poll_spurious}\n")
        self.unharmed(session)
        self.assertEqual(code, OK)

    def test_no_permission_on_the_device_nodes(self):
        daemon = self.profd(sim=ONE + "  - {name: permission}\n")
        refused = daemon.ctl("start", "--collect", "hbm")
        self.assertNotEqual(refused.code, OK)
        self.assertEqual(len(refused.err.strip().splitlines()), 1, refused)
        self.assertNotEqual(daemon.ctl("doctor").code, OK)
        started = daemon.begin("--preset", "host")
        daemon.end(started["session"])

    def test_the_ring_overflows(self):
        # Where whole records of one moment go missing neither bytes nor stamps show it, and the driver has no counter;
        # but what it did deliver is stored or counted, and nothing else is harmed.
        for accident in ("ring_overwrite", "ring_drop"):
            with self.subTest(accident=accident):
                session, _, daemon = self.in_the_middle(
                    f"device: 0, channel: 1, name: {accident}", lambda now: self.kind(now, "hbm", "device:0")["bytes"] > 300_000,
                    collect="hbm,llc", torn_periods=True)
                self.unharmed(session, ("hbm", "device:0"))
                made = [line for line in daemon.truth_lines()
                        if line.get("event") == "stop" and line["device"] == 0 and line["channel"] == 1][0]
                self.assertGreater(made["dropped_bytes"] + made["overwritten_bytes"], 0)
                hbm = self.kind(session, "hbm", "device:0")
                self.assertLessEqual(hbm["bytes"], made["delivered_bytes"])
                self.assertGreaterEqual(hbm["records"] + hbm["lost"], made["delivered_bytes"] // 24)


if __name__ == "__main__":
    unittest.main(verbosity=2)
