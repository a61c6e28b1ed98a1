"""Arguments as they travel: a message's bytes beside its name, as in ``google.protobuf.Any``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message

from .proto import URL_PREFIX

__all__ = ["Wrapped", "wrap"]

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Wrapped:
    """A message that travels inside another.

    Attributes:
        full_name: Its name, such as ``bess.pb.QueueArg``; empty where there is none.
        value: Its bytes.
    """

    full_name: str = ""
    value: bytes = b""

    def put_into(self, any_message: Any) -> None:
        """Writes it into an ``Any``; leaves that alone if there is nothing."""
        if self.full_name:
            any_message.type_url = URL_PREFIX + self.full_name
            any_message.value = self.value

    def parsed(self, kind: type[M]) -> M:
        """The message, which must be of that class.

        Raises:
            google.protobuf.message.DecodeError: The bytes are no such message.
        """
        message = kind()
        message.ParseFromString(self.value)
        return message


def wrap(message: Message | Wrapped | Any | None) -> Wrapped:
    """A message, an ``Any`` or nothing as it travels."""
    if message is None:
        return Wrapped()
    if isinstance(message, Wrapped):
        return message
    full_name = message.DESCRIPTOR.full_name
    if full_name == "google.protobuf.Any":
        url: str = getattr(message, "type_url")
        value: bytes = getattr(message, "value")
        return Wrapped(url.rpartition("/")[2], value)
    return Wrapped(full_name, message.SerializeToString(deterministic=True))
