"""A gate hook as it is asked for; its classes are in :mod:`tidegate.hooks`."""

from __future__ import annotations

from typing import ClassVar

from google.protobuf.message import Message

from .wrap import Wrapped, wrap

__all__ = ["GateHook"]


class GateHook:
    """A hook of any class.

    Attributes:
        class_name: The class's name.
        name: The hook's name; empty for one that the daemon chooses.
        arg: Its argument as it travels.
    """

    mclass: ClassVar[str] = ""
    short_name: ClassVar[str] = ""

    def __init__(self, class_name: str, *, name: str = "", arg: Message | Wrapped | None = None) -> None:
        self.class_name = class_name
        self.name = name
        self.arg = wrap(arg)

    def __repr__(self) -> str:
        return f"<{self.class_name} {self.name or '(unnamed)'}>"
