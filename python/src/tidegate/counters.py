"""Counters as the daemon tells them again and again, and rates from two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, TypeVar

from .proto import v1

__all__ = ["ClassCounters", "Counters", "Gate", "GateCounters", "Kind", "ModuleCounters", "PortCounters", "Rates"]

Kind = Literal["gates", "modules", "classes", "ports"]
"""What is counted."""

KINDS: dict[Kind, int] = {"gates": 1, "modules": 2, "classes": 3, "ports": 4}


class Gate(NamedTuple):
    """A gate: ``direction`` is ``input`` or ``output``."""

    module: str
    direction: str
    number: int


@dataclass(frozen=True)
class GateCounters:
    """What went through a gate; ``bytes`` is 0 where no hook on the gate counts them."""

    batches: float
    packets: float
    bytes: float


@dataclass(frozen=True)
class ModuleCounters:
    """What a module took: its time in ``cycles``, packets, and packets that left by gates which lead nowhere."""

    cycles: float
    packets: float
    deadend_packets: float


@dataclass(frozen=True)
class ClassCounters:
    """What a class and all below it used; ``throttled`` is how often its limit held it back."""

    count: float
    cycles: float
    packets: float
    bits: float
    throttled: float


@dataclass(frozen=True)
class PortCounters:
    """What went through a port, seen from the port."""

    received_packets: float
    received_bytes: float
    received_dropped: float
    sent_packets: float
    sent_bytes: float
    sent_dropped: float


C = TypeVar("C", GateCounters, ModuleCounters, ClassCounters, PortCounters)
K = TypeVar("K")


@dataclass(frozen=True)
class Rates:
    """The same by the second, over ``seconds``."""

    seconds: float
    gates: dict[Gate, GateCounters]
    modules: dict[str, ModuleCounters]
    classes: dict[tuple[int, str], ClassCounters]
    ports: dict[str, PortCounters]


@dataclass(frozen=True)
class Counters:
    """All counters at one moment. They only rise.

    Attributes:
        timestamp: Seconds since 1970.
        monotonic_s: Seconds of a clock that never steps back; rates are made with it.
        gates: By gate.
        modules: By module.
        drops: By module: packets that were not served, by reason.
        classes: By worker and class.
        ports: By port.
    """

    timestamp: float
    monotonic_s: float
    gates: dict[Gate, GateCounters]
    modules: dict[str, ModuleCounters]
    drops: dict[str, dict[str, int]]
    classes: dict[tuple[int, str], ClassCounters]
    ports: dict[str, PortCounters]

    @staticmethod
    def of(record: v1.WatchResponse) -> Counters:
        """The record of the protocol as this one."""
        directions = {1: "input", 2: "output"}
        return Counters(
            record.timestamp,
            record.monotonic_s,
            {
                Gate(one.module, directions.get(one.direction, ""), one.gate): GateCounters(
                    one.batches, one.packets, one.bytes
                )
                for one in record.gates
            },
            {one.module: ModuleCounters(one.cycles, one.packets, one.deadend_packets) for one in record.modules},
            {one.module: {drop.reason: drop.packets for drop in one.drops} for one in record.modules},
            {
                # `class` is a keyword: the field has no other way.
                (one.wid, getattr(one, "class")): ClassCounters(
                    one.count, one.cycles, one.packets, one.bits, one.throttled
                )
                for one in record.classes
            },
            {
                one.port: PortCounters(
                    one.received.packets,
                    one.received.bytes,
                    one.received.dropped,
                    one.sent.packets,
                    one.sent.bytes,
                    one.sent.dropped,
                )
                for one in record.ports
            },
        )

    def since(self, earlier: Counters) -> Rates:
        """Rates by the second since an earlier moment; what was made in between counts from 0.

        Raises:
            ValueError: ``earlier`` is not earlier.
        """
        seconds = self.monotonic_s - earlier.monotonic_s
        if seconds <= 0:
            raise ValueError("rates need an earlier moment")
        return Rates(
            seconds,
            _by_second(self.gates, earlier.gates, seconds),
            _by_second(self.modules, earlier.modules, seconds),
            _by_second(self.classes, earlier.classes, seconds),
            _by_second(self.ports, earlier.ports, seconds),
        )


def _by_second(now: Mapping[K, C], then: Mapping[K, C], seconds: float) -> dict[K, C]:
    return {key: _difference(counters, then.get(key), seconds) for key, counters in now.items()}


def _difference(now: C, then: C | None, seconds: float) -> C:
    # What was taken away and made anew under the same name counts from 0 again.
    def rate(name: str) -> float:
        before: float = getattr(then, name, 0)
        after: float = getattr(now, name)
        return (after - before if after >= before else after) / seconds

    return type(now)(*(rate(field.name) for field in fields(now)))
