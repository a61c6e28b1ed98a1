"""Gate hooks, by client."""

from __future__ import annotations

from ..hook import GateHook
from ..module import Command, Module, name_of
from ..proto import bess
from ..records import ClassInfo, HookInfo
from ..wrap import Wrapped, wrap
from .calls import Calls

__all__ = ["Hooks"]


class Hooks:
    """Gate hooks: what looks at packets as they pass a gate.

    Where a hook goes: ``module`` None is every module; ``igate`` or ``ogate`` is the gate, -1 every gate of that
    direction. Output gates are meant where neither is given.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def classes(self) -> tuple[str, ...]:
        """Names of the classes that this daemon has."""
        got = await self._calls.bess("ListGateHookClass", bess.EmptyRequest(), bess.ListGateHookClassResponse)
        return tuple(got.names)

    async def class_info(self, class_name: str) -> ClassInfo:
        """What a class is for, and its commands."""
        request = bess.GetGateHookClassInfoRequest(name=class_name)
        info = await self._calls.bess("GetGateHookClassInfo", request, bess.GetGateHookClassInfoResponse)
        return ClassInfo(info.name, info.help, dict(zip(info.cmds, info.cmd_args, strict=True)))

    async def all(self) -> tuple[HookInfo, ...]:
        """Hooks that are on gates."""
        got = await self._calls.bess("ListGateHooks", bess.EmptyRequest(), bess.ListGateHooksResponse)
        return tuple(HookInfo.of(one) for one in got.hooks)

    async def enable(
        self,
        hook: GateHook,
        module: Module | str | None = None,
        *,
        igate: int | None = None,
        ogate: int | None = None,
    ) -> str:
        """Puts a hook on gates and says its name, which is noted in ``hook`` too."""
        made = await self._configure(_info(hook, module, igate, ogate), True)
        hook.name = made.name
        return made.name

    async def disable(
        self,
        hook: GateHook,
        module: Module | str | None = None,
        *,
        igate: int | None = None,
        ogate: int | None = None,
    ) -> None:
        """Takes a hook off gates."""
        await self._configure(_info(hook, module, igate, ogate), False)

    async def _configure(self, info: bess.GateHookInfo, enable: bool) -> bess.ConfigureGateHookResponse:
        request = bess.ConfigureGateHookRequest(hook=info, enable=enable)
        return await self._calls.bess("ConfigureGateHook", request, bess.ConfigureGateHookResponse)

    async def run(
        self,
        hook: GateHook,
        command: Command[None],
        module: Module | str | None = None,
        *,
        igate: int | None = None,
        ogate: int | None = None,
    ) -> Wrapped:
        """Runs a command of a hook; its answer as it travels."""
        info = _info(hook, module, igate, ogate)
        info.ClearField("arg")
        wrap(command.arg).put_into(info.arg)
        request = bess.GateHookCommandRequest(hook=info, cmd=command.name)
        return wrap((await self._calls.bess("GateHookCommand", request, bess.CommandResponse)).data)

    async def set_resume_hook(self, hook_name: str, enable: bool) -> None:
        """Turns ``setup_metadata`` or ``setup_taskgraph`` on or off."""
        request = bess.ConfigureResumeHookRequest(hook_name=hook_name, enable=enable)
        await self._calls.bess("ConfigureResumeHook", request, bess.CommandResponse)


def _info(hook: GateHook, module: Module | str | None, igate: int | None, ogate: int | None) -> bess.GateHookInfo:
    if igate is not None and ogate is not None:
        raise ValueError("a hook goes on input gates or on output gates: give igate or ogate")
    info = bess.GateHookInfo(
        class_name=hook.class_name,
        hook_name=hook.name,
        module_name="" if module is None else name_of(module),
    )
    if igate is not None:
        info.igate = igate
    else:
        info.ogate = -1 if ogate is None else ogate
    hook.arg.put_into(info.arg)
    return info
