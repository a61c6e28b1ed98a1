"""Modules are joined and named without a daemon."""

import unittest

from tidegate import Pipeline, Worker
from tidegate.drivers import PCAPPort
from tidegate.modules import NAT, Merge, PortInc, PortOut, Queue, Sink, Source, Split
from tidegate.proto import bess
from tidegate.traffic import RateLimit, Task, WeightedFair


class Joining(unittest.TestCase):
    def test_chain_takes_along_all_that_is_joined(self) -> None:
        split, sink = Split(size=1, offset=0), Sink()
        split[1] >> sink
        pipeline = Pipeline(Source() >> split >> Queue(size=64) >> Merge() >> Sink(name="end"))
        self.assertEqual(
            [str(link) for link in pipeline.links],
            [
                "merge0:0 -> 0:end",
                "queue0:0 -> 0:merge0",
                "source0:0 -> 0:split0",
                "split0:0 -> 0:queue0",
                "split0:1 -> 0:sink0",
            ],
        )

    def test_gates_are_written_as_output_or_input_and_output(self) -> None:
        nat, inner, outer = NAT(name="nat"), Source(name="in"), Source(name="out")
        inner >> nat[0:1] >> Sink(name="a")
        outer >> nat[1:0] >> Sink(name="b")
        links = [str(link) for link in Pipeline(nat).links]
        self.assertEqual(links, ["in:0 -> 0:nat", "nat:0 -> 0:b", "nat:1 -> 0:a", "out:0 -> 1:nat"])

    def test_gates_that_are_not_there_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "no output gates"):
            Sink() >> Sink()
        with self.assertRaisesRegex(ValueError, "no input gate 1: it has input gates 0 to 0"):
            Source() >> Queue()[1:]
        source = Source() >> Sink()
        with self.assertRaisesRegex(ValueError, "leads to <Sink"):
            source.first >> Sink()

    def test_names_are_the_first_that_are_free(self) -> None:
        pipeline = Pipeline(Source(name="source1") >> Sink(), Source() >> Sink(), Source() >> Sink())
        self.assertEqual([name for name in pipeline.modules if "source" in name], ["source1", "source0", "source2"])
        with self.assertRaisesRegex(ValueError, "module x stands in the pipeline twice"):
            Pipeline(Source(name="x") >> Sink(name="x"))

    def test_ports_come_with_the_modules_that_stand_at_them(self) -> None:
        port = PCAPPort(dev="lo")
        pipeline = Pipeline(PortInc(port=port) >> PortOut(port=port))
        self.assertEqual(list(pipeline.ports), ["port0"])
        argument = bess.PortIncArg.FromString(pipeline.spec().modules[0].arg.value)
        self.assertEqual(argument.port, "port0")

    def test_pipeline_is_the_same_there_and_back(self) -> None:
        source = Source(name="s", pkt_size=100)
        pipeline = Pipeline(
            source >> Queue(name="q", size=64, backpressure=True) >> Sink(name="e"),
            ports=[PCAPPort(name="p", dev="lo", rx_queues=2)],
            workers=[Worker(1, core=0)],
            classes=[
                WeightedFair("root", resource="cycle", worker=1),
                RateLimit("slow", resource="bit", limit=1000, max_burst=10, parent="root", share=2),
            ],
            tasks=[Task(source, parent="slow"), Task("q", parent="root", share=3)],
        )
        spec = pipeline.spec()
        again = Pipeline.from_spec(spec)
        self.assertEqual(again.spec(), spec)
        self.assertIsInstance(again.modules["q"], Queue)
        self.assertEqual(again.classes, pipeline.classes)
