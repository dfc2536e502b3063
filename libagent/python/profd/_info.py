"""profiler_info_<rank>.json beside the PROF directory: by its name tools know the rank, by its content what was asked for."""
import sys
import time

from profd import _ranks
from profd._metadata import write_json

_METRICS = {"PipeUtilization": "PIPE_UTILIZATION", "ArithmeticUtilization": "ARITHMETIC_UTILIZATION",
            "Memory": "MEMORY_BANDWIDTH", "MemoryL0": "L0B_AND_WIDTH", "MemoryUB": "MEMORY_UB",
            "ResourceConflictRatio": "RESOURCE_CONFLICT_RATIO", "L2Cache": "L2_CACHE", "MemoryAccess": "MEMORY_ACCESS",
            "None": "NONE"}


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _asked(config):
    """In torch_npu's words. Nothing of a recording of profd's is left out or thrown away afterwards."""
    return {"_profiler_level": config.level.name, "_aic_metrics": "ACL_AICORE_" + _METRICS[config.metrics.value],
            "_l2_cache": bool(config.l2_cache), "_msprof_tx": True, "_mstx": True, "_data_simplification": False,
            "record_op_args": False, "_export_type": [word.value for word in config.export],
            "_host_sys": [word.value for word in config.host], "_op_attr": False, "_gc_detect_threshold": None,
            "_mstx_domain_include": config.domains, "_mstx_domain_exclude": config.without_domains,
            "_sys_io": bool(config.ports), "_sys_interconnection": bool(config.links)}


def write(folder, common, config, start_ns):
    """At the end of a recording. `common`: activities, schedule and switches, as torch_npu calls them."""
    info = {"config": {"common_config": common, "experimental_config": _asked(config)},
            "start_info": {"syscnt_enable": False, "freq": 100, "start_cnt": 0, "start_monotonic": start_ns},
            "end_info": {"collectionTimeEnd": time.time_ns(), "MonotonicTimeEnd": now_ns()},
            "torch_npu_version": getattr(sys.modules.get("torch_npu"), "__version__", "N/A"), "cann_version": "not known"}
    rank = _ranks.known_rank()
    if rank is not None:
        info["rank_id"] = rank
    write_json(folder, "profiler_info.json" if rank is None else f"profiler_info_{rank}.json", info, indent=4)
