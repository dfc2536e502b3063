#!/usr/bin/env python3
"""An unprivileged user against the daemon of root: links, FIFOs, swapped and forged directories, in --output and in the
spool. Nothing of anybody else's changes, nothing hangs, and other sessions go on."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

import agent_reader
import harness
import own_folder

USER = harness.nobody()


def begin_as_user(action):
    """Runs it in a child with the user's rights alone; its pid. Never beside a thread that starts programs: the child would
    have the pipe on which that thread waits to hear of its program."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            action()
            os._exit(0)
        except BaseException:  # noqa: BLE001
            os._exit(1)
    return child


def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def as_user(action):
    """… and waits for it; whether it did not fail."""
    return ended_well(begin_as_user(action))


@harness.needs_root
class AttackTest(harness.ProfdTest):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="profd-attack-"))
        os.chmod(self.place, 0o755)
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        # Root's, and what an attacker would have profd write to or remove.
        self.victim = self.place / "victim"
        (self.victim / "data").mkdir(parents=True)
        (self.victim / "precious").write_text("precious")
        self.before = self.look()
        self.daemon = self.profd(config="store:\n  slice_bytes: 65536\n")
        os.chmod(self.daemon.socket, 0o666)
        self.home = self.place / "home"
        self.home.mkdir()
        os.chown(self.home, USER, USER)
        self.work = self.workload(command=["sleep", "300"], user=USER, group=USER, extra_groups=[])

    def look(self):
        return sorted((str(path), path.lstat().st_uid, path.lstat().st_mode, path.read_text() if path.is_file() else "")
                      for path in self.victim.rglob("*"))

    def begin(self, *arguments):
        return self.daemon.begin("--pid", self.work.pid, "--collect", "host-mem=50Hz,host-cpu=50Hz", *arguments, user=USER)

    def grow(self, session):
        before = self.daemon.status(session)
        harness.wait_until(lambda: (now := self.daemon.status(session))["bytes"] + now["lost"] >
                           before["bytes"] + before["lost"] + 2000, "the session to go on")

    def stop(self, session):
        result = self.daemon.ctl("stop", session, "--json", user=USER)
        self.assertEqual(result.json["state"], "sealed", result)
        return result.json

    def harmless(self):
        self.assertEqual(self.look(), self.before)
        other = self.daemon.begin("--collect", "host-sys-cpu")["session"]
        ended = self.daemon.end(other)
        # A sample's moment may pass where there are too few processors: that is nobody's fault here.
        self.assertEqual(ended["state"], "sealed")

    # --- --output

    def test_output_that_is_no_directory_of_his(self):
        link = self.home / "link"
        as_user(lambda: link.symlink_to(self.victim))
        fifo = self.home / "fifo"
        as_user(lambda: os.mkfifo(fifo))
        for output in (link, self.victim, fifo, self.home / ".." / "victim", "/proc/self", "/etc/profd-attack"):
            result = self.daemon.ctl("start", "--pid", self.work.pid, "--collect", "host-mem", "--output", output, user=USER)
            self.assertIn(result.code, (harness.USAGE, harness.PERMISSION, harness.FAILED), (output, result))
        self.harmless()

    def test_a_directory_swapped_for_a_link_while_it_is_written(self):
        session = self.begin("--output", self.home)
        directory = pathlib.Path(session["directory"])
        self.grow(session["session"])

        def swap():
            directory.rename(self.home / "moved")
            directory.symlink_to(self.victim)

        self.assertTrue(as_user(swap))
        self.grow(session["session"])
        self.stop(session["session"])
        self.harmless()
        # What was open is what was written to.
        self.assertEqual(agent_reader.manifest(self.home / "moved")["state"], "sealed")

    def test_folders_inside_swapped_for_links(self):
        session = self.begin("--output", self.home)
        directory = pathlib.Path(session["directory"])

        def swap():
            for name in ("host/data", "host", own_folder.OWN_FOLDER):
                (directory / name).rename(self.home / name.replace("/", "_"))
                (directory / name).parent.mkdir(exist_ok=True)
                (directory / name).symlink_to(self.victim if "/" not in name else self.victim / "data")

        self.assertTrue(as_user(swap))
        self.grow(session["session"])
        self.stop(session["session"])
        self.harmless()

    def test_what_lies_where_files_are_to_be(self):
        def planted(make):
            def everywhere():
                for path in (data / "host_mem.data.slice_1", data / "host_mem.data.slice_0.done",
                             data / ".host_mem.data.slice_0.done.tmp", data / "host_cpu.data.slice_1"):
                    make(path)
                spare = own_folder.own_folder(directory) / ".manifest.json.tmp"
                spare.unlink()
                make(spare)
            return everywhere

        for name, make in (("link", lambda path: path.symlink_to(self.victim / "precious")),
                           ("fifo", os.mkfifo),
                           ("directory", os.mkdir),
                           ("hard link", lambda path: os.link(self.home / "own", path)),
                           ("dangling", lambda path: path.symlink_to(self.victim / "new"))):
            with self.subTest(name):
                (self.home / "own").write_text("own")
                os.chown(self.home / "own", USER, USER)
                session = self.begin("--output", self.home)
                directory = pathlib.Path(session["directory"])
                data = directory / "host" / "data"
                self.assertTrue(as_user(planted(make)))
                self.grow(session["session"])
                self.stop(session["session"])
                self.harmless()

    def test_a_race_of_renames(self):
        session = self.begin("--output", self.home)
        directory = pathlib.Path(session["directory"])
        data = directory / "host" / "data"
        read, write = os.pipe()

        def race():
            os.close(write)
            os.set_blocking(read, False)
            aside = data.with_name("aside")
            while True:
                try:
                    if os.read(read, 1) == b"":
                        break
                except BlockingIOError:
                    pass
                data.rename(aside)
                data.symlink_to(self.victim / "data")
                data.unlink()
                aside.rename(data)

        racer = begin_as_user(race)
        try:
            for _ in range(5):
                self.grow(session["session"])
            self.stop(session["session"])
        finally:
            os.close(write)
            raced = ended_well(racer)
            os.close(read)
        self.assertTrue(raced)
        self.harmless()

    # --- the spool

    def test_a_link_in_the_spool_is_not_followed_by_rm_and_pin(self):
        session = self.begin()
        self.grow(session["session"])
        sealed = self.stop(session["session"])
        directory = pathlib.Path(sealed["directory"])

        def swap():
            directory.rename(self.home / "moved")
            directory.symlink_to(self.victim)

        self.assertTrue(as_user(swap))
        for verb in ("pin", "unpin", "rm"):
            self.daemon.ctl(verb, sealed["session"], user=USER)
            self.daemon.ctl(verb, sealed["session"])  # root's right is not lent either
        self.harmless()

    def test_forged_manifests_change_nothing_of_others(self):
        of_root = self.daemon.begin("--collect", "host-sys-cpu")
        self.daemon.end(of_root["session"])
        session = self.begin()
        sealed = self.stop(session["session"])
        directory = pathlib.Path(sealed["directory"])
        manifest = agent_reader.manifest(directory)

        def forge():
            manifest.update(session=of_root["session"], user="root", uid=0, state="running")
            manifest["streams"] = [dict(stream, folder="..", file="../../root") for stream in manifest["streams"]]
            (directory / own_folder.MANIFEST).write_text(json.dumps(manifest))
            (own_folder.own_folder(directory) / "aged").write_bytes(b"0 1 1 1 1 1 ../../../victim/precious".ljust(256))
            (own_folder.own_folder(directory) / "pinned").symlink_to(self.victim / "pinned")
            copy = directory.with_name(directory.name[:-1] + ("R" if directory.name.endswith("Q") else "Q"))
            shutil.copytree(directory, copy, symlinks=True)

        self.assertTrue(as_user(forge))
        self.daemon.kill()
        self.daemon.start()
        os.chmod(self.daemon.socket, 0o666)
        harness.wait_until(lambda: len(self.daemon.ctl("list", "--json").json["sessions"]) >= 2, "the past sessions")
        self.assertEqual(self.daemon.ctl("rm", of_root["session"], user=USER).code in (harness.OK, harness.NOT_FOUND, harness.FAILED),
                         True)
        self.assertTrue(os.path.exists(of_root["directory"]))
        self.harmless()

    def test_what_a_recovery_finds(self):
        """A session that a kill cut short, rearranged by its owner before the next profd looks at it as root."""
        for place, kind in (("host/data", "link"), ("host/data/host_mem.data.slice_0", "link"),
                            ("host/data/host_mem.data.slice_0", "fifo"), (own_folder.MANIFEST, "link"),
                            ("host", "link"), ("", "link"), (own_folder.OWN_FOLDER + "/aged", "link")):
            with self.subTest(place=place, kind=kind):
                session = self.begin()
                self.grow(session["session"])
                self.daemon.kill()
                path = os.path.join(session["directory"], place).rstrip("/")
                target = self.victim / "precious" if "." in os.path.basename(place) else self.victim

                def rearrange(path=path, kind=kind, target=target):
                    if os.path.lexists(path):
                        os.rename(path, path + ".aside")
                    if kind == "fifo":
                        os.mkfifo(path)
                    else:
                        os.symlink(target, path)

                self.assertTrue(as_user(rearrange))
                self.daemon.start()
                self.assertEqual(self.look(), self.before)

    def test_the_spool_itself_is_not_his_to_change(self):
        self.begin()
        spool = self.daemon.spool
        self.assertFalse(as_user(lambda: (spool / "evil").mkdir()))
        self.assertFalse(as_user(lambda: os.rename(spool / "root", spool / "x")) if (spool / "root").exists() else False)
        self.assertFalse(as_user(lambda: os.listdir(spool)))
        self.assertFalse(as_user(lambda: os.listdir(spool / ".profd")))


if __name__ == "__main__":
    unittest.main()
