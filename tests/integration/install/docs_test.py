#!/usr/bin/env python3
"""The pages say what is true: links lead somewhere, command lines are taken, code runs, queries have rows."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import authority
import harness

ROOT = harness.ROOT
COLUMNS = 120
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted((ROOT / "docs").glob("*.md"))
# What a page stands for, and a test has. A name is replaced as a whole word only.
STANDS_FOR = {"SESSION": "nosuch", "ID": "12345678", "N": "1", "T": "1s", "LEASE": "1", "CMD": "true", "ARGS": "", "MODEL": "m",
              "KIND": "hbm", "KINDS": "hbm", "RANKS": "ranks", "BASE": "base", "NEW": "new", "FILE": "out.html", "NAME": "steps",
              "RULE": "rank.late", "LIST": "comm", "VERB": "start", "KEY=NUMBER": "host.gap_ms=1", "WORD": "w"}
DIRECTORY = re.compile(r"(?<![\w/-])(/data/PROF_…|PROF_…(/\w+)?|DIR|ranks/|base/?|new/?|\S*_ascend_(pt|ms))(?![\w/])")


# What profctl says of a line that is not complete, as in prose, and of programs that this machine has not.
INCOMPLETE = re.compile(r"is missing: profctl|name (at least|one of|the program|what to do)|say what to record|its value is missing|needs a terminal")
NOT_HERE = re.compile(r"(squeue|scontrol|kubectl): No such file|etcd at |no keys: set AWS_")


class Block:
    """A piece of code of a page: fenced, or set in by four."""

    def __init__(self, page, line, language):
        self.page, self.line, self.language, self.lines = page, line, language, []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def where(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page):
    found, fenced, set_in, before = [], None, None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"^\s*```(\w*)$", line)
        if fence and fenced:
            fenced = None
        elif fence:
            fenced = Block(page, number + 1, fence.group(1))
            found.append(fenced)
        elif fenced:
            fenced.lines.append(line)
        elif line.startswith("    ") and (set_in or not before):
            if set_in is None:
                set_in = Block(page, number, "")
                found.append(set_in)
            set_in.lines.append(line[4:])
        elif line.strip():
            set_in = None
        before = line.strip()
    return found


def prose_of(page):
    """Its lines without blocks, numbered."""
    inside = {number for block in blocks_of(page) for number in range(block.line - 1, block.line + len(block.lines) + 1)
              if block.language or number not in (block.line - 1, block.line + len(block.lines))}
    return [(number, line) for number, line in enumerate(page.read_text().splitlines(), 1) if number not in inside]


def anchors_of(page):
    """Of its headings, as GitHub makes them."""
    anchors, fenced = {}, False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        heading = re.match(r"^#+ (.*)$", line)
        if heading and not fenced:
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            anchor = re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")
            count = anchors.setdefault(anchor, 0)
            anchors[anchor] += 1
            if count:
                anchors[f"{anchor}-{count}"] = 1
    return set(anchors)


def commands_of(block):
    """Its lines that call profctl, as words; those with a program in front of it (srun) from there on."""
    text = re.sub(r"\\\n\s*", "", block.text)
    for offset, line in enumerate(text.splitlines()):
        line = re.sub(r"\s+# .*$", "", line.strip())
        found = re.match(r"^(?:\$ )?(?:\w+ )??(profctl .*)$", line)
        if found:
            yield f"{block.where}+{offset}", found.group(1)


class PagesTest(harness.unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in [*PAGES, *ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]:
            if "build" in page.relative_to(ROOT).parts[0]:
                continue
            for number, line in prose_of(page):
                for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                    if re.match(r"^(https?|mailto):", target):
                        continue
                    path, _, anchor = target.partition("#")
                    other = (page.parent / path).resolve() if path else page
                    self.assertTrue(other.exists(), f"{page.relative_to(ROOT)}:{number}: {target} leads nowhere")
                    if anchor and other.suffix == ".md":
                        self.assertIn(anchor, anchors_of(other), f"{page.relative_to(ROOT)}:{number}: {target} leads nowhere")

    def test_every_page_is_reached_from_the_readme(self):
        reached = set(re.findall(r"\]\((docs/[\w-]+\.md)", (ROOT / "README.md").read_text()))
        self.assertEqual({f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - {"docs/README.md"}, reached)

    def test_files_are_there(self):
        """Those that are named with their whole path, with or without their ending."""
        tops = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", "out"}
        for page in PAGES:
            for number, line in prose_of(page):
                for path in re.findall(r"`([\w./-]+)`", line):
                    if "/" in path and path.split("/")[0] in tops and not re.search(r"[A-Z]{4}", path):
                        found = [end for end in ("", ".h", ".cc", ".py") if (ROOT / (path + end)).exists()]
                        self.assertTrue(found, f"{page.relative_to(ROOT)}:{number}: there is no {path}")

    def test_lines_fit(self):
        """Code and outputs, too; a row of a table has one line."""
        folders = [page for depth in ("*", "*/*", "*/*/*", "*/*/*/*") for page in ROOT.glob(f"{depth}/README.md")
                   if not page.relative_to(ROOT).parts[0].startswith(("build", "out"))]
        long = [f"{page.relative_to(ROOT)}:{number}" for page in {*PAGES, *folders}
                for number, line in enumerate(page.read_text().splitlines(), 1) if len(line) > COLUMNS and not line.lstrip().startswith("|")]
        self.assertEqual(long, [], "scripts/wrap.py docs/*.md mends that")

    def test_code_in_c_compiles(self):
        for page in PAGES:
            for block in blocks_of(page):
                if block.language in ("c", "cpp"):
                    compiler = ["cc", "-std=c11"] if block.language == "c" else ["c++", "-std=c++17"]
                    done = subprocess.run([*compiler, "-x", "c" if block.language == "c" else "c++", "-fsyntax-only", "-Wall",
                                           f"-I{ROOT}/libagent/include", "-"], input=block.text, text=True, capture_output=True,
                                          check=False)
                    self.assertEqual(done.returncode, 0, f"{block.where}: {done.stderr}")


class CommandsTest(harness.unittest.TestCase):
    """Without a profd: whoever asks one is told that there is none, and whoever does not works."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-docs-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.directory = next((ROOT / "tests" / "golden" / "former").glob("PROF_*"))
        # Names of other nodes are asked for once, where there is somebody to ask.
        self.environment = dict(os.environ, PROFD_ADDRESS=str(self.folder / "none.sock"), HOME=str(self.folder),
                                RES_OPTIONS="timeout:1 attempts:1")
        self.tls = authority.Authority()
        self.addCleanup(self.tls.close)
        self.certificate, self.key = self.tls.issue("node")
        settings = self.folder / ".config" / "profd" / "profctl.conf"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'tls-ca = "{self.tls.ca}"\ntls-cert = "{self.certificate}"\ntls-key = "{self.key}"\n')

    def run_line(self, line, number):
        """None, or what is wrong with it."""
        here = self.folder / str(number)
        here.mkdir()
        directory = here / self.directory.name
        shutil.copytree(self.directory, directory)
        (here / "nodes.txt").write_text("node1\n")
        line = DIRECTORY.sub(str(directory), line.replace("DIR…", "DIR"))
        if "--export=on" in line:
            line = re.sub(r"(?<=--output=)/data(?=\s|$)", str(directory), line)
        words = [STANDS_FOR.get(word, word) for word in shlex.split(re.sub(r"(?<==)N\b|\bN,…", "1", line))]
        words = [word for word in words if word]
        if "…" not in line:
            asked = list(words)
            if "--" in words and words[1] in ("run", "record"):
                asked = [*words[:words.index("--") + 1], "true"]
            if "auto" in words and len(words) > 2:  # which writes to /etc and beside Python's packages
                asked += ["--root", str(here)]
            if "--hosts" in asked and "--timeout" not in asked:
                asked[1:1] = ["--timeout", "1s"]
            done = self.profctl(here, *asked[1:])
            if done.returncode != harness.USAGE or NOT_HERE.search(done.stderr):
                return None
            if not INCOMPLETE.search(done.stderr):
                return done.stderr.strip()
        # What is not written out whole can be held against the options that there are.
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        done = self.profctl(here, verb, "--help-all" if verb in ("start", "msprof") else "--help")
        if done.returncode != harness.OK:
            return f"there is no verb {verb}"
        options = [word.split("=")[0] for word in words[1:] if word.startswith("--") and len(word) > 2 and "…" not in word]
        general = self.profctl(here, "--help").stdout
        missing = [option for option in options if option not in done.stdout + general]
        return f"{verb} has no {', '.join(missing)}" if missing else None

    def profctl(self, here, *words):
        return subprocess.run([str(harness.PROFCTL), *words], env=self.environment, cwd=here, text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL)

    def test_lines_are_taken(self):
        lines = {}
        for page in PAGES:
            for block in blocks_of(page):
                for where, line in commands_of(block):
                    # A synopsis has two columns, and brackets.
                    if not re.search(r"\[|  | \| ", line):
                        lines.setdefault(line, where)
            for number, line in prose_of(page):
                for code in re.findall(r"`(profctl [^`]+)`", line):
                    if not re.search(r"\[| \| ", code):
                        lines.setdefault(code.replace("\\|", "|"), f"{page.relative_to(ROOT)}:{number}")
        self.assertGreater(len(lines), 80)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            wrong = pool.map(self.run_line, lines, range(len(lines)))
            told = [f"{where}: {line}: {what}" for (line, where), what in zip(lines.items(), wrong) if what]
        self.assertEqual(told, [], "\n" + "\n".join(told))

    def test_settings_are_taken(self):
        revoked = self.tls.revoke(self.tls.issue("nobody")[0])
        remote = f"remote: {{listen: '127.0.0.1:9478', cert: '{self.certificate}', key: '{self.key}', client_ca: '{self.tls.ca}'}}\n"
        for page in PAGES:
            for block in blocks_of(page):
                if block.language != "yaml" and not re.match(r"^\w+: \{.*\}\n$", block.text):
                    continue
                text = block.text.replace("/etc/profd/tls/revoked", str(revoked))
                text = re.sub(r"/etc/profd/tls/[\w.]*ca\.pem", str(self.tls.ca), text)
                text = re.sub(r"/etc/profd/tls/[\w.]+\.key", str(self.key), text)
                text = re.sub(r"/etc/profd/tls/[\w.]+\.pem", str(self.certificate), text)
                if "listen" not in text:  # a part that goes with others
                    text = remote.replace("}\n", f", {text.split(chr(10))[1].strip()}}}\n") if text.startswith("remote:") else text + remote
                file = self.folder / "profd.yaml"
                file.write_text(text)
                done = subprocess.run([str(harness.PROFD), "--config", str(file), "--check-config"], text=True, capture_output=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, f"{block.where}: {done.stderr}\n{text}")

    def test_certificates_are_made(self):
        page = ROOT / "docs" / "tls.md"
        script = "".join(block.text for block in blocks_of(page) if block.language == "sh" and "--host" not in block.text)
        environment = dict(self.environment, PATH=f"{harness.PROFCTL.parent}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-euc", script], env=environment, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.folder / ".config" / "profd" / "tls"
        for name in ("node7", "ada"):
            subprocess.run(["openssl", "verify", "-CAfile", "ca.pem", f"{name}.pem"], cwd=made, check=True, capture_output=True)


