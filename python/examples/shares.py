"""Two sources share a worker three to one, and one of them is limited: with asyncio.

tidegate daemon &
python3 shares.py
"""

import asyncio

import tidegate
from tidegate.modules import Sink, Source


async def main() -> None:
    """Builds it, and prints what each class uses."""
    heavy, light = Source(name="heavy"), Source(name="light")
    pipeline = tidegate.Pipeline(
        heavy >> Sink(),
        light >> Sink(),
        workers=[tidegate.Worker(0, core=0)],
        classes=[
            tidegate.WeightedFair("root", resource="packet", worker=0),
            tidegate.RateLimit("calm", resource="packet", limit=100_000, max_burst=1000, parent="root", share=1),
        ],
        tasks=[
            tidegate.Task(heavy, parent="root", share=3),
            tidegate.Task(light, parent="calm"),
        ],
    )
    async with tidegate.aio.Client() as client:
        await client.pipeline.replace(pipeline)
        async for rates in client.stats.rates(interval=1.0, kinds=["classes"]):
            print({name: f"{used.packets:,.0f} packets/s" for (_, name), used in rates.classes.items()})


if __name__ == "__main__":
    asyncio.run(main())
