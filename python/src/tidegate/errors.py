"""What can go wrong, as exceptions.

Whatever the daemon refuses is a :class:`Refused` with the errno and the one line of text that it gave; the subclass
says which kind, so that a script can catch just the one it means::

    try:
        client.modules.destroy("q")
    except tidegate.NotFound:
        pass
"""

from __future__ import annotations

import errno as _errno

import grpc

__all__ = [
    "AlreadyExists",
    "Busy",
    "DaemonFailed",
    "Denied",
    "Invalid",
    "NoRoom",
    "NotFound",
    "Refused",
    "TidegateError",
    "TimedOut",
    "Unreachable",
    "Unsupported",
]


class TidegateError(Exception):
    """Any failure of this package."""


class Unreachable(TidegateError):
    """No daemon answers at the address."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"no daemon answers at {address}: start one, or name another address ({why})")
        self.address = address
        self.why = why


class TimedOut(TidegateError):
    """The daemon took longer than the call's timeout. What was asked for may still be done."""


class Refused(TidegateError):
    """The daemon refused, and says why.

    Attributes:
        errno: A number of :mod:`errno`, such as ``errno.ENOENT``.
        text: One line of text.
    """

    def __init__(self, errno: int, text: str) -> None:
        super().__init__(f"{text} ({_errno.errorcode.get(errno, errno)})")
        self.errno = errno
        self.text = text


class Invalid(Refused):
    """EINVAL: the request makes no sense."""


class NotFound(Refused):
    """ENOENT, ENODEV: no such module, port, class, driver or hook."""


class AlreadyExists(Refused):
    """EEXIST: the name is taken."""


class Busy(Refused):
    """EBUSY: a port, gate or worker is in use."""


class Unsupported(Refused):
    """ENOTSUP: the daemon cannot do that."""


class NoRoom(Refused):
    """ENOSPC, ENOMEM: no room for it."""


class Denied(Refused):
    """EPERM, EACCES: not allowed."""


class DaemonFailed(Refused):
    """EIO: the daemon failed inside, or is ending."""


_BY_ERRNO: dict[int, type[Refused]] = {
    _errno.EINVAL: Invalid,
    _errno.ENOENT: NotFound,
    _errno.ENODEV: NotFound,
    _errno.EEXIST: AlreadyExists,
    _errno.EBUSY: Busy,
    _errno.ENOTSUP: Unsupported,
    _errno.ENOSPC: NoRoom,
    _errno.ENOMEM: NoRoom,
    _errno.EPERM: Denied,
    _errno.EACCES: Denied,
    _errno.EIO: DaemonFailed,
}

# The statuses that tidegate.v1 gives, back to the errnos that they stand for (docs/specs/control.md).
_BY_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: _errno.EINVAL,
    grpc.StatusCode.NOT_FOUND: _errno.ENOENT,
    grpc.StatusCode.ALREADY_EXISTS: _errno.EEXIST,
    grpc.StatusCode.FAILED_PRECONDITION: _errno.EBUSY,
    grpc.StatusCode.PERMISSION_DENIED: _errno.EPERM,
    grpc.StatusCode.UNIMPLEMENTED: _errno.ENOTSUP,
    grpc.StatusCode.RESOURCE_EXHAUSTED: _errno.ENOSPC,
}


def refused(errno: int, text: str) -> Refused:
    """The exception for an errno."""
    return _BY_ERRNO.get(errno, Refused)(errno, text)


def of_status(status: grpc.StatusCode, details: str, address: str) -> TidegateError:
    """The exception for a call that came back with a gRPC status."""
    if status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return Unreachable(address, details)
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return TimedOut(f"the daemon at {address} did not answer in time")
    return refused(_BY_STATUS.get(status, _errno.EIO), details)
