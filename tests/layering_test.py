#!/usr/bin/env python3
"""Includes point down only (docs/architecture.md, "Layering"), and each library stays in its one home."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What a folder may include besides itself.
BOTTOM = {"base", "format", "libagent/abi"}
CONFIG = BOTTOM | {"daemon/base", "daemon/config"}
DRIVER = CONFIG | {"daemon/chunk", "daemon/driver"}
MIDDLE = DRIVER
SESSION = MIDDLE | {"mend", "daemon/device", "daemon/host", "daemon/agent", "daemon/store", "daemon/auth"}
LIVE = SESSION | {"daemon/session"}
TOP = LIVE | {"daemon/live", "proto"}
ALLOWED = {
    "base": set(),
    "cli": {"base"},
    "libagent/abi": set(),
    "format": {"base", "libagent/abi"},
    "mend": {"base", "format"},
    "options": {"base"},
    "daemon/base": {"base"},
    "daemon/config": BOTTOM | {"daemon/base"},
    "daemon/chunk": CONFIG,
    "daemon/driver": CONFIG,
    "daemon/device": MIDDLE,
    "daemon/host": MIDDLE,
    "daemon/agent": MIDDLE,
    "daemon/store": MIDDLE | {"mend"},
    "daemon/auth": CONFIG,
    "daemon/session": SESSION,
    "daemon/rpc": TOP | {"node"},
    "daemon/live": LIVE,
    "daemon/health": TOP,
    "daemon": TOP | {"cli", "daemon/rpc", "daemon/health"},
    "libagent/include": set(),
    "libagent/link": set(),
    "libagent/src": {"base", "libagent/abi", "libagent/include", "libagent/link"},
    "client": {"base", "cli", "format", "mend", "options", "proto", "libagent/abi", "node"},
    "node": {"base", "proto"},
    "sim": {"format/records", "sim"},
    "libagent": {"base", "libagent/abi"},
}

# A third-party header and the only places that may include it.
HOMES = {
    r"grpc(pp|\+\+)?/|\.grpc\.pb\.h": ("daemon/rpc/", "node/", "client/control_client"),
    r"\.pb\.h": ("daemon/rpc/", "node/", "client/"),
    r"nghttp2/|pb_(en|de)code\.h": ("libagent/link/",),
    r"yaml-cpp/": ("daemon/config/load.cc", "sim/"),
    r"boost/": ("daemon/base/executor",),
    r"prometheus/": ("daemon/live/prometheus_text",),
    r"spdlog/": ("daemon/base/log",),
    r"CLI/": ("cli/", "client/main.cc", "daemon/main.cc"),
    r"seccomp\.h": ("daemon/base/rights", "daemon/base/syscall_names"),
    r"sqlite3\.h": ("client/export/db",),
    r"zlib\.h": ("client/export/output_file",),
    r"dlfcn\.h": ("daemon/driver/ascend_hal", "daemon/driver/vendor_library", "libagent/src/", "sim/mspti/profapi_client"),
}

SOURCES = ("base", "cli", "node", "format", "options", "daemon", "client", "sim", "libagent")


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
                if mine == "sim" and header.startswith("format/records/"):
                    continue
                if theirs not in ALLOWED[mine]:
                    yield f"{name}:{number}: {mine} may not include {header}"


def self_check():
    """The rules themselves must be able to fail."""
    assert folder_of("daemon/device/framer.cc") == "daemon/device"
    assert folder_of("daemon/daemon.cc") == "daemon"
    assert folder_of("client/commands/start.cc") == "client"
    assert folder_of("daemon/host/probes/cpu.cc") == "daemon/host"
    assert "daemon/store" not in ALLOWED["daemon/device"]
    assert "daemon/session" not in ALLOWED["daemon/auth"]


def main():
    self_check()
    found = list(violations())
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
