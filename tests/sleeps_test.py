#!/usr/bin/env python3
"""A sleep in a test says what it waits for and why no event tells: in a comment on its line (harness.wait_until and let_run
are for the rest)."""
import ast
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent


def sleeps(path):
    """Numbers of the lines that call time.sleep(); what programs in strings do is theirs."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep":
            yield node.lineno


def without_reason():
    for folder in ("integration", "fault", "golden", "support"):
        for path in sorted((TESTS / folder).glob("*.py")):
            lines = path.read_text().splitlines()
            for number in sleeps(path):
                if "#" not in lines[number - 1]:
                    yield f"{path.relative_to(TESTS.parent)}:{number}: sleeps without a reason"


if __name__ == "__main__":
    found = list(without_reason())
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
