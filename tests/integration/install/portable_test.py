#!/usr/bin/env python3
"""What scripts/portable.sh made, where it was run: nothing is asked for that a system with glibc 2.28 does not have. And, where
it was not: what stands in for a younger libc (scripts/portable/old_libc.c) does what that would."""
import hashlib
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

OLDEST_GLIBC = (2, 28)
ALLOWED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MOST_BYTES = 25 << 20
PORTABLE = harness.ROOT / "build-portable"
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
SOURCE = harness.ROOT / "scripts" / "portable" / "old_libc.c"

# Of a libc that has none of the younger functions.
PROGRAM = r"""
#include <dlfcn.h>
#define dlsym(handle, name) NULL
#include "%s"
#include <errno.h>
#include <stdio.h>
static struct timespec Until(long milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += milliseconds * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %%= 1000000000;
  return until;
}
static int Over(struct timespec until) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec - 2000000);
}
static void* Locks(void* mutex) {
  const struct timespec until = Until(700);
  const int result = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
  printf("lock %%d %%d\n", result == ETIMEDOUT, Over(until));
  return NULL;
}
int main() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const struct timespec until = Until(700);
  const int result = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
  printf("wait %%d %%d\n", result == ETIMEDOUT, Over(until));
  pthread_t other;
  pthread_create(&other, NULL, Locks, &mutex);
  pthread_join(other, NULL);
  volatile double two = 2;
  printf("%%.17g %%.17g %%.17g %%.17g %%.17g\n", exp(two), exp2(two), log(two), log2(two), pow(two, two));
  printf("id %%d, random %%d\n", gettid() == getpid(), arc4random() != arc4random() || arc4random() != arc4random());
}
"""


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, **options).stdout


def faults(file, beside=frozenset()):
    """Why a program or library does not load everywhere; `beside`: libraries that come along."""
    found = []
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic := run("readelf", "-dW", file)):
        if name not in ALLOWED | set(beside):
            found.append(f"needs {name}")
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.+)\]", dynamic):
        if path != "$ORIGIN":
            found.append(f"looks for libraries in {path}")
    if "(TEXTREL)" in dynamic:
        found.append("has relocations in its text")
    for library, numbers in set(re.findall(r"Name: (\w+?)_([\d.]+)\s", run("readelf", "-VW", file))):
        if library != "GLIBC" or tuple(map(int, numbers.split("."))) > OLDEST_GLIBC:
            found.append(f"asks for {library}_{numbers}")
    return found


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


