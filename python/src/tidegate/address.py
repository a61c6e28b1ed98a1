"""Where a daemon is, as gRPC wants it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

__all__ = ["ADDRESS_DEFAULT", "Address", "channel_options", "target"]

ADDRESS_DEFAULT = "127.0.0.1:10514"
"""Where ``tidegate daemon`` listens unless told otherwise, as BESS does."""

MESSAGE_LEN_MAX = 64 << 20
"""Bytes that a request or an answer may have."""

Address = Union[str, "os.PathLike[str]"]
"""``host:port``, or the path of a Unix socket (``/run/tidegate/control``, ``unix:/run/tidegate/control``)."""


def target(address: Address) -> str:
    """The address as gRPC has it."""
    text = os.fspath(address)
    if isinstance(address, os.PathLike) or text.startswith(("/", "./")):
        return f"unix:{Path(text).absolute()}"
    return text


def channel_options(address: Address) -> list[tuple[str, str | int]]:
    """What a channel to the address needs."""
    options: list[tuple[str, str | int]] = [
        ("grpc.max_receive_message_length", MESSAGE_LEN_MAX),
        ("grpc.max_send_message_length", MESSAGE_LEN_MAX),
        # A daemon is not reached through a web proxy.
        ("grpc.enable_http_proxy", 0),
        # A daemon that starts again is found again within a second.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    if target(address).startswith("unix:"):
        # The path would stand in a header where only a host may.
        options.append(("grpc.default_authority", "localhost"))
    return options
