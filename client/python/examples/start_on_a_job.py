#!/usr/bin/env python3
"""Records 30 seconds of every process of a job on this node: its agents, and the devices they have open.

  start_on_a_job.py JOB
"""
import sys

import profd_client

[_, job] = sys.argv
with profd_client.Client() as profd:
    pids = [target.pid for target in profd.targets() if target.labels.get("job_id") == job and target.attachable]
    if not pids:
        sys.exit(f"no process of job {job} can be recorded; profctl targets shows why")
    session = profd.start(pids=pids, duration=30, name=f"job {job}", labels={"job": job})
    for kind in session.kinds:
        if kind.verdict in ("skipped", "failed"):
            print(f"{kind.kind} of {kind.unit}: {kind.verdict}, {kind.reason}")
    for state in profd.watch(session.session):
        pass
    print(f"{state.directory}: {state.bytes} bytes, {state.lost} records lost, ended by {state.end_reason}")
