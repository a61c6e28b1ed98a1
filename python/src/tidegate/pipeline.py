"""A whole pipeline as data: built here, put in place by the daemon in one transaction, and shown in the same form.

::

    source, queue, sink = Source(), Queue(size=64), Sink()
    pipeline = Pipeline(source >> queue >> sink, workers=[Worker(0, core=1)])
    client.pipeline.replace(pipeline)
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TypeVar

from . import drivers, modules
from .module import Chain, Link, Module, Stop, join
from .port import Port
from .proto import bess, v1
from .traffic import Class, Task, Worker, class_from, task_from
from .wrap import wrap

__all__ = ["Pipeline"]

N = TypeVar("N", Module, Port)


class Pipeline:
    """Modules with their connections, and the ports, workers and classes that they need.

    Args:
        parts: Modules or chains of them; whatever is joined to one of them belongs to the pipeline too. Ports that its
            modules stand at are taken along.
        ports: Further ports.
        workers: Workers; none for one that the daemon starts.
        classes: Traffic classes, parents before children.
        tasks: Places for tasks; what is not placed, the daemon places.

    Names are given where there are none: the class's short name and the first number that is free.

    Raises:
        ValueError: A name stands twice.

    Attributes:
        modules: Modules by name.
        ports: Ports by name.
    """

    def __init__(
        self,
        *parts: Module | Stop | Chain,
        ports: Iterable[Port] = (),
        workers: Iterable[Worker] = (),
        classes: Iterable[Class] = (),
        tasks: Iterable[Task] = (),
    ) -> None:
        found = {id(module): module for part in parts for module in Chain.of(part).modules()}
        stood_at = [module.port for module in found.values() if module.port is not None]
        every_port = {id(port): port for port in [*ports, *stood_at]}
        self.modules: dict[str, Module] = _named("module", found.values())
        self.ports: dict[str, Port] = _named("port", every_port.values())
        self.workers: list[Worker] = list(workers)
        self.classes: list[Class] = list(classes)
        self.tasks: list[Task] = list(tasks)

    @property
    def links(self) -> list[Link]:
        """Every connection, by upstream module and output gate."""
        links = (link for module in self.modules.values() for link in module.links if link.upstream is module)
        return sorted(links, key=lambda link: (link.upstream.name, link.ogate))

    def spec(self) -> v1.PipelineSpec:
        """The pipeline as the protocol has it."""
        return v1.PipelineSpec(
            workers=[worker.request() for worker in self.workers],
            ports=[port.request() for port in self.ports.values()],
            modules=[module.request() for module in self.modules.values()],
            connections=[link.request() for link in self.links],
            classes=[one.record() for one in self.classes],
            tasks=[task.record() for task in self.tasks],
        )

    @classmethod
    def from_spec(cls, spec: v1.PipelineSpec) -> Pipeline:
        """The pipeline that a record of the protocol is."""
        by_name = {request.name: _module(request) for request in spec.modules}
        for link in spec.connections:
            join(by_name[link.m1], link.ogate, by_name[link.m2], link.igate)
        return cls(
            *by_name.values(),
            ports=[_port(request) for request in spec.ports],
            workers=[Worker(worker.wid, worker.core) for worker in spec.workers],
            classes=[class_from(record) for record in spec.classes],
            tasks=[task_from(record) for record in spec.tasks],
        )

    def __str__(self) -> str:
        lines = [f"{module.name}::{module.class_name}" for module in self.modules.values()]
        return "\n".join([*lines, *(str(link) for link in self.links)])


def _named(what: str, things: Iterable[N]) -> dict[str, N]:
    things = list(things)
    taken = {thing.name for thing in things if thing.name}
    named: dict[str, N] = {}
    for thing in things:
        if not thing.name:
            prefix = thing.short_name or type(thing).__name__.lower()
            thing.name = next(name for n in count() if (name := f"{prefix}{n}") not in taken)
            taken.add(thing.name)
        if thing.name in named:
            raise ValueError(f"{what} {thing.name} stands in the pipeline twice")
        named[thing.name] = thing
    return named


def _port(request: bess.CreatePortRequest) -> Port:
    port = Port(
        request.driver,
        name=request.name,
        rx_queues=request.num_inc_q,
        tx_queues=request.num_out_q,
        rx_descriptors=request.size_inc_q,
        tx_descriptors=request.size_out_q,
        arg=wrap(request.arg),
    )
    port.__class__ = drivers.BY_NAME.get(request.driver, Port)
    return port


def _module(request: bess.CreateModuleRequest) -> Module:
    module = Module(request.mclass, name=request.name, arg=wrap(request.arg))
    module.__class__ = modules.BY_NAME.get(request.mclass, Module)
    return module
