"""A port as it is asked for; its classes are in :mod:`tidegate.drivers`."""

from __future__ import annotations

from typing import ClassVar

from google.protobuf.message import Message

from .proto import bess
from .wrap import Wrapped, wrap

__all__ = ["Port", "port_name"]


class Port:
    """A port of any driver.

    Attributes:
        driver: The driver's name.
        name: The port's name; empty until one is chosen, by the pipeline or by the daemon.
        rx_queues, tx_queues: Queues, 1 to 128.
        rx_descriptors, tx_descriptors: Descriptors a queue; 0 for the driver's choice.
        arg: The driver's argument as it travels.
    """

    mclass: ClassVar[str] = ""
    short_name: ClassVar[str] = "port"

    def __init__(
        self,
        driver: str,
        *,
        name: str = "",
        rx_queues: int = 1,
        tx_queues: int = 1,
        rx_descriptors: int = 0,
        tx_descriptors: int = 0,
        arg: Message | Wrapped | None = None,
    ) -> None:
        self.driver = driver
        self.name = name
        self.rx_queues = rx_queues
        self.tx_queues = tx_queues
        self.rx_descriptors = rx_descriptors
        self.tx_descriptors = tx_descriptors
        self.arg = wrap(arg)

    def request(self) -> bess.CreatePortRequest:
        """The call that opens it."""
        request = bess.CreatePortRequest(
            name=self.name,
            driver=self.driver,
            num_inc_q=self.rx_queues,
            num_out_q=self.tx_queues,
            size_inc_q=self.rx_descriptors,
            size_out_q=self.tx_descriptors,
        )
        self.arg.put_into(request.arg)
        return request

    def __repr__(self) -> str:
        return f"<{self.driver} {self.name or '(unnamed)'}>"


def port_name(port: Port | str) -> str:
    """The name of a port, or the name itself."""
    return port.name if isinstance(port, Port) else port
