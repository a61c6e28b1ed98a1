"""Values for fields of packets, written as Python has them."""

from __future__ import annotations

from .proto import bess

__all__ = ["Value", "attribute", "bytes_at", "field_data"]

Value = int | bytes | bess.FieldData
"""A number (put on the wire most significant byte first), or bytes as they stand on the wire."""


def bytes_at(offset: int, size: int) -> bess.Field:
    """A part of the packet: ``size`` bytes (1 to 8) at ``offset`` bytes from its start."""
    return bess.Field(offset=offset, num_bytes=size)


def attribute(name: str, size: int) -> bess.Field:
    """A metadata attribute of ``size`` bytes (1 to 8)."""
    return bess.Field(attr_name=name, num_bytes=size)


def field_data(value: Value) -> bess.FieldData:
    """The value as the protocol has it."""
    if isinstance(value, int):
        return bess.FieldData(value_int=value)
    return bess.FieldData(value_bin=value) if isinstance(value, bytes) else value
