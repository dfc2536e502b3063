#!/usr/bin/env python3
"""Includes point down only (docs/architecture.md, "Layering"); each library, and each fact, stays in its one home."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What a folder may include besides itself.
BOTTOM = {"base", "format", "libagent/abi"}
CONFIG = BOTTOM | {"daemon/base", "daemon/config"}
DRIVER = CONFIG | {"daemon/chunk", "daemon/driver"}
MIDDLE = DRIVER
PLAN = MIDDLE | {"daemon/agent", "daemon/auth", "daemon/fabric", "daemon/store"}
NODE = PLAN | {"daemon/device", "daemon/host", "daemon/session/plan"}
HISTORY = PLAN | {"daemon/host", "daemon/session/plan", "format/mend"}
LIFE = NODE | HISTORY | {"daemon/session/node", "daemon/session/history"}
SESSION = LIFE | {"daemon/session/life"}
LIVE = SESSION | {"daemon/session"}
TOP = LIVE | {"daemon/live", "proto"}
FILES = {"base", "format", "client/words"}
READ = FILES | {"libagent/abi", "client/files", "client/export/read", "client/export/symbols"}
WRITE = READ
VIEWS = WRITE | {"client/export/write", "client/export/views"}
EXPORT = VIEWS
MODEL = READ | {"client/analyze/model"}
ANALYZE = MODEL | {"client/analyze/reading", "client/analyze/rules"}
ANSWER = ANALYZE | {"client/analyze", "client/analyze/compare", "client/analyze/report", "client/analyze/tables", "client/analyze/cluster"}
PAGE = VIEWS | ANSWER
SHOW = EXPORT | {"base/cli", "format/mend", "client/options", "client/export", "client/verify", "client/show/screen"}
ALLOWED = {
    "base": set(),
    "base/cli": {"base"},
    "libagent/abi": set(),
    "format": {"base", "libagent/abi"},
    "format/mend": {"base", "format"},
    "daemon/base": {"base"},
    "daemon/config": BOTTOM | {"daemon/base"},
    "daemon/chunk": CONFIG,
    "daemon/driver": CONFIG,
    "daemon/driver/ascend": CONFIG | {"daemon/driver"},
    "daemon/device": MIDDLE,
    "daemon/host": MIDDLE,
    "daemon/agent": MIDDLE,
    "daemon/store": MIDDLE | {"format/mend"},
    "daemon/auth": CONFIG,
    "daemon/fabric": CONFIG,
    "daemon/session/plan": PLAN,
    "daemon/session/node": NODE,
    "daemon/session/history": HISTORY,
    "daemon/session/life": LIFE,
    "daemon/session": SESSION,
    "daemon/rpc": TOP | {"remote"},
    "daemon/live": LIVE,
    "daemon/summary": CONFIG | {"daemon/agent"},
    "daemon": TOP | {"daemon/summary"} | {"base/cli", "daemon/rpc", "daemon/driver/ascend"},
    "libagent/include": set(),
    "libagent/link": set(),
    "libagent/src": {"base", "libagent/abi", "libagent/include", "libagent/link"},
    "client/options": {"base", "format"},
    "client/words": {"base", "client/options"},
    "client/files": FILES,
    "client/export/read": READ,
    "client/export/symbols": READ,
    "client/export/write": WRITE,
    "client/export/views": VIEWS,
    "client/export/chrome": VIEWS,
    "client/export/perfetto": VIEWS,
    "client/export/csv": VIEWS,
    "client/export/db": VIEWS,
    "client/export/stacks": VIEWS,
    "client/export": EXPORT,
    "client/export/framework": EXPORT | {"client/export", "client/export/db"},
    "client/analyze/model": FILES,
    "client/analyze/reading": MODEL | {"client/export/views"},  # what counters of cores mean
    "client/analyze/rules": MODEL,
    "client/analyze": ANALYZE,
    "client/analyze/compare": ANALYZE | {"client/analyze"},
    "client/analyze/report": ANALYZE | {"client/analyze", "client/analyze/compare"},
    "client/analyze/tables": ANALYZE | {"client/analyze"},
    "client/analyze/cluster": ANALYZE | {"client/analyze", "client/analyze/tables", "client/export/db", "client/export/write"},
    "client/lake": ANSWER | {"client/lake/s3"},
    "client/lake/s3": {"base", "client/words"},
    "client/lake/ship": ANSWER | {"client/lake"},
    "client/report": PAGE,
    "client/verify": EXPORT | {"client/export", "format/mend"},
    "client/auto": {"base", "client/words", "client/files"},
    "client/show/screen": FILES,
    "client/show": SHOW,
    "client/node": {"base", "libagent/abi", "remote", "client/files", "client/words"},
    "client/hardware": FILES | {"client/files", "client/node", "client/show/screen"},
    "client/fleet": SHOW | {"client/show", "client/node", "remote"},
    "client/verbs": SHOW | ANSWER | {"client/lake", "client/lake/s3", "client/lake/ship", "client/files", "client/export/stacks", "client/export/framework", "client/show", "client/node", "client/fleet", "remote"},
    "client/ui": SHOW | ANSWER | {"client/report", "client/show", "client/node"},
    "client/verbs/node": SHOW | {"client/hardware", "client/auto", "client/show", "client/node", "client/ui", "client/verbs"},
    "client/verbs/answers": SHOW | ANSWER | {"client/lake", "client/lake/s3", "client/report", "client/show", "client/node", "client/verbs"},
    "client": {"client/verbs"},
    "remote": {"base"},
    "sim": {"format/records", "sim"},
    "libagent": {"base", "libagent/abi"},
}

# A third-party header and the only places that may include it.
HOMES = {
    r"grpc(pp|\+\+)?/|\.grpc\.pb\.h": ("daemon/rpc/", "remote/", "client/node/control_client"),
    r"\.pb\.h": ("daemon/rpc/", "remote/", "client/"),
    r"nghttp2/|pb_(en|de)code\.h": ("libagent/link/",),
    r"yaml-cpp/": ("daemon/config/load.cc", "sim/"),
    r"boost/": ("daemon/base/executor", "client/ui/server"),
    r"prometheus/": ("daemon/live/prometheus_text",),
    r"spdlog/": ("daemon/base/log",),
    r"CLI/": ("base/cli/", "client/verbs/command_line", "daemon/main.cc"),
    r"seccomp\.h": ("daemon/base/rights", "daemon/base/syscall_names"),
    r"sqlite3\.h": ("client/export/db/",),
    r"zlib\.h": ("client/export/write/output_file", "client/report/pack"),
    r"dlfcn\.h": ("daemon/driver/ascend/ascend_hal", "daemon/driver/ascend/vendor_library", "client/lake/library", "client/lake/s3/curl", "libagent/src/", "sim/mspti/profapi_client"),
}

# A fact, how lines look that have it once more, and the files that may.
FACTS = {
    "chips are known by their number or a set of bits": (
        (
            r"\bchip(_?number)?(\(\))? *(==|!=|<=|>=|<|>) *\d",
            r"\d *(==|!=|<=|>=|<|>) *[\w.>-]*\bchip\b",
            r"\bk(310|910|950)\w* *= *\d",
            r"\bChips? *[({]+ *\d",
            r"\bchips? *= *\{? *\d",
            r"switch \([^)]*chip[^)]*\)[^}]*?\bcase \d",
        ),
        ("format/chip.h",),
    ),
}

SOURCES = ("base", "remote", "format", "daemon", "client", "sim", "libagent")

# What one takes in at a glance: a folder's own files, and their lines.
MOST_FILES = 22
MOST_LINES = 3000
# Folders that include each other, each with its reason.
MUTUAL = {
    ("libagent/src", "libagent/src/mspti"): "the process starts the vendor's library, which calls it back",
}


def folder_of(path):
    """The layer a file belongs to: the longest name in ALLOWED that is a prefix of its folder."""
    parts = path.split("/")[:-1]
    for size in range(len(parts), 0, -1):
        name = "/".join(parts[:size])
        if name in ALLOWED:
            return name
    return None


def violations():
    for top in SOURCES:
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix not in (".h", ".cc", ".c", ".hpp"):
                continue
            name = file.relative_to(ROOT).as_posix()
            mine = folder_of(name)
            if mine is None:
                yield f"{name}: belongs to no layer of tests/layering_test.py"
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                found = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
                if not found:
                    continue
                header = found.group(1)
                for pattern, homes in HOMES.items():
                    if re.search(pattern, header) and not name.startswith(homes):
                        yield f"{name}:{number}: {header} is at home in {' and '.join(homes)} only"
                theirs = folder_of(header) if header.split("/")[0] in SOURCES else None
                if theirs is None or theirs == mine:
                    continue
                if mine == "sim" and header.startswith(("format/records/", "format/chip.h")):
                    continue
                if theirs not in ALLOWED[mine]:
                    yield f"{name}:{number}: {mine} may not include {header}"


def doubles():
    """Facts that stand in more than their one home."""
    for top in SOURCES:
        for file in sorted((ROOT / top).rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            if file.suffix not in (".h", ".cc", ".c", ".hpp", ".py"):
                continue
            for found in doubles_in(name, file.read_text()):
                yield found


def doubles_in(name, text):
    for fact, (patterns, homes) in FACTS.items():
        if name in homes:
            continue
        for pattern in patterns:
            for found in re.finditer(pattern, text):
                yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {fact}; at home in {', '.join(homes)}"


def file_names():
    """Names of data files, as format/kind.h has them; it alone."""
    home = "format/kind.h"
    names = set(re.findall(r'k\w+ = "([-\w]+\.\w+)"', (ROOT / home).read_text()))
    assert {"hbm.data", "-Memory.data"} <= names, names
    written = re.compile('"(' + "|".join(map(re.escape, sorted(names))) + ')"')
    for top in ("format", "daemon", "client"):
        for file in sorted((ROOT / top).rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            if file.suffix not in (".h", ".cc") or name == home:
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                for found in written.finditer(line.split("//")[0]):
                    yield f"{name}:{number}: {found.group(0)} is named in {home}: say file::k…"


def folders():
    """Each folder of sources: its files, and which folders they include."""
    found = {}
    for top in SOURCES:
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in (".h", ".cc", ".c", ".hpp", ".js"):
                found.setdefault(file.parent.relative_to(ROOT).as_posix(), []).append(file)
    return found


def rooms():
    """Folders that cannot be taken in at a glance, or do not say what they are for."""
    for folder, files in folders().items():
        lines = sum(len(file.read_text().splitlines()) for file in files)
        if len(files) > MOST_FILES or lines > MOST_LINES:
            yield f"{folder}: {len(files)} files, {lines} lines; at most {MOST_FILES} and {MOST_LINES}: make rooms in it"
        if not (ROOT / folder / "README.md").exists() and "/include/" not in folder and "/uplot" not in folder:
            yield f"{folder}: no README.md that says what it is for, what it may include, where to begin"


def cycles():
    """Folders that include each other, straight or round about."""
    edges = {}
    for folder, files in folders().items():
        for file in files:
            for header in re.findall(r'^\s*#\s*include "([^"]+)"', file.read_text(), re.M):
                theirs = header.rpartition("/")[0]
                if header.split("/")[0] in SOURCES and theirs != folder and (folder, theirs) not in MUTUAL:
                    edges.setdefault(folder, set()).add(theirs)
    return cycles_of(edges)


def cycles_of(edges):
    reach = {folder: set(theirs) for folder, theirs in edges.items()}
    grows = True
    while grows:
        grows = False
        for mine in reach.values():
            more = set().union(*(reach.get(theirs, set()) for theirs in mine)) - mine
            mine |= more
            grows |= bool(more)
    for folder in sorted(edges):
        for theirs in sorted(edges[folder]):
            if folder in reach.get(theirs, set()):
                yield f"{folder} includes {theirs}, which comes back to it"


def twins():
    """Classes of one name in one namespace: the linker takes one's functions, and what it is, for the other's."""
    places = {}
    for files in folders().values():
        for file in files:
            place = file.relative_to(ROOT)
            for name in classes_in(file.read_text()):
                places.setdefault((place.parts[0], name), set()).add(str(place))
    for (_, name), where in sorted(places.items()):
        if len(where) > 1:
            yield f"{name} is defined in {' and in '.join(sorted(where))}: name one of them otherwise"


def classes_in(text):
    """Those that the linker sees: their names with their namespaces."""
    within = []
    for line in text.splitlines():
        if begun := re.match(r"(?:inline )?namespace ?([\w:]*) ?\{(?!.*\})", line):
            within.append(begun[1])
        elif re.match(r"\}  // (?:inline )?namespace", line):
            within.pop()
        elif (found := re.match(r"(?:template <.*> )?(?:class|struct|union) (?:alignas\(\w+\) )?(\w+)(?: final)?(?: :|\s*\{|$)", line)) and all(within):
            yield "::".join([*within, found[1]])


def threads():
    """The threads and processes that profd names itself, and docs/architecture.md's table of them."""
    page = (ROOT / "docs/architecture.md").read_text().partition("## Threads")[2]
    rows = set(re.findall(r"^\| \*\*([-\w]+)\*\*", page, re.M))
    text = "".join(file.read_text() for file in sorted((ROOT / "daemon").rglob("*")) if file.suffix in (".h", ".cc"))
    yield from threads_of(text, rows)


