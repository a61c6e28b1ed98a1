"""What the daemon tells of itself, as plain records."""

from __future__ import annotations

from dataclasses import dataclass

from .proto import bess, v1
from .traffic import Class, Task, class_from, task_from
from .wrap import Wrapped, wrap

__all__ = [
    "Attribute",
    "Change",
    "ClassInfo",
    "ClassUsage",
    "Direction",
    "HookInfo",
    "InputGate",
    "LinkStatus",
    "MetadataLayout",
    "ModuleEntry",
    "ModuleInfo",
    "OutputGate",
    "PlacedAttribute",
    "Pool",
    "PortEntry",
    "PortSettings",
    "PortStats",
    "Service",
    "StartedService",
    "TreeNode",
    "Violations",
    "WorkerStatus",
    "ZoneNews",
]


@dataclass(frozen=True)
class WorkerStatus:
    """A worker: ``silent_drops`` are packets that left by gates which lead nowhere."""

    wid: int
    core: int
    is_running: bool
    class_count: int
    silent_drops: int

    @staticmethod
    def of(record: bess.ListWorkersResponse.WorkerStatus) -> WorkerStatus:
        """The record of the protocol as this one."""
        return WorkerStatus(record.wid, record.core, record.running, record.num_tcs, record.silent_drops)


@dataclass(frozen=True)
class ClassInfo:
    """A module class, driver or hook: what it does, and its commands with the messages that they take."""

    name: str
    help: str
    commands: dict[str, str]


@dataclass(frozen=True)
class ModuleEntry:
    """A module among all."""

    name: str
    class_name: str
    description: str


@dataclass(frozen=True)
class InputGate:
    """An input gate: what leads to it, as (module, output gate), and what came by it so far."""

    gate: int
    upstream: tuple[tuple[str, int], ...]
    batches: int
    packets: int
    bytes: int
    hooks: tuple[str, ...]


@dataclass(frozen=True)
class OutputGate:
    """An output gate: where it leads, and what left by it so far; ``bytes`` is 0 where no hook counts them."""

    gate: int
    downstream: str
    igate: int
    batches: int
    packets: int
    bytes: int
    hooks: tuple[str, ...]


@dataclass(frozen=True)
class Attribute:
    """A metadata attribute of a module: ``size`` in bytes, ``mode`` read, write or update, ``offset`` in bytes into
    the area (negative: it has no place).
    """

    name: str
    size: int
    mode: str
    offset: int


@dataclass(frozen=True)
class ModuleInfo:
    """A module: its gates, its attributes, and packets that left by gates which lead nowhere."""

    name: str
    class_name: str
    description: str
    inputs: tuple[InputGate, ...]
    outputs: tuple[OutputGate, ...]
    attributes: tuple[Attribute, ...]
    deadends: int

    @staticmethod
    def of(record: bess.GetModuleInfoResponse) -> ModuleInfo:
        """The record of the protocol as this one."""
        inputs = [
            InputGate(
                gate.igate,
                tuple((up.name, up.ogate) for up in gate.ogates),
                gate.cnt,
                gate.pkts,
                gate.bytes,
                tuple(hook.hook_name for hook in gate.gatehooks),
            )
            for gate in record.igates
        ]
        outputs = [
            OutputGate(
                gate.ogate,
                gate.name,
                gate.igate,
                gate.cnt,
                gate.pkts,
                gate.bytes,
                tuple(hook.hook_name for hook in gate.gatehooks),
            )
            for gate in record.ogates
        ]
        attributes = [Attribute(one.name, one.size, one.mode, one.offset) for one in record.metadata]
        return ModuleInfo(
            record.name,
            record.mclass,
            record.desc,
            tuple(inputs),
            tuple(outputs),
            tuple(attributes),
            record.deadends,
        )


@dataclass(frozen=True)
class PortEntry:
    """A port among all: its address, its queues, and its driver's argument as it travels."""

    name: str
    driver: str
    mac: str
    rx_queues: int
    tx_queues: int
    rx_descriptors: int
    tx_descriptors: int
    arg: Wrapped

    @staticmethod
    def of(record: bess.ListPortsResponse.Port) -> PortEntry:
        """The record of the protocol as this one."""
        return PortEntry(
            record.name,
            record.driver,
            record.mac_addr,
            record.num_inc_q,
            record.num_out_q,
            record.size_inc_q,
            record.size_out_q,
            wrap(record.driver_arg),
        )


@dataclass(frozen=True)
class PortSettings:
    """A port's address, its MTU in bytes without the Ethernet header, and whether it is up."""

    mac: str
    mtu: int
    is_up: bool


@dataclass(frozen=True)
class Direction:
    """One direction of a port, seen from the port, so far."""

    packets: int
    bytes: int
    dropped: int


@dataclass(frozen=True)
class PortStats:
    """What went through a port until ``timestamp``, in seconds since 1970."""

    received: Direction
    sent: Direction
    timestamp: float

    @staticmethod
    def of(record: bess.GetPortStatsResponse) -> PortStats:
        """The record of the protocol as this one."""
        received = Direction(record.inc.packets, record.inc.bytes, record.inc.dropped)
        sent = Direction(record.out.packets, record.out.bytes, record.out.dropped)
        return PortStats(received, sent, record.timestamp)


