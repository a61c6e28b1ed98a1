"""What a client can do, by area: the attributes of a :class:`Client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TypeVar

from google.protobuf.message import Message

from ..counters import KINDS, Counters, Kind, Rates
from ..module import Chain, Command, Module, Stop, name_of
from ..pipeline import Pipeline
from ..port import Port, port_name
from ..proto import bess, v1
from ..records import (
    Change,
    ClassInfo,
    ClassUsage,
    LinkStatus,
    ModuleEntry,
    ModuleInfo,
    Pool,
    PortEntry,
    PortSettings,
    PortStats,
    TreeNode,
    Violations,
    WorkerStatus,
)
from ..traffic import Class, Resource, Task, Worker
from ..wrap import wrap
from .calls import Calls

__all__ = ["Classes", "Modules", "PipelineFace", "Ports", "Stats", "Workers"]

R = TypeVar("R", bound="Message | None")


class _Face:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def _do(self, method: str, request: Message | None = None) -> None:
        await self._calls.bess(method, request or bess.EmptyRequest(), bess.EmptyResponse)


class Modules(_Face):
    """Modules and the gates that join them."""

    async def classes(self) -> tuple[str, ...]:
        """Names of the classes that this daemon can make."""
        return tuple((await self._calls.bess("ListMclass", bess.EmptyRequest(), bess.ListMclassResponse)).names)

    async def class_info(self, mclass: str) -> ClassInfo:
        """What a class is for, and its commands."""
        request = bess.GetMclassInfoRequest(name=mclass)
        info = await self._calls.bess("GetMclassInfo", request, bess.GetMclassInfoResponse)
        return ClassInfo(info.name, info.help, dict(zip(info.cmds, info.cmd_args, strict=True)))

    async def all(self) -> tuple[ModuleEntry, ...]:
        """All modules."""
        got = await self._calls.bess("ListModules", bess.EmptyRequest(), bess.ListModulesResponse)
        return tuple(ModuleEntry(one.name, one.mclass, one.desc) for one in got.modules)

    async def info(self, module: Module | str) -> ModuleInfo:
        """Gates, counters and attributes of a module."""
        request = bess.GetModuleInfoRequest(name=name_of(module))
        return ModuleInfo.of(await self._calls.bess("GetModuleInfo", request, bess.GetModuleInfoResponse))

    async def create(self, module: Module) -> str:
        """Makes a module and says its name, which is noted in ``module`` too.

        Raises:
            AlreadyExists: There is one of that name.
            NotFound: The daemon has no such class, or the port is not there.
            Invalid: Something is wrong with its argument.
        """
        made = await self._calls.bess("CreateModule", module.request(), bess.CreateModuleResponse)
        module.name = made.name
        return made.name

    async def destroy(self, module: Module | str) -> None:
        """Removes a module with its connections."""
        await self._do("DestroyModule", bess.DestroyModuleRequest(name=name_of(module)))

    async def connect(
        self, upstream: Module | str, downstream: Module | str, *, ogate: int = 0, igate: int = 0
    ) -> None:
        """Leads an output gate to an input gate.

        Raises:
            Busy: The output gate leads somewhere already.
            Invalid: A module has no such gate.
        """
        request = bess.ConnectModulesRequest(m1=name_of(upstream), m2=name_of(downstream), ogate=ogate, igate=igate)
        await self._do("ConnectModules", request)

    async def disconnect(self, module: Module | str, *, ogate: int = 0) -> None:
        """Takes the connection of an output gate away."""
        await self._do("DisconnectModules", bess.DisconnectModulesRequest(name=name_of(module), ogate=ogate))

    async def run(self, module: Module | str, command: Command[R]) -> R:
        """Runs a command, such as ``Queue.set_burst(burst=8)``; gives its answer, None where it has none.

        Raises:
            Unsupported: The class has no such command.
            Invalid: Something is wrong with its argument.
        """
        request = bess.CommandRequest(name=name_of(module), cmd=command.name)
        wrap(command.arg).put_into(request.arg)
        got = await self._calls.bess("ModuleCommand", request, bess.CommandResponse)
        if command.answer is None:
            return None  # type: ignore[return-value]
        return wrap(got.data).parsed(command.answer)  # type: ignore[type-var]

    async def reset(self) -> None:
        """Removes all modules."""
        await self._do("ResetModules")


class Ports(_Face):
    """Ports: where packets come from and go to."""

    async def drivers(self) -> tuple[str, ...]:
        """Names of the drivers that this daemon has."""
        got = await self._calls.bess("ListDrivers", bess.EmptyRequest(), bess.ListDriversResponse)
        return tuple(got.driver_names)

    async def driver_info(self, driver: str) -> ClassInfo:
        """What a driver is for."""
        request = bess.GetDriverInfoRequest(driver_name=driver)
        info = await self._calls.bess("GetDriverInfo", request, bess.GetDriverInfoResponse)
        return ClassInfo(info.name, info.help, dict.fromkeys(info.commands, ""))

    async def all(self) -> tuple[PortEntry, ...]:
        """All ports."""
        got = await self._calls.bess("ListPorts", bess.EmptyRequest(), bess.ListPortsResponse)
        return tuple(PortEntry.of(one) for one in got.ports)

    async def create(self, port: Port) -> str:
        """Opens a port and says its name, which is noted in ``port`` too."""
        made = await self._calls.bess("CreatePort", port.request(), bess.CreatePortResponse)
        port.name = made.name
        return made.name

    async def destroy(self, port: Port | str) -> None:
        """Closes a port.

        Raises:
            Busy: A module uses it.
        """
        await self._do("DestroyPort", bess.DestroyPortRequest(name=port_name(port)))

    async def settings(self, port: Port | str) -> PortSettings:
        """Its address, MTU and state."""
        request = bess.GetPortConfRequest(name=port_name(port))
        conf = (await self._calls.bess("GetPortConf", request, bess.GetPortConfResponse)).conf
        return PortSettings(conf.mac_addr, conf.mtu, conf.admin_up)

    async def configure(self, port: Port | str, *, mac: str = "", mtu: int = 0, is_up: bool = True) -> None:
        """Changes a port; an empty address and an MTU of 0 (bytes) leave what is."""
        conf = bess.PortConf(mac_addr=mac, mtu=mtu, admin_up=is_up)
        request = bess.SetPortConfRequest(name=port_name(port), conf=conf)
        await self._calls.bess("SetPortConf", request, bess.CommandResponse)

    async def stats(self, port: Port | str) -> PortStats:
        """What went through a port."""
        request = bess.GetPortStatsRequest(name=port_name(port))
        return PortStats.of(await self._calls.bess("GetPortStats", request, bess.GetPortStatsResponse))

    async def link(self, port: Port | str) -> LinkStatus:
        """The state of a port's link."""
        request = bess.GetLinkStatusRequest(name=port_name(port))
        got = await self._calls.bess("GetLinkStatus", request, bess.GetLinkStatusResponse)
        return LinkStatus(got.speed, got.full_duplex, got.autoneg, got.link_up)

    async def pools(self, node: int = -1) -> tuple[Pool, ...]:
        """How full the packet pools are: of one NUMA node, or of all."""
        got = await self._calls.bess("DumpMempool", bess.DumpMempoolRequest(socket=node), bess.DumpMempoolResponse)
        return tuple(Pool(one.socket, one.mp_size, one.mp_available_count, one.mp_in_use_count) for one in got.dumps)

    async def reset(self) -> None:
        """Closes all ports.

        Raises:
            Busy: A module uses one.
        """
        await self._do("ResetPorts")


