#!/usr/bin/env python3
"""What the callbacks, flags and schedules of frameworks become, without a profd."""
import importlib
import os
import sys
import types
import unittest
import unittest.mock

import harness

PACKAGE = harness.ROOT / "libagent" / "python"


def imported(name):
    sys.path.insert(0, str(PACKAGE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(PACKAGE))


class Recorded(unittest.TestCase):
    """What the package makes of calls, without a profd: the steps, ranges and counters that it would record."""

    def setUp(self):
        self.torch, self.callbacks = imported("profd.torch"), imported("profd.callbacks")
        self.megatron = imported("profd.megatron")
        self.calls = calls = []

        class Noted:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                calls.append(f"+{self.name}")

            def __exit__(self, *_):
                calls.append(f"-{self.name}")

        for name, made in (("step", Noted), ("range", Noted), ("counter", lambda *call: calls.append(call))):
            patch = unittest.mock.patch.object(sys.modules["profd"], name, made)
            patch.start()
            self.addCleanup(patch.stop)


class ScheduleTest(Recorded):
    def words(self, schedule, steps):
        return "".join({"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}[schedule(step).name]
                       for step in range(steps))

    def test_steps_as_torch_npu_counts_them(self):
        made = self.torch.schedule
        self.assertEqual(self.words(made(1, 2, 1, 2), 12), ".wrS.wrS....")
        self.assertEqual(self.words(made(wait=1, warmup=1, active=2, repeat=0, skip_first=2), 12), "...wrS.wrS.w")
        self.assertEqual(self.words(made(wait=2, warmup=0, active=1, skip_first=1, skip_first_wait=1), 8), ".S..S..S")
        self.assertEqual(self.words(made(0, 1), 3), "SSS")

    def test_wrong_numbers_are_said_and_put_right(self):
        with self.assertLogs("profd") as logs:
            self.assertEqual(self.words(self.torch.schedule(-1, 0), 2), "SS")
        self.assertEqual(len(logs.output), 2)

    def test_ranks(self):
        def among(ranks, **variables):
            with unittest.mock.patch.dict(os.environ, variables, clear=True):
                return self.torch.is_among(ranks)

        self.assertTrue(among(None, RANK="5"))
        self.assertTrue(among("0,4-6", RANK="5"))
        self.assertFalse(among("0,4-6", RANK="7"))
        self.assertTrue(among([5], SLURM_PROCID="5"))
        self.assertTrue(among("first-per-node", RANK="8", LOCAL_RANK="0"))
        self.assertFalse(among("first-per-node", RANK="9", LOCAL_RANK="1"))
        self.assertEqual([rank for rank in range(8) if among("sample:3", RANK=str(rank), WORLD_SIZE="8")], [0, 2, 5])
        with self.assertLogs("profd"):
            self.assertTrue(among("all of them", RANK="1"))

    def test_flags_of_megatron(self):
        def steps(**args):
            prof = self.megatron.from_args(types.SimpleNamespace(**args))
            if not isinstance(prof, self.torch.profile):
                return None
            schedule, first = prof._schedule, prof._first_step
            return [first + step for step in range(40) if schedule(step).name.startswith("RECORD")]

        with unittest.mock.patch.dict(os.environ, {"PROFCTL": "true"}):
            self.assertEqual(steps(profile=True, profile_step_start=5, profile_step_end=6), [5])
            self.assertEqual(steps(profile=True, profile_step_start=10, profile_step_end=13, iteration=4), [10, 11, 12])
            self.assertEqual(steps(profile=True, profile_step_start=5, profile_step_end=7, iteration=4), [5, 6])
            self.assertIsNone(steps(profile=False))
            self.assertIsNone(steps(profile=True, profile_ranks=[1]))
            self.assertEqual(steps(profile=True, profile_ranks=[-1], profile_step_start=39, profile_step_end=-1), [39, 40])
            self.assertEqual(steps(profile=True, iteration=4), list(range(5, 45)))  # MindSpeed-LLM's defaults: 0, -1
            with self.assertLogs("profd"):
                self.assertIsNone(steps(profile=True, profile_step_start=5, profile_step_end=7, iteration=20))
            with self.assertLogs("profd"):
                self.assertIsNone(steps(profile=True, profile_step_start=5, profile_step_end=-2))
        off = self.megatron.from_args(types.SimpleNamespace(profile=False))
        off.add_metadata_json("as of", "one that records")
        self.assertTrue(off.wait())

    def test_steps_to_the_end_are_not_counted_beforehand(self):
        with unittest.mock.patch.dict(os.environ, {"PROFCTL": "true"}):
            prof = self.megatron.from_args(types.SimpleNamespace(profile=True, profile_step_start=5))
        prof.step_num, asked = 4, []
        action = self.torch.schedule.__call__

        def noted(made, step):
            asked.append(step)
            return action(made, step)

        with unittest.mock.patch.object(self.torch.schedule, "__call__", noted):
            self.assertEqual(prof._steps_of_window(), ["--step", "5"])
        self.assertEqual(asked, [4])


class AttachTest(Recorded):
    def test_an_engine_whose_step_ends_a_step(self):
        engine = types.SimpleNamespace(step=lambda scale: scale * 2)
        self.assertIs(self.torch.attach(engine, every=2, first_step=7), engine)
        self.assertEqual([engine.step(number) for number in (1, 2, 3)], [2, 4, 6])
        self.assertEqual(self.calls, ["+7", "-7", "+8"])

    def test_an_optimizer_with_hooks(self):
        hooks = []
        optimizer = types.SimpleNamespace(register_step_post_hook=hooks.append, step=None)
        self.torch.attach(optimizer)
        hooks[0](optimizer, (), {})
        self.assertEqual(self.calls, ["+0", "-0", "+1"])

    def test_the_first_optimizer_of_torch(self):
        class Optimizer:
            pass

        hooks = []
        module = types.SimpleNamespace(register_optimizer_step_post_hook=hooks.append)
        with unittest.mock.patch.dict(sys.modules, {"torch.optim.optimizer": module}):
            self.torch.attach()
        first, second = Optimizer(), Optimizer()
        for optimizer in (first, second, first):
            hooks[0](optimizer, (), {})
        self.assertEqual(self.calls, ["+0", "-0", "+1", "-1", "+2"])
        with self.assertLogs("profd"), unittest.mock.patch.dict(sys.modules, {"torch.optim.optimizer": None}):
            self.assertIsNone(self.torch.attach())

    def test_a_loader_of_batches(self):
        loader = self.torch.attach([1, 2])
        self.assertEqual((len(loader), list(loader)), (2, [1, 2]))
        self.assertEqual(self.calls, ["+profd::dataload", "-profd::dataload"] * 3)


class CallbacksTest(Recorded):
    def test_transformers(self):
        class Base:
            def on_save(self, *_, **__):
                return "of the base class"

        for modules in ({}, {"transformers": types.SimpleNamespace(TrainerCallback=Base)}):
            self.calls.clear()
            with unittest.mock.patch.dict(sys.modules, modules):
                callback = self.callbacks.TrainerCallback()
            self.assertEqual(isinstance(callback, Base), bool(modules))
            state = types.SimpleNamespace(epoch=0.0, global_step=4)
            for event in ("on_init_end", "on_train_begin", "on_epoch_begin", "on_step_begin", "on_substep_end", "on_step_end"):
                getattr(callback, event)(None, state, None)
            callback.on_log(None, state, None, logs={"loss": 0.25})
            callback.on_log(None, state, None, logs={"loss": object()})
            callback.on_epoch_end(None, state, None)
            callback.on_train_end(None, state, None)
            self.assertEqual(self.calls, ["+epoch 0", "+4", "-4", ("loss", 0.25), "-epoch 0"])
            with self.assertRaises(AttributeError):
                callback.anything_else

    def test_lightning_and_mindspore(self):
        callback = self.callbacks.LightningCallback()
        trainer = types.SimpleNamespace(current_epoch=1, global_step=9)
        callback.on_train_epoch_start(trainer, None)
        callback.on_train_batch_start(trainer, None, None, 0)
        callback.on_train_batch_end(trainer, None, None, None, 0)
        callback.on_train_epoch_end(trainer, None)
        self.assertEqual(self.calls, ["+epoch 1", "+9", "-9", "-epoch 1"])
        self.calls.clear()
        context = types.SimpleNamespace(original_args=lambda: types.SimpleNamespace(cur_epoch_num=2, cur_step_num=11))
        for names in (("epoch_begin", "step_begin", "step_end", "epoch_end"),
                      ("on_train_epoch_begin", "on_train_step_begin", "on_train_step_end", "on_train_epoch_end")):
            self.calls.clear()
            callback = self.callbacks.MindSporeCallback()
            for name in names:
                getattr(callback, name)(context)
            self.assertEqual(self.calls, ["+epoch 2", "+11", "-11", "-epoch 2"])


if __name__ == "__main__":
    unittest.main()
