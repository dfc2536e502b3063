"""Loads profd's agent into this process, if it may and there is a profd. Run by profd_auto.py."""
import ctypes
import os

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "libprofd_agent.so")


def is_off():
    return os.environ.get("PROFD_AUTO") == "off" or os.getuid() != os.geteuid() or os.getgid() != os.getegid()


def socket():
    if globals().get("SOCKET"):  # of a profd whose administrator has chosen another one
        os.environ.setdefault("PROFD_ADDRESS", SOCKET)  # noqa: F821  pylint: disable=undefined-variable
    address = os.environ.get("PROFD_ADDRESS") or "/run/profd/profd.sock"
    return address[5:] if address.startswith("unix:") else address


if not is_off() and os.path.exists(socket()):
    # mstx and NVTX look at these at their first call. What the user has set stays.
    os.environ.setdefault("MSTX_INJECTION_PATH", LIBRARY)
    os.environ.setdefault("NVTX_INJECTION64_PATH", LIBRARY)
    ctypes.CDLL(LIBRARY).profd_mark(0)  # the first call starts the agent; no name, no mark
