#!/usr/bin/env python3
"""Sessions of the past as a weapon: forged manifests in a user's own folder of the spool, very many sessions, junk that fills
the spool. Others' sessions go on after a restart, and stay in the list."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import agent_reader
import harness
import own_folder
import siege

LABELS, PERTURBATIONS = 600_000, 120_000  # 7.8 and 7.4 MB
FORGED = 100
MANY = 300


@harness.needs_root
class HostilePastTest(siege.Siege):
    def user(self, number):
        return self.workload(command=["sleep", "600"], user=number, group=number, extra_groups=[])

    def ended(self, daemon, work, user):
        session = daemon.begin("--pid", work.pid, "--collect", "host-mem", user=user)
        return daemon.end(session["session"], user=user)

    def listed(self, daemon, user):
        return {each["session"]: each for each in daemon.ctl("list", "--json", user=user).json["sessions"]}

    def forge(self, sealed, count, forged):
        """Directories beside hers that are called like sessions', with one manifest."""
        home = pathlib.Path(sealed["directory"]).parent
        manifest = agent_reader.manifest(sealed["directory"]) | {"session": "aa000000"} | forged

        def make(_):
            first = None
            for number in range(count):
                own = home / f"PROF_{number + 2:06}_20991128210851{number % 1000:03}_{number:08}ABCDEFGH" / own_folder.OWN_FOLDER
                own.mkdir(parents=True)
                file = own / "manifest.json"
                if first is None:
                    first = file
                    file.write_text(json.dumps(manifest, separators=(",", ":")))
                else:
                    os.link(first, file)

        siege.run_attackers(1, make)

    def holds_up_nobody_else(self, content):
        daemon = self.besieged(sim="devices: 1\nchip: 910B\n")
        evil = self.ended(daemon, self.user(siege.USER), siege.USER)
        work = self.user(siege.HONEST)
        past = self.ended(daemon, work, siege.HONEST)["session"]
        session = daemon.begin("--pid", work.pid, "--collect", "host-mem", "--resume", user=siege.HONEST)["session"]
        self.forge(evil, FORGED, content)
        daemon.kill()
        daemon.start()
        os.chmod(daemon.socket, 0o666)
        harness.wait_until(lambda: self.listed(daemon, siege.HONEST).get(session, {}).get("state") == "running", "the session to go on")
        harness.wait_until(lambda: past in self.listed(daemon, siege.HONEST), "the past session")
        # All that while profd has not come to the end of what was forged.
        self.assertEqual(self.listed(daemon, siege.USER), {})
        self.assertEqual(daemon.end(session, user=siege.HONEST)["state"], "sealed")

    def test_forged_labels_hold_up_nobody_else(self):
        self.holds_up_nobody_else({"labels": {f"{number:07}": "" for number in range(LABELS)}})

    def test_forged_perturbations_hold_up_nobody_else(self):
        self.holds_up_nobody_else({"perturbations": [{"kind": "clock-step", "text": "", "from_ns": number + 1, "to_ns": number + 2}
                                                     for number in range(PERTURBATIONS)]})

    def test_a_forged_directory_is_refused_in_one_line(self):
        daemon = self.besieged(sim="devices: 1\nchip: 910B\n")
        sealed = self.ended(daemon, self.user(siege.USER), siege.USER)
        forged = daemon.directory / pathlib.Path(sealed["directory"]).name
        shutil.copytree(sealed["directory"], forged)
        manifest = forged / own_folder.MANIFEST
        manifest.write_text('{"labels":' + "[" * 2_000_000 + "]" * 2_000_000 + "}")
        for verb in ("verify", "query", "repair"):
            refused = daemon.ctl(verb, forged)
            self.assertNotEqual(refused.code, harness.OK, refused)
            self.assertIn("no manifest has so much in it", refused.out + refused.err, verb)

    def test_many_sessions_of_one_cost_nobody_else_hers(self):
        daemon = self.besieged(sim="devices: 1\nchip: 910B\n", config="limits:\n  requests_per_s: 10000\n")
        hers = self.ended(daemon, self.user(siege.HONEST), siege.HONEST)
        work = self.user(siege.USER)
        for _ in range(MANY):
            started = daemon.ctl("start", "--pid", work.pid, "--collect", "host-mem", "--duration", "1ms", user=siege.USER)
            self.assertEqual(started.code, harness.OK, started)
        self.assertLess(len(self.listed(daemon, siege.USER)), MANY)
        self.assertEqual(list(self.listed(daemon, siege.HONEST)), [hers["session"]])
        self.assertEqual(daemon.status(hers["session"])["state"], "sealed")
        self.forge(self.ended(daemon, work, siege.USER), MANY, {})
        self.assertEqual(daemon.stop(), 0)
        daemon.start()
        os.chmod(daemon.socket, 0o666)
        harness.wait_until(lambda: self.listed(daemon, siege.HONEST), "the past session")
        harness.wait_until(lambda: self.listed(daemon, siege.USER), "his past sessions")
        self.assertEqual(list(self.listed(daemon, siege.HONEST)), [hers["session"]])

    def test_junk_in_ones_own_folder_makes_nothing_of_others_go(self):
        where = pathlib.Path(tempfile.mkdtemp(prefix="profd-hostile-past-"))
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m,mode=755", "none", where], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", where], check=False)
        daemon = self.besieged(sim="devices: 1\nchip: 910B\n", spool=where / "spool")
        hers = self.ended(daemon, self.user(siege.HONEST), siege.HONEST)
        his = self.ended(daemon, self.user(siege.USER), siege.USER)
        running = daemon.begin("--pid", self.user(siege.HONEST).pid, "--collect", "host-mem=50Hz,host-cpu=50Hz", user=siege.HONEST)

        def fill(_):
            with open(pathlib.Path(his["directory"]).parent / "junk", "wb", buffering=0) as junk:
                try:
                    while True:
                        junk.write(bytes(1 << 20))
                except OSError:
                    pass

        siege.run_attackers(1, fill)
        harness.wait_until(lambda: any("profd's to remove" in each for each in daemon.status(running["session"])["warnings"]), "the reason in status")
        harness.wait_until(lambda: not os.path.exists(his["directory"]), "his own session to go")
        self.assertIn("full: user ", daemon.log.read_text())
        ended = daemon.end(running["session"], user=siege.HONEST)
        # A call that is answered after what the end makes profd look at.
        again = daemon.ctl("start", "--collect", "hbm", "--duration", "1s", "--wait")
        self.assertIn(again.code, (harness.OK, harness.PARTIAL_LOSS, harness.FAILED, harness.UNAVAILABLE), again)
        for session in (hers, ended):
            self.assertTrue(os.path.exists(session["directory"]), daemon.log.read_text())
        self.assertEqual(set(self.listed(daemon, siege.HONEST)), {hers["session"], ended["session"]})


if __name__ == "__main__":
    unittest.main()
