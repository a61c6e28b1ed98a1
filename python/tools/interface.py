"""The protocol as the generators read it: messages with their comments, and the classes that it names."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf import descriptor_pb2

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "tidegate"

FieldProto = descriptor_pb2.FieldDescriptorProto
_PYTHON = {
    FieldProto.TYPE_BOOL: "bool",
    FieldProto.TYPE_BYTES: "bytes",
    FieldProto.TYPE_DOUBLE: "float",
    FieldProto.TYPE_FLOAT: "float",
    FieldProto.TYPE_STRING: "str",
    FieldProto.TYPE_ENUM: "int",
}


@dataclass
class Field:
    """A field of a message."""

    name: str
    kind: str
    """Its Python type, or the full name of its message."""
    is_message: bool
    is_repeated: bool
    is_optional: bool
    """Whether it may be told from its default: a message, or one of a oneof."""
    map_types: tuple[str, str] | None
    comment: str


@dataclass
class Message:
    """A message, with those that are declared inside it."""

    name: str
    full_name: str
    comment: str
    fields: list[Field] = field(default_factory=list)
    nested: list[Message] = field(default_factory=list)
    enum_values: dict[str, list[str]] = field(default_factory=dict)


def _comments(file: descriptor_pb2.FileDescriptorProto) -> dict[tuple[int, ...], str]:
    known = {}
    for location in file.source_code_info.location:
        text = location.leading_comments or location.trailing_comments
        known[tuple(location.path)] = " ".join(text.split())
    return known


def _field(
    proto: FieldProto, owner: descriptor_pb2.DescriptorProto, full_name: str, oneofs: list[str], comment: str
) -> Field:
    map_types = None
    if proto.type == FieldProto.TYPE_MESSAGE:
        kind = proto.type_name.lstrip(".")
        entries = {f"{full_name}.{entry.name}": entry for entry in owner.nested_type if entry.options.map_entry}
        if kind in entries:
            key, value = entries[kind].field
            map_types = (_PYTHON.get(key.type, "int"), _PYTHON.get(value.type, "int"))
    else:
        kind = _PYTHON.get(proto.type, "int")
    in_oneof = proto.HasField("oneof_index")
    if in_oneof and not proto.proto3_optional:
        others = f"One of the fields for `{oneofs[proto.oneof_index]}`."
        comment = f"{comment} {others}".strip()
    is_message = proto.type == FieldProto.TYPE_MESSAGE and map_types is None
    is_repeated = proto.label == FieldProto.LABEL_REPEATED and map_types is None
    return Field(
        name=proto.name,
        kind=kind,
        is_message=is_message,
        is_repeated=is_repeated,
        is_optional=(is_message or in_oneof) and not is_repeated,
        map_types=map_types,
        comment=comment,
    )


def _message(
    proto: descriptor_pb2.DescriptorProto, prefix: str, path: tuple[int, ...], comments: dict[tuple[int, ...], str]
) -> Message:
    full_name = f"{prefix}.{proto.name}"
    message = Message(proto.name, full_name, comments.get(path, ""))
    oneofs = [one.name for one in proto.oneof_decl]
    for index, one in enumerate(proto.field):
        comment = comments.get((*path, 2, index), "")
        message.fields.append(_field(one, proto, full_name, oneofs, comment))
    for index, nested in enumerate(proto.nested_type):
        if not nested.options.map_entry:
            message.nested.append(_message(nested, full_name, (*path, 3, index), comments))
    for enum in proto.enum_type:
        message.enum_values[enum.name] = [value.name for value in enum.value]
    return message


def packages() -> dict[str, list[Message]]:
    """The messages of both services, by package."""
    files = descriptor_pb2.FileDescriptorSet()
    files.ParseFromString((PACKAGE / "proto" / "interface.binpb").read_bytes())
    found: dict[str, list[Message]] = {}
    for file in files.file:
        if file.package.startswith("google."):
            continue
        comments = _comments(file)
        for index, proto in enumerate(file.message_type):
            found.setdefault(file.package, []).append(_message(proto, file.package, (4, index), comments))
    return found


@dataclass
class Named:
    """Something that the protocol names: a module class, a driver, a gate hook."""

    name: str
    short_name: str
    arg: str
    help: str
    inputs: int
    outputs: int
    commands: list[tuple[str, str]]
    """Names, and the messages that they take."""


def classes(kind: str) -> list[Named]:
    """The ``modules``, ``drivers`` or ``hooks`` that the protocol names."""
    listed = json.loads((HERE / "classes.json").read_text())[kind]
    return [
        Named(
            name=one["name"],
            short_name=one["short_name"],
            arg=one["arg"],
            help=one["help"],
            inputs=one.get("inputs", 0),
            outputs=one.get("outputs", 0),
            commands=[(command["name"], command["arg"]) for command in one.get("commands", [])],
        )
        for one in listed
    ]
