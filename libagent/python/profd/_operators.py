"""Calls of torch's operators (aten::…): what PyTorch's own profiler of the host records while a window is open."""
import os
import sys

from profd._profctl import log

FILE = "torch_operators.pt.trace.json"  # beside the PROF directory; profctl export reads it


def are_there():
    """The program has imported torch."""
    return "torch.profiler" in sys.modules


class Operators:
    """`switches`: record_shapes, with_stack … of torch.profiler.profile. A program without torch has none; whatever goes wrong
    costs the operators only, and is logged."""

    def __init__(self, switches):
        self._switches = switches
        self._running = None

    def start(self):
        profiler = sys.modules.get("torch.profiler")
        if profiler is None or self._running is not None:
            return
        try:
            running = profiler.profile(activities=[profiler.ProfilerActivity.CPU], **self._switches)
            running.start()
            self._running = running
        except Exception as error:  # another profiler runs, or torch is of another version
            log.warning("operators of torch are not recorded: %s", error)

    def stop(self):
        """Ends it; returns what write() takes, or None."""
        running, self._running = self._running, None
        if running is None:
            return None
        try:
            running.stop()
        except Exception as error:
            log.warning("operators of torch are not recorded: %s", error)
            return None
        return running


def write(stopped, folder):
    if stopped is None:
        return
    path = os.path.join(folder, FILE)
    try:
        stopped.export_chrome_trace(path)
    except Exception as error:
        log.warning("%s: not written: %s", path, error)