@dataclass(frozen=True)
class LinkStatus:
    """A port's link; ``speed`` in Mbit/s, 0 where the driver cannot say."""

    speed: int
    is_full_duplex: bool
    has_autonegotiation: bool
    is_up: bool


@dataclass(frozen=True)
class Pool:
    """A packet pool: its NUMA node, its packets, and how many are free and in use."""

    node: int
    size: int
    available: int
    in_use: int


@dataclass(frozen=True)
class TreeNode:
    """A class or a task in a worker's tree."""

    name: str
    parent: str | None
    worker: int
    subject: Class | Task

    @staticmethod
    def of(record: bess.ListTcsResponse.TrafficClassStatus) -> TreeNode:
        """The record of the protocol as this one."""
        # `class` is a keyword: the field has no other way.
        one: bess.TrafficClass = getattr(record, "class")
        subject: Class | Task = task_from(one) if one.leaf_module_name else class_from(one, record.parent)
        return TreeNode(one.name, record.parent or None, one.wid, subject)


@dataclass(frozen=True)
class ClassUsage:
    """What a class and all below it used until ``timestamp``, in seconds since 1970."""

    timestamp: float
    count: int
    cycles: int
    packets: int
    bits: int


@dataclass(frozen=True)
class Violations:
    """What keeps the pipeline from being run as it is placed: classes and modules by name."""

    is_fatal: bool
    classes: tuple[str, ...]
    modules: tuple[str, ...]


@dataclass(frozen=True)
class HookInfo:
    """A hook that is on gates. ``module`` None is every module, ``gate`` None every gate of that direction."""

    class_name: str
    name: str
    module: str | None
    direction: str
    gate: int | None
    arg: Wrapped

    @staticmethod
    def of(record: bess.GateHookInfo) -> HookInfo:
        """The record of the protocol as this one."""
        direction = "input" if record.WhichOneof("gate") == "igate" else "output"
        gate = record.igate if direction == "input" else record.ogate
        return HookInfo(
            record.class_name,
            record.hook_name,
            record.module_name or None,
            direction,
            None if gate < 0 else gate,
            wrap(record.arg),
        )


@dataclass(frozen=True)
class Change:
    """What a replaced pipeline changed: names of modules and ports; ``notes`` say what is odd about its metadata."""

    kept: tuple[str, ...]
    created: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(record: v1.ReplacePipelineResponse) -> Change:
        """The record of the protocol as this one."""
        return Change(tuple(record.kept), tuple(record.created), tuple(record.removed), tuple(record.notes))


_ACCESS = {1: "read", 2: "write", 3: "update"}


@dataclass(frozen=True)
class PlacedAttribute:
    """An attribute as one module sees it: ``len`` in bytes; ``offset`` in bytes, None where nobody downstream reads
    it. Modules with the same ``scope`` share its place.
    """

    name: str
    len: int
    access: str
    offset: int | None
    scope: int


@dataclass(frozen=True)
class MetadataLayout:
    """Bytes of the metadata area that are used and that there are, and each module's attributes."""

    used_len: int
    area_len: int
    modules: dict[str, tuple[PlacedAttribute, ...]]

    @staticmethod
    def of(record: v1.ShowMetadataResponse) -> MetadataLayout:
        """The record of the protocol as this one."""
        modules = {
            one.module: tuple(
                PlacedAttribute(
                    attribute.name,
                    attribute.len,
                    _ACCESS.get(attribute.access, ""),
                    attribute.offset if attribute.HasField("offset") else None,
                    attribute.scope,
                )
                for attribute in one.attributes
            )
            for one in record.modules
        }
        return MetadataLayout(record.used_len, record.area_len, modules)


_STATES = {1: "starting", 2: "serving", 3: "draining", 4: "failed"}


@dataclass(frozen=True)
class Service:
    """A web or name server that the daemon runs; ``state`` is starting, serving, draining or failed (``reason`` says
    why), ``listens`` are addresses with ports.
    """

    kind: str
    name: str
    state: str
    reason: str
    device: str
    listens: tuple[str, ...]
    detail: Wrapped

    @staticmethod
    def of(record: v1.Service) -> Service:
        """The record of the protocol as this one."""
        return Service(
            record.kind,
            record.name,
            _STATES.get(record.state, ""),
            record.reason,
            record.device,
            tuple(record.listens),
            wrap(record.detail),
        )


@dataclass(frozen=True)
class StartedService:
    """What was started: ``notes`` name settings of its configuration that are the daemon's affair, and not taken."""

    name: str
    services: tuple[Service, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(record: v1.StartServiceResponse) -> StartedService:
        """The record of the protocol as this one."""
        return StartedService(record.name, tuple(Service.of(one) for one in record.services), tuple(record.notes))


@dataclass(frozen=True)
class ZoneNews:
    """A zone, read again: the ``serial`` that is served now, ``None`` for none, and why what its file holds is not."""

    service: str
    zone: str
    serial: int | None
    fault: str

    @staticmethod
    def of(record: v1.ZoneNews) -> ZoneNews:
        """The record of the protocol as this one."""
        serial = record.serial if record.HasField("serial") else None
        return ZoneNews(record.service, record.zone, serial, record.fault)
