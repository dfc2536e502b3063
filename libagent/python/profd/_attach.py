"""Steps and waits of loops that nobody changes: profd.torch.attach."""
import functools
import sys
import weakref

import profd
from profd._profctl import log


class _Steps:
    """Steps that begin and end where something of the framework is called."""

    def __init__(self, every, first):
        self._every, self._calls, self._number, self._open = max(every, 1), 0, first, None
        self._next()

    def _next(self):
        self._open = profd.step(self._number)
        self._open.__enter__()
        self._number += 1

    def done(self, *_):
        """One call; the last of a step ends it."""
        self._calls += 1
        if self._calls % self._every == 0:
            self._open.__exit__(None, None, None)
            self._next()


class _Loader:
    """A loader of batches whose waits are ranges."""

    def __init__(self, loader):
        self._loader = loader

    def __iter__(self):
        batches = iter(self._loader)
        while True:
            with profd.range("profd::dataload"):
                try:
                    batch = next(batches)
                except StopIteration:
                    return
            yield batch

    def __len__(self):
        return len(self._loader)

    def __getattr__(self, name):
        return getattr(self._loader, name)


def attach(obj=None, *, every=1, first_step=0):
    """Marks the steps of a loop that nobody changes; returns what the loop is to use.

    obj: an optimizer, or whatever has step(), as a DeepSpeed engine: a step ends with each call of it, with `every`, with
    each so many (accumulated gradients); a loader of batches: the waits for the next batch become ranges, and the returned
    loader is to be used; None: the first optimizer that steps (needs torch 2.1, imported before)."""
    if obj is None:
        optimizers = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None:
            log.warning("attach: torch 2.1 is not imported: steps are not marked")
            return None
        steps, first = _Steps(every, first_step), []

        def stepped(optimizer, *_):
            if not first:
                first.append(weakref.ref(optimizer))
            if first[0]() is optimizer:
                steps.done()

        return register(stepped)
    if hasattr(obj, "register_step_post_hook"):
        obj.register_step_post_hook(_Steps(every, first_step).done)
        return obj
    if callable(getattr(obj, "step", None)):
        steps, inner = _Steps(every, first_step), obj.step

        @functools.wraps(inner)
        def step(*arguments, **named):
            result = inner(*arguments, **named)
            steps.done()
            return result

        obj.step = step
        return obj
    if hasattr(obj, "__iter__"):
        return _Loader(obj)
    log.warning("attach: %s has neither step() nor batches: nothing is marked", type(obj).__name__)
    return obj
