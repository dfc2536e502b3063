"""Which rank of a job this process is."""
import os
import re
import sys

from profd._profctl import log


def _number(*names):
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def known_rank():
    """Of this process, by the variables of its launcher, else as torch knows it; None: it is of no distributed job."""
    number = _number("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "RANK_ID")
    distributed = None if number is not None else distributed_torch()
    return number if distributed is None else distributed.get_rank()


def rank():
    """The same; 0 without one."""
    return known_rank() or 0


def distributed_torch():
    """torch.distributed, if the program has imported and initialised it."""
    distributed = sys.modules.get("torch.distributed")
    try:
        return distributed if distributed.is_available() and distributed.is_initialized() else None
    except AttributeError:
        return None


def is_among(ranks):
    """Whether this process is one of `ranks`: numbers, "0,8-15", "first-per-node", "sample:3" (so many of all, spread
    evenly); None: every rank."""
    if ranks is None:
        return True
    if not isinstance(ranks, str):
        return rank() in (ranks if isinstance(ranks, (list, tuple, set)) else [ranks])
    if ranks == "first-per-node":
        return (_number("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID") or 0) == 0
    if (sample := re.fullmatch(r"sample:(\d+)", ranks)) and int(sample[1]) > 0:
        count = max(_number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "RANK_SIZE") or 1, 1)
        taken = min(int(sample[1]), count)
        return rank() in {index * count // taken for index in range(taken)}
    if re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", ranks):
        spans = [tuple(map(int, part.split("-"))) for part in ranks.split(",")]
        return any(span[0] <= rank() <= span[-1] for span in spans)
    log.warning("ranks=%s: expected numbers as in 0,8-15, first-per-node or sample:N; this rank is recorded", ranks)
    return True
