#!/usr/bin/env python3
"""Prints how well `profctl analyze` does on planted faults: score.py [--profctl PATH] [--seeds A..B] [--only NAME]…"""
import argparse
import os

import scenarios


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profctl", default=os.path.join(os.environ.get("PROFD_BUILD_DIR", "build"), "bin", "profctl"))
    parser.add_argument("--seeds", default="1..3")
    parser.add_argument("--only", action="append")
    parser.add_argument("--unlisted", action="store_true", help="faults that the rules were not made for")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("..")
    of = scenarios.unlisted if arguments.unlisted else scenarios.scenarios
    print(scenarios.run(arguments.profctl, range(int(first), int(last or first) + 1), arguments.only, of=of).text())


if __name__ == "__main__":
    main()
