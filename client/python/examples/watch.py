#!/usr/bin/env python3
"""Prints how busy the devices of this node are, COUNT times, without a session.

  watch.py [COUNT]
"""
import itertools
import sys

import profd_client

count = int(sys.argv[1]) if len(sys.argv) > 1 else None
with profd_client.Client() as profd:
    for values in itertools.islice(profd.live(["device"]), count):
        for value in values:
            labels = " ".join(f"{name}={text}" for name, text in sorted(value.labels.items()))
            print(f"{value.name}{{{labels}}} {value.value:g} {value.unit}")
