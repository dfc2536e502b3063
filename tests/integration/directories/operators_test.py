#!/usr/bin/env python3
"""What CANN's own collector records of operators beside their tasks, in tables and databases; and damaged."""
import csv
import json
import os
import pathlib
import sqlite3
import struct
import subprocess
import tempfile
import unittest

import collectives
import harness
import operators
from collectives import COUNTER


def kb(size):
    return round(size / 1024, 3)


class OperatorsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-operators-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.job = collectives.Job(8)

    def export(self, form, *words, code=harness.OK):
        """Of the job as it is by now: where it went, and what is said of it."""
        directory = self.top / "PROF_1"
        if not directory.exists():
            self.job.write(directory)
        out = self.top / f"{form}{len(words)}"
        done = subprocess.run([harness.PROFCTL, "export", directory, "--format", form, "--out", out, "--json", *words], capture_output=True,
                              text=True, timeout=300, check=False, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, code, done)
        return out, json.loads(done.stdout)["directories"][0]

    def table(self, out, name):
        [path] = out.rglob(f"{name}_*.csv")
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def database(self, out):
        [path] = out.rglob("*.db")
        db = sqlite3.connect(path)
        self.addCleanup(db.close)
        return db

    def name(self, number):
        return {number: name for name, number in self.job.names.items()}.get(number, str(number))

    def test_memory_of_each_moment(self):
        events = operators.add_memory(self.job)
        db = self.database(self.export("db")[0])
        rows = db.execute("SELECT timestampNs, globalTid & 0xFFFFFFFF, addr, n.value, size, t.value, totalAllocate, totalReserve, c.value, "
                          "deviceId FROM NPU_OP_MEM JOIN STRING_IDS n ON n.id = operatorName JOIN STRING_IDS t ON t.id = type "
                          "JOIN STRING_IDS c ON c.id = component ORDER BY timestampNs").fetchall()
        self.assertEqual(rows, [(operators.wall(stamp), thread, address, self.name(operator), abs(size), "release" if size < 0 else "allocate",
                                 allocated, reserved, "GE", 0)
                                for stamp, thread, address, size, operator, allocated, reserved in events])
        rows = self.table(self.export("csv")[0], "memory_record")
        self.assertEqual([(row["Component"], float(row["Total Allocated(KB)"]), float(row["Total Reserved(KB)"]), row["Device"])
                          for row in rows], [("GE", kb(event[5]), kb(event[6]), "NPU:0") for event in events])

    def test_memory_that_operators_held(self):
        events = operators.add_memory(self.job)
        rows = self.table(self.export("csv")[0], "operator_memory")
        held, wanted = {}, []
        for event in events:
            stamp, _, address, size, operator, *totals = event
            if size > 0:
                held[operator, address] = event
            elif (operator, address) in held:
                begin = held.pop((operator, address))
                wanted.append((self.name(operator), kb(begin[3]), round((stamp - begin[0]) / 1000, 3), *map(kb, begin[5:] + tuple(totals))))
        wanted += [(self.name(event[4]), kb(event[3]), 0, *map(kb, event[5:]), 0, 0) for event in held.values()]
        self.assertEqual([(row["Name"], *(float(row[column]) for column in (
            "Size(KB)", "Duration(us)", "Allocation Total Allocated(KB)", "Allocation Total Reserved(KB)", "Release Total Allocated(KB)",
            "Release Total Reserved(KB)"))) for row in rows], wanted)
        self.assertGreater(len(wanted), 100)

    def test_memory_of_some_devices(self):
        events = operators.add_memory(self.job)
        self.job.others["aging." + operators.MEMORY].append(operators.memory_record(*events[-1], device=3))
        out, _ = self.export("csv", "--devices", "0")
        self.assertEqual(len(self.table(out, "memory_record")), len(events))
        self.assertEqual({row["Device"] for row in self.table(self.export("csv")[0], "memory_record")}, {"NPU:0", "NPU:3"})

    def test_damaged_memory_is_counted_and_said(self):
        events = operators.add_memory(self.job)
        records = self.job.others["aging." + operators.MEMORY]
        worst = operators.memory_record(events[-1][0] + 20, 4242, 2**64 - 1, -2**63, 2**64 - 1, 2**64 - 1, 2**64 - 1)
        records += [operators.memory_record(*events[0], magic=0x1234), operators.memory_record(*events[0], device=2**32 - 1), worst]
        records.insert(0, worst[-100:])
        out, said = self.export("db", code=harness.PARTIAL_LOSS)
        self.assertEqual(sorted((skip["records"], skip["why"]) for skip in said["skipped"]),
                         [(0, "bytes in front of the first whole record"), (2, "records without their magic, or with numbers that cannot be")])
        [count] = self.database(out).execute("SELECT count(*) FROM NPU_OP_MEM").fetchone()
        self.assertEqual(count, len(events) + 1)

    def test_what_an_operator_was_made_of(self):
        _, fused = operators.add_models(self.job)
        rows = self.table(self.export("csv")[0], "fusion_op")
        self.assertEqual(sorted((row["Model Name"], int(row["Model ID"]), row["Fusion Op"], row["Original Ops"], *(
            float(row[f"Memory {of}(KB)"]) for of in ("Input", "Output", "Weight", "Workspace", "Total"))) for row in rows), sorted(fused))

    def test_models_of_tasks(self):
        loads, _ = operators.add_models(self.job)
        out, _ = self.export("db")
        of_calls = {thread: model for thread, _, _, model in loads}
        rows = self.database(out).execute("SELECT modelId, a.globalTid & 0xFFFFFFFF, a.startNs, count(*) FROM TASK JOIN CANN_API a "
                                          "USING(connectionId) GROUP BY 1, 2, 3").fetchall()
        for model, thread, begin, _ in rows:
            inside = any(of == thread and operators.wall(first) <= begin <= operators.wall(last) for of, first, last, _ in loads)
            self.assertEqual(model, of_calls[thread] if inside else 2**32 - 1)
        self.assertEqual({row[0] for row in rows}, {7, 9, 2**32 - 1})

    def test_ranges_and_marks_of_the_program(self):
        told = operators.add_markers(self.job)
        rows = {row["message"]: row for row in self.table(self.export("csv")[0], "msprof_tx")}
        self.assertEqual(set(rows), set(told))
        for text, (event, domain, payload, begin, end) in told.items():
            row = rows[text]
            self.assertEqual(row["event_type"], ("marker", "push/pop", "start/end", "marker")[event], text)
            self.assertEqual([round(float(row[at]) * 1000 - of, -3) for at, of in (("Start_time(us)", begin), ("End_time(us)", end))], [0, 0], text)
            self.assertEqual((row["pid"], row["tid"]), ("999", "4242"))
            wanted = (domain, "N/A", "N/A") if payload is None else ("default", domain, str(payload))
            self.assertEqual((row["domain"], row["category"], row["payload_value"]), wanted, text)
        out, said = self.export("chrome,db")
        self.assertEqual((said["complete"], said["unread"]), (True, 0), said)
        rows = self.database(out).execute("SELECT message.value, domain.value, startNs, endNs, globalTid FROM MSTX_EVENTS m JOIN STRING_IDS "
                                          "message ON message.id = m.message LEFT JOIN STRING_IDS domain ON domain.id = m.domainId").fetchall()
        self.assertEqual({row[0]: row[2:] for row in rows},
                         {text: (begin, end, 999 << 32 | 4242) for text, (_, _, _, begin, end) in told.items()})
        [timeline] = out.rglob("msprof_*.json")
        drawn = {event["name"] for event in json.loads(timeline.read_text()) if event.get("args", {}).get("event_type")}
        self.assertEqual(drawn, set(told))

    def test_damaged_marks_are_counted_and_said(self):
        told = operators.add_markers(self.job)
        records = self.job.others["unaging." + operators.MARKERS]
        stamp = operators.RAW + 9_100_000
        records += [operators.marker(stamp, 0, "no magic", stamp, stamp, magic=0x1234), operators.marker(stamp, 9, "no event", stamp, stamp),
                    operators.marker(stamp, 0, "no source", stamp, stamp, source=2),
                    operators.marker(stamp, 2, "the rest of something", stamp, stamp, number=77, piece=1)]
        out, said = self.export("csv", code=harness.PARTIAL_LOSS)
        self.assertEqual([(skip["records"], skip["why"]) for skip in said["skipped"]],
                         [(3, "records without their magic, or with numbers that cannot be")])
        self.assertIn("host/data: msproftx: 1 piece of a text without its beginning", said["notes"])
        self.assertEqual({row["message"] for row in self.table(out, "msprof_tx")}, set(told))

    def test_attributes_of_operators(self):
        operators.add_attributes(self.job)
        rows = self.database(self.export("db")[0]).execute("SELECT n.value, a.value, count(*) FROM COMPUTE_TASK_INFO c JOIN STRING_IDS n ON "
                                                           "n.id = c.name JOIN STRING_IDS a ON a.id = c.attrInfo GROUP BY 1, 2").fetchall()
        self.assertIn(("MatMul_1", "stride: [1, 1]", self.job.kernels), rows)
        self.assertNotIn("of nobody", {row[1] for row in rows})

    def test_operators_of_captured_graphs(self):
        told = operators.add_captures(self.job)
        out, said = self.export("csv,db")
        self.assertEqual((said["complete"], said["unread"]), (True, 0), said)
        rows = [row for row in self.table(out, "op_summary") if row["Stream ID"] == "13"]
        self.assertEqual(len(rows), 2 * len(told))
        for row in rows:
            self.assertEqual((row["Op Name"], row["OP Type"], int(row["Block Num"]), row["Input Shapes"].strip('"').replace("N/A", "")),
                             told[13, int(row["Task ID"])])
            self.assertEqual((row["Model ID"], row["Task Type"]), ("5", "AI_CORE"))
        states = {row["Op Name"]: (row["OP State"], row["HF32 Eligible"]) for row in rows}
        self.assertEqual(states, {"Add_7": ("static", "YES"), "Concat_8": ("static", "YES"), "my_kernel": ("N/A", "N/A")})
        rows = self.database(out).execute("SELECT n.value, o.value, count(*) FROM COMPUTE_TASK_INFO c JOIN TASK USING(globalTaskId) JOIN "
                                          "STRING_IDS n ON n.id = c.name JOIN STRING_IDS o ON o.id = opType WHERE streamId = 13 GROUP BY 1, 2")
        self.assertEqual(set(rows), {(operator, kind, 2) for operator, kind, *_ in told.values()})

    def test_streams_of_15_bits(self):
        told = operators.add_wide_streams(self.job)
        out, said = self.export("db")
        self.assertEqual((said["complete"], said["unread"]), (True, 0), said)
        rows = self.database(out).execute("SELECT streamId, taskId, connectionId > 0 FROM TASK WHERE streamId > 2047").fetchall()
        self.assertEqual(set(rows), {(*task, 1) for task in told})
        self.assertEqual(len(rows), len(told))

    def test_streams_that_are_one_to_the_framework(self):
        logic = operators.add_logic_streams(self.job)
        out, said = self.export("chrome,db")
        self.assertEqual((said["complete"], said["unread"]), (True, 0), said)
        [timeline] = out.rglob("msprof_*.json")
        drawn = {(event["args"]["Physic Stream Id"], event["tid"]) for event in json.loads(timeline.read_text())
                 if "Physic Stream Id" in event.get("args", {})}
        self.assertEqual(drawn, {(stream, logic.get(stream, stream)) for stream, _ in drawn})
        self.assertTrue(logic.keys() <= {stream for stream, _ in drawn}, drawn)
        streams = {stream for stream, in self.database(out).execute("SELECT DISTINCT streamId FROM TASK")}
        self.assertTrue(logic.keys() <= streams, streams)

    def test_memory_of_graphs(self):
        told = operators.add_static_memory(self.job)
        out, said = self.export("csv")
        self.assertEqual((said["complete"], said["unread"]), (True, 0), said)
        rows = [(row["Op Name"], row["Model Name"], *(int(row[of]) for of in ("Graph ID", "Node Index Start", "Node Index End")),
                 float(row["Size(KB)"])) for row in self.table(out, "static_op_mem")]
        self.assertEqual(rows, told)

    def test_queues_of_data(self):
        queues, waits = operators.add_queues(self.job.write(self.top / "PROF_1"))
        out, said = self.export("csv")
        self.assertTrue(said["complete"], said)
        rows = [(round((float(row["Timestamp(us)"]) - operators.WALL / 1000) * 1000 / 20_000), row["Action"], row["Source"], int(row["Cached Buffer Size"]))
                for row in self.table(out, "dp")]
        self.assertEqual(rows, [(round((ticks - COUNTER) / 1000), *of) for ticks, *of in queues])
        rows = [(row["Node Name"], *(int(row[of]) for of in ("Start Time(us)", "End Time(us)", "Queue Size"))) for row in self.table(out, "aicpu_mi")]
        self.assertEqual(rows, waits)

    def test_messages_of_older_drivers(self):
        kernels, queues = operators.add_messages(self.job.write(self.top / "PROF_1"))
        out, said = self.export("csv")
        self.assertEqual((said["complete"], said["unread"]), (True, 0), said)

        def ns(row):
            return round((float(row["Timestamp(us)"]) - operators.WALL / 1000) * 1000, -3)

        rows = [(ns(row), *(float(row[of]) for of in ("Compute_time(us)", "Memcpy_time(us)", "Task_time(us)", "Dispatch_time(us)", "Total_time(us)")),
                 int(row["Stream ID"]), int(row["Task ID"])) for row in self.table(out, "aicpu")]
        self.assertEqual(rows, [((begin - COUNTER) * 20, compute, copy, 1000, 11, 1020, stream, task) for begin, compute, copy, stream, task in kernels])
        rows = [(ns(row), row["Action"], row["Source"], int(row["Cached Buffer Size"])) for row in self.table(out, "dp")]
        self.assertEqual(rows, [(at - operators.DEVICE_RAW, *of) for at, *of in queues])

    def test_files_that_nothing_is_made_of_are_no_secret(self):
        self.job.others["aging.additional.Multi_Thread"] = [bytes(256)] * 2
        _, said = self.export("db")
        self.assertEqual((said["complete"], said["unread"]), (True, 1), said)
        self.assertEqual(len([note for note in said["notes"] if "Multi_Thread" in note]), 1, said["notes"])
        (self.top / "FRAMEWORK").mkdir()
        done = subprocess.run([harness.PROFCTL, "export", self.top / "PROF_1", "--format", "db", "--out", self.top / "again"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertIn(", complete but for 1 file that is not read", done.stdout)
        self.assertIn("note: FRAMEWORK beside it", done.stdout)

    def test_operators_of_one_model(self):
        """As the vendor's parser tells them: by name of the model and number of the iteration."""
        operators.add_models(self.job)
        directory = self.job.write(self.top / "PROF_1")
        ticks = [COUNTER - 1000, max(at for at, *_ in self.job.log) + 1000]
        (directory / "device_0/data/ts_track.data.0.slice_0").write_bytes(b"".join(
            struct.pack("<BBHIQQQHHHH", 0, 10, 40, 0, at, 3, 7, 3, 4, tag, 0) for tag, at in enumerate(ticks)))
        rows = self.table(self.export("csv", "--model", "7", "--iteration", "3")[0], "op_summary")
        self.assertEqual(list(rows[0])[:7], ["Device_id", "Model Name", "Model ID", "Task ID", "Stream ID", "Infer ID", "Op Name"])
        self.assertEqual({(row["Model ID"], row["Model Name"], row["Infer ID"]) for row in rows},
                         {("7", "resnet", "3"), ("9", "resnet", "3"), (str(2**32 - 1), "N/A", "3")})
        self.assertFalse({"Model Name", "Infer ID"} & set(self.table(self.export("csv")[0], "op_summary")[0]))

    def test_sub_tasks_of_several_operators(self):
        subs = operators.add_sub_tasks(self.job, each=3)
        out, _ = self.export("db")
        rows = self.database(out).execute(
            "SELECT streamId, taskId, contextId, n.value, t.value, startNs, endNs FROM TASK JOIN COMPUTE_TASK_INFO c USING(globalTaskId) "
            "JOIN STRING_IDS n ON n.id = c.name JOIN STRING_IDS t ON t.id = opType WHERE streamId = 9").fetchall()
        self.assertEqual(sorted(rows), sorted(subs))

    def test_copies(self):
        copies = operators.add_copies(self.job)
        words = dict(enumerate(operators.OPERATIONS))
        rows = self.database(self.export("db")[0]).execute(
            "SELECT streamId, taskId, size, memcpyOperation, name FROM MEMCPY_INFO JOIN TASK USING(globalTaskId) JOIN ENUM_MEMCPY_OPERATION "
            "ON id = memcpyOperation").fetchall()
        self.assertEqual(sorted(rows), sorted((*task, size, number, words.get(number, "other")) for task, (size, number) in copies.items()))
        [path] = self.export("chrome")[0].rglob("msprof_*.json")
        events = [event for event in json.loads(path.read_text(encoding="utf-8")) if "operation" in event.get("args", {})]
        self.assertEqual(len(events), len(copies))
        for event in events:
            args = event["args"]
            size, number = copies[args["Physic Stream Id"], args["Task Id"]]
            self.assertEqual((args["size(B)"], args["operation"]), (size, words.get(number, "other")))
            self.assertAlmostEqual(args["bandwidth(GB/s)"], size / float(event["dur"]) / 1000, delta=1e-6 * size)

    def test_damaged_records_are_counted_and_said(self):
        operators.add_models(self.job)
        operators.add_sub_tasks(self.job)
        fused, models, contexts = (self.job.others[f"{aging}aging.{name}"] for aging, name in (
            ("un", operators.FUSED), ("un", operators.MODELS), ("", operators.CONTEXTS)))
        fused.append(operators.fused_record(operators.RAW, 4242, 1, [720], [0] * 5, count=9))
        models.append(bytes(256))
        contexts.append(contexts[-1][:32] + (56).to_bytes(4, "little") + contexts[-1][36:])
        _, said = self.export("csv", code=harness.PARTIAL_LOSS)
        self.assertEqual(sorted((skip["stream"], skip["records"]) for skip in said["skipped"]),
                         [("host/data", 1), ("host/data: fusion_op_info", 1), ("host/data: graph_id_map", 1)])


if __name__ == "__main__":
    unittest.main()
