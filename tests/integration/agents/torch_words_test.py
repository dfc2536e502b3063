#!/usr/bin/env python3
"""A program written for the Ascend PyTorch Profiler whose import is profd.torch."""
import contextlib
import csv
import glob
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import textwrap
import unittest

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

# A stand-in for torch.profiler and its kineto, with the public names and the file that these write.
TORCH = """
import contextlib, json, os, sys, threading, time, types

torch = types.ModuleType("torch")
torch.profiler = types.ModuleType("torch.profiler")
torch.profiler.asked, BASE, events, recording = [], 1_600_000_000_000_000_000, [], []

class profile:
    def __init__(self, *, activities, **switches):
        assert activities == ["cpu"], activities
        torch.profiler.asked.append(switches)

    def start(self):
        recording.append(self)

    def stop(self):
        recording.remove(self)

    def export_chrome_trace(self, path):
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "displayTimeUnit": "ms",
                       "baseTimeNanoseconds": BASE, "traceEvents": events, "traceName": path}, file, indent=2)

@contextlib.contextmanager
def operator(name, dims, dtypes, sequence):
    is_recorded, begin = bool(recording), time.time_ns()
    yield
    if is_recorded:
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": os.getpid(), "tid": threading.get_native_id(),
                       "ts": (begin - BASE) / 1000, "dur": (time.time_ns() - begin) / 1000,
                       "args": {"External id": sequence, "Sequence number": sequence, "Fwd thread id": 0,
                                "Input Dims": dims, "Input type": dtypes}})
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1.5})

torch.profiler.profile, torch.profiler.ProfilerActivity = profile, types.SimpleNamespace(CPU="cpu")
sys.modules |= {"torch": torch, "torch.profiler": torch.profiler}
"""


