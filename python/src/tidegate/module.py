"""A module as it is asked for, and how modules are joined; their classes are in :mod:`tidegate.modules`.

``>>`` leads an output gate to an input gate. Gate 0 is meant where none is named; ``m[o]`` means output gate ``o``,
``m[i:]`` input gate ``i``, ``m[i:o]`` both::

    source >> split
    split[0] >> nat[0:0] >> out          # into gate 0, out of gate 0
    split[1] >> nat[1:1] >> back         # into gate 1, out of gate 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from google.protobuf.message import Message

from .port import Port
from .proto import bess
from .wrap import Wrapped, wrap

__all__ = ["GATES_MAX", "Chain", "Command", "Link", "Module", "Stop", "name_of"]

GATES_MAX = 8192
"""Gates that a module may have in each direction."""

A = TypeVar("A", bound=Message | None)


@dataclass(frozen=True)
class Command(Generic[A]):
    """A command of a module, to be run by ``client.modules.run``.

    Attributes:
        name: Its name.
        arg: Its argument, if it takes one.
        answer: The message that it answers with, if it does.
    """

    name: str
    arg: Message | None
    answer: type[A] | None


class Module:
    """A module of any class.

    The classes of :mod:`tidegate.modules` have typed parameters; this one is for classes that they do not know::

        Module("MyClass", name="mine", arg=some_message)

    Attributes:
        class_name: The class's name.
        name: The module's name; empty until one is chosen, by the pipeline or by the daemon.
        port: The port that it stands at, where a :class:`~tidegate.port.Port` was given.
    """

    mclass: ClassVar[str] = ""
    short_name: ClassVar[str] = ""
    inputs: ClassVar[int] = GATES_MAX
    outputs: ClassVar[int] = GATES_MAX

    def __init__(self, class_name: str, *, name: str = "", arg: Message | Wrapped | None = None) -> None:
        self.class_name = class_name
        self.name = name
        self.port: Port | None = None
        self._arg = arg
        self.links: list[Link] = []
        """Where it leads, and what leads to it."""

    @property
    def arg(self) -> Wrapped:
        """Its argument as it travels, with the name that its port has by now."""
        if self.port is not None and isinstance(self._arg, Message):
            setattr(self._arg, "port", self.port.name)
        return wrap(self._arg)

    def request(self) -> bess.CreateModuleRequest:
        """The call that makes it."""
        request = bess.CreateModuleRequest(name=self.name, mclass=self.class_name)
        self.arg.put_into(request.arg)
        return request

    def __getitem__(self, gate: int | slice) -> Stop:
        """The module at certain gates: ``m[o]``, ``m[i:]`` or ``m[i:o]``; looked at when they are joined.

        Raises:
            ValueError: A step was given.
        """
        if isinstance(gate, slice):
            if gate.step is not None:
                raise ValueError("gates are written m[output], m[input:] or m[input:output]")
            return Stop(self, gate.start or 0, gate.stop or 0)
        return Stop(self, 0, gate)

    def __rshift__(self, other: Module | Stop | Chain) -> Chain:
        """Leads output gate 0 to the other's input gate."""
        return Chain.of(self) >> other

    def __repr__(self) -> str:
        return f"<{self.class_name} {self.name or '(unnamed)'}>"


@dataclass(frozen=True)
class Stop:
    """A module on a packet's way: the gates that it comes in and goes out by."""

    module: Module
    igate: int
    ogate: int

    def __rshift__(self, other: Module | Stop | Chain) -> Chain:
        """Leads the output gate to the other's input gate."""
        return Chain.of(self) >> other


@dataclass(frozen=True)
class Link:
    """An output gate that leads to an input gate."""

    upstream: Module
    ogate: int
    downstream: Module
    igate: int

    def request(self) -> bess.ConnectModulesRequest:
        """The call that makes it."""
        return bess.ConnectModulesRequest(
            m1=self.upstream.name, m2=self.downstream.name, ogate=self.ogate, igate=self.igate
        )

    def __str__(self) -> str:
        return f"{self.upstream.name}:{self.ogate} -> {self.igate}:{self.downstream.name}"


@dataclass(frozen=True)
class Chain:
    """Modules that were joined by ``>>``: where packets come in, and where they go out."""

    first: Stop
    last: Stop

    @staticmethod
    def of(one: Module | Stop | Chain) -> Chain:
        """A chain of one module, unless it is one already."""
        if isinstance(one, Chain):
            return one
        stop = one if isinstance(one, Stop) else Stop(one, 0, 0)
        return Chain(stop, stop)

    def __rshift__(self, other: Module | Stop | Chain) -> Chain:
        """Joins the two.

        Raises:
            ValueError: A class has no such gate, or the output gate leads elsewhere already.
        """
        other = Chain.of(other)
        join(self.last.module, self.last.ogate, other.first.module, other.first.igate)
        return Chain(self.first, other.last)

    def modules(self) -> Iterator[Module]:
        """Every module that is joined to it, directly or not; its own first one first."""
        seen: dict[int, Module] = {}
        waiting = [self.first.module]
        while waiting:
            module = waiting.pop(0)
            if id(module) in seen:
                continue
            seen[id(module)] = module
            yield module
            for link in module.links:
                waiting.append(link.downstream if link.upstream is module else link.upstream)


def join(upstream: Module, ogate: int, downstream: Module, igate: int) -> Link:
    """Leads a gate to a gate.

    Raises:
        ValueError: A class has no such gate, or the output gate leads elsewhere already.
    """
    _check("output", upstream, ogate, upstream.outputs)
    _check("input", downstream, igate, downstream.inputs)
    link = Link(upstream, ogate, downstream, igate)
    for other in upstream.links:
        if other.upstream is upstream and other.ogate == ogate:
            raise ValueError(f"output gate {ogate} of {upstream!r} leads to {other.downstream!r} already")
    upstream.links.append(link)
    if downstream is not upstream:
        downstream.links.append(link)
    return link


def _check(direction: str, module: Module, gate: int, count: int) -> None:
    if not 0 <= gate < count:
        has = f"it has {direction} gates 0 to {count - 1}" if count else f"it has no {direction} gates"
        raise ValueError(f"{module!r} has no {direction} gate {gate}: {has}")


def name_of(module: Module | str) -> str:
    """The name of a module, or the name itself."""
    return module.name if isinstance(module, Module) else module