class Workers(_Face):
    """Workers: threads that run pipelines."""

    async def all(self) -> tuple[WorkerStatus, ...]:
        """All workers, by number."""
        got = await self._calls.bess("ListWorkers", bess.EmptyRequest(), bess.ListWorkersResponse)
        return tuple(WorkerStatus.of(one) for one in got.workers_status)

    async def add(self, worker: Worker) -> None:
        """Starts a worker.

        Raises:
            AlreadyExists: There is one of that number.
        """
        await self._do("AddWorker", worker.request())

    async def destroy(self, wid: int) -> None:
        """Ends a worker; what it ran goes to others, or waits."""
        await self._do("DestroyWorker", bess.DestroyWorkerRequest(wid=wid))

    async def pause(self, wid: int | None = None) -> None:
        """Pauses one worker, or all. No change needs it."""
        if wid is None:
            await self._do("PauseAll")
        else:
            await self._do("PauseWorker", bess.PauseWorkerRequest(wid=wid))

    async def resume(self, wid: int | None = None) -> None:
        """Takes the pause of one worker, or of all, back."""
        if wid is None:
            await self._do("ResumeAll")
        else:
            await self._do("ResumeWorker", bess.ResumeWorkerRequest(wid=wid))

    async def reset(self) -> None:
        """Removes all workers."""
        await self._do("ResetWorkers")


