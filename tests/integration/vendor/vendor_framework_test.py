#!/usr/bin/env python3
"""torch_npu's own analyse(), unmodified, is the judge: with profd's msprof in its PATH it works, and profctl export of the same
folder makes the same of it, value for value."""
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import ascend_pt
import harness
import msprof_shim_test
import torch_npu_analysis
import vendor_tools
from collectives import RAW

TEXTS = {"PYTORCH_API": ("name", "inputDtypes", "inputShapes"), "OP_MEMORY": ("name",), "MEMORY_RECORD": ("component",)}
LOOKED_UP = ("STRING_IDS", "CONNECTION_IDS", "PYTORCH_CALLCHAINS")  # by number, which are anybody's
RESULTS = "ASCEND_PROFILER_OUTPUT"


def tables(path):
    """Rows of every table, numbers of texts, connections and stacks looked up."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        names = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        texts = dict(database.execute("SELECT id, value FROM STRING_IDS")) if "STRING_IDS" in names else {}
        lists = {"connectionId": {}, "callchainId": {}}
        if "CONNECTION_IDS" in names:
            for number, connection in database.execute("SELECT id, connectionId FROM CONNECTION_IDS ORDER BY rowid"):
                lists["connectionId"].setdefault(number, []).append(connection)
        if "PYTORCH_CALLCHAINS" in names:
            for number, stack in database.execute("SELECT id, stack FROM PYTORCH_CALLCHAINS ORDER BY rowid"):
                lists["callchainId"].setdefault(number, []).append(texts[stack])
        found = {}
        for name in names:
            if name in LOOKED_UP:
                continue
            rows = database.execute(f"SELECT * FROM {name} ORDER BY rowid")
            columns = [column for column, *_ in rows.description]
            found[name] = [columns]
            for row in map(dict, ([*zip(columns, row)] for row in rows)):
                for column in TEXTS.get(name, ()):
                    row[column] = texts.get(row[column], row[column])
                for column, known in lists.items() if name == "PYTORCH_API" else ():
                    row[column] = known.get(row[column], row[column])
                found[name].append(list(row.values()))
        return found


@torch_npu_analysis.needs_torch
class VendorFrameworkTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profd-vendor-torch-")
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.modules = torch_npu_analysis.prepare(self.top / "modules")
        self.msprof = msprof_shim_test.install(self.top / "usr")

    def compare(self, name, fill, types=("text", "db"), **of_device):
        """`fill` adds to a folder with a device; the vendor makes results of one copy, profctl of another."""
        folder, *_ = ascend_pt.with_device(self.top / name / "vendor_ascend_pt", export_type=types, **of_device)
        fill(folder)
        folder.write()
        (folder.path / "profiler_metadata.json").write_text(json.dumps({"trace_id": "1", "sizes": [1, 2.5, None]}), encoding="utf-8")
        own = self.top / name / "own_ascend_pt"
        shutil.copytree(folder.path, own)
        said = torch_npu_analysis.analyse(self.modules, folder.path, types, self.msprof)
        self.assertTrue((folder.path / RESULTS / "analyse.done").exists(), said)
        # Both read the same of CANN: what profd's msprof makes.
        for words in (("--export=on",), ("--analyze=on",)):
            subprocess.run([self.msprof / "msprof", *words, f"--output={own / ascend_pt.PROF}"], check=True, capture_output=True,
                           env=dict(os.environ, TZ="UTC"))
        for file in own.glob("PROF_*/*/data/*"):
            file.unlink()
        done = subprocess.run([harness.PROFCTL, "export", own, "--vendor-compatible", "--type", ",".join(types)], check=False,
                              capture_output=True, text=True, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, 0, done)
        wanted = {file.name: file for file in (folder.path / RESULTS).iterdir()}
        made = {file.name: file for file in (own / RESULTS).iterdir()}
        self.assertEqual(sorted(made), sorted(wanted), said)
        for file, path in wanted.items():
            with self.subTest(file=file):
                self.equal(path, made[file])

    def equal(self, wanted, made):
        if wanted.suffix == ".json":
            self.assertEqual(json.loads(made.read_text(encoding="utf-8")), json.loads(wanted.read_text(encoding="utf-8")))
        elif wanted.suffix == ".db":
            truth, found = tables(wanted), tables(made)
            self.assertEqual(sorted(found), sorted(truth))
            for table, rows in truth.items():
                with self.subTest(table=table):
                    self.assertEqual(found[table], rows)
        else:
            self.assertEqual(made.read_bytes(), wanted.read_bytes())

    def test_without_a_queue(self):
        self.compare("plain", lambda folder: None)

    def test_queue_memory_gc_python_and_backward(self):
        def fill(folder):
            begin = RAW + 10_000_000
            for number in range(20):
                at = begin + number * 400_000
                folder.queued("copy", number, (at, at + 2000), (at + 5000, at + 90_000), ascend_pt.MAIN, ascend_pt.OTHER)
                folder.memory(0x1000 + number % 3, at + 6000, 4096, 4096 * (number + 1), number % 3, ascend_pt.OTHER)
                folder.op("autograd::engine", at + 100_000, at + 110_000, 4250, sequence=number, forward=ascend_pt.MAIN, types="a;b", dims="1;")
            folder.memory(0x99, begin + 7000, 512, 512, 0, ascend_pt.MAIN, component=1)
            folder.python([(begin + 100, ascend_pt.MAIN, 1, 0), (begin + 900, ascend_pt.MAIN, 1, 1)], {1: "train.py(3): run"})
            folder.gc(begin + 500, begin + 600)
        self.compare("queue", fill)

    def test_levels_and_the_database_alone(self):
        for level in ("Level0", "Level2"):
            self.compare(level, lambda folder: None, types=("db",), level=level)

    def test_no_steps(self):
        self.compare("steps", lambda folder: folder.files.update({"torch.op_range": folder.files["torch.op_range"][1:]}))


if __name__ == "__main__":
    vendor_tools.main_unless(torch_npu_analysis.TORCH)
