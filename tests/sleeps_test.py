#!/usr/bin/env python3
"""A sleep in a test says what it waits for and why no event tells: in a comment on its line, in C++ also on the line above
(harness.wait_until and let_run are for the rest). Benches measure over time, and are not looked at."""
import ast
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent
IN_CPP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|SYS_nanosleep)\b")


def of_python(path):
    """Numbers of the lines that call time.sleep(); what programs in strings do is theirs."""
    lines = path.read_text().splitlines()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep" and "#" not in lines[node.lineno - 1]:
            yield node.lineno


def of_cpp(path):
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        above = lines[number - 2].strip() if number > 1 else ""
        if IN_CPP.search(line.split("//")[0]) and "//" not in line and not above.startswith("//"):
            yield number


def without_reason():
    for path in sorted(TESTS.rglob("*")):
        look = {".py": of_python, ".cc": of_cpp, ".h": of_cpp}.get(path.suffix)
        if look is None or path.is_relative_to(TESTS / "bench"):
            continue
        for number in look(path):
            yield f"{path.relative_to(TESTS.parent)}:{number}: sleeps without a reason"


if __name__ == "__main__":
    found = list(without_reason())
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