class Classes(_Face):
    """Traffic classes: how workers share their time."""

    async def all(self, wid: int | None = None) -> tuple[TreeNode, ...]:
        """Classes and tasks of one worker or of all, parents before children."""
        request = bess.ListTcsRequest(wid=-1 if wid is None else wid)
        got = await self._calls.bess("ListTcs", request, bess.ListTcsResponse)
        return tuple(TreeNode.of(one) for one in got.classes_status)

    async def add(self, new: Class) -> None:
        """Adds a class.

        Raises:
            AlreadyExists: There is one of that name.
            NotFound: Its parent or its worker is not there.
        """
        await self._do("AddTc", bess.AddTcRequest(**{"class": new.record()}))

    async def move(self, subject: Class | Task) -> None:
        """Puts a class or a task where it says that it is now."""
        await self._do("UpdateTcParent", bess.UpdateTcParentRequest(**{"class": subject.record()}))

    async def change(
        self,
        name: str,
        *,
        resource: Resource | None = None,
        limits: Mapping[Resource, int] | None = None,
        max_bursts: Mapping[Resource, int] | None = None,
        priority: int | None = None,
        share: int | None = None,
    ) -> None:
        """Changes a class; what is not given stays. Limits are units a second, 0 for none."""
        record = bess.TrafficClass(name=name, wid=-1, resource=resource or "", priority=priority)
        if share is not None:
            record.share = share
        for resource_name, limit in (limits or {}).items():
            record.limit[resource_name] = limit
        for resource_name, burst in (max_bursts or {}).items():
            record.max_burst[resource_name] = burst
        await self._do("UpdateTcParams", bess.UpdateTcParamsRequest(**{"class": record}))

    async def usage(self, name: str) -> ClassUsage:
        """What a class has used."""
        got = await self._calls.bess("GetTcStats", bess.GetTcStatsRequest(name=name), bess.GetTcStatsResponse)
        return ClassUsage(got.timestamp, got.count, got.cycles, got.packets, got.bits)

    async def check(self) -> Violations:
        """Whether modules are placed on workers as they allow."""
        answer = bess.CheckSchedulingConstraintsResponse
        got = await self._calls.bess("CheckSchedulingConstraints", bess.EmptyRequest(), answer)
        classes = tuple(one.name for one in got.violations)
        return Violations(got.fatal, classes, tuple(one.name for one in got.modules))

    async def reset(self) -> None:
        """Removes all classes; the daemon places their tasks."""
        await self._do("ResetTcs")


class PipelineFace(_Face):
    """The pipeline as a whole."""

    async def replace(self, pipeline: Pipeline, *, check_only: bool = False) -> Change:
        """Puts a whole pipeline in the place of the one that runs, in one transaction: all of it, or nothing.

        Modules and ports that are as they were keep their state, tables and packets. With ``check_only`` it says what
        would change, and nothing does.

        Raises:
            Refused: Something is wrong with it; what runs is as it was.
        """
        request = v1.ReplacePipelineRequest(pipeline=pipeline.spec(), check_only=check_only)
        return Change.of(await self._calls.own("ReplacePipeline", request, v1.ReplacePipelineResponse))

    async def show(self) -> Pipeline:
        """The pipeline that runs, in a form in which it can be put back."""
        got = await self._calls.own("ShowPipeline", v1.ShowPipelineRequest(), v1.ShowPipelineResponse)
        return Pipeline.from_spec(got.pipeline)

    async def add(self, *parts: Module | Stop | Chain) -> None:
        """Adds modules to what runs, one call after the other, as a script of BESS does.

        Ports that the modules stand at are opened first. Modules and ports that have no name are given one by the
        daemon. If one is refused, those before it are there.
        """
        modules = {id(module): module for part in parts for module in Chain.of(part).modules()}
        ports = {id(module.port): module.port for module in modules.values() if module.port is not None}
        for port in ports.values():
            await Ports(self._calls).create(port)
        for module in modules.values():
            await Modules(self._calls).create(module)
        for module in modules.values():
            for link in module.links:
                if link.upstream is module:
                    await self._do("ConnectModules", link.request())


class Stats(_Face):
    """Counters, again and again."""

    async def watch(self, interval: float = 1.0, kinds: Iterable[Kind] = ()) -> AsyncIterator[Counters]:
        """Counters every ``interval`` seconds (0.1 to 3600), of these kinds or of all, until the daemon ends.

        Raises:
            Invalid: The interval is out of range.
            Unreachable: The daemon ended.
        """
        request = v1.WatchRequest(interval_ms=round(interval * 1000), kinds=[KINDS[kind] for kind in kinds])
        async for record in self._calls.stream("Watch", request, v1.WatchResponse):
            yield Counters.of(record)

    async def rates(self, interval: float = 1.0, kinds: Iterable[Kind] = ()) -> AsyncIterator[Rates]:
        """The same by the second, over each interval."""
        earlier: Counters | None = None
        async for counters in self.watch(interval, kinds):
            if earlier is not None and counters.monotonic_s > earlier.monotonic_s:
                yield counters.since(earlier)
            earlier = counters
