#!/usr/bin/env python3
"""How well the vendor's analyser does on the same planted faults, printed as score.py prints ours: peer.py [--seeds A..B]
[--only NAME]…. Needs a checkout that PROFD_VENDOR_ANALYZE names (tests/support/vendor_tools.py).

What it says is taken at its best: each row of a recipe that judges, and each line of the advisor's table, is a finding of the id
that stands beside it in RECIPES and ADVISOR. Recipes that list the longest of something of every job judge nothing, and are not
run. It knows no cost."""
import argparse
import contextlib
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import scenarios  # noqa: E402
import vendor_tools  # noqa: E402
from job_sim import Shape, make  # noqa: E402

# Recipe: its table, the column of ranks, and what a row says.
RECIPES = {
    "slow_rank": ("SlowRank", "rankId", ("rank.late", "rank.compute", "rank.unexplained", "rank.own-history")),
    "slow_link": ("SlowLinkOps", "relatedRanks", ("comm.slow-group", "comm.retry", "comm.contention")),
    "freq_analysis": ("AbnormalFrequencyRanks", "rankId", ("rank.late", "clock.low")),
}
# A line of the advisor's table, by what it contains; of no rank: it looks at one.
ADVISOR = {
    "AICPU": ("kernel.aicpu",),
    "GC": ("host.stall", "host.gc"),
    "dataloader": ("host.stall", "host.dataloader"),
    "Dynamic Shape": ("host.stall", "host.compile"),
    "Synchronize Stream": ("host.sync",),
    "slow rank": ("rank.late",),
    "slow link": ("comm.slow-group",),
    "Packet": ("comm.small",),
    "contention": ("comm.contention",),
    "Retransmission": ("comm.retry",),
    "Frequency": ("rank.late", "clock.low"),
    "Block Dim": ("kernel.blocks",),
    "Fusible": ("kernel.fusible",),
}
# Of an advisor's line that always stands there, or that says how the job is and not what is wrong.
NO_JUDGEMENT = ("overall summary", "Overall", "comparison")


class Failed(Exception):
    """It did not come to an end, or says itself that it could not."""


def finding(ids, ranks, title):
    return {"id": ids[0], "cause": [{"id": one} for one in ids], "where": {"ranks": ranks}, "title": title, "severity": "major",
            "confidence": {"level": "medium"}, "cost": None}


def told(folder):
    """The findings of a job."""
    findings = []
    for recipe, (table, column, ids) in RECIPES.items():
        out = pathlib.Path(tempfile.mkdtemp(prefix="peer-"))
        try:
            run = vendor_tools.analyze("cluster", "-m", recipe, "-d", folder, "-o", out, "--force")
            errors = [line for line in run.errors if "Unknown dump data type: <class 'list'>" not in line]  # its way to say: none
            if run.code != 0 or errors:
                raise Failed(f"{recipe}: {run}")
            for path in out.rglob("cluster_analysis.db"):
                with contextlib.closing(sqlite3.connect(path)) as db:
                    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
                    for (ranks,) in db.execute(f"SELECT {column} FROM {table}") if table in tables else ():
                        findings.append(finding(ids, [int(rank) for rank in re.findall(r"\d+", str(ranks))], f"{recipe}: {ranks}"))
        finally:
            shutil.rmtree(out)
    out = pathlib.Path(tempfile.mkdtemp(prefix="peer-"))
    try:
        run = vendor_tools.analyze("advisor", "all", "-d", folder, "-o", out, "-l", "en")
        if run.code != 0:
            raise Failed(f"advisor: {run}")
        for title in re.findall(r"^\| +\d+ +\| +(.*?) +\|", run.said, re.M):
            if any(word in title for word in NO_JUDGEMENT):
                continue
            ids = next((ids for word, ids in ADVISOR.items() if word.lower() in title.lower()), ("other",))
            findings.append(finding(ids, list(range(64)), f"advisor: {title}"))
    finally:
        shutil.rmtree(out)
    # It says some things once for each place: one finding of each sort and ranks.
    return list({(one["id"], tuple(one["where"]["ranks"])): one for one in findings}.values())


def run(seeds, only=None):
    score, failed = scenarios.Score(), []
    for scenario in scenarios.scenarios():
        if only and scenario.name not in only:
            continue
        for seed in seeds:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-peer-"))
            try:
                truth = make(Shape(**scenario.shape, seed=seed), scenario.faults or list(scenario.small), folder)
                score.add(scenario, seed, truth, {"findings": told(folder)})
            except Failed as error:
                failed.append(f"failed: {scenario.name} seed {seed}: {error}")
            finally:
                shutil.rmtree(folder)
    return score, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--only", action="append")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("..")
    if not vendor_tools.ANALYZE:
        sys.exit("peer.py: PROFD_VENDOR_ANALYZE names no checkout of msprof-analyze")
    score, failed = run(range(int(first), int(last or first) + 1), arguments.only)
    print("\n".join(failed + [score.text()]))


if __name__ == "__main__":
    main()
