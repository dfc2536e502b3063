#!/usr/bin/env python3
"""A program written for the Ascend PyTorch Profiler whose import is profd.torch; callbacks and flags of frameworks."""
import glob
import importlib
import json
import os
import subprocess
import sys
import textwrap
import types
import unittest
import unittest.mock

import agent_reader
import harness

PACKAGE = harness.ROOT / "libagent" / "python"
LIBRARY = harness.PLAIN_BUILD / "lib" / "libprofd_agent.so"

# As in the vendor's manual, but for the import.
PROGRAM = """
import time
import profd.torch as profiler

experimental_config = profiler._ExperimentalConfig(
    export_type=[profiler.ExportType.Text, profiler.ExportType.Db],
    profiler_level=profiler.ProfilerLevel.Level1,
    aic_metrics=profiler.AiCMetrics.PipeUtilization,
    l2_cache=False, op_attr=False, data_simplification=False, record_op_args=False, gc_detect_threshold=None)
with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=WAIT, warmup=WARMUP, active=2, repeat=2, skip_first=1),
        on_trace_ready=profiler.tensorboard_trace_handler(RESULT),
        record_shapes=False, profile_memory=False, with_stack=False, with_modules=False, with_flops=False,
        experimental_config=experimental_config) as prof:
    for step in range(12):
        time.sleep(0.01)  # the work of a step
        prof.step()
assert prof.wait(60)
"""


class TorchWordsTest(harness.ProfdTest):
    def run_program(self, daemon, text, code=0, **variables):
        environment = dict(daemon.environment, PYTHONPATH=str(PACKAGE), PROFD_AGENT_LIBRARY=str(LIBRARY),
                           PROFCTL=str(harness.PROFCTL)) | variables
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=environment, capture_output=True, text=True,
                              check=False, timeout=240)
        self.assertEqual(done.returncode, code, done)
        return done

    def program(self, daemon, result, wait=1, warmup=1):
        return self.run_program(daemon, PROGRAM.replace("RESULT", repr(str(result))).replace("WAIT", str(wait))
                                .replace("WARMUP", str(warmup)))

    def steps(self, directory):
        (agent,) = agent_reader.agents(directory)
        return sorted(record["value"] for record in agent.of("step_begin"))

    def windows(self, result):
        """The PROF directory of each, oldest first."""
        found = [glob.glob(str(window / "PROF_*")) for window in sorted(result.iterdir())]
        self.assertEqual([len(directories) for directories in found], [1] * len(found), found)
        return [directory for (directory,) in found]

    def test_each_window_is_a_directory_with_its_steps_and_results(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        self.assertEqual(self.program(daemon, result).stderr, "")
        first, second = self.windows(result)
        self.assertEqual((self.steps(first), self.steps(second)), ([3, 4], [7, 8]))
        for directory in (first, second):
            outputs = " ".join(os.listdir(directory) + os.listdir(os.path.join(directory, "mindstudio_profiler_output")))
            for output in (r"msprof_\d+\.db", r"msprof_\d+\.json", r"agent_step_\d+\.csv", r"task_time_\d+\.csv"):
                self.assertRegex(outputs, output)

    def test_without_a_warm_up_the_window_begins_where_the_start_has_ended(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        self.assertEqual(self.program(daemon, result, wait=2, warmup=0).stderr, "")
        first, second = self.windows(result)
        self.assertEqual((self.steps(first), self.steps(second)), ([3, 4], [7, 8]))

    def test_a_window_that_ends_while_it_gets_ready_leaves_nothing(self):
        daemon = self.profd()
        result = daemon.directory / "result"
        self.run_program(daemon, f"""
            import profd.torch as profiler
            prof = profiler.profile(schedule=profiler.schedule(wait=0, warmup=3, active=1),
                                    on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r}))
            prof.start()
            prof.step()
            prof.stop()
            assert prof.wait(60) and prof.directory is None
            """)
        self.assertEqual(os.listdir(result), [])

    def test_the_timeline_of_a_window_in_a_file_of_the_programs_choice(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        trace = daemon.directory / "trace.json"
        self.run_program(daemon, f"""
            import os, time
            import profd.torch as profiler
            def ready(prof):
                prof.export_chrome_trace({str(trace)!r})
            os.chdir({str(daemon.directory)!r})
            with profiler.profile(on_trace_ready=ready) as prof:
                for step in range(3):
                    time.sleep(0.01)  # the work of a step
                    prof.step()
            """)
        names = {event["name"] for event in json.loads(trace.read_text())}
        self.assertIn("step", names)
        self.assertEqual([name for name in os.listdir(daemon.directory) if name.startswith("profd-")], [])

    def test_without_profd_a_program_runs_as_ever_and_is_told_once(self):
        daemon = self.profd()
        daemon.stop()
        done = self.program(daemon, daemon.directory / "result")
        self.assertEqual(done.stderr.count("not recorded"), 1, done.stderr)
        done = self.run_program(daemon, PROGRAM.replace("RESULT", "'result'").replace("WAIT", "0").replace("WARMUP", "0"),
                                PROFCTL="/nowhere/profctl")
        self.assertEqual(done.stderr, "not recorded: profctl is not on the path\n")

    def test_a_forked_child_leaves_its_parents_window_alone(self):
        daemon = self.profd()
        result = daemon.directory / "result"
        self.run_program(daemon, f"""
            import os, time
            import profd.torch as profiler
            with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r}, analyse_flag=False)) as prof:
                prof.step()
                if (child := os.fork()) == 0:
                    prof.step()
                    prof.stop()
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
                prof.step()
            assert prof.wait(60)
            """)
        (directory,) = self.windows(result)
        agents = agent_reader.agents(directory)
        self.assertEqual(sorted(record["value"] for agent in agents for record in agent.of("step_begin")), [0, 1, 2])

    def test_what_profd_does_not_record_is_named_once(self):
        daemon = self.profd()
        done = self.run_program(daemon, f"""
            import os
            import profd.torch as profiler
            os.chdir({str(daemon.directory)!r})
            config = profiler._ExperimentalConfig(op_attr=True, profiler_level="Level9")
            with profiler.profile(record_shapes=True, with_flops=True, experimental_config=config) as prof:
                prof.step()
            assert prof.wait(60)
            """)
        self.assertEqual(done.stderr.splitlines(), [
            "Level9: not one of Level_none, Level0, Level1, Level2; Level0 is taken",
            "not recorded by profd: op_attr, record_shapes, with_flops"])


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
            self.assertEqual(steps(profile=True, profile_ranks=[-1], profile_level="level_none"), [10, 11])
            with self.assertLogs("profd"):
                self.assertIsNone(steps(profile=True, profile_step_start=5, profile_step_end=7, iteration=20))


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
