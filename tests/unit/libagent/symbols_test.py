#!/usr/bin/env python3
"""libprofd_agent.so asks for libc alone, nothing younger than glibc 2.28, and shows nothing but its API."""
import re
import subprocess
import sys

OLDEST_GLIBC = (2, 28)
ENTRIES = {"InitInjectionMstx", "InitializeInjectionNvtx2"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(library):
    found = []
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", library))
    # The loader is a part of libc; on aarch64 the stack protector's word is in it.
    if [name for name in needed if not name.startswith("ld-linux-")] != ["libc.so.6"]:
        found.append(f"needs {needed}")
    exported = set()
    for line in run("readelf", "--dyn-syms", "-W", library).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].endswith(":") or fields[0] == "Num:":
            continue
        binding, section, name = fields[4], fields[6], fields[7]
        if section != "UND":
            exported.add(name)
            if binding == "UNIQUE":
                found.append(f"{name} is unique in the process: it would be shared with the program's own")
        elif re.match(r"_Z|__cxa_(?!finalize|thread_atexit_impl)|__gxx|_Unwind", name):
            found.append(f"{name} is of the C++ runtime")
        version = re.search(r"@+GLIBC_(\d+)\.(\d+)", name)
        if section == "UND" and version and tuple(map(int, version.groups())) > OLDEST_GLIBC:
            found.append(f"{name} is younger than glibc {OLDEST_GLIBC[0]}.{OLDEST_GLIBC[1]}")
    strangers = {name for name in exported if not name.startswith("profd_")} - ENTRIES
    if strangers or not ENTRIES <= exported or "profd_mark" not in exported:
        found.append(f"exports {sorted(exported)}")
    if re.search(r"TEXTREL", run("readelf", "-dW", library)):
        found.append("has text relocations")
    # Static thread-local storage is scarce for libraries that are loaded late.
    for line in run("readelf", "-lW", library).splitlines():
        fields = line.split()
        if fields[:1] == ["TLS"] and int(fields[5], 16) > 16:
            found.append(f"takes {int(fields[5], 16)} bytes of static thread-local storage")
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1])
