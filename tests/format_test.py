#!/usr/bin/env python3
"""Every C and C++ file is as .clang-format has it (clang-format 14, Debian 12's)."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("base", "client", "daemon", "format", "libagent", "remote", "sim", "tests")
SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if tool is None:
        print("clang-format is not installed")
        return SKIPPED
    files = sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for suffix in (".cc", ".h", ".c", ".hpp")
                   for path in (ROOT / folder).rglob("*" + suffix))
    done = subprocess.run([tool, "--dry-run", "-Werror", *files], cwd=ROOT, text=True, capture_output=True, check=False)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "-Wclang-format-violations" in line})
    for path in wrong:
        print(f"{path}: not as .clang-format has it; run: {tool} -i {path}")
    print(f"{len(files)} files, {len(wrong)} to be formatted")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
