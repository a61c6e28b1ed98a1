"""The protocol's messages as classes, made when they are imported.

``interface.binpb`` holds the descriptors of both services, as the daemon itself was built from them. The classes
are made from it by the protobuf runtime that is installed, whichever that is: no generated code ties the package
to one version. They live in a pool of their own, so that a program may have BESS's own messages, which have the
same names, beside them. Types are in ``bess.pyi`` and ``v1.pyi``.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

__all__ = ["URL_PREFIX", "messages"]

URL_PREFIX = "type.googleapis.com/"
"""What stands before a message's name in the type URL of a ``google.protobuf.Any``."""


def _load() -> tuple[Any, dict[str, list[str]]]:
    files = descriptor_pb2.FileDescriptorSet()
    files.ParseFromString(resources.files(__package__).joinpath("interface.binpb").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    names: dict[str, list[str]] = {}
    for file in files.file:
        file.ClearField("source_code_info")
        # Written this way for protobuf 4.21 and for 7: the one has no other, the other no `Add`.
        pool.AddSerializedFile(file.SerializeToString())
        names.setdefault(file.package, []).extend(message.name for message in file.message_type)
    return pool, names


_pool, _names = _load()


def _class(full_name: str) -> type[Message]:
    descriptor = _pool.FindMessageTypeByName(full_name)
    if hasattr(message_factory, "GetMessageClass"):
        made: type[Message] = message_factory.GetMessageClass(descriptor)
    else:  # protobuf before 4.22
        made = message_factory.MessageFactory(_pool).GetPrototype(descriptor)  # type: ignore[attr-defined]
    for nested in descriptor.nested_types:
        if nested.name not in made.__dict__ and not nested.GetOptions().map_entry:
            setattr(made, nested.name, _class(nested.full_name))
    return made


def messages(package: str) -> dict[str, type[Message]]:
    """The top level messages of a package, by name."""
    return {name: _class(f"{package}.{name}") for name in _names[package]}
