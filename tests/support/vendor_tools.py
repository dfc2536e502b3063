"""Runs the vendor's own tools, unmodified, as judges of what profd writes. They are not part of the project: environment
variables name checkouts of them, and without one the tests that need it are skipped by name.

  PROFD_VENDOR_PARSER   Ascend/msprof (the folder `analysis` in it); needs numpy and pandas
  PROFD_VENDOR_ANALYZE  Ascend/msprof-analyze
  PROFD_VENDOR_COLLECTOR  a folder with its collector `msprof`, built from hicann/runtime (src/dfx/msprof/collector/dvvp/msprofbin),
                        and `app [SECONDS]`, a program linked with what libprofimpl.so is made of that tells it what a program
                        with CANN does: the beginning as aclInit() does, device 0 open, after a second or so many closed, the end
                        (MsprofInit(MSPROF_CTRL_INIT_DYNA), MsprofNotifySetDevice, MsprofFinalize); it hands over empty queues
                        first, as libprofapi.so hands over its own (ProfImplSetApiBufPop and its like)
  PROFD_VENDOR_PYTHON   the interpreter for both; by default the first of this one and /usr/bin/python3 that has pandas
"""
import contextlib
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PATIENCE_S = 1200  # one run; on a busy machine the parser takes minutes
NOT_HERE = 77  # SKIP_RETURN_CODE of the tests
LOGS = "mindstudio_profiler_log"
OUTPUT = "mindstudio_profiler_output"


def checkout(variable, inside):
    """The folder that `variable` names, or None; one that does not hold `inside` is an error."""
    path = os.environ.get(variable, "")
    if not path:
        return None
    if not (pathlib.Path(path) / inside).exists():
        raise SystemExit(f"{variable}={path}: there is no {inside} in it")
    return pathlib.Path(path).resolve()


PARSER = checkout("PROFD_VENDOR_PARSER", "analysis/msprof/msprof.py")
ANALYZE = checkout("PROFD_VENDOR_ANALYZE", "msprof_analyze")
COLLECTOR = checkout("PROFD_VENDOR_COLLECTOR", "msprof")
PROGRAM = COLLECTOR / "app" if COLLECTOR and (COLLECTOR / "app").exists() else None
# What the parser needs for `export db`, and for all it makes of a 910B: analysis/csrc of the same checkout, built with its own
# CMakeLists.txt (rapidjson, nlohmann-json, sqlite3, Python's headers, a securec.h with memcpy_s). -D_GLIBCXX_USE_CXX11_ABI=0
# must stay: it gives SQLite texts to keep that only live on where copies of a string share it.
HAS_LIBRARY = PARSER is not None and (PARSER / "analysis/lib64/msprof_analysis.so").exists()

needs_parser = unittest.skipUnless(PARSER, "not here: PROFD_VENDOR_PARSER names no checkout of the vendor's parser")
needs_library = unittest.skipUnless(HAS_LIBRARY, "not here: the vendor's parser has no analysis/lib64/msprof_analysis.so")
needs_analyze = unittest.skipUnless(ANALYZE, "not here: PROFD_VENDOR_ANALYZE names no checkout of msprof-analyze")

needs_collector = unittest.skipUnless(COLLECTOR, "not here: PROFD_VENDOR_COLLECTOR names no folder with the vendor's collector")
needs_program = unittest.skipUnless(PROGRAM, "not here: there is no program `app` beside the vendor's collector")


def main_unless(*checkouts):
    """unittest.main(), or exit NOT_HERE when none of the checkouts is there."""
    if not any(checkouts):
        print("not here: neither PROFD_VENDOR_PARSER nor PROFD_VENDOR_ANALYZE names a checkout")
        sys.exit(NOT_HERE)
    unittest.main()


def knows_a_ports_speed():
    """The parser passes over ports whose speed nobody knows, and calls it an error when none is left."""
    for path in pathlib.Path("/sys/class/net").glob("*/speed"):
        with contextlib.suppress(OSError):
            if int(path.read_text(encoding="utf-8")) > 0:
                return True
    return False


@functools.cache
def python():
    candidates = [os.environ["PROFD_VENDOR_PYTHON"]] if "PROFD_VENDOR_PYTHON" in os.environ else \
        [sys.executable, "/usr/bin/python3"]
    for candidate in candidates:
        done = subprocess.run([candidate, "-c", "import numpy, pandas"], check=False, capture_output=True)
        if done.returncode == 0:
            return candidate
    raise unittest.SkipTest(f"none of {', '.join(candidates)} has numpy and pandas: set PROFD_VENDOR_PYTHON")


class Run:
    """How a run ended, what it printed, and the lines of that and of its logs that tell of an error."""

    def __init__(self, code, said, directory=None):
        self.code, self.said = code, said
        self.errors = re.findall(r"^.*\[ERROR\].*$|^Traceback.*$", said, re.M)
        for log in sorted(pathlib.Path(directory, LOGS).glob("*.log")) if directory else []:
            text = log.read_text(encoding="utf-8", errors="replace")
            self.errors += [f"{log.name}: {line}" for line in re.findall(r"^.*\bERROR\b.*$|^Traceback.*$", text, re.M)]

    def __repr__(self):
        errors = "\n".join(self.errors[:20])
        return f"exit {self.code}, {len(self.errors)} lines of errors\n{errors}\n{self.said[-4000:]}"


def _run(command, **environment):
    # Its modules are many: compiled once, and never into the checkout.
    cache = pathlib.Path(tempfile.gettempdir()) / f"profd-vendor-tools-{os.geteuid()}"
    done = subprocess.run([python(), *map(str, command)], check=False, text=True, errors="replace", timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, PYTHONPYCACHEPREFIX=str(cache), **environment))
    return done.returncode, done.stdout


def parse(directory, *words):
    """The parser on a PROF directory, or a parent of some: parse(d, "export", "timeline"). It writes into the directory."""
    code, said = _run([PARSER / "analysis/msprof/msprof.py", *words, "-dir", directory])
    return Run(code, said, directory)


def analyze(*words):
    """msprof-analyze with these words: analyze("cluster", "-m", "all", "-d", d, "-o", out)."""
    # Debian 12's xlsxwriter is older than what the tool asks for, and lacks the one thing that makes columns fit.
    start = ("import xlsxwriter.worksheet as sheets; sheets.Worksheet.autofit = getattr(sheets.Worksheet, 'autofit', "
             "lambda sheet: None); from msprof_analyze.cli.entrance import msprof_analyze_cli; msprof_analyze_cli()")
    code, said = _run(["-c", start, *words], PYTHONPATH=str(ANALYZE))
    return Run(code, said)


def collect(sim, libraries, *words):
    """The collector with these words on the simulator in `libraries`, configured by the file `sim`; a finished process."""
    return subprocess.run([COLLECTOR / "msprof", *map(str, words)], check=False, text=True, errors="replace", timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, PROFD_SIM_CONFIG=str(sim), LD_LIBRARY_PATH=str(libraries)))
