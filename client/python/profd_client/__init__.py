"""Asks a profd, of this node or another, to collect performance data; needs grpcio and protobuf.

    import profd_client

    with profd_client.Client() as profd:                      # this node, as who runs this
        session = profd.start(devices="all", collect=["hbm", "pcie=20"], duration=10)
        for state in profd.watch(session.session):
            print(state.state, state.bytes, state.lost)
        print(state.directory)

    ops = profd_client.Client(host="node7:9478", ca="ca.pem", cert="me.pem", key="me.key")
    ops.start(all_agents=True, agent_labels={"job": "llm"})

Errors are profd's own words: Error, with the `code` of gRPC ("NOT_FOUND"), or one of its kinds. To record from inside a
program see the package `profd`, which comes with the agent.
"""
import functools
import os
import pathlib

import grpc

from . import _door, _results, _wire
from ._results import Device, Kind, Session, Target, Value

__all__ = ["Client", "Device", "Kind", "Session", "Target", "Value", "Error", "InvalidRequest", "NotFound", "Forbidden", "Unavailable",
           "Busy"]

_PROTOCOL = 1
_SOCKET = "/run/profd/profd.sock"
_LONG_S = 300  # starts and stops wait for drivers and disks
_MAX_BYTES = 64 << 20


class Error(Exception):
    """What profd, or the way to it, said."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class InvalidRequest(Error, ValueError):
    """Nothing was started. profd says so, or this client, of what no request can hold."""


class NotFound(Error):
    """No such session, process or device."""


class Forbidden(Error):
    """Not yours, or the caller is not known."""


class Unavailable(Error):
    """No profd, no answer in time, or one of another release."""


class Busy(Error):
    """A limit, or somebody else holds what was asked for."""


_KINDS = {"INVALID_ARGUMENT": InvalidRequest, "OUT_OF_RANGE": InvalidRequest, "NOT_FOUND": NotFound,
          "PERMISSION_DENIED": Forbidden, "UNAUTHENTICATED": Forbidden, "UNAVAILABLE": Unavailable,
          "UNIMPLEMENTED": Unavailable, "DEADLINE_EXCEEDED": Unavailable, "ALREADY_EXISTS": Busy, "RESOURCE_EXHAUSTED": Busy,
          "ABORTED": Busy}


def _error(code, text):
    return _KINDS.get(code, Error)(code, text)


def _ns(name, seconds):
    return _scaled(name, seconds, 1e9)


def _ms(name, seconds):
    return _scaled(name, seconds, 1e3)


def _scaled(name, seconds, of_a_second):
    try:
        if seconds >= 0:
            return int(seconds * of_a_second)
    except (TypeError, OverflowError):
        pass
    raise ValueError(f"{name}={seconds!r}: expected seconds, from 0")


def _listed(value):
    if value is None:
        return []
    return [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)


def _checks(function):
    """What it cannot put into a request is an InvalidRequest."""

    @functools.wraps(function)
    def checked(*arguments, **named):
        try:
            return function(*arguments, **named)
        except Error:
            raise
        except ValueError as error:
            raise InvalidRequest("INVALID_ARGUMENT", str(error)) from None

    return checked


_request = _checks(_wire.request)


class Client:
    """A connection to one profd. Without `host` this node's: `socket`, else $PROFD_ADDRESS, else the default. With it another's,
    over mutual TLS: paths of PEM files. Every call may be made from any thread; `timeout` is for those that need no driver
    and no disk."""

    def __init__(self, socket=None, host=None, ca=None, cert=None, key=None, timeout=10):
        self._timeout = timeout
        self._door = None
        options = [("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0), ("grpc.max_receive_message_length", _MAX_BYTES),
                   # A channel of its own: a profd that was started again is found at once.
                   ("grpc.use_local_subchannel_pool", 1)]
        if host is None:
            self._socket = self._path(socket)
            self._name = self._socket
            self._knock()
            self._channel = grpc.insecure_channel(f"unix:{self._socket}", options)
        else:
            if socket is not None:
                raise ValueError("socket and host: give one of them")
            if not (ca and cert and key):
                raise ValueError("host needs ca, cert and key: paths of PEM files")
            self._socket, self._name = None, host
            credentials = grpc.ssl_channel_credentials(*(pathlib.Path(path).read_bytes() for path in (ca, key, cert)))
            self._channel = grpc.secure_channel(host, credentials, options)
        try:
            hello = self._call("Hello", timeout, protocol=_PROTOCOL, client_version="profd_client")
            if hello.protocol != _PROTOCOL:
                raise Unavailable("UNAVAILABLE", f"profd {hello.profd_version} speaks protocol {hello.protocol}, this client "
                                                 f"{_PROTOCOL}: install the same release on both sides")
        except Error:
            self.close()
            raise
        self.version = hello.profd_version

    @staticmethod
    def _path(given):
        path = str(given or os.environ.get("PROFD_ADDRESS") or _SOCKET)
        return os.path.abspath(path.removeprefix("unix:").removeprefix("//") if path.startswith("unix:") else path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if hasattr(self, "_channel"):
            self._channel.close()
        if self._door is not None:
            self._door.close()

    @_checks
    def start(self, collect=(), *, output=None, wait_lease=0, **asked):
        """Starts a session; a Session. As `profctl start`: what plan() takes, and `output`, a directory of this node that you
        may write to, made unless it is there; `wait_lease`, how many seconds to wait for devices that others have leased."""
        request = _wire.request("StartRequest", wait_ns=_ns("wait_lease", wait_lease), spec=self._spec(collect, **asked))
        if output is None:
            return _results.session(self._send("Start", request, _LONG_S + wait_lease))
        return self._start_into(request, pathlib.Path(output), _LONG_S + wait_lease)

    @_checks
    def plan(self, collect=(), **asked):
        """What start() would collect, at which rates and at what expense, as a Session without a number; nothing is started.

        `collect` has "hbm", "llc:write", "pcie=20" (Hz); `preset`; `pids`; `devices` "all" or numbers; `all_agents`,
        `agent_labels`; `duration`, `delay` in seconds; `name`; `labels`; `steps` {"from_step", "skip_first", "wait",
        "warmup", "active", "repeat", "skip_first_wait", "round_up"}; `framework_options` {"with-stack": ""}; `storage_limit_bytes`; `flight_recorder`, `in_memory` kinds, `buffers` [(kinds, bytes)],
        `snapshot_on` "exit" or "crash"; `resume`; `on_full`."""
        return _results.session(self._call("Plan", _LONG_S, spec=self._spec(collect, **asked)))

    @staticmethod
    def _spec(collect=(), preset="", pids=(), devices=(), all_agents=False, agent_labels=None, duration=None, delay=None,
              name="", labels=None, steps=None, framework_options=None, storage_limit_bytes=0, flight_recorder=False, in_memory=(),
              buffers=(), snapshot_on=None, resume=False, on_full=None):
        spec = _wire.message("SessionSpec")()
        for item in _listed(collect):
            try:
                what, _, rate = item.partition("=")
                kind, _, mode = what.partition(":")
                spec.kinds.add(kind=kind, mode=mode, hz=float(rate or 0))
            except (AttributeError, ValueError):
                raise ValueError(f"collect: {item!r}: expected KIND, KIND:MODE or KIND=HZ as a text") from None
        if devices != "all" and isinstance(devices, str):
            raise ValueError(f"devices={devices!r}: expected 'all', or numbers")
        spec.all_devices = devices == "all"
        put = functools.partial(_wire.put, spec)
        put("devices", () if spec.all_devices else _listed(devices))
        for name, value in (("preset", preset), ("name", name), ("pids", _listed(pids)), ("all_agents", all_agents),
                            ("agent_labels", agent_labels or {}), ("labels", labels or {}), ("resume", resume),
                            ("framework_options", framework_options or {}),
                            ("storage_limit_bytes", storage_limit_bytes), ("flight_recorder", flight_recorder)):
            put(name, value)
        put("flight_recorder_kinds", _listed(in_memory), "in_memory")
        put("duration_ns", _ns("duration", duration or 0), "duration")
        put("delay_ns", _ns("delay", delay or 0), "delay")
        if steps:
            put("steps", _wire.request("StepSchedule", **steps) if isinstance(steps, dict) else steps)
        for buffer in _listed(buffers):
            try:
                kinds, size = buffer
            except (TypeError, ValueError):
                raise ValueError(f"buffers: {buffer!r}: expected (kinds, bytes)") from None
            spec.buffers.append(_wire.request("MemoryBuffer", kinds=_listed(kinds), bytes=size))
        if snapshot_on is not None:
            spec.snapshot_on = _wire.number("SnapshotOn", snapshot_on)
        if on_full is not None:
            spec.on_full = _wire.number("OnFull", on_full)
        return spec

    def _start_into(self, request, output, timeout):
        # The open directory goes through the door: profd writes with the caller's rights.
        if self._socket is None:
            raise ValueError("output: a directory can be given on the node itself only; leave it out and use fetch")
        output.mkdir(mode=0o750, exist_ok=True)
        request.spec.output = str(output.absolute())
        directory = os.open(output, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            door = self._at_door(directory)
        finally:
            os.close(directory)
        try:
            return _results.session(self._send("Start", request, timeout, door.ticket))
        finally:
            door.close()

    def stop(self, session="", pid=0, everything=False):
        """Stops one session, those of a process, or all; answers when they are on disk."""
        reply = self._call("Stop", _LONG_S, session=session, pid=pid, all=everything)
        return [_results.session(info) for info in reply.sessions]

    def status(self, session):
        return _results.session(self._call("Get", session=session))

    def list(self):
        """The newest first."""
        return [_results.session(info) for info in self._call("List").sessions]

    def watch(self, session, period=1.0):
        """Yields the session's state on every change and every `period` seconds; the last one is its result."""
        request = _request("WatchRequest", session=session, period_ms=_checks(_ms)("period", period))
        for info in self._stream("Watch", request, "SessionInfo"):
            yield _results.session(info)

    def live(self, kinds=(), period=1.0, since=0.0):
        """Yields lists of Value, of devices, host, processes and profd itself: `kinds`, or all; no session is needed. First what
        profd still knows of the last `since` seconds."""
        request = _request("LiveRequest", kinds=_listed(kinds), period_ms=_checks(_ms)("period", period),
                           since_ms=_checks(_ms)("since", since))
        for values in self._stream("Live", request, "LiveValues"):
            yield _results.values(values)

    def pause(self, session):
        """It stores nothing until resume(); nothing of that time counts as lost."""
        return _results.session(self._call("Pause", _LONG_S, session=session, paused=True))

    def resume(self, session):
        return _results.session(self._call("Pause", _LONG_S, session=session, paused=False))

    def snapshot(self, session, last=0):
        """Writes out what a flight recorder has in memory, `last` seconds back (0: all)."""
        return _results.session(self._call("Snapshot", _LONG_S, session=session, last_ns=_checks(_ns)("last", last)))

    def devices(self):
        return [_results.device(found) for found in self._call("Devices", 90).devices]

    def targets(self):
        return [_results.target(found) for found in self._call("Targets", 90).targets]

    def remove(self, session):
        """Removes from profd's spool what the session has left."""
        return _results.session(self._call("Remove", _LONG_S, session=session))

    def fetch(self, session, out):
        """Copies the directories of a session that has ended into `out`; their new paths. profctl fetch also goes on where an
        earlier attempt ended, and compares checksums; here the sizes must be right."""
        out = pathlib.Path(out)
        return [self._fetch_one(session, directory, out) for directory in self.status(session).directories]

    def _fetch_one(self, session, directory, out):
        target = out / os.path.basename(directory)
        under_way = out / f".fetching_{target.name}"
        under_way.mkdir(mode=0o750)
        file, request = None, _request("FetchRequest", session=session, directory=directory)
        for piece in self._stream("Fetch", request, "FetchPiece"):
            parts = pathlib.PurePosixPath(piece.path).parts
            if not parts or piece.path.startswith("/") or ".." in parts:
                raise Error("DATA_LOSS", f"profd sent a file '{piece.path}'")
            path = under_way.joinpath(*parts)
            if piece.path.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            if file is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                file = open(path, "xb")
            if file.tell() != piece.offset:
                raise Error("DATA_LOSS", f"{piece.path}: byte {piece.offset} came where {file.tell()} was expected")
            file.write(piece.data)
            if piece.end_of_file:
                file.close()
                file = None
        if file is not None:
            file.close()
            raise Error("DATA_LOSS", f"{target.name} ended in the middle of a file; fetch again")
        under_way.rename(target)
        return target

    def _at_door(self, output_fd=None):
        try:
            return _door.Door(self._socket, output_fd)
        except _door.Refused as refused:
            code = "RESOURCE_EXHAUSTED" if refused.is_busy else "UNAVAILABLE"
            raise _error(code, str(refused)) from None

    def _knock(self):
        if self._door is not None:
            self._door.close()
        self._door = self._at_door()

    def _metadata(self, ticket):
        ticket = ticket or (self._door.ticket if self._door is not None else None)
        return [("profd-ticket", ticket)] if ticket else None

    def _call(self, method, timeout=None, **fields):
        return self._send(method, _request(f"{method}Request", **fields), timeout or self._timeout)

    _REPLIES = {"Start": "SessionInfo", "Get": "SessionInfo", "Snapshot": "SessionInfo", "Remove": "SessionInfo",
                "Pause": "SessionInfo", "Plan": "SessionInfo"}

    def _send(self, method, request, timeout, ticket=None):
        reply = _wire.message(self._REPLIES.get(method, f"{method}Reply"))
        call = self._channel.unary_unary(f"/profd.v1.Control/{method}", type(request).SerializeToString, reply.FromString)
        try:
            return call(request, timeout=timeout, metadata=self._metadata(ticket))
        except grpc.RpcError as error:
            raise self._explain(error) from None

    def _stream(self, method, request, reply):
        call = self._channel.unary_stream(f"/profd.v1.Control/{method}", type(request).SerializeToString,
                                          _wire.message(reply).FromString)
        stream = call(request, metadata=self._metadata(None))
        try:
            yield from stream
        except grpc.RpcError as error:
            raise self._explain(error) from None
        finally:
            stream.cancel()

    def _explain(self, error):
        code = error.code().name
        if code == "UNIMPLEMENTED":
            return Unavailable(code, f"profd at {self._name} is older than this client and lacks the call")
        own_words = any(key == "grpc-status-details-bin" for key, _ in error.trailing_metadata() or ())
        if code == "DEADLINE_EXCEEDED":
            return Unavailable(code, error.details() if own_words else f"profd at {self._name} does not answer in time")
        if code == "UNAVAILABLE" and not own_words:
            return Unavailable(code, f"no connection to profd at {self._name}: {error.details()}")
        return _error(code, error.details())
