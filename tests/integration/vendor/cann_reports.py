"""A node whose chips MSPTI does not know, and a program whose CANN reports to profd's agent."""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import harness
import own_folder

# Loads CANN, as a framework does, and works until profd has what it launched.
PROGRAM = """import ctypes, json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
end = time.time() + 50
def manifests(): return list(folder.glob('PROF_*/%s'))
while time.time() < end and not manifests(): time.sleep(0.01)
library = ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libprofapi.so')
def stored():
    return any(kind['kind'] == 'agent-api' and kind['records'] > 10000 for path in manifests()
               for kind in json.loads(path.read_text())['kinds'])
while time.time() < end and not stored(): time.sleep(0.05)
""" % own_folder.MANIFEST
# Never does, and works until the devices have counted a thousand tasks.
WITHOUT_CANN = "\n".join(line for line in PROGRAM.splitlines() if "CDLL" not in line).replace("agent-api", "aicore-task").replace("10000", "1000")
# … and until it is known that there is nothing to come.
WHILE_ASKED = PROGRAM.split("def stored")[0] + """
def settled():
    return any(kind['kind'] == 'agent-kernel' and kind['verdict'] not in ('pending', 'started') for path in manifests()
               for kind in json.loads(path.read_text())['kinds'])
while time.time() < end and not settled(): time.sleep(0.05)
"""
# … and loads MSPTI then, which receives the reports from there on, and ends by itself.
LOADS_MSPTI = PROGRAM + """
ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libmspti.so')
time.sleep(1)  # for the agent's next look, four times a second
"""
# Loads both at once.
LOADS_BOTH = PROGRAM.split("def stored")[0] + """
ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libmspti.so')
time.sleep(2)  # as above
"""
# Loads CANN in two workers that it forks before, and in itself never.
FORKS = PROGRAM.replace("library =", "children = [os.fork(), 0]\nchildren[1] = children[0] and os.fork()\nlibrary = all(children) or", 1) + """
if not all(children): os._exit(0)
for child in children: os.waitpid(child, 0)
"""
SIM = "devices: 2\nchip: {chip}\nscenario: {{step_ms: 40}}\nmspti: {{auto: true{more}}}\n"


class ReportingTest(harness.ProfdTest):
    def daemon_of(self, chip, more=""):
        daemon = self.profd(sim=SIM.format(chip=chip, more=more))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="reports-", dir=daemon.directory))
        (self.folder / "lib64").mkdir()
        for name in ("libmspti.so", "libprofapi.so"):
            (self.folder / "lib64" / name).symlink_to(harness.PLAIN_BUILD / "sim" / name)
        (self.folder / "train.py").write_text(PROGRAM)
        self.environment = dict(daemon.environment, ASCEND_HOME_PATH=str(self.folder))
        return daemon

    def msprof(self, *options, preload="", command=None):
        output = self.folder / "output"
        environment = dict(self.environment, **({"LD_PRELOAD": preload} if preload else {}))
        done = subprocess.run([str(harness.RUN), "msprof", f"--output={output}", *options,
                               *(command or [sys.executable, str(self.folder / "train.py"), str(output)])],
                              text=True, capture_output=True, timeout=harness.PATIENCE_S, check=False, env=environment,
                              stdin=subprocess.DEVNULL)
        result = harness.Result(done.returncode, done.stdout, done.stderr)
        [self.directory] = output.glob("PROF_*")
        return result

    def table(self, name):
        found = list(self.directory.glob(f"mindstudio_profiler_output/{name}_*.csv"))
        self.assertEqual(len(found), 1, f"{name}: {sorted(os.listdir(self.directory / 'mindstudio_profiler_output'))}")
        with found[0].open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