@unittest.skipUnless(shutil.which("readelf"), "needs binutils")
class CheckTest(unittest.TestCase):
    def test_the_check_refuses_what_is_built_for_this_machine_alone(self):
        found = faults(harness.PROFD)
        self.assertIn("needs libstdc++.so.6", found)
        self.assertTrue(any(fault.startswith("asks for GLIBC_2.3") for fault in found), found)

    @unittest.skipUnless(shutil.which("clang") and shutil.which("ld.lld"), "needs clang and lld, which portable.sh takes")
    def test_an_older_libc(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "old.c"
            source.write_text(PROGRAM % SOURCE)
            run("clang", "-fuse-ld=lld", "-O1", "-fno-builtin", "-fvisibility=hidden", source, "-o", source.with_suffix(""), "-lm", "-lpthread")
            said = run(source.with_suffix("")).splitlines()
        self.assertEqual(said, ["wait 1 1", "lock 1 1", "7.3890560989306504 4 0.69314718055994529 1 4", "id 1, random 1"])


class ArtefactTest(unittest.TestCase):
    machine = None

    @classmethod
    def setUpClass(cls):
        if cls.machine is None:
            raise unittest.SkipTest("of each machine below")
        cls.artefacts = PORTABLE / cls.machine / "artefacts"
        found = sorted(cls.artefacts.glob(f"profd-*-{cls.machine}.tar.xz"))
        if not found or not shutil.which("readelf"):
            raise unittest.SkipTest(f"scripts/portable.sh {cls.machine} has not been run here")
        [cls.tarball] = found
        holder = tempfile.TemporaryDirectory(prefix="profd-portable-")
        cls.addClassCleanup(holder.cleanup)
        run("tar", "-C", holder.name, "-xf", cls.tarball)
        [cls.tree] = pathlib.Path(holder.name).iterdir()
        cls.files = sorted(path for path in cls.tree.rglob("*") if path.is_file() and is_elf(path))

    def test_nothing_else_is_needed(self):
        names = {path.name for path in self.files}
        self.assertLessEqual({"profd", "profctl", "libprofd_agent.so", "libascend_hal.so"}, names)
        self.assertEqual({str(path.relative_to(self.tree)): found for path in self.files if (found := faults(path, names))}, {})
        for path in self.files:
            self.assertIn(MACHINES[self.machine], run("readelf", "-h", path))

    def test_the_agent_asks_for_libc_alone(self):
        run("python3", harness.ROOT / "tests" / "unit" / "libagent" / "symbols_test.py", self.tree / "usr/lib/libprofd_agent.so")

    def test_the_tarball(self):
        self.assertLessEqual(self.tarball.stat().st_size, MOST_BYTES)
        for path in ("usr/share/man/man8/profd.8.gz", "usr/share/man/man1/profctl.1.gz", "etc/profd/profd.yaml",
                     "usr/share/bash-completion/completions/profctl", "usr/lib/systemd/system/profd.service",
                     "usr/share/doc/profd/libraries/versions", "usr/share/doc/profctl/libraries/libssl-dev.copyright"):
            self.assertTrue((self.tree / path).is_file(), path)
        for line in run("tar", "--numeric-owner", "-tvf", self.tarball).splitlines():
            self.assertEqual(line.split()[1], "0/0", line)

    def test_no_folder_of_the_build_is_in_it(self):
        for path in self.files:
            self.assertFalse(bytes(harness.ROOT) + b"/" in path.read_bytes(), path)

    def test_debug_symbols_are_beside_it(self):
        [symbols] = self.artefacts.glob("*-debug.tar.xz")
        listed = run("tar", "-tf", symbols)
        for path in self.files:
            build_id = re.search(r"Build ID: (\w+)", run("readelf", "-nW", path))[1]
            self.assertIn(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug\n", listed, path)

    def test_the_packages_have_the_same_programs(self):
        digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files}
        tools = {"deb": ("dpkg-deb", "--fsys-tarfile"), "rpm": ("rpm2archive", "-n")}
        for form, name in (("deb", "profd"), ("deb", "profctl"), ("rpm", "profd"), ("rpm", "profctl")):
            if not shutil.which(tools[form][0]):
                continue
            [package] = [path for path in self.artefacts.glob(f"*.{form}") if re.match(rf"{name}[-_]\d", path.name)]
            with self.subTest(package=package.name), open(package, "rb") as source:
                command = [*tools[form], str(package)] if form == "deb" else [*tools[form], "-"]
                content = subprocess.run(command, stdin=source, capture_output=True, check=True).stdout
                folder = "sbin" if name == "profd" else "bin"
                program = subprocess.run(["tar", "-xO", f"./usr/{folder}/{name}"], input=content, capture_output=True,
                                         check=True).stdout
                self.assertEqual(hashlib.sha256(program).hexdigest(), digests[name])

    def test_what_the_rpms_ask_for(self):
        """Of the system nothing but libc, sh, groupadd and python3: names that all distributions of the kind have. profd-lake,
        which is not built here, also takes C++'s library."""
        if not shutil.which("rpm"):
            self.skipTest("needs rpm")
        packages = sorted(self.artefacts.glob("*.rpm"))
        self.assertTrue(packages)
        asked = set(run("rpm", "-qp", "--requires", *packages).split("\n")) - {""}
        of_lake = {one for one in asked if re.match(r"lib(stdc\+\+|gcc_s)\.so\.\d", one)}
        others = [path for path in packages if not path.name.startswith("profd-lake-")]
        self.assertFalse(of_lake & set(run("rpm", "-qp", "--requires", *others).split("\n")))
        asked -= of_lake
        own = set(run("rpm", "-qp", "--provides", *packages).split("\n"))
        strange = [one for one in sorted(asked - own) if not re.match(
            r"(lib(c|m|pthread|dl|rt)|ld-linux-[\w-]+)\.so\.\d|rpmlib\(|rtld\(|/bin/sh$|/usr/sbin/groupadd$|/usr/bin/python3$"
            r"|/usr/bin/env$|profctl$|libprofd-agent$", one)]
        self.assertEqual(strange, [])


class X86Test(ArtefactTest):
    machine = "x86_64"


class Aarch64Test(ArtefactTest):
    machine = "aarch64"


if __name__ == "__main__":
    unittest.main(verbosity=2)
