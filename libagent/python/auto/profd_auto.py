"""Loads profd's agent into a program that imports a framework that trains or serves (`profctl auto`, docs/auto.md).

This runs at the start of every Python that finds it. So it imports nothing that the interpreter has not imported
already, starts no thread, writes nothing, and raises nothing. What it leaves is one entry in sys.meta_path.
"""
import os
import sys

# Only programs that use an accelerator import these.
FRAMEWORKS = frozenset(("acl", "mindformers", "mindspore", "mindspore_lite", "mindspeed", "npu_bridge", "sglang", "tensorflow",
                        "torch", "torch_npu", "vllm"))
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "libprofd_agent.so")


def _is_off():
    return os.environ.get("PROFD_AUTO") == "off" or os.getuid() != os.geteuid() or os.getgid() != os.getegid()


def _socket():
    if "SOCKET" in globals():  # of a profd whose administrator has chosen another one
        os.environ.setdefault("PROFD_ADDRESS", SOCKET)  # noqa: F821  pylint: disable=undefined-variable
    address = os.environ.get("PROFD_ADDRESS") or "/run/profd/profd.sock"
    return address[5:] if address.startswith("unix:") else address


def _attach():
    if _is_off() or not os.path.exists(_socket()):
        return
    # mstx and NVTX look at these at their first call. What the user has set stays.
    os.environ.setdefault("MSTX_INJECTION_PATH", LIBRARY)
    os.environ.setdefault("NVTX_INJECTION64_PATH", LIBRARY)
    import ctypes  # pylint: disable=import-outside-toplevel

    ctypes.CDLL(LIBRARY).profd_mark(0)  # the first call starts the agent; no name, no mark


class _Watch:
    """The first finder of modules: it finds none, and sees the first import of a framework."""

    def __init__(self):
        self._waits = True

    def find_spec(self, name, path=None, target=None):  # pylint: disable=unused-argument
        if self._waits and name in FRAMEWORKS:
            self._waits = False
            try:
                _attach()
            except Exception:  # pylint: disable=broad-except
                pass  # a job starts as ever, whatever is wrong with profd


if not _is_off() and not any(type(finder).__name__ == "_Watch" for finder in sys.meta_path):
    sys.meta_path.insert(0, _Watch())
