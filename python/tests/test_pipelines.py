"""Whole pipelines, classes, workers, ports and hooks of a daemon that runs."""

import os
import tempfile
import threading
from pathlib import Path

import tidegate
from tests.running import WithDaemon
from tests.test_modules import soon
from tidegate import Pipeline, RateLimit, RoundRobinTurns, Task, Worker
from tidegate.drivers import PMDPort
from tidegate.hooks import TcpDump, Track
from tidegate.modules import Bypass, MACSwap, PortInc, PortOut, Sink, Source

CORE = min(os.sched_getaffinity(0))


class Pipelines(WithDaemon):
    def test_pipeline_is_replaced_whole_or_not_at_all(self) -> None:
        first = Pipeline(Source(name="s") >> Sink(name="e"))
        self.assertEqual(set(self.client.pipeline.replace(first).created), {"s", "e"})
        second = Pipeline(Source(name="s") >> MACSwap(name="swap") >> Sink(name="e"))
        would = self.client.pipeline.replace(second, check_only=True)
        self.assertEqual((would.created, set(would.kept)), (("swap",), {"s", "e"}))
        self.assertEqual(set(self.client.pipeline.show().modules), {"s", "e"})
        self.client.pipeline.replace(second)
        bad = Pipeline(Source(name="s", pkt_size=1 << 40) >> Sink(name="e"))
        with self.assertRaises(tidegate.Invalid):
            self.client.pipeline.replace(bad)
        shown = self.client.pipeline.show()
        self.assertEqual([str(link) for link in shown.links], ["s:0 -> 0:swap", "swap:0 -> 0:e"])
        self.assertEqual(self.client.pipeline.replace(shown).created, ())

    def test_classes_limit_tasks(self) -> None:
        source = Source(name="s")
        pipeline = Pipeline(
            source >> Sink(name="e"),
            workers=[Worker(0, core=CORE)],
            classes=[
                RoundRobinTurns("root", worker=0),
                RateLimit("slow", resource="packet", limit=100_000, max_burst=1000, parent="root"),
            ],
            tasks=[Task(source, parent="slow")],
        )
        self.client.pipeline.replace(pipeline)
        soon(lambda: self.client.classes.usage("slow").packets > 0)
        tree = {node.name: node for node in self.client.classes.all()}
        self.assertEqual(tree["slow"].parent, "root")
        self.assertEqual(tree["slow"].subject, pipeline.classes[1])
        leaves = [node for node in tree.values() if isinstance(node.subject, Task)]
        self.assertEqual(
            [(leaf.parent, leaf.subject.module) for leaf in leaves if isinstance(leaf.subject, Task)], [("slow", "s")]
        )
        self.client.classes.change("slow", resource="packet", limits={"packet": 5000})
        changed = {node.name: node for node in self.client.classes.all(0)}["slow"].subject
        assert isinstance(changed, RateLimit)
        self.assertEqual(changed.limit, 5000)
        self.assertFalse(self.client.classes.check().is_fatal)
        self.client.classes.reset()
        with self.assertRaises(tidegate.NotFound):
            self.client.classes.usage("slow")

    def test_workers_come_and_go(self) -> None:
        self.client.workers.add(Worker(3, core=CORE))
        with self.assertRaises(tidegate.AlreadyExists):
            self.client.workers.add(Worker(3, core=CORE))
        (worker,) = self.client.workers.all()
        self.assertEqual((worker.wid, worker.core), (3, CORE))
        self.client.workers.pause()
        self.client.workers.resume()
        self.client.workers.destroy(3)
        self.assertEqual(self.client.workers.all(), ())

    def test_ports_carry_and_count(self) -> None:
        port = PMDPort(name="null", vdev="net_null0")
        self.client.pipeline.replace(Pipeline(PortInc(name="in", port=port) >> PortOut(name="out", port=port)))
        self.assertEqual([one.driver for one in self.client.ports.all()], ["PMDPort"])
        soon(lambda: self.client.ports.stats("null").sent.packets > 1000)
        with self.assertRaises(tidegate.Busy):
            self.client.ports.destroy(port)
        self.assertIn("PMDPort", self.client.ports.drivers())
        self.assertTrue(self.client.ports.driver_info("PMDPort").help)
        self.client.ports.link(port)
        self.client.ports.settings(port)
        self.assertGreater(self.client.ports.pools()[0].size, 0)
        self.client.modules.reset()
        self.client.ports.reset()
        self.assertEqual(self.client.ports.all(), ())

    def test_hooks_look_at_gates(self) -> None:
        by = Bypass(name="by")
        self.client.pipeline.add(Source(name="s") >> by >> Sink(name="e"))
        self.assertIn("Track", self.client.hooks.classes())
        self.assertIn("reset", self.client.hooks.class_info("Track").commands)
        with self.assertRaises(tidegate.Unsupported):
            self.client.hooks.run(Track(), tidegate.Command("dance", None, None), by, ogate=0)
        with tempfile.TemporaryDirectory() as folder:
            fifo = Path(folder) / "tap"
            os.mkfifo(fifo)
            head: list[bytes] = []

            def read() -> None:
                with fifo.open("rb") as stream:
                    head.append(stream.read(4))

            reader = threading.Thread(target=read)
            reader.start()
            tap = TcpDump(fifo=str(fifo))
            self.client.hooks.enable(tap, by, igate=0)
            reader.join(timeout=60)
            self.assertIn(head[0], (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"))
            (on,) = (hook for hook in self.client.hooks.all() if hook.class_name == "TcpDump")
            self.assertEqual((on.module, on.direction, on.gate), ("by", "input", 0))
            self.client.hooks.disable(tap, by, igate=0)
        with self.assertRaises(ValueError):
            self.client.hooks.enable(Track(), by, igate=0, ogate=0)
