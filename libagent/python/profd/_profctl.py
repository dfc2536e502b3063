"""What a program asks of profd about itself, by `profctl`. Nothing here raises or waits longer than it says: a job goes on
without its recording."""
import json
import logging
import os
import shutil
import subprocess
import time

log = logging.getLogger("profd")

START_S = 10  # how long a start may take before the job goes on without it
REGISTRATION_S = 2  # of a process that has just called profd for the first time
_registered = False


def program():
    """Where profctl is; None: nowhere. $PROFCTL names another."""
    return shutil.which(os.environ.get("PROFCTL", "profctl"))


def _environment():
    # profctl is no part of the job: it neither registers nor loads what the job loads.
    return {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PROFD_LABELS")}


def spawn(command, **options):
    """A process of its own group; None: it cannot be had, which is logged."""
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=_environment(), start_new_session=True, **options)
    except OSError as error:
        log.warning("%s: %s", command[0], error.strerror)
        return None


def await_registration(profctl):
    """Until profd knows this process by its agent, which a thread of its own tells it; at most REGISTRATION_S."""
    global _registered  # pylint: disable=global-statement
    until = time.monotonic() + REGISTRATION_S
    while not _registered and time.monotonic() < until:
        process = spawn([profctl, "targets", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if process is None:
            return
        out, _ = process.communicate()
        if process.returncode != 0:  # the start will say why
            return
        known = {target["pid"]: target for target in json.loads(out)["targets"]}
        _registered = bool(known.get(os.getpid(), {}).get("agent_version"))


class Start:
    """A session that is being started for this process."""

    def __init__(self, profctl, options, previous=None):
        command = [profctl, "start", "--pid", str(os.getpid()), *options, "--json"]
        if previous is not None:  # which may still be about to end; a process has one session at a time
            command = ["/bin/sh", "-c", '"$2" stop "$1" >/dev/null 2>&1; shift; exec "$@"', "profd", previous, *command]
        self._process = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answer(self):
        """Waits for what profd says: its object, or None, which is logged."""
        if self._process is None:
            return None
        try:
            out, words = self._process.communicate(timeout=START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            log.warning("not recorded: profctl start took longer than %d s", START_S)
            return None
        try:
            answer = json.loads(out)
            answer["session"]
        except (ValueError, KeyError, TypeError):
            log.warning("not recorded: %s", words.strip().splitlines()[-1] if words.strip() else "profctl said nothing")
            return None
        for note in words.strip().splitlines():
            log.info("%s", note)
        return answer


# What happens after a window, in a process of its own: arguments are profctl, the session, and what export gets, or the
# directory that was made for it.
_STOP = 'profctl=$1 session=$2; shift 2; "$profctl" stop "$session"'
_AFTER = {
    "keep": _STOP,
    "export": _STOP + '; nice -n 19 "$profctl" export "$@"',
    "remove": _STOP + '; rm -rf -- "$1"',
}


def stop(profctl, session, then, options=()):
    """Ends a session and does `then` with what it recorded. The process that does, or None."""
    return spawn(["/bin/sh", "-c", _AFTER[then], "profd", profctl, session, *options], stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL)
