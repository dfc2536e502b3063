#!/usr/bin/env python3
"""Each capture of tests/captures is a test: the simulator plays it, profd collects from it, and what comes out is what is in it."""
import collections
import json
import lzma
import pathlib
import shutil
import tempfile
import unittest

import harness
import profcap

FOLDER = harness.ROOT / "tests" / "captures"


class CapturesTest(harness.ProfdTest):
    def test_there_are_some(self):
        self.assertGreater(len(CAPTURES), 6)

    def check(self, file):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-capture-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        plain = folder / "node.profcap"
        plain.write_bytes(lzma.open(file).read() if file.suffix == ".xz" else file.read_bytes())
        capture = profcap.Capture(plain)
        daemon = self.profd(sim=f'replay: "{plain}"\n')
        listed = [device["device"] for device in daemon.ctl("devices", "--json").json["devices"]]
        self.assertEqual(listed, capture.devices())

        again = folder / "again.profcap"
        result = daemon.ctl("capture", "-o", again, "--for", "1s", "--keep")
        self.assertEqual(result.code, harness.OK, result)
        played = profcap.Capture(again)
        runs = played.runs()
        count = 0
        for key, recorded in capture.runs().items():
            mine = runs.get(key, [])
            # As many starts as there are in both: which kinds take turns is profd's to say.
            for number, (want, have) in enumerate(zip(recorded, mine)):
                self.assertEqual(want, have, f"device {key[0]}, channel {key[1]}, start {number}")
                count += len(have)
        self.assertGreater(count, 0)
        for key in capture.runs():
            codes = [[call["code"] for call in seen.of("prof_drv_start", *key)] for seen in (capture, played)]
            together = min(map(len, codes))
            # A start that waits for a job is tried again and again.
            self.assertEqual(codes[0][:together], codes[1][:together], key)

        # A driver that misbehaves has profd leave out, never write what is no record.
        for session in daemon.ctl("list", "--json").json["sessions"]:
            directory = daemon.status(session["session"])["directory"]
            verified = daemon.ctl("verify", directory)
            self.assertEqual(verified.code, harness.OK, verified)
            exported = daemon.ctl("export", directory, "--out", folder / "out", "--format", "csv,chrome,db")
            # Counters of tasks without their log have no place in time.
            self.assertIn(exported.code, (harness.OK, harness.PARTIAL_LOSS), exported)

        self.expect(file, plain)

    def expect(self, file, plain):
        wanted = FOLDER / (file.name.removesuffix(".xz").removesuffix(".profcap") + ".json")
        if not wanted.exists():
            return
        daemon = self.profd(sim=f'replay: "{plain}"\n')
        result = daemon.ctl("doctor", "--hardware", "--for", "1s", "--json")
        self.assertIn(result.code, (harness.OK, harness.FAILED), result)
        verdicts, odd = {}, collections.Counter()
        for device in result.json["devices"]:
            for kind in device["kinds"]:
                verdicts[kind["kind"] + (":" + kind["mode"] if kind["mode"] else "")] = kind["verdict"]
                for channel in kind["channels"]:
                    odd[str(channel["channel"])] = len(channel["odd"]) + channel["more_odd"]
        want = json.loads(wanted.read_text())
        # Of kinds that it names: what comes of a read that fails depends on when profd tries again.
        found = {"ok": result.json["ok"], "verdicts": {kind: verdicts.get(kind) for kind in want["verdicts"]},
                 "odd": {channel: number for channel, number in odd.items() if number}}
        self.assertEqual(found, want)


def named(file):
    return "test_" + "".join(c if c.isalnum() else "_" for c in file.name.split(".profcap")[0])


CAPTURES = sorted(file for file in FOLDER.iterdir() if ".profcap" in file.name)
for one in CAPTURES:
    setattr(CapturesTest, named(one), lambda self, file=one: self.check(file))


if __name__ == "__main__":
    unittest.main(verbosity=2)
