"""Callbacks of training frameworks that mark steps, epochs and the loss for profd. A line in the program:

    Trainer(…, callbacks=[profd.callbacks.TrainerCallback()])                  # Transformers
    L.Trainer(…, callbacks=[profd.callbacks.LightningCallback()])              # Lightning
    model.train(…, callbacks=[profd.callbacks.MindSporeCallback()])            # MindSpore

DeepSpeed and Accelerate have no callbacks: profd.torch.attach(engine), profd.torch.attach(optimizer). No framework is
imported; the classes derive from its own base class where the program has imported it, so import it first.
"""
import sys

import profd

__all__ = ["TrainerCallback", "LightningCallback", "MindSporeCallback"]


class _Steps:
    """The step that is open, and the epoch around it."""

    def __init__(self):
        self._step = self._epoch = None

    def begin(self, number):
        self.end()
        self._step = profd.step(int(number))
        self._step.__enter__()

    def end(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def epoch_begins(self, number):
        self.epoch_ends()
        self._epoch = profd.range(f"epoch {int(number or 0)}")
        self._epoch.__enter__()

    def epoch_ends(self):
        self.end()
        if self._epoch is not None:
            self._epoch.__exit__(None, None, None)
            self._epoch = None


def _loss(value):
    """Only what costs no wait for the device: a plain number."""
    if isinstance(value, (int, float)):
        profd.counter("loss", float(value))


def _base(*places):
    """The first of these classes, MODULE:CLASS, whose module is imported."""
    for place in places:
        module, name = place.split(":")
        base = getattr(sys.modules.get(module), name, None)
        if base is not None:
            return base
    return object


def TrainerCallback():  # pylint: disable=invalid-name
    """For `callbacks` of Transformers' Trainer."""

    class Callback(_base("transformers:TrainerCallback")):
        def __init__(self):
            super().__init__()
            self._steps = _Steps()

        def __getattr__(self, name):
            # Without the base class: what the Trainer calls besides.
            if name.startswith("on_"):
                return lambda *_, **__: None
            raise AttributeError(name)

        def on_epoch_begin(self, args, state, control, **_):
            self._steps.epoch_begins(state.epoch)

        def on_epoch_end(self, args, state, control, **_):
            self._steps.epoch_ends()

        def on_step_begin(self, args, state, control, **_):
            self._steps.begin(state.global_step)

        def on_step_end(self, args, state, control, **_):
            self._steps.end()

        def on_log(self, args, state, control, logs=None, **_):
            _loss((logs or {}).get("loss"))

        def on_train_end(self, args, state, control, **_):
            self._steps.epoch_ends()

    return Callback()


def LightningCallback():  # pylint: disable=invalid-name
    """For `callbacks` of Lightning's Trainer."""

    class Callback(_base("lightning.pytorch:Callback", "pytorch_lightning:Callback")):
        def __init__(self):
            super().__init__()
            self._steps = _Steps()

        def on_train_epoch_start(self, trainer, pl_module):
            self._steps.epoch_begins(trainer.current_epoch)

        def on_train_epoch_end(self, trainer, pl_module):
            self._steps.epoch_ends()

        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            self._steps.begin(trainer.global_step)

        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            self._steps.end()

    return Callback()


def MindSporeCallback():  # pylint: disable=invalid-name
    """For `callbacks` of MindSpore's Model.train."""

    class Callback(_base("mindspore.train:Callback", "mindspore:Callback")):
        def __init__(self):
            super().__init__()
            self._steps = _Steps()

        # Since 2.0, and before.
        def on_train_epoch_begin(self, run_context):
            self._steps.epoch_begins(run_context.original_args().cur_epoch_num)

        def on_train_epoch_end(self, run_context):
            self._steps.epoch_ends()

        def on_train_step_begin(self, run_context):
            self._steps.begin(run_context.original_args().cur_step_num)

        def on_train_step_end(self, run_context):
            self._steps.end()

        epoch_begin, epoch_end = on_train_epoch_begin, on_train_epoch_end
        step_begin, step_end = on_train_step_begin, on_train_step_end

    return Callback()
