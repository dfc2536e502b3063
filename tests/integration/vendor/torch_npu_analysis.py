"""torch_npu's own analyse() (Ascend/pytorch, torch_npu/profiler/analysis), unmodified, with stand-ins for torch and for what of
torch_npu is compiled. PROFD_VENDOR_TORCH names a checkout; without one, tests that need it are skipped."""
import os
import pathlib
import subprocess
import sys
import unittest

import vendor_tools

TORCH = vendor_tools.checkout("PROFD_VENDOR_TORCH", "torch_npu/profiler/analysis/_npu_profiler.py")
needs_torch = unittest.skipUnless(TORCH, "not here: PROFD_VENDOR_TORCH names no checkout of Ascend/pytorch")

STAND_INS = {
    "torch/__init__.py": "", "torch/_C.py": "class FunctionSchema: pass\n", "torch/profiler/__init__.py": "",
    "torch/profiler/_utils.py": "def traverse_dfs(*_): return []\n", "torch_npu/__init__.py": "", "torch_npu/utils/__init__.py": "",
    "torch_npu/utils/utils.py": "def _is_interactive_command_line(): return False\n", "torch_npu/profiler/__init__.py": "",
    "torch_npu/_C/__init__.py": "", "torch_npu/_C/_profiler.py": "def _get_host_uid(): return 1\n", "torch_npu/_init/__init__.py": "",
    "torch_npu/_init/common/__init__.py": "", "torch_npu/_init/common/warning_utils.py": "def _should_print_warning(): return True\n",
}
OWN = ("torch_npu/profiler/analysis", "torch_npu/utils/_path_manager.py", "torch_npu/utils/_error_code.py")


def prepare(top):
    """A folder for PYTHONPATH."""
    top = pathlib.Path(top)
    for name, text in STAND_INS.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    for name in OWN:
        (top / name).symlink_to(TORCH / name)
    try:
        import numpy  # noqa: F401  # pylint: disable=unused-import,import-outside-toplevel
    except ImportError:
        (top / "numpy").mkdir()
        (top / "numpy/__init__.py").write_text("", encoding="utf-8")
    return top


def analyse(modules, folder, types, msprof):
    """The folder's results, of these types, with the msprof in the folder `msprof`; what it said."""
    start = ("import sys\nfrom torch_npu.profiler.analysis._npu_profiler import NpuProfiler\n"
             "NpuProfiler.analyse(sys.argv[1], export_type=sys.argv[2].split(','))\n")
    done = subprocess.run([sys.executable, "-c", start, str(folder), ",".join(types)], check=False, text=True, errors="replace",
                          timeout=vendor_tools.PATIENCE_S, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, TZ="UTC", PYTHONPATH=str(modules), PYTHONDONTWRITEBYTECODE="1",
                                   PATH=f"{msprof}:{os.environ['PATH']}"))
    return done.stdout