@harness.unittest.skipUnless(harness.PLAIN_BUILD == harness.BUILD, "the agent of a sanitizer's build goes into no program")
class CodeTest(harness.ProfdTest):
    """With a profd, the simulator and a small job, as quickstart has them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="profd-cann-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "lib64").mkdir()
        for name in ("libmspti.so", "libprofapi.so"):
            (self.folder / "lib64" / name).symlink_to(harness.BUILD / "sim" / name)
        self.daemon = self.profd(sim="devices: 2\nchip: 910B\nscenario: {step_ms: 50}\nmspti: {auto: true}\n",
                                 env={"ASCEND_HOME_PATH": str(self.folder)})

    def test_python_runs(self):
        environment = dict(self.daemon.environment, PROFD_AGENT_LIBRARY=str(harness.BUILD / "lib" / "libprofd_agent.so"),
                           PYTHONPATH=f"{harness.BUILD}/lib/profd/python:{harness.BUILD}/python")
        python = "/usr/bin/python3"
        has_grpc = subprocess.run([python, "-c", "import grpc, google.protobuf"], capture_output=True, check=False).returncode == 0
        count = 0
        for page in PAGES:
            for block in blocks_of(page):
                if block.language != "python" or "node7" in block.text:
                    continue
                if "profd_client" in block.text and not has_grpc:
                    continue
                done = subprocess.run([python, "-c", block.text], env=environment, text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, f"{block.where}: {done.stderr}\n{self.daemon.log.read_text()}")
                count += 1
        self.assertGreater(count, 3)

    def test_sizes_are_the_program_s(self):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (ROOT / "docs" / "sizing.md").read_text().splitlines()
                if re.match(r"^\| (kind \| Hz|`|all together)", line)]
        chips = rows[0][2:]
        rows = [row for row in rows if len(row) == len(chips) + 2]
        self.assertEqual(len(chips), 6)
        for column, chip in enumerate(chips, 2):
            daemon = self.profd(sim=f"devices: 1\nchip: {chip}\n")
            plan = daemon.ctl("start", "--devices", "0", "--preset", "all", "--dry-run", "--json").json["kinds"]
            expected = {f"`{kind['kind']}`": kind["bytes_per_s"] for kind in plan if kind["unit"] == "device:0" and kind["bytes_per_s"]}
            expected["all together"] = sum(expected.values())
            self.assertEqual({row[0]: row[column] for row in rows[1:] if row[column]},
                             {kind: f"{rate / 1000:.1f}" for kind, rate in expected.items()}, chip)
            daemon.close()

    def test_queries_have_rows(self):
        job = self.workload(command=[str(harness.RUN), "run", "--", sys.executable, str(harness.WORKLOAD), "120", "50"],
                            env=self.daemon.environment)
        self.registered(self.daemon, job.pid)
        session = self.daemon.begin("--pid", job.pid, "--devices", "all", "--collect",
                                    "hbm,pcie,npu-mem,agent-step,agent-range,agent-kernel,agent-comm,agent-api,host-cpu,host-mem")

        def is_enough():
            kinds = self.daemon.status(session["session"])["kinds"]
            count = {}
            for kind in kinds:
                count[kind["kind"]] = count.get(kind["kind"], 0) + kind["records"]
            return (count["agent-kernel"] > 2000 and count["agent-step"] > 8 and count["agent-comm"] > 20 and count["hbm"] > 100 and
                    count["host-cpu"] > 50 and count["npu-mem"] > 10 and count["pcie"] > 10)

        harness.wait_until(is_enough, "some steps")
        directory = pathlib.Path(self.daemon.end(session["session"])["directory"])
        self.assertEqual(self.daemon.ctl("export", directory, "--format", "db").code, harness.OK)
        [path] = directory.glob("msprof_*.db")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            count = 0
            for page in PAGES:
                for block in blocks_of(page):
                    if block.language == "sql" and page.name != "lake.md":  # of another engine: sql_test
                        try:
                            rows = database.execute(block.text).fetchall()
                        except sqlite3.Error as error:
                            self.fail(f"{block.where}: {error}")
                        self.assertTrue(rows, f"{block.where}: no rows")
                        count += 1
        self.assertGreater(count, 5)


if __name__ == "__main__":
    harness.unittest.main()
