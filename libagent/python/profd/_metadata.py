"""What a program tells of its run, as the sizes of its parallel groups: torch_npu's add_metadata."""
import json
import os

import profd
from profd import _ranks
from profd._profctl import log

_FILE = "profiler_metadata.json"  # torch_npu's, and at its place: beside the PROF directory
# Of the job's environment: what its tools judge by.
_ENVIRONMENT = ("ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC", "HCCL_RDMA_SL", "ACLNN_CACHE_LIMIT", "HOST_CACHE_CAPACITY",
                "ASCEND_ENHANCE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "ASCEND_LAUNCH_BLOCKING", "HCCL_ALGO")


def write_json(folder, name, value, **options):
    path = os.path.join(folder, name)
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(value, file, **options)
    except OSError as error:
        log.warning("%s: not written: %s", path, error.strerror)


def _groups():
    """The process groups of torch.distributed whose collectives run on NPUs, by the names of their communicators."""
    distributed = _ranks.distributed_torch()
    if distributed is None:
        return {}
    try:
        device = distributed.distributed_c10d.torch.device("npu")
        own, groups = distributed.get_rank(), {}
        default = distributed.distributed_c10d._get_default_group()
        for group, config in distributed.distributed_c10d._world.pg_map.items():
            if str(config[0]).lower() != "hccl":
                continue
            backend = group._get_backend(device)
            name = backend.get_hccl_comm_name(own, init_comm=False)
            if name:
                role = "default_group" if group is default else backend.options.hccl_config.get("group_name", "")
                groups[name] = {"group_name": role, "group_rank": distributed.get_group_rank(group, own),
                                "global_ranks": distributed.get_process_group_ranks(group)}
        return groups
    except Exception as error:  # of another version of torch: a recording goes on without them
        log.info("groups of torch.distributed are not known: %s", error)
        return {}


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
        if not profd._active.value:
            return
        unmarked, self._unmarked = self._unmarked, {}
        for key, value in unmarked.items():
            profd.mark(key, payload=value if type(value) in (str, int, float) else json.dumps(value))

    def write(self, folder, trace_id):
        """At the end of a recording, with what torch_npu's profiler adds itself."""
        values = self._values | {"ENV_VARIABLES": {name: os.environ.get(name, "") for name in _ENVIRONMENT}}
        groups = _groups()
        if groups:
            values["parallel_group_info"] = groups
        write_json(folder, _FILE, values | {"trace_id": trace_id})
