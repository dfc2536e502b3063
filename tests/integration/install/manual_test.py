#!/usr/bin/env python3
"""Man pages and completions say what the programs accept: every command and every option."""
import gzip
import os
import re
import shutil
import subprocess
import unittest

import harness

BUILT = harness.BUILD / "config"


def output(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, **options).stdout


def options_of(help_text):
    """With their older names."""
    rows = re.findall(r"^  (?:-\w,)?(--[\w-]+(?:,--[\w-]+)*)", help_text, re.MULTILINE)
    return [name for row in rows for name in row.split(",")]


def verbs():
    listed = output(harness.PROFCTL, "--help").split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


def page(name):
    """As roff, with what only troff needs taken away."""
    text = gzip.open(BUILT / name, "rt").read()
    return text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\(aq", "'")


class ManualTest(unittest.TestCase):
    def test_profctl(self):
        text = page("profctl.1.gz")
        zsh = (BUILT / "_profctl").read_text()
        self.assertGreater(len(verbs()), 10)
        for verb in verbs():
            section = text.split(f".SS {verb}\n")[1].split("\n.SS ")[0]
            part = zsh.split(f"        {verb})\n")[1].split(" ;;\n")[0]
            for option in options_of(output(harness.PROFCTL, verb, "--help")):
                self.assertIn(f"'*{option}[", part, verb)
                if option != "--help":
                    self.assertRegex(section, rf"\n\.TP\n(-\w, )?(--[\w-]+, ?)?{option}\b", verb)
            self.assertEqual(self.complete("profctl", verb, "--"),
                             sorted(options_of(output(harness.PROFCTL, "--help")) + options_of(output(harness.PROFCTL, verb, "--help"))))
        for option in options_of(output(harness.PROFCTL, "--help")):
            self.assertRegex(text, rf"\n\.TP\n(-\w, )?{option}\b")
        self.assertEqual(self.complete("profctl", ""), sorted(verbs()))
        self.assertEqual(self.complete("profctl", "st"), ["start", "status", "stop"])
        self.assertEqual(self.complete("profctl", "start", "--pre"), ["--preset"])
        self.assertEqual(self.complete("profctl", "run", "--", "--"), [])

    def test_options_of_the_vendor(self):
        """docs/msprof.md has the program's own tables."""
        tables = output(harness.PROFCTL, "--help-options")
        self.assertEqual((harness.ROOT / "docs" / "msprof.md").read_text().split("prints both.\n\n")[1], tables)
        rows = set(re.findall(r"F-\d{3}", tables))
        self.assertEqual(rows, {f"F-{number:03}" for number in range(1, 109)})

    def test_kinds(self):
        """docs/kinds.md has the program's own tables."""
        page = (harness.ROOT / "docs" / "kinds.md").read_text()
        self.assertEqual(page.split("prints both.\n\n")[1], output(harness.PROFCTL, "--help-kinds"))

    def complete(self, *words):
        script = (f'source {BUILT}/profctl.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _profctl; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        path = f"{harness.PROFCTL.parent}:{os.environ['PATH']}"  # it asks the program for values
        return sorted(output("bash", "-c", script, "bash", *words, env=dict(os.environ, PATH=path)).split())

    def test_values_are_completed(self):
        self.assertIn("hbm", self.complete("profctl", "start", "--collect", "hb"))
        self.assertIn("hbm,pcie", self.complete("profctl", "start", "--collect", "hbm,pc"))
        self.assertIn("detail", self.complete("profctl", "start", "--preset", "de"))
        self.assertIn("host-cpu", self.complete("profctl", "watch", "host-c"))

    def test_profd(self):
        text = page("profd.8.gz")
        for option in options_of(output(harness.PROFD, "--help")):
            self.assertRegex(text, rf"\n\.TP\n(-\w, )?{option}\b")

    def test_settings(self):
        text = page("profd.yaml.5.gz")
        group = ""
        for line in output(harness.PROFD, "--check-config", "--config", harness.ROOT / "config/profd.yaml").splitlines():
            if line.endswith(":"):
                group = line[:-1] + "."
            else:
                key, value = line.strip().split(": ")
                group = group if line.startswith(" ") else ""
                self.assertIn(f"\n{group}{key}: {value}\n", text)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "needs man")
    def test_man_has_nothing_to_complain_of(self):
        for name in ("profctl.1.gz", "profd.8.gz", "profd.yaml.5.gz"):
            done = subprocess.run(["man", "--warnings", "-l", "-E", "UTF-8", str(BUILT / name)], capture_output=True, text=True,
                                  check=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100"})
            self.assertEqual(done.stderr, "", name)
            self.assertIn("NAME", done.stdout)

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_zsh_accepts_its_completion(self):
        output("zsh", "-n", BUILT / "_profctl")


if __name__ == "__main__":
    unittest.main(verbosity=2)
