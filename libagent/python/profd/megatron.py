"""The profiling flags of Megatron-LM and MindSpeed-LLM, recorded by profd:

    prof = profd.megatron.from_args(args)
    prof.start()
    while iteration < args.train_iters:
        train_step(…)
        prof.step()
    prof.stop()

--profile, --profile-step-start, --profile-step-end (excluded), --profile-ranks (-1: all), --profile-level,
--profile-with-cpu, --profile-with-stack, --profile-with-memory, --profile-record-shapes, --profile-export-type,
--profile-save-path. As in MindSpeed-LLM, the steps have the numbers from 1 on of the whole training: what `args.iteration`
says was done already counts.
"""
from profd import torch as _torch


class _Off:
    """Without --profile, and for ranks that are not to be recorded."""

    def start(self):
        pass

    step = stop = start

    def add_metadata(self, key, value):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def from_args(args):
    """A profile of `args`, an argparse.Namespace or whatever has these attributes; what is missing has its default."""

    def given(name, default=None):
        return getattr(args, name, default)

    ranks = given("profile_ranks") or [0]
    ranks = None if -1 in ranks else ranks
    if not given("profile", False) or not _torch.is_among(ranks):
        return _Off()
    done = int(given("iteration", 0) or 0)
    first, end = int(given("profile_step_start", 10)), int(given("profile_step_end", 12))
    before = max(first - done - 1, 0)  # steps of this run
    active = max(end - max(first, done + 1), 0)
    if active == 0:
        _torch.log.warning("steps %d to %d (excluded) are over or empty: nothing is recorded", first, end)
        return _Off()
    warmup = min(before, 1)
    activities = [_torch.ProfilerActivity.NPU]
    if given("profile_with_cpu", False):
        activities.append(_torch.ProfilerActivity.CPU)
    prof = _torch.profile(
        activities=activities,
        schedule=_torch.schedule(wait=0, warmup=warmup, active=active, repeat=1, skip_first=before - warmup),
        on_trace_ready=_torch.tensorboard_trace_handler(given("profile_save_path", "./profile_dir")),
        record_shapes=given("profile_record_shapes", False),
        profile_memory=given("profile_with_memory", False),
        with_stack=given("profile_with_stack", False),
        experimental_config=_torch._ExperimentalConfig(  # pylint: disable=protected-access
            profiler_level=given("profile_level", "level0"), export_type=given("profile_export_type", "text")),
        first_step=done + 1)
    for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
                 "expert_model_parallel_size", "world_size"):
        if given(name) is not None:
            prof.add_metadata(name, given(name))
    return prof