def threads_of(text, rows):
    """A name that ends in "-" goes on with a number, which the table calls N."""
    begun = re.findall(r'Start\w*Thread\(\s*"([-\w]+)"|PR_SET_NAME, "profd-([-\w]+)"', text)
    begun = {name + "N" if name.endswith("-") else name for pair in begun for name in pair if name}
    for name in sorted(begun - rows):
        yield f"docs/architecture.md: thread {name} is not in the table of threads"
    for name in sorted(rows - begun - {"ctl", "log", "spare"}):  # the main thread; a library's; those that wait
        if f'"{name.removesuffix("N")}' not in text:
            yield f"docs/architecture.md: thread {name} is in the table, and nothing in daemon/ is called so"


def self_check():
    """The rules themselves must be able to fail."""
    assert folder_of("daemon/device/streams/framer.cc") == "daemon/device"
    assert folder_of("daemon/daemon.cc") == "daemon"
    assert folder_of("client/export/read/slices.cc") == "client/export/read"
    assert folder_of("daemon/host/probes/cpu.cc") == "daemon/host"
    assert "daemon/store" not in ALLOWED["daemon/device"]
    assert "daemon/session" not in ALLOWED["daemon/auth"]
    assert "daemon/session/life" not in ALLOWED["daemon/session/history"]
    assert list(cycles_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == [
        "a includes b, which comes back to it",
        "b includes c, which comes back to it",
        "c includes a, which comes back to it",
    ]
    assert not list(cycles_of({"a": {"b", "c"}, "b": {"c"}}))
    assert [name for name, may in ALLOWED.items() if "daemon/driver/ascend" in may] == ["daemon"]
    assert list(threads_of('StartThread(\n  "a", StartDriverThread("b-" + n', {"a", "c"})) == [
        "docs/architecture.md: thread b-N is not in the table of threads",
        "docs/architecture.md: thread c is in the table, and nothing in daemon/ is called so",
    ]
    assert list(classes_in("namespace a::b {\nclass C;\nclass D final : public C {\nstruct D::Impl {\nnamespace {\nclass E {\n"
                           "}  // namespace\nstruct F {\n}  // namespace a::b\nstruct G {};\n")) == ["a::b::D", "a::b::F", "G"]
    for line in (
        "if (side->chip == 5) return;",
        "constexpr uint32_t k910B = 5;",
        "constexpr Chips k310 = 1, k910 = 2;",
        "constexpr uint32_t kTen = Chips({15, 16});",
        "switch (chip) {\n    case 15:",
        "return 15 <= context.side->chip;",
    ):
        assert list(doubles_in("client/x.cc", line)), line
    for line in ("facts.chip = Chip{number};", "if (chip == Chip::k950)", "return chip < end;"):
        assert not list(doubles_in("client/x.cc", line)), line


def main():
    self_check()
    found = [*violations(), *doubles(), *file_names(), *rooms(), *cycles(), *twins(), *threads()]
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
