"""What a program tells of its run, as the sizes of its parallel groups: torch_npu's add_metadata."""
import json
import os

import profd
from profd._profctl import log

_FILE = "profiler_metadata.json"  # torch_npu's, and at its place: beside the PROF directory


class Metadata:
    """Values by their keys. Each recording gets them twice: as marks, whose payload they are, and as a file."""

    def __init__(self):
        self._values = {}
        self._unmarked = {}

    def add(self, key, value):
        self._values[str(key)] = self._unmarked[str(key)] = value

    def mark_again(self):
        """Another recording begins, which has none of them."""
        self._unmarked = dict(self._values)

    def mark(self):
        """At a moment that the recording should have. What the agent does not record yet is for the next such moment."""
        if not profd._active.value:  # pylint: disable=protected-access
            return
        unmarked, self._unmarked = self._unmarked, {}
        for key, value in unmarked.items():
            profd.mark(key, payload=value if type(value) in (str, int, float) else json.dumps(value))

    def write(self, folder):
        """At the end of a recording."""
        if not self._values:
            return
        path = os.path.join(folder, _FILE)
        try:
            with open(path, "x", encoding="utf-8") as file:
                json.dump(dict(self._values), file)
        except OSError as error:
            log.warning("%s: not written: %s", path, error.strerror)
