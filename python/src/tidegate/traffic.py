"""Traffic classes: how a worker's time is shared among the tasks of its modules.

Classes form a tree for each worker. A task (what a ``Source``, ``PortInc`` or ``Queue`` has) is a leaf of it::

    classes = [
        WeightedFair("root", resource="packet", worker=0),
        RateLimit("slow", resource="bit", limit=10_000_000, max_burst=100_000, parent="root", share=1),
    ]
    tasks = [Task(source, parent="slow"), Task(other, parent="root", share=3)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from .module import Module, name_of
from .proto import bess

__all__ = [
    "ANY_WORKER",
    "Class",
    "Priority",
    "RateLimit",
    "Resource",
    "RoundRobinTurns",
    "Task",
    "WeightedFair",
    "Worker",
    "class_from",
    "task_from",
]

Resource = Literal["count", "cycle", "packet", "bit"]
"""What is shared or limited: times scheduled, processor cycles, packets, or bits of packets."""

ANY_WORKER = -1
"""A worker of the daemon's choice."""


@dataclass(frozen=True)
class Worker:
    """A worker: a thread on a core of its own.

    Attributes:
        wid: Its number, 0 to 63.
        core: The core that it is pinned to.
    """

    wid: int
    core: int = 0

    def request(self) -> bess.AddWorkerRequest:
        """The call that starts it."""
        return bess.AddWorkerRequest(wid=self.wid, core=self.core)


@dataclass(frozen=True)
class _Place:
    """Where a class or a task is in the trees.

    Attributes:
        parent: The class above; None for the root of a worker's tree.
        worker: The worker, for a root; ``ANY_WORKER`` for one that the daemon chooses.
        priority: Below a ``Priority`` class: 0 comes first.
        share: Below a ``WeightedFair`` class, at least 1: more is more.
    """

    parent: str | None = None
    worker: int = ANY_WORKER
    priority: int | None = None
    share: int | None = None

    def _record(self) -> bess.TrafficClass:
        return bess.TrafficClass(
            parent=self.parent or "",
            wid=ANY_WORKER if self.parent else self.worker,
            priority=self.priority,
            share=self.share if self.priority is None else None,
        )


@dataclass(frozen=True)
class _Named:
    name: str


@dataclass(frozen=True)
class Class(_Place, _Named):
    """A class of any policy."""

    policy: ClassVar[str] = ""

    def record(self) -> bess.TrafficClass:
        """The class as the protocol has it."""
        record = self._record()
        record.name = self.name
        record.policy = self.policy
        return record


@dataclass(frozen=True)
class Priority(Class):
    """The first of its children that has something to do, by their ``priority``."""

    policy: ClassVar[str] = "priority"


@dataclass(frozen=True)
class RoundRobinTurns(Class):
    """Its children in turn."""

    policy: ClassVar[str] = "round_robin"


@dataclass(frozen=True)
class WeightedFair(Class):
    """Its children in proportion to their ``share`` of a resource."""

    policy: ClassVar[str] = "weighted_fair"
    resource: Resource = "packet"

    def record(self) -> bess.TrafficClass:
        """The class as the protocol has it."""
        record = super().record()
        record.resource = self.resource
        return record


@dataclass(frozen=True)
class RateLimit(Class):
    """One child, no faster than a token bucket lets it.

    Attributes:
        resource: What is limited.
        limit: Units of it a second; 0 for no limit.
        max_burst: Units that may be saved up.
    """

    policy: ClassVar[str] = "rate_limit"
    resource: Resource = "packet"
    limit: int = 0
    max_burst: int = 0

    def record(self) -> bess.TrafficClass:
        """The class as the protocol has it."""
        record = super().record()
        record.resource = self.resource
        record.limit[self.resource] = self.limit
        record.max_burst[self.resource] = self.max_burst
        return record


@dataclass(frozen=True)
class _OfModule:
    module: Module | str
    index: int = 0


@dataclass(frozen=True)
class Task(_Place, _OfModule):
    """A place for a module's task.

    Attributes:
        module: The module, or its name.
        index: Which of its tasks.
    """

    def record(self) -> bess.TrafficClass:
        """The task as the protocol has it."""
        record = self._record()
        record.leaf_module_name = name_of(self.module)
        record.leaf_module_taskid = self.index
        return record


def _place(record: bess.TrafficClass, parent: str) -> dict[str, object]:
    slot = record.WhichOneof("arg")
    return {
        "parent": parent or None,
        "worker": ANY_WORKER if parent else record.wid,
        "priority": record.priority if slot == "priority" else None,
        "share": record.share if slot == "share" else None,
    }


_POLICIES: dict[str, type[Class]] = {one.policy: one for one in (Priority, RoundRobinTurns, WeightedFair, RateLimit)}


def class_from(record: bess.TrafficClass, parent: str | None = None) -> Class:
    """The class that a record of the protocol is."""
    made = _POLICIES.get(record.policy, Class)(record.name)
    if isinstance(made, (WeightedFair, RateLimit)) and record.resource:
        made = replace(made, resource=_resource(record.resource))
    if isinstance(made, RateLimit):
        made = replace(
            made, limit=record.limit.get(record.resource, 0), max_burst=record.max_burst.get(record.resource, 0)
        )
    return replace(made, **_place(record, record.parent if parent is None else parent))  # type: ignore[arg-type]


def _resource(name: str) -> Resource:
    known: dict[str, Resource] = {"count": "count", "cycle": "cycle", "packet": "packet", "bit": "bit"}
    return known.get(name, "packet")


def task_from(record: bess.TrafficClass) -> Task:
    """The task that a record of the protocol is."""
    task = Task(record.leaf_module_name, record.leaf_module_taskid)
    return replace(task, **_place(record, record.parent))  # type: ignore[arg-type]
