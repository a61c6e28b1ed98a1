"""The client for :mod:`asyncio`: as :mod:`tidegate`'s own, with ``await``.

::

    async with tidegate.aio.Client() as client:
        async for rates in client.stats.rates(interval=1.0):
            print(rates.gates)
"""

from .client import Client

__all__ = ["Client"]
