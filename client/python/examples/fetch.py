#!/usr/bin/env python3
"""Copies what a session on another node has left to this one.

  fetch.py HOST:PORT SESSION OUT CA CERT KEY
"""
import sys

import profd_client

_, host, session, out, ca, cert, key = sys.argv
with profd_client.Client(host=host, ca=ca, cert=cert, key=key) as profd:
    try:
        for directory in profd.fetch(session, out):
            print(directory)
    except profd_client.NotFound as error:
        sys.exit(str(error))
