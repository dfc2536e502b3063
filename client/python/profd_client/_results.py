"""What profd answers, as plain values; `message` has all of it, as proto/profd/v1 describes."""
import dataclasses

from . import _wire


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind on one unit: "host", "device:0", "pid:42". `verdict`: started, pending, skipped or failed, and `reason`."""

    kind: str
    unit: str
    verdict: str
    reason: str
    requested_hz: float
    effective_hz: float
    bytes: int
    records: int
    lost: int
    bytes_per_s: float = 0.0  # as expected before; 0 = nobody knows


@dataclasses.dataclass(frozen=True)
class Session:
    """`state`: pending, armed, running, stopping, sealed or failed. `degraded`: why it is less than asked for."""

    session: str
    name: str
    state: str
    end_reason: str
    error: str
    degraded: list
    warnings: list
    user: str
    labels: dict
    directory: str
    directories: list
    pids: list
    devices: list
    started_at: float  # seconds since 1970; 0 = not yet
    elapsed_s: float
    bytes: int
    lost: int
    kinds: list
    message: object = dataclasses.field(repr=False, compare=False)

    @property
    def has_ended(self):
        return self.state in ("sealed", "failed")


@dataclasses.dataclass(frozen=True)
class Device:
    device: int
    chip: str
    error: str
    kinds: list  # names of those that can be had
    message: object = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Target:
    """A process with an agent or an NPU; `attachable` or the `reason` why not."""

    pid: int
    user: str
    command_line: list
    labels: dict
    devices: list
    attachable: bool
    reason: str
    recording_by: str
    message: object = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Value:
    """One value at one moment; `name` as in metrics, `unit` is UCUM's."""

    name: str
    kind: str
    unit: str
    labels: dict
    value: float
    at: float  # when it was read, seconds since 1970


def values(newest):
    return [Value(metric.name, metric.kind, metric.unit, {label.name: label.value for label in one.labels}, one.value,
                  one.wall_ns / 1e9)
            for metric in newest.metrics for one in metric.values]


def session(info):
    kinds = [Kind(kind.kind, kind.unit, _wire.word("Verdict", kind.verdict), kind.reason, kind.requested_hz,
                  kind.effective_hz, kind.bytes, kind.records, kind.lost, kind.bytes_per_s) for kind in info.kinds]
    return Session(info.session, info.name, _wire.word("SessionState", info.state), _wire.word("EndReason", info.end_reason),
                   info.error, list(info.degraded), list(info.warnings), info.user, dict(info.labels), info.directory,
                   list(info.directories), list(info.pids), list(info.devices), info.start_wall_ns / 1e9,
                   info.elapsed_ns / 1e9, info.bytes, info.lost, kinds, info)


def device(found):
    return Device(found.device, found.chip, found.error, [kind.kind for kind in found.kinds if kind.available], found)


def target(found):
    return Target(found.pid, found.user, list(found.command_line), dict(found.labels), list(found.devices), found.attachable,
                  found.reason, found.recording_by, found)
