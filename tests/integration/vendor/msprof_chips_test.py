#!/usr/bin/env python3
"""The vendor's words on a node with each of its chips: what a chip does not have is refused."""
import os
import unittest

import harness
from harness import OK, PARTLY_STARTED, USAGE

CHIPS = ["310", "910", "310P", "910B", "310B", "950"]


class ChipsTest(harness.ProfdTest):
    """On a node with all of them."""
    # The vendor's list, but for what does not depend on the chip here (storage limit, dynamic mode, delay and duration).
    REFUSED = {"310": "sys-interconnection-profiling l2 task-block instr-profiling npu-events sys-lp sys-mem-serviceflow optype",
               "910": "task-block npu-events sys-lp instr-profiling sys-mem-serviceflow optype",
               "310P": "sys-io-profiling task-block npu-events instr-profiling sys-lp sys-mem-serviceflow optype",
               "910B": "sys-lp optype",
               "310B": "sys-interconnection-profiling instr-profiling npu-events sys-lp sys-mem-serviceflow optype",
               "950": "instr-profiling-freq"}
    REFUSED = {chip: options + " ai-vector-core" for chip, options in REFUSED.items()}
    ALL = sorted(set(" ".join(REFUSED.values()).split()) | {"sys-hardware-mem", "ai-core", "dvpp-profiling"})
    COMPANY = {"sys-mem-serviceflow": ["--sys-hardware-mem=on"], "instr-profiling-freq": ["--instr-profiling=on"],
               "optype": ["--task-block=all"]}
    VALUES = {"optype": "MatMul", "npu-events": "HA:0x1", "sys-mem-serviceflow": "stream1", "instr-profiling-freq": "1000",
              "task-block": "all"}

    def test_refused_and_taken(self):
        devices = "\n".join(f"  - {{chip: {chip}}}" for chip in CHIPS)
        daemon = self.profd(sim=f"devices:\n{devices}\n")
        for device, chip in enumerate(CHIPS):
            for option in self.ALL:
                # A kind that is none: what is not refused for the chip is refused for that, and nothing has to start.
                arguments = ["--collect", "none", f"--sys-devices={device}", f"--{option}={self.VALUES.get(option, 'on')}",
                             *self.COMPANY.get(option, [])]
                with self.subTest(chip=chip, option=option):
                    result = daemon.ctl("start", "--pid", os.getpid(), *arguments)
                    refused = f"a {chip} does not have it" in result.err
                    company = [word[2:].split("=")[0] for word in self.COMPANY.get(option, [])]
                    wanted = any(name in self.REFUSED[chip].split() for name in [option, *company])
                    self.assertEqual(refused, wanted, result)
                    self.assertEqual(result.code, USAGE, result)
                    if refused:
                        self.assertEqual(len(result.err.strip().splitlines()), 1, result)

    def test_the_cache_of_a_310(self):
        """The vendor's collector asks a process on the device for it, over a link that profd does not speak."""
        daemon = self.profd(sim="devices: 1\nchip: 310\n")
        result = daemon.ctl("start", "--sys-hardware-mem=on", "--json")
        self.assertEqual(result.code, OK, result)
        self.assertRegex(result.err, "--sys-hardware-mem: llc is not collected: the 310 counts its cache with a perf script")
        for word in ("capacity", "bandwidth"):
            result = daemon.ctl("start", "--sys-hardware-mem=on", f"--llc-profiling={word}", "--json")
            self.assertEqual(result.code, PARTLY_STARTED, result)
            self.assertIn("--llc-profiling: not collected: the 310 counts its cache", result.err)
            self.assertTrue(result.json["kinds"])

    def test_of_the_950_alone(self):
        daemon = self.profd(sim="devices: 1\nchip: 950\n")
        started = daemon.begin("--sys-hardware-mem=on", "--sys-hardware-mem-freq=10000")
        hz = {entry["kind"]: entry["requested_hz"] for entry in started["kinds"]}
        self.assertEqual((hz["qos"], hz["soc-profile"], hz["hbm"], hz["llc"], hz["npu-mem"]), (10000, 10000, 100, 100, 100))
        self.assertNotIn("ddr", hz)

    def test_an_earlier_limit_is_brought_down_and_said(self):
        daemon = self.profd()
        result = daemon.ctl("start", "--sys-hardware-mem=on", "--sys-hardware-mem-freq=1000", "--json")
        self.assertEqual(result.code, OK, result)
        self.assertIn("brought down from 1000 to 100", result.err)
        self.assertEqual({entry["requested_hz"] for entry in result.json["kinds"]}, {100})

    def test_beside_our_own_words(self):
        daemon = self.profd()
        result = daemon.ctl("start", "--collect", "hbm=10,pcie", "--sys-hardware-mem=on", "--json")
        self.assertEqual(result.code, OK, result)
        self.assertEqual(self.kind(result.json, "hbm", "device:0")["requested_hz"], 10)
        self.assertEqual(self.kind(result.json, "llc", "device:0")["requested_hz"], 50)
        result = daemon.ctl("start", "--devices", "0", "--sys-devices=1", "--dvpp-profiling=on")
        self.assertEqual(result.code, USAGE, result)
        self.assertIn("--sys-devices and --devices", result.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
