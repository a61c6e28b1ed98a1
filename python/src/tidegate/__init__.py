"""A client for the Tidegate daemon: pipelines of modules that change while packets flow.

::

    import tidegate
    from tidegate.modules import Queue, Sink, Source

    with tidegate.Client() as client:
        pipeline = tidegate.Pipeline(Source() >> Queue(size=64) >> Sink())
        client.pipeline.replace(pipeline)
        for rates in client.stats.rates(interval=1.0):
            print(rates.modules)

:class:`Client` waits for each answer; :class:`tidegate.aio.Client` is the same for :mod:`asyncio`. Module classes are
in :mod:`tidegate.modules`, port drivers in :mod:`tidegate.drivers`, gate hooks in :mod:`tidegate.hooks`. The
protocol's own messages are in :mod:`tidegate.proto`.
"""

from . import aio, drivers, hooks, modules
from .address import ADDRESS_DEFAULT
from .counters import Counters, Gate, Rates
from .errors import (
    AlreadyExists,
    Busy,
    DaemonFailed,
    Denied,
    Invalid,
    NoRoom,
    NotFound,
    Refused,
    TidegateError,
    TimedOut,
    Unreachable,
    Unsupported,
)
from .hook import GateHook
from .module import Chain, Command, Link, Module
from .pipeline import Pipeline
from .port import Port
from .sync import Client
from .traffic import ANY_WORKER, Class, Priority, RateLimit, RoundRobinTurns, Task, WeightedFair, Worker
from .values import attribute, bytes_at

__all__ = [
    "ADDRESS_DEFAULT",
    "ANY_WORKER",
    "AlreadyExists",
    "Busy",
    "Chain",
    "Class",
    "Client",
    "Command",
    "Counters",
    "DaemonFailed",
    "Denied",
    "Gate",
    "GateHook",
    "Invalid",
    "Link",
    "Module",
    "NoRoom",
    "NotFound",
    "Pipeline",
    "Port",
    "Priority",
    "RateLimit",
    "Rates",
    "Refused",
    "RoundRobinTurns",
    "Task",
    "TidegateError",
    "TimedOut",
    "Unreachable",
    "Unsupported",
    "WeightedFair",
    "Worker",
    "aio",
    "attribute",
    "bytes_at",
    "drivers",
    "hooks",
    "modules",
]
