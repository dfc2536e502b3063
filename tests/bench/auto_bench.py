#!/usr/bin/env python3
"""What `profctl auto enable python` costs the start of a program that is no job: the time of `python3 -c pass`-like starts
with the .pth file read, against starts that read an empty .pth file. Alternating, medians.

    tests/bench/auto_bench.py [STARTS]         PROFD_BUILD_DIR names the build
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("PROFD_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build"))
SITE = "usr/lib/python3/dist-packages"


def main():
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(prefix="profd-auto-bench-") as holder:
        top = pathlib.Path(holder)
        socket = top / "profd.sock"
        socket.write_text("")  # what is asked is whether it is there
        sites = {}
        for name in ("with", "without"):
            sites[name] = top / name / SITE
            sites[name].mkdir(parents=True)
        (sites["without"] / "empty.pth").write_text("# nothing\n")
        subprocess.run([BUILD / "bin" / "profctl", "--socket", socket, "auto", "enable", "python", "--root", top / "with"],
                       check=True, stdout=subprocess.DEVNULL)
        times = {name: [] for name in sites}
        for _ in range(starts):
            for name, site in sites.items():
                begin = time.perf_counter()
                subprocess.run([sys.executable, "-c", f"import site; site.addsitedir({str(site)!r})"], check=True)
                times[name].append((time.perf_counter() - begin) * 1e3)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"start of Python: without {medians['without']:.2f} ms, with {medians['with']:.2f} ms: "
          f"{medians['with'] - medians['without']:+.2f} ms, {medians['with'] / medians['without']:.3f} ×")


main()
