#!/usr/bin/env python3
"""msprof.py as older programs call it: `export summary|timeline|db -dir DIR`, `query -dir DIR`; profctl does it."""
import argparse
import os
import pathlib
import sys

MSPROF = pathlib.Path(__file__).resolve().parents[3] / "bin" / "msprof"


def main():
    parser = argparse.ArgumentParser(prog="msprof.py")
    parser.add_argument("what", choices=("export", "query", "analyze"))
    parser.add_argument("sort", nargs="?", choices=("summary", "timeline", "db"))
    parser.add_argument("-dir", "--collection-dir", required=True)
    asked, _ = parser.parse_known_args()
    words = [str(MSPROF), f"--{asked.what}=on", f"--output={asked.collection_dir}"]
    if asked.sort == "db":
        words.append("--type=db")
    os.execv(MSPROF, words)


if __name__ == "__main__":
    sys.exit(main())
