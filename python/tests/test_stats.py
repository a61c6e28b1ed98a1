"""Counters and rates, also with asyncio; and daemons that are not there."""

import asyncio
import unittest
from itertools import islice

import tidegate
from tests.running import Daemon, WithDaemon
from tidegate import Counters, Gate, Pipeline
from tidegate.counters import GateCounters
from tidegate.modules import Queue, Sink, Source


class Stats(WithDaemon):
    def test_counters_rise_and_make_rates(self) -> None:
        self.client.pipeline.replace(Pipeline(Source(name="s") >> Sink(name="e")))
        first, second = islice(self.client.stats.watch(interval=0.1, kinds=["gates", "modules"]), 2)
        gate = Gate("e", "input", 0)
        self.assertGreater(second.gates[gate].packets, first.gates[gate].packets)
        self.assertEqual(second.ports, {})
        self.assertGreater(second.since(first).modules["e"].packets, 0)
        rates = next(iter(self.client.stats.rates(interval=0.1)))
        self.assertGreater(rates.gates[gate].packets, 0)
        self.assertGreater(rates.seconds, 0)

    def test_interval_out_of_range_is_refused(self) -> None:
        with self.assertRaisesRegex(tidegate.Invalid, "interval_ms is 1"):
            next(iter(self.client.stats.watch(interval=0.001)))

    def test_asyncio_has_the_same_client(self) -> None:
        async def work() -> float:
            async with tidegate.aio.Client(self.daemon.socket) as client:
                queue = Queue(name="q", size=64)
                await client.pipeline.replace(Pipeline(Source(name="s") >> queue >> Sink(name="e")))
                status, version = await asyncio.gather(client.modules.run(queue, Queue.get_status()), client.version())
                self.assertEqual(status.size, 64)
                self.assertTrue(version.startswith("tidegate-"))
                with self.assertRaises(tidegate.NotFound):
                    await client.modules.info("ghost")
                async for rates in client.stats.rates(interval=0.1):
                    return rates.modules["e"].packets
            raise AssertionError("no rates came")

        self.assertGreater(asyncio.run(work()), 0)


class Away(unittest.TestCase):
    def test_nobody_there(self) -> None:
        with tidegate.Client("127.0.0.1:1") as client, self.assertRaisesRegex(tidegate.Unreachable, "127.0.0.1:1"):
            client.version()

    def test_daemon_that_starts_again_is_found_again(self) -> None:
        daemon = Daemon()
        address = daemon.address
        with tidegate.Client(address) as client, tidegate.Client(daemon.socket) as other:
            self.assertEqual(client.version(), other.version())
            client.kill()
            self.assertEqual(daemon.process.wait(timeout=30), 0)
            with self.assertRaises(tidegate.Unreachable):
                client.version()
            daemon.end()
            daemon = Daemon(listen=address)
            self.assertTrue(client.wait(30).startswith("tidegate-"))
        self.assertEqual(daemon.end(), 0)


class Rates(unittest.TestCase):
    def test_what_was_made_anew_counts_from_nothing(self) -> None:
        gate = Gate("m", "output", 0)

        def at(seconds: float, packets: int) -> Counters:
            return Counters(0, seconds, {gate: GateCounters(1, packets, 0)}, {}, {}, {}, {})

        self.assertEqual(at(3, 500).since(at(1, 100)).gates[gate].packets, 200)
        self.assertEqual(at(3, 50).since(at(1, 100)).gates[gate].packets, 25)
        with self.assertRaises(ValueError):
            at(1, 0).since(at(1, 0))
