"""The client."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from ..address import ADDRESS_DEFAULT, Address
from ..errors import Unreachable
from ..module import Module, name_of
from ..proto import bess, v1
from ..records import MetadataLayout, Service, StartedService, ZoneNews
from .calls import Calls
from .faces import Classes, Modules, PipelineFace, Ports, Stats, Workers
from .hooks import Hooks

__all__ = ["Client"]


class Client:
    """A client of a daemon.

    A connection is made with the first call, and again by itself after it broke.

    Args:
        address: ``host:port``, or the path of a Unix socket.
        timeout: Seconds that a call may take before :class:`~tidegate.TimedOut` is raised.

    Any call may raise :class:`~tidegate.Unreachable`, :class:`~tidegate.TimedOut`, or a :class:`~tidegate.Refused`
    with the daemon's errno and text.

    Attributes:
        modules: Modules and the gates that join them.
        ports: Ports.
        workers: Workers.
        classes: Traffic classes.
        hooks: Gate hooks.
        pipeline: The pipeline as a whole.
        stats: Counters and rates as a stream.
        calls: The calls themselves, for what has no better face.
    """

    def __init__(self, address: Address = ADDRESS_DEFAULT, *, timeout: float = 30.0) -> None:
        self.calls = Calls(address, timeout)
        self.modules = Modules(self.calls)
        self.ports = Ports(self.calls)
        self.workers = Workers(self.calls)
        self.classes = Classes(self.calls)
        self.hooks = Hooks(self.calls)
        self.pipeline = PipelineFace(self.calls)
        self.stats = Stats(self.calls)

    async def version(self) -> str:
        """The daemon's name and version."""
        return (await self.calls.bess("GetVersion", bess.EmptyRequest(), bess.VersionResponse)).version

    async def wait(self, seconds: float = 10.0) -> str:
        """Waits until the daemon answers, and gives its version.

        Raises:
            Unreachable: It did not within so many seconds.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                return await self.version()
            except Unreachable:
                if time.monotonic() >= end:
                    raise
            await asyncio.sleep(0.05)

    async def reset(self) -> None:
        """Removes modules, ports, classes and workers."""
        await self.calls.bess("ResetAll", bess.EmptyRequest(), bess.EmptyResponse)

    async def kill(self) -> None:
        """Ends the daemon, after this call is answered."""
        await self.calls.bess("KillBess", bess.EmptyRequest(), bess.EmptyResponse)

    async def metadata(self, modules: Iterable[Module | str] = ()) -> MetadataLayout:
        """Where metadata attributes lie: of these modules, or of all."""
        request = v1.ShowMetadataRequest(modules=[name_of(module) for module in modules])
        return MetadataLayout.of(await self.calls.own("ShowMetadata", request, v1.ShowMetadataResponse))

    async def services(self) -> tuple[Service, ...]:
        """Web and name servers that the daemon runs."""
        got = await self.calls.own("ListServices", v1.ListServicesRequest(), v1.ListServicesResponse)
        return tuple(Service.of(one) for one in got.services)

    async def start_service(
        self, config: str, *, name: str = "", directory: str | os.PathLike[str] = "/", workers: Iterable[int] = ()
    ) -> StartedService:
        """Starts the web and name servers of a configuration, beside what runs.

        Args:
            config: The configuration in TOML, as ``tidegate serve`` takes it.
            name: What to call it; empty for the first of service0, service1... that is free.
            directory: What relative paths in it are relative to, on the daemon's machine.
            workers: Workers to run it on beside what they run; none for workers of its own.

        Raises:
            Refused: It cannot be served; nothing is left of it.
        """
        request = v1.StartServiceRequest(name=name, config=config, directory=os.fspath(directory), workers=workers)
        return StartedService.of(await self.calls.own("StartService", request, v1.StartServiceResponse))

    async def stop_service(self, name: str, *, drain: float | None = None) -> int:
        """Ends a service, and waits until it is gone: how many connections were cut.

        Args:
            name: The service.
            drain: Seconds that connections may take to finish; as its configuration says unless given.
        """
        drain_ms = None if drain is None else round(drain * 1000)
        request = v1.StopServiceRequest(name=name, drain_ms=drain_ms)
        return (await self.calls.own("StopService", request, v1.StopServiceResponse)).cut_connections

    async def reload_zones(self, service: str = "", zone: str = "") -> tuple[ZoneNews, ...]:
        """Has name servers read zone files again: of one service and zone, or of all, and waits until they have."""
        request = v1.ReloadZonesRequest(service=service, zone=zone)
        got = await self.calls.own("ReloadZones", request, v1.ReloadZonesResponse)
        return tuple(ZoneNews.of(one) for one in got.zones)

    async def close(self) -> None:
        """Closes the connection."""
        await self.calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
