#!/usr/bin/env python3
"""Root uses profctl where an unprivileged user may write: links and folders planted in the way of `fetch` and `export`
lead to no file of root's."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import harness
from attack_test import as_user

sys.path.append(str(harness.ROOT / "tests" / "analyze"))
from job_sim import Shape, make  # noqa: E402

USER = harness.nobody()


@harness.needs_root
class PlantedLinksTest(harness.ProfdTest):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="profd-planted-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        os.chmod(self.place, 0o755)
        self.victim = self.place / "victim"
        (self.victim / "data").mkdir(parents=True)
        os.chmod(self.victim, 0o700)
        self.public = self.place / "public"
        self.public.mkdir()
        os.chmod(self.public, 0o1777)
        self.daemon = self.profd()

    def nothing_in_the_victims_folder(self):
        self.assertEqual(sorted(path.name for path in self.victim.rglob("*")), ["data"])

    def recorded(self, *arguments, **options):
        session = self.daemon.begin("--collect", "host-sys-cpu=50Hz", "--duration", "300ms", *arguments, "--wait", **options)
        return session["session"], pathlib.Path(self.daemon.status(session["session"])["directory"])

    def fetch(self, session):
        return self.daemon.ctl("fetch", session, "--out", self.public)

    def test_fetch_follows_nothing_that_was_planted(self):
        session, directory = self.recorded()
        under_way = self.public / f".fetching_{directory.name}"
        final = self.public / directory.name

        def folder_with_a_link():
            under_way.mkdir()
            (under_way / "host").symlink_to(self.victim)

        def folder_that_is_right():
            shutil.copytree(self.victim.parent / "public", under_way, ignore=lambda *_: os.listdir(self.public))

        for name, planted, plant in (("a link inside", under_way, folder_with_a_link),
                                     ("another's folder", under_way, folder_that_is_right),
                                     ("a link", under_way, lambda: under_way.symlink_to(self.victim)),
                                     ("a file", under_way, under_way.touch),
                                     ("the result as a link", final, lambda: final.symlink_to(self.victim)),
                                     ("the result as another's", final, final.mkdir)):
            with self.subTest(name):
                self.assertTrue(as_user(plant))
                result = self.fetch(session)
                self.assertEqual(result.code, harness.PERMISSION, result)
                self.assertIn(planted.name, result.err)
                self.assertIn("--out", result.err)
                self.nothing_in_the_victims_folder()
                planted.unlink() if planted.is_symlink() or planted.is_file() else shutil.rmtree(planted)
        self.assertEqual(self.fetch(session).code, harness.OK)
        self.assertTrue((final / "host" / "data").is_dir())
        self.assertEqual(self.fetch(session).code, harness.OK)  # it is there, and root's

    def test_export_by_root_follows_no_link_of_the_directorys_owner(self):
        home = self.place / "home"
        home.mkdir()
        os.chown(home, USER, USER)
        os.chmod(self.daemon.socket, 0o666)
        work = self.workload(command=["sleep", "300"], user=USER, group=USER, extra_groups=[])
        session = self.daemon.begin("--pid", work.pid, "--collect", "host-mem=50Hz", "--duration", "300ms", "--wait",
                                    "--output", home, user=USER)
        directory = pathlib.Path(self.daemon.status(session["session"])["directory"])
        tables = directory / "mindstudio_profiler_output"
        self.assertTrue(as_user(lambda: tables.symlink_to(self.victim)))
        refused = self.daemon.ctl("export", directory, "--format", "chrome,csv,db")
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn(str(tables), refused.err)
        self.nothing_in_the_victims_folder()

        # A folder of the owner's is taken, and files planted in it are replaced, not followed.
        stamp = self.daemon.ctl("export", directory, "--format", "chrome", "--out", self.place / "mine", "--json")
        self.assertEqual(stamp.code, harness.OK, stamp)
        name = pathlib.Path(stamp.json["directories"][0]["files"][0]).name
        self.assertTrue(os.path.exists(stamp.json["directories"][0]["files"][0]))

        def plant():
            tables.unlink()
            tables.mkdir()
            for planted in (name, name + ".part"):
                (tables / planted).symlink_to(self.victim / "made")

        self.assertTrue(as_user(plant))
        taken = self.daemon.ctl("export", directory, "--format", "chrome", "--json")
        self.assertEqual(taken.code, harness.OK, taken)
        self.assertFalse((tables / name).is_symlink())
        self.assertTrue(json.loads((tables / name).read_text()))
        self.nothing_in_the_victims_folder()

    def test_links_on_the_way_are_roots_and_the_callers_own(self):
        session, directory = self.recorded()
        way = self.public / "way"
        self.assertTrue(as_user(lambda: way.symlink_to(self.victim)))
        for verb in (("export", directory, "--format", "chrome", "--out", way),
                     ("export", directory, "--format", "chrome", "--out", way / "new" / "out"),
                     ("fetch", session, "--out", way / "new"), ("mv", session, way / "new"),
                     ("start", "--collect", "host-sys-cpu", "--output", way / "new")):
            with self.subTest(verb[0]):
                refused = self.daemon.ctl(*verb)
                self.assertEqual(refused.code, harness.PERMISSION, refused)
                self.assertIn(f"way is a link of user {USER}'s", refused.err)
                self.nothing_in_the_victims_folder()
        job = self.place / "job"
        make(Shape(ranks=2, tp=1, steps=4, layers=1), [], job)
        for verb in (("report", job, "-o", way / "report.html"), ("report", job, "-o", way / "data" / "report.html"),
                     ("analyze", job, "--report", "steps", "--csv", way), ("tls", "init", "--dir", way),
                     ("tls", "init", "--dir", way / "tls"), ("tls", "init", "--dir", way / "data" / "tls")):
            with self.subTest(verb[0]):
                refused = self.daemon.ctl(*verb)
                self.assertEqual(refused.code, harness.PERMISSION, refused)
                self.assertIn("way", refused.err)
                self.nothing_in_the_victims_folder()
        self.assertEqual(self.daemon.ctl("report", job, "-o", self.place / "report.html").code, harness.OK)
        own = self.public / "own"
        own.symlink_to(self.place)
        self.assertEqual(self.daemon.ctl("tls", "init", "--dir", own / "tls").code, harness.OK)
        self.assertEqual(self.daemon.ctl("tls", "node", "n7", "--dir", own / "tls").code, harness.OK)
        for verb in (("export", directory, "--format", "chrome", "--out", own / "new" / "out"),
                     ("fetch", session, "--out", own / "new")):
            self.assertEqual(self.daemon.ctl(*verb).code, harness.OK)
        self.assertTrue((self.place / "new" / "out" / "mindstudio_profiler_output").is_dir())

    def test_capture_follows_only_roots_and_the_callers_own_links(self):
        way = self.public / "way"
        self.assertTrue(as_user(lambda: way.symlink_to(self.victim)))
        for place in (way / "node.profcap", way / "data" / "node.profcap"):
            refused = self.daemon.ctl("capture", "-o", place, "--for", "0.2s")
            self.assertEqual(refused.code, harness.PERMISSION, refused)
            self.assertIn(f"way is a link of user {USER}'s", refused.err)
            self.nothing_in_the_victims_folder()
        planted = self.public / "node.profcap"
        self.assertTrue(as_user(lambda: planted.symlink_to(self.victim / "new")))
        self.assertNotEqual(self.daemon.ctl("capture", "-o", planted, "--for", "0.2s").code, harness.OK)
        self.nothing_in_the_victims_folder()
        self.assertEqual(self.daemon.ctl("capture", "-o", self.place / "node.profcap", "--for", "0.2s").code, harness.OK)

    def test_flame_follows_only_roots_and_the_callers_own_links(self):
        spinning = self.workload(command=[sys.executable, "-c", "while True: pass"])
        begun = self.daemon.ctl("start", "--pid", spinning.pid, "--collect", "host-cpu-profile", "--json")
        if begun.code != harness.OK:
            self.skipTest(f"NOT RUN: no CPU profiles here: {begun}")
        session = begun.json["session"]
        harness.wait_until(lambda: self.daemon.status(session)["kinds"][0]["records"] > 10, "samples")
        directory = self.daemon.end(session)["directory"]
        way, page = self.public / "way", self.public / "page.svg"
        self.assertTrue(as_user(lambda: way.symlink_to(self.victim)))
        self.assertTrue(as_user(lambda: page.symlink_to(self.victim / "page.svg")))
        refused = self.daemon.ctl("flame", directory, "-o", way / "page.svg")
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn(f"way is a link of user {USER}'s", refused.err)
        # A link in the file's own place is nobody's way: it is replaced, where that is allowed, or refused.
        self.daemon.ctl("flame", directory, "-o", page)
        self.nothing_in_the_victims_folder()
        self.assertEqual(self.daemon.ctl("flame", directory, "-o", self.place / "page.svg").code, harness.OK)

    def test_keys_go_into_no_folder_of_anothers(self):
        """Nor are any made of an authority that lies in one."""
        empty, his = self.public / "empty", self.public / "his"
        self.assertTrue(as_user(empty.mkdir))
        self.assertEqual(self.daemon.ctl("tls", "init", "--dir", his, user=USER).code, harness.OK)
        for folder, words in ((empty, "init"), (his, "init"), (his, "node n7"), (his, "client ada")):
            for mode, said in ((0o755, f"belongs to user {USER}"), (0o777, "others may write there")):
                with self.subTest(folder=folder.name, words=words, mode=mode):
                    os.chmod(folder, mode)
                    before = sorted(os.listdir(folder))
                    refused = self.daemon.ctl("tls", *words.split(), "--dir", folder)
                    self.assertEqual(refused.code, harness.PERMISSION, refused)
                    self.assertIn(said, refused.err)
                    self.assertEqual(sorted(os.listdir(folder)), before)

    def test_repair_follows_only_roots_and_the_callers_own_links(self):
        _, directory = self.recorded()
        way, own = self.public / "way", self.public / "own"
        self.assertTrue(as_user(lambda: way.symlink_to(directory.parent)))
        own.symlink_to(directory.parent)
        refused = self.daemon.ctl("repair", way / directory.name)
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn(f"way is a link of user {USER}'s", refused.err)
        self.assertEqual(self.daemon.ctl("repair", own / directory.name).code, harness.OK)

    def test_export_into_anothers_folder_is_refused(self):
        _, directory = self.recorded()
        out = self.public / "out"
        tables = out / "mindstudio_profiler_output"
        out.mkdir()
        os.chmod(out, 0o777)
        self.assertTrue(as_user(tables.mkdir))
        refused = self.daemon.ctl("export", directory, "--format", "csv", "--out", out)
        self.assertEqual(refused.code, harness.PERMISSION, refused)
        self.assertIn(f"belongs to user {USER}", refused.err)
        self.assertEqual(os.listdir(tables), [])


if __name__ == "__main__":
    unittest.main()
