#!/usr/bin/env python3
"""Directories of an older profd, whose own folder in them is called `profd`: every verb and the recovery still read them,
and write where that folder is."""
import os
import pathlib
import pwd
import shutil
import tempfile
import unittest

import harness
import own_folder
from harness import OK, PARTIAL_LOSS

GOLDEN = harness.ROOT / "tests" / "golden" / "former"
SEALED, KILLED = sorted(path.name for path in GOLDEN.glob("PROF_*"))
RECORDS = 33  # of the agent, in the sealed one


class FormerTest(harness.ProfdTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-former-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.top.chmod(0o755)
        mine = self.top / "spool" / pwd.getpwuid(os.geteuid()).pw_name
        mine.mkdir(parents=True)
        (self.top / "spool").chmod(0o711)
        for name in (SEALED, KILLED):
            shutil.copytree(GOLDEN / name, mine / name)
        self.sealed, self.killed = mine / SEALED, mine / KILLED
        self.daemon = self.profd(hal=None, directory=self.top)
        harness.wait_until(lambda: len(self.daemon.ctl("list", "--json").json["sessions"]) == 2, "the past sessions")

    def ctl(self, *arguments):
        result = self.daemon.ctl(*arguments)
        self.assertIn(result.code, (OK, PARTIAL_LOSS), result)
        return result

    def unchanged(self, directory):
        self.assertTrue((directory / own_folder.FORMER_OWN_FOLDER).is_dir())
        self.assertFalse((directory / own_folder.OWN_FOLDER).exists())

    def reads(self, directory):
        """verify, query and export find the agent's records."""
        said = self.ctl("verify", directory).out
        self.assertIn("nothing is wrong", said)
        (found,) = self.ctl("query", directory, "--json").json["directories"]
        kinds = {kind["kind"]: kind for kind in found["kinds"]}
        self.assertEqual(kinds["agent-range"]["rows"], RECORDS)
        with tempfile.TemporaryDirectory() as out:
            self.ctl("export", directory, "--format", "csv", "--out", out)
            (table,) = pathlib.Path(out).rglob("msprof_tx_*.csv")
            self.assertEqual(len(table.read_text().splitlines()), RECORDS + 1)

    def test_every_verb(self):
        session = own_folder.manifest(self.sealed, own_folder.FORMER_OWN_FOLDER)["session"]
        self.assertEqual(self.daemon.status(session)["directories"], [str(self.sealed)])
        self.reads(self.sealed)
        pinned = self.sealed / own_folder.FORMER_OWN_FOLDER / "pinned"
        self.ctl("pin", session)
        self.assertTrue(pinned.exists())
        self.ctl("unpin", session)
        self.assertFalse(pinned.exists())
        self.ctl("fetch", session, "--out", self.top / "fetched")
        self.reads(self.top / "fetched" / SEALED)
        (self.top / "moved").mkdir()
        self.ctl("mv", session, self.top / "moved")
        self.reads(self.top / "moved" / SEALED)
        self.unchanged(self.top / "moved" / SEALED)
        of_killed = own_folder.manifest(self.killed, own_folder.FORMER_OWN_FOLDER)["session"]
        self.ctl("rm", of_killed)
        self.assertFalse(self.killed.exists())

    def test_a_killed_one_is_mended(self):
        manifest = own_folder.manifest(self.killed, own_folder.FORMER_OWN_FOLDER)
        self.assertEqual((manifest["state"], manifest["end_reason"]), ("sealed", "interrupted"))
        self.assertIn("nothing is wrong", self.ctl("verify", self.killed).out)
        self.unchanged(self.killed)
        lanes = [stream for stream in manifest["streams"] if stream["kind"] == "agent-lanes"]
        self.assertEqual([stream["folder"] for stream in lanes], [own_folder.FORMER_OWN_FOLDER])
        self.assertGreater(lanes[0]["records"], 0)

    def test_renamed_for_the_vendors_parser(self):
        moved = self.top / SEALED
        shutil.copytree(self.sealed, moved)
        (moved / own_folder.FORMER_OWN_FOLDER).rename(moved / own_folder.OWN_FOLDER)
        self.reads(moved)


if __name__ == "__main__":
    unittest.main()