class TorchWordsTest(harness.ProfdTest):
    def run_program(self, daemon, text, code=0, **variables):
        environment = dict(daemon.environment, PYTHONPATH=str(PACKAGE), PROFD_AGENT_LIBRARY=str(LIBRARY),
                           PROFCTL=str(harness.PROFCTL)) | variables
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=environment, capture_output=True, text=True,
                              check=False, timeout=240)
        self.assertEqual(done.returncode, code, done)
        return done

    def toolkit(self, daemon):
        """A CANN of its own; returns the library that a program loads."""
        libraries = daemon.directory / "cann" / "lib64"
        libraries.mkdir(parents=True)
        for name in ("libmspti.so", "libprofapi.so"):
            (libraries / name).symlink_to(harness.PLAIN_BUILD / "sim" / name)
        return libraries / "libprofapi.so"

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
            for output in (r"msprof_\d+\.json", r"agent_step_\d+\.csv", r"task_time_\d+\.csv"):
                self.assertRegex(outputs, output)
            self.assertTrue(glob.glob(os.path.join(directory, "device_0", "data", "*.slice_*")))  # it is all there

    def test_a_window_is_a_folder_as_torch_npu_leaves_it(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nscenario: {step_ms: 20}\nmspti: {auto: true}\n")
        result = daemon.directory / "result"
        said = self.run_program(daemon, f"""
            import ctypes, time
            import profd
            import profd.torch as profiler
            ctypes.CDLL({str(self.toolkit(daemon))!r})
            with profiler.profile(
                    schedule=profiler.schedule(wait=2, warmup=1, active=2, repeat=1),
                    on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r}, "worker"),
                    custom_trace_id_callback=lambda: "trace 7",
                    experimental_config=profiler._ExperimentalConfig(
                        profiler_level=profiler.ProfilerLevel.Level1,
                        export_type=[profiler.ExportType.Text, profiler.ExportType.Db])) as prof:
                for step in range(5):
                    with profd.range("aten::mm"):
                        time.sleep(0.2)  # the work of a step
                    prof.step()
                assert prof.get_trace_id() == "trace 7"
            assert prof.wait(60)
            """, RANK="3", ASCEND_HOME_PATH=str(daemon.directory / "cann"), HCCL_ALGO="ring").stderr
        (folder,) = result.iterdir()
        self.assertRegex(folder.name, r"^worker_\d+_\d{17}_ascend_pt$", said)
        self.assertEqual(sorted(path.name.split("_")[0] for path in folder.iterdir()), ["ASCEND", "PROF", "profiler", "profiler"])
        info = json.loads((folder / "profiler_info_3.json").read_text())
        self.assertEqual((info["rank_id"], info["config"]["experimental_config"]["_profiler_level"],
                          info["config"]["common_config"]["schedule"]["active"]), (3, "Level1", 2))
        metadata = json.loads((folder / "profiler_metadata.json").read_text())
        self.assertEqual((metadata["trace_id"], metadata["ENV_VARIABLES"]["HCCL_ALGO"]), ("trace 7", "ring"))
        results = folder / "ASCEND_PROFILER_OUTPUT"
        made = {path.name for path in results.iterdir()}
        wanted = {"trace_view.json", "kernel_details.csv", "operator_details.csv", "step_trace_time.csv", "communication.json",
                  "communication_matrix.json", "ascend_pytorch_profiler_3.db", "analysis.db", "api_statistic.csv"}
        self.assertEqual(wanted - made, set(), made)
        with open(results / "step_trace_time.csv", encoding="utf-8", newline="") as file:
            self.assertEqual([row["Step"] for row in csv.DictReader(file)], ["3", "4"])
        with open(results / "kernel_details.csv", encoding="utf-8", newline="") as file:
            self.assertLessEqual({"3", "4"}, {row["Step Id"] for row in csv.DictReader(file)})
        steps = json.loads((results / "communication.json").read_text())
        self.assertEqual(sorted(steps), ["step3", "step4"])
        self.assertTrue(all(step["collective"] for step in steps.values()))
        with contextlib.closing(sqlite3.connect(results / "ascend_pytorch_profiler_3.db")) as db:
            self.assertEqual([number for number, in db.execute("SELECT id FROM STEP_TIME ORDER BY id")], [3, 4])
            self.assertEqual(db.execute("SELECT rankId FROM RANK_DEVICE_MAP").fetchall(), [(3,)])
            facts = dict(db.execute("SELECT name, value FROM META_DATA"))
            self.assertEqual((facts["trace_id"], json.loads(facts["ENV_VARIABLES"])["HCCL_ALGO"]), ('"trace 7"', "ring"))
            self.assertEqual(db.execute("SELECT count(*) FROM META_DATA WHERE name = 'trace_id'").fetchone(), (1,))
            # Kernels are those of the operator that was running when they were launched.
            self.assertGreater(db.execute("SELECT count(DISTINCT t.globalTaskId) FROM PYTORCH_API p JOIN CONNECTION_IDS c ON "
                                          "p.connectionId = c.id JOIN TASK t ON t.connectionId = c.connectionId").fetchone()[0], 50)
            self.assertIn("aten::mm", [name for name, in db.execute(
                "SELECT value FROM PYTORCH_API JOIN STRING_IDS ON STRING_IDS.id = PYTORCH_API.name")])
        with contextlib.closing(sqlite3.connect(results / "analysis.db")) as db:
            self.assertEqual([step for step, in db.execute("SELECT DISTINCT step FROM StepTraceTime ORDER BY step")], ["3", "4"])
            self.assertGreater(db.execute("SELECT count(*) FROM CommAnalyzerTime").fetchone()[0], 3)
        (directory,) = folder.glob("PROF_*")
        harness.shutil.rmtree(directory / "analyze")
        analyzed = daemon.ctl("msprof", "--analyze=on", f"--output={directory}")
        self.assertEqual(analyzed.code, 0, analyzed)
        with contextlib.closing(sqlite3.connect(directory / "analyze" / "communication_analyzer.db")) as db:
            ((sizes,),) = db.execute("SELECT DISTINCT transit_size FROM CommAnalyzerBandwidth WHERE transit_size > 0")
            self.assertEqual(sizes, (1 << 20) * 2 / 1e6)  # MB: elements of two bytes
        # What it was told of the job goes with the recording to whoever exports it.
        self.assertEqual(daemon.ctl("export", directory, "--layout", "framework", "--out", daemon.directory / "ranks").code, 0)
        (own,) = (daemon.directory / "ranks").iterdir()
        self.assertEqual(json.loads((own / "profiler_metadata.json").read_text())["trace_id"], "trace 7")
        self.assertEqual(daemon.ctl("export", directory, "--cluster-output", "--out", daemon.directory / "job").code, 0)
        (own,) = (daemon.directory / "job").glob("*_ascend_pt")
        self.assertEqual(json.loads((own / "profiler_metadata.json").read_text())["ENV_VARIABLES"]["HCCL_ALGO"], "ring")

    def test_without_a_warm_up_the_window_begins_where_the_start_has_ended(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        self.assertEqual(self.program(daemon, result, wait=2, warmup=0).stderr, "")
        first, second = self.windows(result)
        self.assertEqual((self.steps(first), self.steps(second)), ([3, 4], [7, 8]))

    def test_operators_of_torch(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nscenario: {step_ms: 20}\nmspti: {auto: true}\n")
        result = daemon.directory / "result"
        said = self.run_program(daemon, TORCH + f"""
import ctypes, time
import profd.torch as profiler
ctypes.CDLL({str(self.toolkit(daemon))!r})
with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1), record_shapes=True,
                      experimental_config=profiler._ExperimentalConfig(
                          export_type=[profiler.ExportType.Text, profiler.ExportType.Db]),
                      on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r})) as prof:
    for step in range(5):
        with operator("aten::linear", [[2, 3], []], ["float", "Scalar"], 7):
            with operator("aten::mm", [[2, 3], [3, 4]], ["float", "float"], 8):
                time.sleep(0.1)  # it computes
        prof.step()
assert prof.wait(60)
assert torch.profiler.asked == [{{"record_shapes": True, "with_flops": False, "with_modules": False}}], torch.profiler.asked
""", ASCEND_HOME_PATH=str(daemon.directory / "cann")).stderr
        self.assertEqual(said, "")
        (folder,) = result.iterdir()
        results = folder / "ASCEND_PROFILER_OUTPUT"
        with open(results / "operator_details.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["Name"], row["Input Shapes"].split()) for row in rows],
                         [("aten::linear", ["2,3;"]), ("aten::mm", ["2,3;", "3,4"])] * 2)
        # Kernels belong to the innermost operator that was running when they were launched.
        self.assertTrue(all(float(row["Device Self Duration(us)"]) > 1000 for row in rows if row["Name"] == "aten::mm"), rows)
        (database,) = results.glob("ascend_pytorch_profiler*.db")
        with contextlib.closing(sqlite3.connect(database)) as db:
            self.assertEqual(db.execute("SELECT s.value, sequenceNumber, replace(t.value, char(13, 10), '') FROM PYTORCH_API JOIN STRING_IDS s ON s.id = "
                                        "PYTORCH_API.name JOIN STRING_IDS t ON t.id = inputDtypes WHERE sequenceNumber >= 0 "
                                        "ORDER BY startNs").fetchall(),
                             [("aten::linear", 7, "float;Scalar"), ("aten::mm", 8, "float;float")] * 2)

    def test_a_torch_whose_profiler_fails_costs_the_operators_only(self):
        daemon = self.profd()
        result = daemon.directory / "result"
        said = self.run_program(daemon, TORCH + f"""
import profd.torch as profiler
torch.profiler.profile.start = lambda self: 1 / 0
with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r}, None, False)) as prof:
    for step in range(3):
        prof.step()
assert prof.wait(60)
""").stderr
        self.assertEqual(said, "operators of torch are not recorded: division by zero\n")
        (directory,) = self.windows(result)
        self.assertEqual(self.steps(directory), [0, 1, 2, 3])

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

    def table(self, directory, kind):
        (path,) = glob.glob(os.path.join(directory, "mindstudio_profiler_output", f"{kind}_*.csv"))
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, skipinitialspace=True))

    def test_metadata_stands_in_each_window_that_ends_after_it(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        done = self.run_program(daemon, f"""
            import profd.torch as profiler
            with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
                                  on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r})) as prof:
                prof.add_metadata("before", "the first step")
                prof.add_metadata("long", "x" * 513)
                prof.add_metadata_json("groups", '{{"tp": [0, 1]}}')
                prof.add_metadata_json("no", "JSON")
                for step in range(8):
                    if step == 3:
                        prof.add_metadata("within", "a step")
                    if step == 5:
                        prof.add_metadata("between", "two windows")
                    prof.step()
            assert prof.wait(60)
            """)
        self.assertEqual(done.stderr, "add_metadata_json: no: expected a text in JSON; left out\n")
        early = {"before": "the first step", "long": "x" * 513, "groups": {"tp": [0, 1]}, "within": "a step"}
        for directory, wanted in zip(self.windows(result), (dict(early), early | {"between": "two windows"})):
            with open(os.path.join(os.path.dirname(directory), "profiler_metadata.json"), encoding="utf-8") as file:
                made = json.load(file)
            self.assertEqual(made["ENV_VARIABLES"]["HCCL_ALGO"], "")
            self.assertEqual(len(made["trace_id"]), 32)
            self.assertEqual({name: made[name] for name in made if name not in ("ENV_VARIABLES", "trace_id")}, wanted)
            marks = {row["message"]: row["payload_value"] for row in self.table(directory, "msprof_tx")}
            self.assertEqual(marks.pop("long"), "N/A")  # no mark has room for it
            wanted.pop("long")
            self.assertEqual(marks, {name: value if isinstance(value, str) else json.dumps(value)
                                     for name, value in wanted.items()})

    def test_metadata_of_whoever(self):
        """What lies beside a recording may be anybody's: it costs no data, and nothing falls over it."""
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        session = daemon.begin("--collect", "hbm", "--output", daemon.directory / "own")
        harness.wait_until(lambda: daemon.status(session["session"])["bytes"] > 0, "data")
        directory = pathlib.Path(daemon.end(session["session"])["directory"])
        beside = directory.parent / "profiler_metadata.json"
        for text, said in (("[" * 200_000, "is no JSON object"), ('{"a": ' * 100 + "1" + "}" * 100, "is no JSON object"),
                           ("[]", "is no JSON object"), ('{"a": 1.50, "b": [null, "\u00e9"]}', "")):
            beside.write_text(text)
            made = daemon.ctl("export", directory, "--format", "db")
            self.assertEqual(made.code, 0, made)
            self.assertIn(said, made.out)
        (database,) = directory.glob("msprof_*.db")
        with contextlib.closing(sqlite3.connect(database)) as db:
            self.assertEqual(db.execute("SELECT name, value FROM META_DATA WHERE name IN ('a', 'b')").fetchall(),
                             [("a", "1.5"), ("b", '[null, "\\u00e9"]')])
        beside.unlink()
        beside.symlink_to("/etc/passwd")
        made = daemon.ctl("export", directory, "--format", "db")
        self.assertEqual((made.code, "profiler_metadata.json" in made.out), (0, True), made)
        if os.geteuid() == 0:
            beside.unlink()
            beside.write_text('{"a": 1}')
            os.chown(beside, harness.nobody(), harness.nobody())
            self.assertIn("is another user's, and is not read", daemon.ctl("export", directory, "--format", "db").out)

    def test_what_follows_the_last_step_is_no_step(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        done = self.run_program(daemon, f"""
            import profd.torch as profiler
            with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r})) as prof:
                for step in range(8):
                    prof.step()
            assert prof.wait(60)
            """)
        self.assertEqual(done.stderr, "")
        (directory,) = self.windows(result)
        rows = self.table(directory, "agent_step")
        ended = [row for row in rows if row["Edge"] != "unfinished"]
        self.assertEqual([row["Step"] for row in ended], [str(step) for step in range(8)])
        self.assertEqual((ended[0]["Edge"], ended[-1]["Edge"]), ("first", "last"))
        self.assertEqual([row["Duration(us)"] for row in rows[8:]], ["N/A"])

    def test_a_step_that_the_recording_cuts_is_none_of_an_analysis(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\nscenario: {step_ms: 20}\nmspti: {auto: true}\n")
        result = daemon.directory / "result"
        self.run_program(daemon, f"""
            import ctypes, time
            import profd.torch as profiler
            ctypes.CDLL({str(self.toolkit(daemon))!r})
            with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r}, None, False)) as prof:
                for step in range(6):
                    time.sleep(0.1)  # the work of a step
                    prof.step()
                time.sleep(1)  # of none
            assert prof.wait(60)
            """, ASCEND_HOME_PATH=str(daemon.directory / "cann"))
        (directory,) = self.windows(result)
        out = daemon.directory / "out"
        self.assertEqual(daemon.ctl("export", directory, "--format", "db", "--out", out).code, 0)
        for given in (pathlib.Path(directory), *out.glob("*.db")):
            tables = given.parent / f"tables_of_{given.name}"
            tables.mkdir()
            answer = daemon.ctl("analyze", given, "--report", "steps", "--csv", tables)
            self.assertEqual(answer.code, 0, answer)
            with open(tables / "steps.csv", encoding="utf-8", newline="") as file:
                self.assertEqual([row["step"] for row in csv.DictReader(file)], [str(step) for step in range(6)])

    def test_megatron_to_the_end_with_its_sizes(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        done = self.run_program(daemon, f"""
            import types
            import profd.megatron
            prof = profd.megatron.from_args(types.SimpleNamespace(
                profile=True, profile_step_start=3, profile_step_end=-1, profile_save_path={str(result)!r},
                tensor_model_parallel_size=4, sequence_parallel=True, rank=0))
            prof.start()
            for iteration in range(6):
                prof.step()
            prof.stop()
            assert prof.wait(60)
            """)
        self.assertEqual(done.stderr, "")
        (directory,) = self.windows(result)
        self.assertEqual([row["Step"] for row in self.table(directory, "agent_step") if row["Edge"] != "unfinished"],
                         ["3", "4", "5", "6"])
        with open(os.path.join(os.path.dirname(directory), "profiler_metadata.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["distributed_args"], {"tensor_model_parallel_size": 4,
                                                                   "sequence_parallel": True, "rank": 0})

    def test_a_loop_without_step_is_one_step(self):
        daemon = self.profd(sim="devices: 1\nchip: 910B\n")
        result = daemon.directory / "result"
        self.run_program(daemon, f"""
            import profd.torch as profiler
            with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r})) as prof:
                pass
            assert prof.wait(60)
            """)
        (directory,) = self.windows(result)
        self.assertEqual([(row["Step"], row["Edge"]) for row in self.table(directory, "agent_step")], [("0", "first and last")])

    def test_a_window_cut_by_stop_is_said(self):
        daemon = self.profd()
        result = daemon.directory / "result"

        def said(steps):
            return self.run_program(daemon, f"""
                import profd.torch as profiler
                with profiler.profile(schedule=profiler.schedule(wait=0, warmup=1, active=3, repeat=1), first_step=100,
                                      on_trace_ready=profiler.tensorboard_trace_handler({str(result)!r}, None, False)) as prof:
                    for step in range({steps}):
                        prof.step()
                assert prof.wait(60)
                """).stderr

        self.assertEqual(said(0), "stopped in the warm-up of a window: nothing of it is recorded\n")
        for steps in (2, 3):
            self.assertEqual(said(steps), f"stopped before a window was complete: step {100 + steps} and the rest of it "
                                          "are missing\n")
        self.assertEqual(said(4), "")

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


if __name__ == "__main__":
    unittest.main()
