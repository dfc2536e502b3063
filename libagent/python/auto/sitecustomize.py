"""Found by a Python whose PYTHONPATH names this folder: starts profd_auto, then whatever sitecustomize there is else."""
import os
import sys

import profd_auto  # noqa: F401  pylint: disable=unused-import


def _start_the_other():
    here = os.path.dirname(os.path.abspath(__file__))
    paths, this = sys.path[:], sys.modules.pop("sitecustomize")
    sys.path[:] = [path for path in paths if os.path.abspath(path) != here]
    try:
        import sitecustomize  # noqa: F401  pylint: disable=import-outside-toplevel,import-self,unused-import
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)
        sys.path[:] = paths + [path for path in sys.path if path not in paths]


_start_the_other()
