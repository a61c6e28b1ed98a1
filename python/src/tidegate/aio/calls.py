"""One connection to a daemon: calls go out, answers or exceptions come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from ..address import Address, channel_options, target
from ..errors import TidegateError, of_status, refused
from ..proto import bess

__all__ = ["Calls"]

M = TypeVar("M", bound=Message)


class _Answer(Protocol):
    # Every answer of bess.pb.
    @property
    def error(self) -> bess.Error: ...


class _Status(Protocol):
    # What every error of a call has; only the stubs keep the two apart.
    def code(self) -> grpc.StatusCode: ...

    def details(self) -> str | None: ...


class Calls:
    """Every call of the client goes through here.

    Args:
        address: Where the daemon is.
        timeout: Seconds that a call may take.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self.target = target(address)
        self.timeout = timeout
        self._channel = grpc.aio.insecure_channel(self.target, options=channel_options(address))

    async def bess(self, method: str, request: Message, answer: type[M]) -> M:
        """Calls a method of ``bess.pb.BESSControl``; an error in the answer is raised."""
        got: M = await self._unary(f"/bess.pb.BESSControl/{method}", request, answer)
        error = cast("_Answer", got).error
        if error.code:
            raise refused(error.code, error.errmsg)
        return got

    async def own(self, method: str, request: Message, answer: type[M]) -> M:
        """Calls a method of ``tidegate.v1.Control``."""
        got: M = await self._unary(f"/tidegate.v1.Control/{method}", request, answer)
        return got

    async def _unary(self, path: str, request: Message, answer: type[M]) -> M:
        call = self._channel.unary_unary(path, _serialize, answer.FromString)
        try:
            got: M = await call(request, timeout=self.timeout)
        except grpc.RpcError as error:
            raise self._translated(error) from None
        return got

    async def stream(self, method: str, request: Message, answer: type[M]) -> AsyncIterator[M]:
        """The answers of a method of ``tidegate.v1.Control`` that streams, until the daemon ends."""
        call = self._channel.unary_stream(f"/tidegate.v1.Control/{method}", _serialize, answer.FromString)(request)
        try:
            async for message in call:
                yield message
        except grpc.RpcError as error:
            raise self._translated(error) from None
        finally:
            call.cancel()

    def _translated(self, error: grpc.RpcError) -> TidegateError:
        status = cast("_Status", error)
        return of_status(status.code(), status.details() or status.code().name, self.target)

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
